// What an earlier start left behind, looked at without changing anything.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/request/request.h"
#include "core/run/journal.h"
#include "core/run/workspace.h"

namespace lwb {

// How far a command goes.
enum class LastStage {
  kProfile,
  kOptimize,
  kFinalize,
  kFinalizeWinner,  // goes on with a run that has a winner, by that run's own request; kUsage
                    // without
};

struct EarlierRun {
  bool is_there = false;      // a journal stands in the workspace
  bool goes_on = false;       // it is of this request and is gone on with
  std::vector<Event> events;  // of a run that is gone on with
  // What the run starts from: the kernel file as the user has it or, where a start before this one
  // was ended after it had written the winner, the text from before that.
  std::string original_text;
  bool holds_winner = false;  // `original_text` is not what the kernel file holds now
};

// `say` is told what the kernel file holds after a write that the journal knows. For
// kFinalizeWinner, a run that cannot be gone on with is a kUsage error that says why.
Result<EarlierRun> look_at_earlier_run(const Workspace& workspace,
                                       const std::filesystem::path& kernel_file,
                                       const Request& request, LastStage last,
                                       const std::function<void(const std::string&)>& say);

// For kFinalizeWinner: the request of the run that has a winner, with what `now` says about how to
// go on. kUsage when there is no such run.
Result<Request> request_of_winner(const Workspace& workspace, const Request& now,
                                  const std::filesystem::path& checkout);

}  // namespace lwb
