// RunState: a pure fold over the journal's events (design rule 1). The window, `lwb show`, resume and
// reports read this and nothing else.
//
// Event types and the members of their data:
//   run_started        schema, program, kernel, checkout, request, recorded_on, techniques
//   preflight          checks:[{id,title,state,sentence,fix,…}], gpu
//   step_started       stage, step, key          step_done: + seconds, result
//   process            label, argv, end, seconds, tail   one child that ended
//   samples            measurement, batch        one cell, pass, side and round
//   profile            the whole profile
//   variant            one VariantRecord; a later one of the same number replaces it
//   variant_offered    number, id, text, title, based_on, author     a person's, taken as that number
//   approval_requested id, question, document, choices     approval_answered: id, choice, comment, by
//   winner             variant, reason, score
//   apply_begin        file, before_sha256, after_sha256, mode     (durable, before the one write)
//   apply_done         file, sha256                                (durable, after it)
//   gate               name, state ("passed", "failed", "not checked"), passed, sentence, details
//   pull_request       branch, commit, patch, text, url, state
//   error              sentence, details
//   run_finished       outcome, exit_code, sentence, summary
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/run/journal.h"

namespace lwb {

enum class StageState { kPending, kRunning, kDone, kFailed };

struct StageView {
  std::string name;
  StageState state = StageState::kPending;
  double seconds = 0;
  std::string step;  // the current or last step
};

struct PendingApproval {
  std::string id, question, document;
  std::vector<std::string> choices;
};

struct RunState {
  std::string kernel, checkout, recorded_on;
  Json request = Json::object();
  Json preflight = Json::object();
  Json gpu = Json::object();
  Json profile = Json::object();
  std::map<int, Json> variants;
  Json winner = Json::object();
  std::vector<StageView> stages;
  std::vector<PendingApproval> pending;
  std::vector<Json> answers;
  std::vector<Json> gates;
  std::vector<Json> errors;
  std::vector<Json> processes;
  Json pull_request = Json::object();
  Json apply = Json::object();  // apply_begin, with "done": true after apply_done
  long long sample_batches = 0;
  double child_seconds = 0;
  std::string started, updated;  // times of the first and the last event
  bool finished = false;
  std::string outcome, sentence;
  int exit_code = 0;
  Json summary = Json::object();

  void apply_event(const Event& event);
};

RunState fold(const std::vector<Event>& events);
// What `lwb show` prints.
std::string describe(const RunState& state);
Json to_json(const RunState& state);

}  // namespace lwb
