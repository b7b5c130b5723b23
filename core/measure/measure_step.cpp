#include "core/measure/measure_step.h"

namespace lwb {
namespace {

// Batches of the last attempt: those after the last start of this step (an interrupted measurement
// left half of its batches behind).
std::vector<SampleBatch> recorded_batches(const Journal& journal, const Step& step) {
  std::vector<SampleBatch> batches;
  for (const Event& event : journal.events()) {
    if (event.type == "step_started" && get_string(event.data, "step") == step.name) {
      batches.clear();
    } else if (event.type == "samples" && get_string(event.data, "measurement") == step.name) {
      batches.push_back(sample_batch_from_json(get_object(event.data, "batch")));
    }
  }
  return batches;
}

}  // namespace

Json to_json(const Measurement& measurement) {
  Json memory = Json::array(), rates = Json::array(), failures = Json::array();
  for (const MemoryPeak& peak : measurement.memory) {
    memory.push_back({{"call", peak.call}, {"side", peak.side}, {"peak_bytes", peak.peak_bytes}});
  }
  for (const auto& rate : measurement.copy_rates) {
    rates.push_back({{"bytes", rate.bytes}, {"us", rate.us}});
  }
  for (const auto& failure : measurement.failures) {
    failures.push_back({{"call", failure.call},
                        {"pass", failure.pass},
                        {"side", failure.side},
                        {"kind", failure.kind},
                        {"message", failure.message}});
  }
  return {{"memory", memory},
          {"copy_rates", rates},
          {"failures", failures},
          {"not_measured", measurement.not_measured},
          {"notes", measurement.notes},
          {"gpu_seconds", measurement.gpu_seconds},
          {"recorded_on", measurement.recorded_on},
          {"looks", measurement.looks}};
}

Measurement measurement_from_json(const Json& json) {
  Measurement measurement;
  for (const Json& item : get_array(json, "memory")) {
    measurement.memory.push_back(
        {get_string(item, "call"), get_string(item, "side"), get_number(item, "peak_bytes")});
  }
  for (const Json& item : get_array(json, "copy_rates")) {
    measurement.copy_rates.push_back(
        {get_number(item, "bytes"), get_array(item, "us").get<std::vector<double>>()});
  }
  for (const Json& item : get_array(json, "failures")) {
    measurement.failures.push_back({get_string(item, "call"), get_string(item, "pass"),
                                    get_string(item, "side"), get_string(item, "kind"),
                                    get_string(item, "message")});
  }
  for (const Json& item : get_array(json, "not_measured")) {
    measurement.not_measured.push_back(item.get<std::string>());
  }
  for (const Json& item : get_array(json, "notes")) {
    measurement.notes.push_back(item.get<std::string>());
  }
  measurement.gpu_seconds = get_number(json, "gpu_seconds");
  measurement.recorded_on = get_string(json, "recorded_on");
  measurement.looks = static_cast<int>(get_integer(json, "looks", 1));
  return measurement;
}

Result<Measurement> measure_step(Session& session, const Step& step, const PythonTools& tools,
                                 const std::vector<Side>& sides,
                                 const std::vector<CapturedCall>& calls,
                                 const MeasureOptions& options) {
  const auto journal_batch = [&](const SampleBatch& batch) {
    // A sample that cannot be journaled shows when the step ends: that write fails as well.
    (void)session.journal.append("samples",
                                 {{"measurement", step.name}, {"batch", to_json(batch)}});
  };
  return run_step(
      session, step,
      [&] { return measure(session.runner, tools, sides, calls, options, journal_batch); },
      [](const Measurement& measurement) { return to_json(measurement); },
      [&](const Json& json) -> Result<Measurement> {
        Measurement measurement = measurement_from_json(json);
        measurement.batches = recorded_batches(session.journal, step);
        return measurement;
      });
}

}  // namespace lwb
