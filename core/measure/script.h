// Running one of our scripts (resources/python): a job in, events out, and how it ended.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/kernel/parse.h"
#include "core/process/process.h"

namespace lwb {

struct ScriptJob {
  std::string script;  // "lwb_measure.py"
  std::string label;   // for the console
  Json job;
  std::vector<std::filesystem::path> inputs;  // files that decide the result
  std::chrono::milliseconds wall_limit{std::chrono::minutes(10)};
  std::chrono::milliseconds silence_limit{std::chrono::minutes(5)};
};

// A `fatal` event.
struct ScriptFatal {
  std::string kind, message, traceback;
};

struct ScriptRun {
  ProcessOutcome outcome;
  std::vector<Json> events;
  std::optional<ScriptFatal> fatal;
  bool done = false;  // the last event was `done`
  int unreadable_lines = 0;

  bool healthy() const { return done && !fatal && outcome.ok(); }
};

// `on_event` gets each event as it comes. An Error when the seam cannot answer, when the program
// cannot be started (kPreflight) or when the run was cancelled (kStopped); whatever the script
// itself does is in the result.
Result<ScriptRun> run_script(ProcessRunner& runner, const PythonTools& tools, const ScriptJob& job,
                             const std::function<void(const Json&)>& on_event = {});

// The Error for a run that is not healthy; `what` begins the sentence: "Measuring v1".
Error script_error(const ScriptRun& run, const std::string& what,
                   ErrorKind kind = ErrorKind::kInternal);

// For each `identity` event: that the file imported is the one named by the side, and that every
// side of `names` has one. kInternal with both paths and hashes otherwise.
Result<void> check_identities(const std::vector<Json>& events, const std::vector<Json>& sides);

}  // namespace lwb
