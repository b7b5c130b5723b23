// A measurement as a step of a run: its batches are journaled as they come, and a finished one is
// read back from the journal.
#pragma once

#include "core/measure/op_time.h"
#include "core/run/session.h"

namespace lwb {

// `step.name` names the measurement in the journal's "samples" events.
Result<Measurement> measure_step(Session& session, const Step& step, const PythonTools& tools,
                                 const std::vector<Side>& sides,
                                 const std::vector<CapturedCall>& calls,
                                 const MeasureOptions& options);

// Everything but the batches, and the way back.
Json to_json(const Measurement& measurement);
Measurement measurement_from_json(const Json& json);

}  // namespace lwb
