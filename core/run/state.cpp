#include "core/run/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "core/base/text.h"

namespace lwb {
namespace {

StageView& stage_of(RunState& state, const std::string& name) {
  for (StageView& stage : state.stages) {
    if (stage.name == name) return stage;
  }
  state.stages.push_back({name, StageState::kPending, 0, ""});
  return state.stages.back();
}

void start_run(RunState& state, const Json& data) {
  state = RunState{};
  state.kernel = get_string(data, "kernel");
  state.checkout = get_string(data, "checkout");
  state.recorded_on = get_string(data, "recorded_on");
  state.request = get_object(data, "request");
  for (const char* name : {"pre-flight", "profile", "optimize", "finalize"}) stage_of(state, name);
}

void start_step(RunState& state, const Json& data) {
  const std::string name = get_string(data, "stage");
  // A later command went on with a run that had ended at an earlier stage.
  state.finished = false;
  state.outcome.clear();
  state.sentence.clear();
  // A stage ends when a step of another one starts.
  for (StageView& stage : state.stages) {
    if (stage.state == StageState::kRunning && stage.name != name) stage.state = StageState::kDone;
  }
  StageView& stage = stage_of(state, name);
  stage.state = StageState::kRunning;
  stage.step = get_string(data, "step");
}

void end_step(RunState& state, const Json& data) {
  stage_of(state, get_string(data, "stage")).seconds += get_number(data, "seconds");
}

void request_approval(RunState& state, const Json& data) {
  PendingApproval approval{get_string(data, "id"), get_string(data, "question"),
                           get_string(data, "document"), {}};
  for (const Json& choice : get_array(data, "choices")) {
    approval.choices.push_back(choice.get<std::string>());
  }
  state.pending.push_back(std::move(approval));
}

void answer_approval(RunState& state, const Json& data) {
  const std::string id = get_string(data, "id");
  std::erase_if(state.pending, [&](const PendingApproval& a) { return a.id == id; });
  state.answers.push_back(data);
}

void finish_run(RunState& state, const Json& data) {
  state.finished = true;
  state.outcome = get_string(data, "outcome");
  state.sentence = get_string(data, "sentence");
  state.exit_code = static_cast<int>(get_integer(data, "exit_code"));
  state.summary = get_object(data, "summary");
  const StageState ended = state.exit_code == 0 ? StageState::kDone : StageState::kFailed;
  for (StageView& stage : state.stages) {
    if (stage.state == StageState::kRunning) stage.state = ended;
  }
}

using Handler = std::function<void(RunState&, const Json&)>;

const std::unordered_map<std::string, Handler>& handlers() {
  static const std::unordered_map<std::string, Handler> table{
      {"run_started", start_run},
      {"preflight",
       [](RunState& s, const Json& d) {
         s.preflight = d;
         s.gpu = get_object(d, "gpu");
       }},
      {"step_started", start_step},
      {"step_done", end_step},
      {"process",
       [](RunState& s, const Json& d) {
         s.processes.push_back(d);
         s.child_seconds += get_number(d, "seconds");
       }},
      {"samples", [](RunState& s, const Json&) { ++s.sample_batches; }},
      {"profile", [](RunState& s, const Json& d) { s.profile = d; }},
      {"variant",
       [](RunState& s, const Json& d) {
         s.variants[static_cast<int>(get_integer(d, "number"))] = d;
       }},
      {"approval_requested", request_approval},
      {"approval_answered", answer_approval},
      {"winner", [](RunState& s, const Json& d) { s.winner = d; }},
      {"apply_begin", [](RunState& s, const Json& d) { s.apply = d; }},
      {"apply_done", [](RunState& s, const Json&) { s.apply["done"] = true; }},
      {"gate", [](RunState& s, const Json& d) { s.gates.push_back(d); }},
      {"pull_request", [](RunState& s, const Json& d) { s.pull_request = d; }},
      {"error", [](RunState& s, const Json& d) { s.errors.push_back(d); }},
      {"run_finished", finish_run},
  };
  return table;
}

const char* name_of(StageState state) {
  switch (state) {
    case StageState::kPending: return "pending";
    case StageState::kRunning: return "running";
    case StageState::kDone: return "done";
    case StageState::kFailed: return "failed";
  }
  return "pending";
}

}  // namespace

void RunState::apply_event(const Event& event) {
  // Events of a newer program are facts we do not know: they are passed over, never an error.
  const auto handler = handlers().find(event.type);
  if (handler != handlers().end()) handler->second(*this, event.data);
  if (started.empty() || event.type == "run_started") started = event.time;
  updated = event.time;
}

RunState fold(const std::vector<Event>& events) {
  RunState state;
  for (const Event& event : events) state.apply_event(event);
  return state;
}

std::string describe(const RunState& state) {
  std::string text = fmt::format("{} in {}\n", state.kernel, state.checkout);
  if (!state.recorded_on.empty()) text += fmt::format("recorded on {}\n", state.recorded_on);
  text += fmt::format("started {}, last event {}\n", state.started, state.updated);
  for (const StageView& stage : state.stages) {
    text += fmt::format("  {:<11} {:<8} {:>9}  {}\n", stage.name, name_of(stage.state),
                        stage.seconds > 0 ? format_duration(stage.seconds) : "", stage.step);
  }
  for (const auto& [number, record] : state.variants) {
    const Json& score = get_object(record, "score");
    text += fmt::format("  v{:<3} {:<10} {:>7}  {}\n", number, get_string(record, "decision"),
                        get_bool(record, "measured") ? format_ratio(get_number(score, "ratio", 1))
                                                     : "-",
                        get_string(record, "title"));
  }
  for (const PendingApproval& approval : state.pending) {
    text += fmt::format("waits for an approval: {} ({})\n", approval.question,
                        join(approval.choices, " / "));
  }
  for (const Json& error : state.errors) text += "error: " + get_string(error, "sentence") + "\n";
  text += state.finished ? fmt::format("{}: {}\n", state.outcome, state.sentence)
                         : "not finished; `lwb run` with the same request goes on where it stood\n";
  return text;
}

Json to_json(const RunState& state) {
  Json stages = Json::array(), variants = Json::array(), pending = Json::array();
  for (const StageView& stage : state.stages) {
    stages.push_back({{"name", stage.name},
                      {"state", name_of(stage.state)},
                      {"seconds", stage.seconds},
                      {"step", stage.step}});
  }
  for (const auto& [number, record] : state.variants) variants.push_back(record);
  for (const PendingApproval& a : state.pending) {
    pending.push_back({{"id", a.id}, {"question", a.question}, {"choices", a.choices}});
  }
  return {{"kernel", state.kernel},       {"checkout", state.checkout},
          {"recorded_on", state.recorded_on},
          {"request", state.request},     {"gpu", state.gpu},
          {"preflight", state.preflight}, {"profile", state.profile},
          {"stages", stages},             {"variants", variants},
          {"winner", state.winner},       {"pending_approvals", pending},
          {"answers", state.answers},     {"gates", state.gates},
          {"pull_request", state.pull_request},
          {"errors", state.errors},       {"finished", state.finished},
          {"outcome", state.outcome},     {"sentence", state.sentence},
          {"exit_code", state.exit_code}, {"summary", state.summary},
          {"started", state.started},     {"updated", state.updated}};
}

}  // namespace lwb
