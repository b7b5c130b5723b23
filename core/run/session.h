// What every stage of one run shares: the seam, the journal, the workspace, approvals, progress; and
// steps, which make a run resumable.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/process/process.h"
#include "core/run/approvals.h"
#include "core/run/journal.h"
#include "core/run/workspace.h"

namespace lwb {

// Where a run is, for a person. Remaining time is 0 when it cannot be told.
struct Progress {
  std::string stage;  // "pre-flight", "profile", "optimize", "finalize"
  std::string step;   // "measuring v2 against v0"
  int done = 0, total = 0;
};

struct Session {
  ProcessRunner& runner;
  Journal& journal;
  Workspace workspace;
  const CancelToken& cancel;
  std::vector<ApprovalSource*> approvals;
  std::function<void(const Progress&)> progress;

  void report(Progress now) const {
    if (progress) progress(now);
  }
};

// One step of a stage. `key` is a digest of everything that decides its result: a step that the
// journal holds with the same key is not run again (resume), its recorded result is taken.
struct Step {
  std::string stage;
  std::string name;  // unique in the run: "measure v2"
  std::string key;
};

std::string step_key(const std::vector<std::string>& parts);

// The recorded result of a finished step, or nullptr.
const Json* finished_step(const std::vector<Event>& events, const Step& step);
inline const Json* finished_step(const Journal& journal, const Step& step) {
  return finished_step(journal.events(), step);
}

Result<void> begin_step(Session& session, const Step& step);
Result<void> end_step(Session& session, const Step& step, std::chrono::milliseconds wall,
                      Json result);

// Runs `work` (→ Result<T>) unless the journal holds its result. `encode`: T → Json; `decode`:
// Json → Result<T>.
template <class Work, class Encode, class Decode>
auto run_step(Session& session, const Step& step, Work work, Encode encode, Decode decode)
    -> decltype(work()) {
  if (const Json* recorded = finished_step(session.journal, step)) return decode(*recorded);
  session.report({step.stage, step.name, 0, 0});
  if (auto begun = begin_step(session, step); !begun) return tl::unexpected(begun.error());
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  if (!result) return result;
  const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  if (auto ended = end_step(session, step, wall, encode(*result)); !ended) {
    return tl::unexpected(ended.error());
  }
  return result;
}

}  // namespace lwb
