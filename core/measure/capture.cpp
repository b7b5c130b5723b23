#include "core/measure/capture.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "core/measure/script.h"

namespace lwb {
namespace {

std::vector<std::string> strings(const Json& list) {
  std::vector<std::string> result;
  for (const Json& item : list) {
    if (item.is_string()) result.push_back(item.get<std::string>());
  }
  return result;
}

// 2048, not 2048.0: the script hands it to range() and shapes.
Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double v : values) {
    if (v == std::floor(v)) {
      list.push_back(static_cast<long long>(v));
    } else {
      list.push_back(v);
    }
  }
  return list;
}

Json job_json(const CaptureJob& job) {
  Json result;
  result["side"] = to_json(job.side);
  result["script"] = job.script.string();
  result["root"] = job.root.string();
  result["models"] = job.models.empty() ? Json() : Json(job.models);
  result["x"] = job.x_values.empty() ? Json() : numbers(job.x_values);
  result["default_extra_x"] = numbers(job.default_extra_x);
  result["sweep_modes"] = job.sweep_modes;
  result["seed"] = job.seed;
  return result;
}

BenchmarkPlan plan_from_json(const Json& event) {
  BenchmarkPlan plan;
  plan.kernel_name = get_string(event, "kernel_name");
  plan.metric = get_string(event, "metric");
  plan.x_name = get_string(event, "x_name");
  plan.x_label = get_string(event, "x_label");
  plan.model = get_string(event, "model");
  plan.providers = strings(get_array(event, "providers"));
  plan.modes = strings(get_array(event, "modes"));
  plan.x_values = get_array(event, "x_values");
  plan.configs = get_array(event, "configs");
  return plan;
}

std::string cell_name(const Json& event) {
  const std::string id = get_string(event, "id");
  if (!id.empty()) return id;
  const Json& cell = get_object(event, "cell");
  if (!cell.empty()) {
    return fmt::format("{} {} {}={}", get_string(cell, "kernel_name"), get_string(cell, "provider"),
                       get_string(cell, "x_name"),
                       cell.contains("x") ? print_json(cell["x"]) : "?");
  }
  const std::string mode = get_string(event, "sweep_mode");
  const std::string model = get_string(event, "model");
  return trim((mode.empty() ? "" : "sweep " + mode + " ") +
              (model.empty() ? "" : "model " + model));
}

Result<void> take(const Json& event, CaptureResult& result) {
  const std::string name = get_string(event, "event");
  if (name == "plan") {
    result.plans.push_back(plan_from_json(event));
  } else if (name == "registry") {
    result.models = get_object(event, "models");
    result.width_key = get_string(event, "width_key");
  } else if (name == "providers") {
    result.under_test = strings(get_array(event, "under_test"));
    result.reference = strings(get_array(event, "reference"));
  } else if (name == "cell_failed" || name == "sweep_failed") {
    result.failures.push_back({cell_name(event), get_string(event, "kind"),
                               get_string(event, "message"), get_string(event, "traceback")});
  } else if (name == "call") {
    auto call = call_from_json(get_object(event, "call"),
                               fmt::format("captured call {}", result.calls.calls.size()));
    if (!call) {
      Error error = call.error();
      error.kind = ErrorKind::kInternal;
      return tl::unexpected(error);
    }
    result.calls.calls.push_back(std::move(*call));
  }
  return {};
}

// A model that the checkout does not have is a mistake in the request, not of the script.
Result<void> check_models(const std::vector<std::string>& asked, const Json& registry) {
  if (!registry.is_object()) return {};  // the script ended before it said what there is
  std::vector<std::string> names;
  for (const auto& [name, numbers] : registry.items()) names.push_back(name);
  for (const std::string& model : asked) {
    if (registry.contains(model)) continue;
    return fail(ErrorKind::kUsage,
                fmt::format("--models names \"{}\", which the checkout's registry does not have; "
                            "choose from {}.",
                            model, names.empty() ? "none: it has no registry" : join(names, ", ")));
  }
  return {};
}

}  // namespace

Result<CaptureResult> capture_calls(ProcessRunner& runner, const PythonTools& tools,
                                    const CaptureJob& job) {
  ScriptJob script;
  script.script = "lwb_capture.py";
  script.label = "capture " + job.kernel;
  script.job = job_json(job);
  script.inputs = {job.script, job.side.file};
  script.wall_limit = std::chrono::minutes(20);
  auto run = run_script(runner, tools, script);
  if (!run) return tl::unexpected(run.error());

  CaptureResult result;
  result.calls.kernel = job.kernel;
  for (const Json& event : run->events) {
    if (auto taken = take(event, result); !taken) return tl::unexpected(taken.error());
  }
  if (auto known = check_models(job.models, result.models); !known) {
    return tl::unexpected(known.error());
  }
  const std::string what =
      fmt::format("Capturing the calls of benchmark script {}", job.script.string());
  // A process that died at a late cell leaves the earlier calls, which are good.
  if (!run->healthy() && (run->fatal || result.calls.calls.empty())) {
    return tl::unexpected(script_error(*run, what, ErrorKind::kPreflight));
  }
  if (auto same = check_identities(run->events, {to_json(job.side)}); !same) {
    Error error = same.error();
    error.kind = ErrorKind::kPreflight;
    return tl::unexpected(error);
  }
  if (!run->healthy()) {
    result.failures.push_back({"the cells after the last call", "crashed",
                               script_error(*run, what).sentence, run->outcome.err});
  }
  if (result.calls.calls.empty()) {
    const std::string why = result.failures.empty() ? std::string("its cells call another function")
                                                    : result.failures.front().message;
    return fail(ErrorKind::kPreflight,
                fmt::format("No cell of the benchmark script {} calls the autograd.Function of {} "
                            "({}); name calls with --calls.",
                            job.script.string(), job.side.module, why),
                result.failures.empty() ? "" : result.failures.front().traceback);
  }
  return result;
}

Json to_json(const CaptureResult& result) {
  Json plans = Json::array(), failures = Json::array();
  for (const BenchmarkPlan& p : result.plans) {
    plans.push_back({{"kernel_name", p.kernel_name},
                     {"metric", p.metric},
                     {"x_name", p.x_name},
                     {"x_label", p.x_label},
                     {"model", p.model},
                     {"providers", p.providers},
                     {"modes", p.modes},
                     {"x_values", p.x_values},
                     {"configs", p.configs}});
  }
  for (const CellFailure& f : result.failures) {
    failures.push_back(
        {{"cell", f.cell}, {"kind", f.kind}, {"message", f.message}, {"traceback", f.traceback}});
  }
  return {{"calls", to_json(result.calls)},
          {"plans", plans},
          {"models", result.models},
          {"width_key", result.width_key},
          {"under_test", result.under_test},
          {"reference", result.reference},
          {"failures", failures}};
}

Result<CaptureResult> capture_result_from_json(const Json& json) {
  CaptureResult result;
  auto calls = calls_from_json(get_object(json, "calls"), "recorded calls");
  if (!calls) return tl::unexpected(calls.error());
  result.calls = std::move(*calls);
  for (const Json& p : get_array(json, "plans")) result.plans.push_back(plan_from_json(p));
  result.models = get_object(json, "models");
  result.width_key = get_string(json, "width_key");
  result.under_test = strings(get_array(json, "under_test"));
  result.reference = strings(get_array(json, "reference"));
  for (const Json& f : get_array(json, "failures")) {
    result.failures.push_back({get_string(f, "cell"), get_string(f, "kind"),
                               get_string(f, "message"), get_string(f, "traceback")});
  }
  return result;
}

}  // namespace lwb
