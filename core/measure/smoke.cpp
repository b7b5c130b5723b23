#include "core/measure/smoke.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/measure/script.h"

namespace lwb {
namespace {

std::string number(double value) {
  return fmt::format("{:.3g}", value);
}

std::set<std::string> names_of(const Json& event, const char* key) {
  std::set<std::string> names;
  for (const Json& item : get_array(event, key)) {
    if (item.is_string()) names.insert(item.get<std::string>());
  }
  return names;
}

std::string list_of(const std::set<std::string>& names) {
  return names.empty() ? std::string("nothing")
                       : join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

bool is_number(const Json& event, const char* key) {
  return event.contains(key) && event[key].is_number();
}

// Reads the events in order and collects failures; the same sentence is said once.
class SmokeJudge {
 public:
  explicit SmokeJudge(const SmokeLimits& limits) : limits_(limits) {}

  void take(const Json& event) {
    const std::string name = get_string(event, "event");
    if (name == "compare") compare(event);
    if (name == "mutated") mutated(event);
    if (name == "reference") reference(event);
    if (name == "smoke_failed") failed(event);
    if (name == "static") static_finding(event);
    if (name == "noop") noop(event);
  }

  SmokeResult finish(const std::vector<CapturedCall>& calls) {
    for (const CapturedCall& call : calls) {
      if (!call.replayable) {
        remark(fmt::format("Call \"{}\" was not tested: {}.", call.id, call.why_not));
      } else if (compared_.count(call.id) == 0 && told_.count(call.id) == 0) {
        fail(fmt::format("Coverage: call \"{}\" was not compared.", call.id));
      }
    }
    if (compared_.empty() && result_.failures.empty()) {
      fail("Coverage: no call of the variant was compared with the original.");
    }
    result_.passed = result_.failures.empty();
    return std::move(result_);
  }

 private:
  void fail(const std::string& sentence) { add(result_.failures, sentence); }
  void remark(const std::string& sentence) { add(result_.remarks, sentence); }
  static void add(std::vector<std::string>& list, const std::string& sentence) {
    if (std::find(list.begin(), list.end(), sentence) == list.end()) list.push_back(sentence);
  }
  static std::string place(const Json& event) {
    return fmt::format("{} of the {} pass of call \"{}\"", get_string(event, "tensor"),
                       get_string(event, "pass"), get_string(event, "call"));
  }

  void compare(const Json& event) {
    compared_.insert(get_string(event, "call"));
    SmokeComparison row;
    row.call = get_string(event, "call");
    row.pass = get_string(event, "pass");
    row.tensor = get_string(event, "tensor");
    row.dtype = get_string(event, "dtype");
    row.seed = static_cast<int>(get_integer(event, "seed"));
    row.original_error = get_number(event, "original_error");
    row.variant_error = get_number(event, "variant_error");
    row.scale = get_number(event, "scale");
    row.limit =
        std::max(limits_.original_errors * row.original_error, get_number(event, "ulp_limit"));
    result_.comparisons.push_back(row);
    const long long nan_original = get_integer(event, "nan_original");
    const long long nan_variant = get_integer(event, "nan_variant");
    const long long elsewhere = get_integer(event, "nan_elsewhere");
    if (nan_variant <= nan_original && elsewhere > 0) {
      fail(fmt::format("NaN: {} has {} NaN elements where the original has numbers (seed {}).",
                       place(event), elsewhere, row.seed));
    }
    if (nan_variant > nan_original) {
      fail(
          fmt::format("NaN: {} has {} NaN elements, the original {} (seed {}): elements are not "
                      "written or overflow.",
                      place(event), nan_variant, nan_original, row.seed));
    }
    // A number that JSON cannot carry (an infinite error) comes as null.
    if (!is_number(event, "variant_error")) {
      if (is_number(event, "original_error")) {
        fail(
            fmt::format("Accuracy: {} has an error that is not finite, the original's is {} (seed "
                        "{}).",
                        place(event), number(row.original_error), row.seed));
      }
    } else if (is_number(event, "original_error") && row.variant_error > row.limit) {
      fail(fmt::format(
          "Accuracy: {} ({}) is off by {}, the original by {}; {} is allowed (seed {}).",
          place(event), row.dtype, number(row.variant_error), number(row.original_error),
          number(row.limit), row.seed));
    }
    repeat(event, row);
  }

  void repeat(const Json& event, const SmokeComparison& row) {
    if (!is_number(event, "repeat_difference")) {
      if (is_number(event, "repeat_difference_original")) {
        fail(fmt::format("Repeatability: a second call changes {} without bound (seed {}).",
                         place(event), row.seed));
      }
      return;
    }
    const double own = get_number(event, "repeat_difference");
    const double original = get_number(event, "repeat_difference_original");
    const double limit =
        std::max(limits_.original_errors * original, get_number(event, "ulp_limit"));
    if (own > limit) {
      fail(
          fmt::format("Repeatability: a second call changes {} by {}, the original's by {}; {} is "
                      "allowed (seed {}).",
                      place(event), number(own), number(original), number(limit), row.seed));
    } else if (own > 0 && original == 0) {
      remark(
          fmt::format("A second call changes {} by {} (within {}), where the original repeats "
                      "exactly.",
                      place(event), number(own), number(limit)));
    }
  }

  void mutated(const Json& event) {
    const auto original = names_of(event, "original");
    const auto variant = names_of(event, "variant");
    if (original == variant) return;
    fail(fmt::format(
        "Modified inputs: the {} pass of call \"{}\" modifies {} in place, the original "
        "{}.",
        get_string(event, "pass"), get_string(event, "call"), list_of(variant), list_of(original)));
  }

  void reference(const Json& event) {
    if (get_string(event, "kind") != "original") return;
    remark(fmt::format("Call \"{}\": {}.", get_string(event, "call"),
                       get_string(event, "message", "compared with the original's own result")));
  }

  void failed(const Json& event) {
    const std::string call = get_string(event, "call");
    const std::string pass = get_string(event, "pass");
    const std::string message = get_string(event, "message");
    told_.insert(call);
    const std::string where = pass.empty() ? fmt::format("call \"{}\"", call)
                                           : fmt::format("the {} pass of call \"{}\"", pass, call);
    if (get_string(event, "side") == "original") {
      remark(fmt::format("The original itself cannot run {} in this test ({}): {}", where,
                         get_string(event, "kind"), message));
    } else {
      fail(fmt::format("Run: {} fails in the variant ({}): {}", where, get_string(event, "kind"),
                       message));
    }
  }

  void static_finding(const Json& event) {
    fail(fmt::format("Source: line {} of the variant {}, which the original does not ({}).",
                     get_integer(event, "line"), get_string(event, "message"),
                     get_string(event, "finding")));
  }

  // `changed` is null where the original's kernels do not matter for the call either.
  void noop(const Json& event) {
    if (get_bool(event, "changed", true)) return;
    fail(fmt::format(
        "Kernels matter: call \"{}\" gives the same result when the variant's kernels do "
        "nothing, so they do not compute it.",
        get_string(event, "call")));
  }

  SmokeLimits limits_;
  SmokeResult result_;
  std::set<std::string> compared_, told_;
};

Json job_json(const SmokeJob& job) {
  Json result;
  result["original"] = to_json(job.original);
  result["variant"] = to_json(job.variant);
  result["parts"] = Json::array();
  for (const SmokePart& part : job.parts) {
    Json calls = Json::array();
    for (const CapturedCall& call : part.calls) {
      if (call.replayable) calls.push_back(call.json);
    }
    const Json dtype = part.dtype.empty() ? Json() : Json(part.dtype);
    result["parts"].push_back({{"calls", std::move(calls)}, {"dtype", dtype}});
  }
  result["seeds"] = job.seeds;
  if (!job.device.empty()) result["device"] = job.device;
  result["poison"] = job.poison;
  return result;
}

bool has_identity(const ScriptRun& run, const std::string& side) {
  return std::any_of(run.events.begin(), run.events.end(), [&](const Json& e) {
    return get_string(e, "event") == "identity" && get_string(e, "side") == side;
  });
}

// The events of each part; what comes before the first "part" is of the first.
std::vector<std::vector<Json>> events_of_parts(const std::vector<Json>& events, std::size_t parts) {
  std::vector<std::vector<Json>> result(std::max<std::size_t>(parts, 1));
  std::size_t part = 0;
  for (const Json& event : events) {
    if (get_string(event, "event") == "part") {
      part = std::min(static_cast<std::size_t>(get_integer(event, "index")), result.size() - 1);
    }
    result[part].push_back(event);
  }
  return result;
}

SmokeResult judge_parts(const std::vector<Json>& events, const std::vector<SmokePart>& parts,
                        const SmokeLimits& limits) {
  const auto split = events_of_parts(events, parts.size());
  SmokeResult all =
      judge_smoke(split[0], parts.empty() ? std::vector<CapturedCall>() : parts[0].calls, limits);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    SmokeResult more = judge_smoke(split[i], parts[i].calls, limits);
    all.passed = all.passed && more.passed;
    all.failures.insert(all.failures.end(), more.failures.begin(), more.failures.end());
    all.remarks.insert(all.remarks.end(), more.remarks.begin(), more.remarks.end());
    all.comparisons.insert(all.comparisons.end(), more.comparisons.begin(), more.comparisons.end());
  }
  return all;
}

// The process failed as a whole: the variant's failure, unless the original was not loaded yet or
// the machine cannot test.
Result<SmokeResult> judge_failed_run(const ScriptRun& run, const SmokeJob& job,
                                     const SmokeLimits& limits) {
  const std::string what = "The smoke test of " + job.variant.name;
  const std::string kind = run.fatal ? run.fatal->kind : "";
  if (kind == "no_gpu" || kind == "no_torch" || kind == "no_triton") {
    return tl::unexpected(script_error(run, what, ErrorKind::kPreflight));
  }
  if (kind == "bad_job" || !has_identity(run, job.original.name)) {
    return tl::unexpected(script_error(run, what));
  }
  SmokeResult result = judge_smoke(run.events, {}, limits);
  result.failures.erase(
      std::remove_if(result.failures.begin(), result.failures.end(),
                     [](const std::string& s) { return s.starts_with("Coverage"); }),
      result.failures.end());
  result.failures.push_back("Run: " + script_error(run, what).sentence);
  result.passed = false;
  return result;
}

}  // namespace

SmokeResult judge_smoke(const std::vector<Json>& events, const std::vector<CapturedCall>& calls,
                        const SmokeLimits& limits) {
  SmokeJudge judge(limits);
  for (const Json& event : events) judge.take(event);
  return judge.finish(calls);
}

Result<SmokeResult> run_smoke(ProcessRunner& runner, const PythonTools& tools, const SmokeJob& job,
                              const SmokeLimits& limits) {
  ScriptJob script;
  script.script = "lwb_smoke.py";
  script.label = job.label.empty() ? "smoke " + job.variant.name : job.label;
  script.job = job_json(job);
  script.inputs = {job.original.file, job.variant.file};
  auto run = run_script(runner, tools, script);
  if (!run) return tl::unexpected(run.error());
  if (!run->healthy()) return judge_failed_run(*run, job, limits);
  auto same = check_identities(run->events, {to_json(job.original), to_json(job.variant)});
  if (!same) return tl::unexpected(same.error());
  return judge_parts(run->events, job.parts, limits);
}

Json to_json(const SmokeResult& result) {
  Json rows = Json::array();
  for (const SmokeComparison& c : result.comparisons) {
    rows.push_back({{"call", c.call},
                    {"pass", c.pass},
                    {"tensor", c.tensor},
                    {"dtype", c.dtype},
                    {"seed", c.seed},
                    {"original_error", c.original_error},
                    {"variant_error", c.variant_error},
                    {"limit", c.limit},
                    {"scale", c.scale}});
  }
  return {{"passed", result.passed},
          {"failures", result.failures},
          {"remarks", result.remarks},
          {"comparisons", rows}};
}

SmokeResult smoke_result_from_json(const Json& json) {
  SmokeResult result;
  result.passed = get_bool(json, "passed");
  for (const Json& s : get_array(json, "failures")) {
    if (s.is_string()) result.failures.push_back(s.get<std::string>());
  }
  for (const Json& s : get_array(json, "remarks")) {
    if (s.is_string()) result.remarks.push_back(s.get<std::string>());
  }
  for (const Json& c : get_array(json, "comparisons")) {
    SmokeComparison row;
    row.call = get_string(c, "call");
    row.pass = get_string(c, "pass");
    row.tensor = get_string(c, "tensor");
    row.dtype = get_string(c, "dtype");
    row.seed = static_cast<int>(get_integer(c, "seed"));
    row.original_error = get_number(c, "original_error");
    row.variant_error = get_number(c, "variant_error");
    row.limit = get_number(c, "limit");
    row.scale = get_number(c, "scale");
    result.comparisons.push_back(row);
  }
  return result;
}

}  // namespace lwb
