#include "core/variants/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "core/measure/script.h"

namespace lwb {
namespace {

constexpr int kContextLost = 3;  // the script's exit code when it can launch nothing more

struct Key {
  std::string hook, call;
  Settings settings;
  auto tie() const { return std::tie(hook, call, settings); }
  bool operator<(const Key& other) const { return tie() < other.tie(); }
};

Settings settings_of(const Json& event) {
  Settings settings;
  for (const auto& [name, value] : get_object(event, "settings").items()) settings[name] = value;
  return settings;
}

Key key_of(const Json& event) {
  return {get_string(event, "hook"), get_string(event, "call"), settings_of(event)};
}

SweepPoint point_of(const Json& event) {
  SweepPoint point;
  point.hook = get_string(event, "hook");
  point.call = get_string(event, "call");
  point.settings = settings_of(event);
  point.status = get_string(event, "status");
  point.median_us = get_number(event, "median_us");
  for (const Json& us : get_array(event, "us")) {
    if (us.is_number()) point.us.push_back(us.get<double>());
  }
  point.registers = static_cast<int>(get_integer(event, "registers"));
  point.spills = static_cast<int>(get_integer(event, "spills"));
  point.shared_bytes = get_integer(event, "shared_bytes");
  point.message = get_string(event, "message");
  return point;
}

class Sweeper {
 public:
  Sweeper(ProcessRunner& runner, const PythonTools& tools, const Side& side,
          const std::vector<CapturedCall>& calls, const std::vector<Hook>& hooks,
          const SweepOptions& options, const std::function<void(int, int)>& on_progress)
      : runner_(runner), tools_(tools), side_(side), options_(options), on_progress_(on_progress) {
    for (const Hook& hook : hooks) {
      Planned planned{hook, candidates(hook), {}};
      for (const CapturedCall& call : calls) {
        const bool reached =
            std::any_of(hook.shapes.begin(), hook.shapes.end(),
                        [&](const ShapePoint& shape) { return shape.call == call.id; });
        if (!reached) continue;
        planned.calls.push_back(call.id);
        calls_[call.id] = call.json;
      }
      total_ += static_cast<int>(planned.calls.size() * planned.candidates.size());
      if (!planned.calls.empty()) hooks_.push_back(std::move(planned));
    }
  }

  Result<SweepResult> go() {
    for (int restarts = 0; !hooks_.empty(); ++restarts) {
      if (auto ran = process(); !ran)
        return tl::unexpected(ran.error());
      else if (*ran)
        break;
      if (restarts == options_.max_restarts) {
        result_.notes.push_back(
            fmt::format("The sweep was ended after {} restarts; {} of {} points "
                        "were tried.",
                        restarts, result_.points.size(), total_));
        break;
      }
      if (options_.budget_s > 0 && result_.gpu_seconds >= options_.budget_s) break;
    }
    return std::move(result_);
  }

 private:
  struct Planned {
    Hook hook;
    std::vector<Settings> candidates;
    std::vector<std::string> calls;
  };

  // True: there is nothing left to do.
  Result<bool> process() {
    trying_.reset();
    const std::size_t before = result_.points.size();
    const auto begin = std::chrono::steady_clock::now();
    auto run =
        run_script(runner_, tools_, script_job(), [this](const Json& event) { take(event); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    result_.gpu_seconds += took.count();
    if (!run) return tl::unexpected(run.error());
    if (run->healthy()) {
      if (auto same = check_identities(run->events, {to_json(side_)}); !same) {
        return tl::unexpected(same.error());
      }
      return true;
    }
    if (run->fatal)
      return tl::unexpected(script_error(*run, "The settings sweep of " + side_.name));
    if (!trying_) {
      // It died before it tried anything: no point is to blame.
      return tl::unexpected(script_error(*run, "The settings sweep of " + side_.name));
    }
    survive(*run, before);
    return hooks_.empty();
  }

  // The last point tried killed the process or lost the GPU's context: it is left out from now on.
  void survive(const ScriptRun& run, std::size_t points_before) {
    const Key killer = *trying_;
    const bool lost =
        run.outcome.end == ProcessEnd::kExited && run.outcome.exit_code == kContextLost;
    const std::string how = lost ? "lost the GPU's context" : describe_end(run.outcome);
    const auto reported = [&](const SweepPoint& p) {
      return p.hook == killer.hook && p.call == killer.call && p.settings == killer.settings;
    };
    const bool told =
        std::any_of(result_.points.begin() + static_cast<std::ptrdiff_t>(points_before),
                    result_.points.end(), reported);
    if (!told && killer.settings.empty()) {
      // The original path itself fails there.
      result_.notes.push_back(
          fmt::format("{} at {}: the original's path {}; nothing is tuned there.", killer.hook,
                      killer.call, how));
      for (Planned& planned : hooks_) {
        if (planned.hook.function == killer.hook) std::erase(planned.calls, killer.call);
      }
      std::erase_if(hooks_, [](const Planned& planned) { return planned.calls.empty(); });
      return;
    }
    result_.notes.push_back(fmt::format("{} at {}: the settings {} {}; they are left out.",
                                        killer.hook, killer.call, Json(killer.settings).dump(),
                                        how));
    if (told) return;
    SweepPoint point{killer.hook, killer.call, killer.settings,     "runtime", 0, {}, 0,
                     0,           0,           "the process " + how};
    result_.points.push_back(std::move(point));
  }

  ScriptJob script_job() const {
    Json hooks = Json::array(), calls = Json::array(), skip = Json::array();
    std::set<std::string> wanted;
    for (const Planned& planned : hooks_) {
      Json list = Json::array();
      for (const Settings& settings : planned.candidates) {
        if (!settings.empty()) list.push_back(Json(settings));
      }
      hooks.push_back({{"function", planned.hook.function},
                       {"kernel", planned.hook.kernel},
                       {"pass", to_string(planned.hook.pass)},
                       {"calls", planned.calls},
                       {"candidates", list}});
      wanted.insert(planned.calls.begin(), planned.calls.end());
    }
    for (const auto& [id, call] : calls_) {
      if (wanted.count(id) > 0) calls.push_back(call);
    }
    for (const SweepPoint& point : result_.points) {
      skip.push_back(
          {{"hook", point.hook}, {"call", point.call}, {"settings", Json(point.settings)}});
    }
    ScriptJob job;
    job.script = "lwb_sweep.py";
    job.label = "settings sweep of " + side_.name;
    job.job = {{"side", to_json(side_)},
               {"calls", calls},
               {"hooks", hooks},
               {"samples", options_.samples},
               {"seed", options_.seed},
               {"budget_s", options_.budget_s > 0 ? options_.budget_s - result_.gpu_seconds : 0.0},
               {"skip", skip}};
    if (!options_.cache_file.empty()) job.job["cache_file"] = options_.cache_file.string();
    job.inputs = {side_.file};
    job.wall_limit = std::chrono::minutes(60);
    job.silence_limit = std::chrono::minutes(3);
    return job;
  }

  void take(const Json& event) {
    const std::string name = get_string(event, "event");
    if (name == "trying") {
      trying_ = key_of(event);
    } else if (name == "point") {
      result_.points.push_back(point_of(event));
      if (on_progress_) on_progress_(static_cast<int>(result_.points.size()), total_);
    } else if (name == "sweep_failed") {
      result_.notes.push_back(fmt::format("{} at {}: nothing was tried ({}): {}",
                                          get_string(event, "hook"),
                                          get_string(event, "call", "any call"),
                                          get_string(event, "kind"), get_string(event, "message")));
    } else if (name == "not_measured") {
      result_.notes.push_back(fmt::format("{} at {}: {} settings were not measured ({}).",
                                          get_string(event, "hook"), get_string(event, "call"),
                                          get_array(event, "settings").size(),
                                          get_string(event, "reason")));
    }
  }

  ProcessRunner& runner_;
  const PythonTools& tools_;
  const Side& side_;
  const SweepOptions& options_;
  const std::function<void(int, int)>& on_progress_;
  std::vector<Planned> hooks_;
  std::map<std::string, Json> calls_;
  int total_ = 0;
  std::optional<Key> trying_;
  SweepResult result_;
};

}  // namespace

Result<SweepResult> sweep(ProcessRunner& runner, const PythonTools& tools, const Side& side,
                          const std::vector<CapturedCall>& calls, const std::vector<Hook>& hooks,
                          const SweepOptions& options,
                          const std::function<void(int done, int total)>& on_progress) {
  return Sweeper(runner, tools, side, calls, hooks, options, on_progress).go();
}

}  // namespace lwb
