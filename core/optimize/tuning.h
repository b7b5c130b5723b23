// Tuning one variant: the file with untuned settings functions is swept, the settings are chosen by
// shape, and the file is built again with them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/device/gpu.h"
#include "core/optimize/guardrails.h"
#include "core/optimize/variant_record.h"
#include "core/run/session.h"
#include "core/variants/builder.h"
#include "core/variants/sweep.h"

namespace lwb {

struct TuningInputs {
  TechniqueContext context;
  const std::vector<CapturedCall>& calls;
  const ScopedCalls& scope;
  const Request& request;
  const Gpu& gpu;
  const std::function<Result<Side>(const std::string& name, const std::string& text)>& make_side;
  const PythonTools& tools;
  const std::vector<std::string>& changes;
};

using StepMaker = std::function<Step(const std::string& name, std::vector<std::string> parts)>;

// The tuned text of `record` (number, techniques, based_on are set); fills tables and sweep counts.
Result<std::string> tune(Session& session, const TuningInputs& inputs, VariantRecord& record,
                         double& gpu_seconds, const StepMaker& step);

// The text with the tables that `record` has.
Result<std::string> build_tuned(const TuningInputs& inputs, const VariantRecord& record);

// `tables` with the original's path at the shapes of `keep_original` (calls).
std::vector<SettingsTable> gated_tables(const std::vector<SettingsTable>& tables,
                                        const TuningInputs& inputs,
                                        const std::set<std::string>& keep_original);

}  // namespace lwb
