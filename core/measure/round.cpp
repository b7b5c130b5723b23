#include "core/measure/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace lwb {

struct RoundRunner::Process {
  std::vector<SampleBatch> batches;
  std::vector<MemoryPeak> memory;
  std::vector<Measurement::CopyRate> copy_rates;
  std::vector<Measurement::Failure> failures;
  std::vector<std::string> not_measured;
  std::set<std::string> notes;
  std::set<long long> foreign_before, foreign_after;
  bool sides_cannot_share = false;  // fatal `import` with several sides
};

namespace {

// The spin and the flush make a sample of a 15 µs call cost about half a millisecond; compiling
// comes on top. Without a bound from the user a process is ended by the watchdog, not by its
// budget.
constexpr double kNoBudgetS = 3600;

std::vector<double> numbers(const Json& list) {
  std::vector<double> result;
  for (const Json& item : list) {
    if (item.is_number()) result.push_back(item.get<double>());
  }
  return result;
}

std::set<long long> pids(const Json& event) {
  std::set<long long> result;
  for (const Json& item : get_array(event, "processes")) {
    if (item.is_number_integer()) result.insert(item.get<long long>());
  }
  return result;
}

// Reasons that mean a lower clock than the chip would otherwise run at under load.
bool is_throttling(const std::string& reason) {
  return reason.find("slowdown") != std::string::npos ||
         reason.find("thermal") != std::string::npos || reason.find("brake") != std::string::npos ||
         reason == "sw_power_cap";
}

std::vector<Json> to_json_list(const std::vector<Side>& sides) {
  std::vector<Json> list;
  for (const Side& side : sides) list.push_back(to_json(side));
  return list;
}

// Whether the process said of the call all that it has to say: for each pass samples of every
// side, a failure, or that it was not measured.
bool is_complete(const std::vector<Json>& events, const std::string& call,
                 const std::vector<Pass>& passes, std::size_t sides) {
  for (const Pass pass : passes) {
    std::set<std::string> with_samples;
    bool told = false;
    for (const Json& event : events) {
      if (get_string(event, "call") != call) continue;
      const std::string name = get_string(event, "event");
      const std::string which = get_string(event, "pass");
      if (name == "samples" && which == to_string(pass)) {
        with_samples.insert(get_string(event, "side"));
      }
      if (name == "measure_failed" && which != "memory") told = true;
      if (name == "not_measured" && which == to_string(pass) &&
          get_string(event, "reason") != "context_lost") {
        told = true;
      }
    }
    if (!told && with_samples.size() < sides) return false;
  }
  return true;
}

}  // namespace

void RoundRunner::note(const std::string& text) {
  auto& notes = measurement_.notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void RoundRunner::take_gpu(const Json& event, int round, Process& all) {
  const bool at_end = get_string(event, "when") == "end";
  for (const long long pid : pids(event)) {
    (at_end ? all.foreign_after : all.foreign_before).insert(pid);
  }
  for (const Json& reason : get_array(event, "throttle_reasons")) {
    if (!reason.is_string() || !is_throttling(reason.get<std::string>())) continue;
    all.notes.insert(fmt::format("Round {}: the GPU was throttled ({}); its samples are kept.",
                                 round, replace_all(reason.get<std::string>(), "_", " ")));
  }
}

void RoundRunner::take(const Json& event, int round, Process& all) {
  const std::string name = get_string(event, "event");
  const std::string call = get_string(event, "call");
  if (name == "samples") {
    SampleBatch batch = sample_batch_from_json(event);
    batch.round = round;
    batch.interleaved = !one_process_a_side_;
    all.batches.push_back(std::move(batch));
  } else if (name == "memory") {
    all.memory.push_back({call, get_string(event, "side"), get_number(event, "peak_bytes")});
  } else if (name == "copy_rate") {
    auto us = numbers(get_array(event, "us"));
    // Timed on the CPU a copy says nothing of the GPU's memory.
    if (!us.empty() && get_string(event, "clock", "events") != "host") {
      all.copy_rates.push_back({get_number(event, "bytes"), std::move(us)});
    }
  } else if (name == "measure_failed") {
    all.failures.push_back({call, get_string(event, "pass"), get_string(event, "side"),
                            get_string(event, "kind"), get_string(event, "message")});
  } else if (name == "not_measured") {
    const std::string reason = get_string(event, "reason");
    if (reason == "budget") {
      all.not_measured.push_back(fmt::format("{} {}: budget", call, get_string(event, "pass")));
    }
  } else if (name == "gpu") {
    take_gpu(event, round, all);
  }
}

Result<ScriptRun> RoundRunner::start(int round, const std::vector<CapturedCall>& calls,
                                     const std::vector<Pass>& passes,
                                     const std::vector<Side>& sides) {
  const int shares = std::max(1, options_.rounds) + std::max(0, options_.extra_rounds);
  const double processes = one_process_a_side_ ? static_cast<double>(sides_.size()) : 1.0;
  const double budget = options_.budget_s > 0
                            ? std::max(1.0, std::round(options_.budget_s / shares / processes))
                            : kNoBudgetS;
  ScriptJob script;
  Json& job = script.job;
  job["sides"] = to_json_list(sides);
  job["calls"] = Json::array();
  for (const CapturedCall& call : calls) job["calls"].push_back(call.json);
  job["passes"] = Json::array();
  for (const Pass pass : passes) job["passes"].push_back(to_string(pass));
  job["samples"] = options_.samples;
  job["round"] = round;
  job["seed"] = options_.seed;
  job["budget_s"] = budget;
  job["memory"] = options_.memory && round == 0;  // a peak repeats exactly
  job["copy_sizes"] = copies_done_ ? std::vector<long long>() : options_.copy_sizes;
  script.script = "lwb_measure.py";
  std::vector<std::string> names;
  for (const Side& side : sides) {
    names.push_back(side.name);
    script.inputs.push_back(side.file);
  }
  script.label = fmt::format("measure {} round {}", join(names, ", "), round + 1);
  // Compiling and loading are not in the script's budget check within a call: a margin.
  script.wall_limit = std::chrono::seconds(static_cast<long long>(budget) + 300);
  auto run = run_script(runner_, tools_, script);
  if (!run) return run;
  copies_done_ = true;
  measurement_.gpu_seconds += std::chrono::duration<double>(run->outcome.wall).count();
  if (measurement_.recorded_on.empty()) measurement_.recorded_on = run->outcome.recorded_on;
  return run;
}

std::vector<CapturedCall> RoundRunner::after_death(const ScriptRun& run,
                                                   const std::vector<CapturedCall>& calls,
                                                   const std::vector<Pass>& passes, Process& all) {
  std::vector<CapturedCall> left;
  const std::size_t sides = one_process_a_side_ ? 1 : sides_.size();
  bool found_culprit = false;
  // A lost context is reported by the script itself, with the call that lost it as a failure.
  const bool told = run.fatal.has_value();
  for (const CapturedCall& call : calls) {
    if (is_complete(run.events, call.id, passes, sides)) continue;
    if (!found_culprit && !told) {
      found_culprit = true;
      all.failures.push_back({call.id, "", "", "crashed", script_error(run, "Measuring").sentence});
      failed_calls_.insert(call.id);
      continue;
    }
    left.push_back(call);
  }
  // Without progress the first call left is the one to blame.
  if (told && left.size() == calls.size() && !left.empty()) {
    all.failures.push_back(
        {left.front().id, "", "", run.fatal->kind, script_error(run, "Measuring").sentence});
    failed_calls_.insert(left.front().id);
    left.erase(left.begin());
  }
  return left;
}

Result<void> RoundRunner::process(int round, const std::vector<CapturedCall>& calls,
                                  const std::vector<Pass>& passes, const std::vector<Side>& sides,
                                  Process& all) {
  std::vector<CapturedCall> left = calls;
  while (!left.empty()) {
    auto run = start(round, left, passes, sides);
    if (!run) return tl::unexpected(run.error());
    const bool any_samples = std::any_of(run->events.begin(), run->events.end(), [](const Json& e) {
      return get_string(e, "event") == "samples";
    });
    std::vector<std::string> names;
    for (const Side& side : sides) names.push_back(side.name);
    const std::string what = "Measuring " + join(names, ", ");
    if (run->fatal && !any_samples) {
      const std::string& kind = run->fatal->kind;
      // Two copies may not go into one process (both register an operator under one name). Alone,
      // a side that is itself broken fails again, and that is the error.
      if (kind == "import" && sides.size() > 1) {
        all.sides_cannot_share = true;
        return {};
      }
      if (kind == "import" || kind == "no_gpu" || kind == "no_torch" || kind == "no_triton") {
        return tl::unexpected(script_error(*run, what, ErrorKind::kPreflight));
      }
      if (kind == "bad_job") return tl::unexpected(script_error(*run, what));
    }
    if (run->healthy() || any_samples) {
      auto same = check_identities(run->events, to_json_list(sides));
      if (!same) return same;
    }
    for (const Json& event : run->events) take(event, round, all);
    if (run->healthy()) return {};
    left = after_death(*run, left, passes, all);
  }
  return {};
}

Result<void> RoundRunner::attempt(int round, const std::vector<CapturedCall>& calls,
                                  const std::vector<Pass>& passes, Process& all) {
  if (!one_process_a_side_) {
    auto done = process(round, calls, passes, sides_, all);
    if (!done || !all.sides_cannot_share) return done;
    one_process_a_side_ = true;
    all = Process();
    note(
        "The sides cannot be imported into one process: each was measured in one of its own, "
        "alternating, which needs a larger difference to be told.");
  }
  // A B, B A, A B, …: what drifts with time does not always meet the same side.
  std::vector<Side> order = sides_;
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  for (const Side& side : order) {
    if (auto done = process(round, calls, passes, {side}, all); !done) return done;
  }
  return {};
}

void RoundRunner::keep(Process& all) {
  for (Measurement::Failure& failure : all.failures) {
    const bool known =
        std::any_of(measurement_.failures.begin(), measurement_.failures.end(), [&](const auto& f) {
          return f.call == failure.call && f.pass == failure.pass && f.side == failure.side;
        });
    // What failed once is left out of later rounds; a missing memory peak is no reason for that.
    if (failure.pass != "memory") failed_calls_.insert(failure.call);
    if (!known) measurement_.failures.push_back(std::move(failure));
  }
  for (std::string& text : all.not_measured) {
    auto& list = measurement_.not_measured;
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
  }
  for (const std::string& text : all.notes) note(text);
  auto& m = measurement_;
  m.memory.insert(m.memory.end(), all.memory.begin(), all.memory.end());
  m.copy_rates.insert(m.copy_rates.end(), all.copy_rates.begin(), all.copy_rates.end());
  for (SampleBatch& batch : all.batches) {
    if (on_batch_) on_batch_(batch);
    m.batches.push_back(std::move(batch));
  }
}

Result<void> RoundRunner::run(int round, const std::vector<CapturedCall>& calls,
                              const std::vector<Pass>& passes) {
  const auto newcomers = [](const Process& all) {
    std::vector<std::string> list;
    for (const long long pid : all.foreign_after) {
      if (all.foreign_before.count(pid) == 0) list.push_back(fmt::format("{}", pid));
    }
    return list;
  };
  const bool copies_before = copies_done_;
  Process all;
  if (auto done = attempt(round, calls, passes, all); !done) return done;
  if (const auto came = newcomers(all); !came.empty()) {
    note(fmt::format("Round {}: process {} came to the GPU meanwhile; the round was taken again.",
                     round, join(came, ", ")));
    copies_done_ = copies_before;
    all = Process();
    std::vector<CapturedCall> left;
    for (const CapturedCall& call : calls) {
      if (failed_calls_.count(call.id) == 0) left.push_back(call);
    }
    if (auto done = attempt(round, left, passes, all); !done) return done;
    if (!newcomers(all).empty()) {
      note(fmt::format("Round {}: another process came to the GPU again; the samples are kept.",
                       round));
    }
  }
  if (!all.foreign_before.empty()) {
    std::vector<std::string> list;
    for (const long long pid : all.foreign_before) list.push_back(fmt::format("{}", pid));
    all.notes.insert(fmt::format("Another process was on the GPU during the measurement (PID {}).",
                                 join(list, ", ")));
  }
  keep(all);
  return {};
}

}  // namespace lwb
