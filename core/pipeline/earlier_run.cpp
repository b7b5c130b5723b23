#include "core/pipeline/earlier_run.h"

#include <fmt/format.h>

#include "core/base/files.h"
#include "core/finalize/apply.h"
#include "core/run/state.h"

namespace lwb {
namespace {

// Whether this command goes on where a run with this outcome ended ("": it did not end).
bool goes_on_after(const std::string& outcome, LastStage last) {
  if (outcome.empty()) return true;
  if (last == LastStage::kOptimize) return outcome == "PROFILED";
  if (last == LastStage::kProfile) return false;
  return outcome == "PROFILED" || outcome == "WINNER";
}

std::string snapshot_of(const std::vector<Event>& events) {
  std::string sha256;
  for (const Event& event : events) {
    if (event.type == "run_started") sha256 = get_string(event.data, "original_sha256");
  }
  return sha256;
}

// Where a start of an unfinished run was ended after it had written the winner, the text from
// before is what the run goes on with.
Result<void> take_text_from_before(EarlierRun& run, const std::vector<Event>& events,
                                   const Workspace& workspace, const fs::path& kernel_file,
                                   const std::function<void(const std::string&)>& say) {
  auto state = state_of_apply(events, kernel_file);
  if (!state) return tl::unexpected(state.error());
  if (*state != ApplyState::kNever) say(describe(*state, kernel_file));
  if (*state != ApplyState::kApplied && *state != ApplyState::kReverted) return {};
  auto before = read_file(workspace.original());
  if (!before) return tl::unexpected(before.error());
  run.original_text = std::move(*before);
  run.holds_winner = true;
  return {};
}

tl::unexpected<Error> cannot_finalize(const Workspace& workspace, const RunState& state,
                                      const fs::path& kernel_file) {
  const std::string why =
      state.finished && !goes_on_after(state.outcome, LastStage::kFinalizeWinner)
          ? fmt::format("it ended {} already", state.outcome)
          : fmt::format("{} is no longer the file that its winner was made from",
                        kernel_file.string());
  return fail(ErrorKind::kUsage,
              fmt::format("The run of {} in {} cannot be finalized: {}; lwb run begins a new one.",
                          workspace.kernel, workspace.root.string(), why));
}

}  // namespace

Result<EarlierRun> look_at_earlier_run(const Workspace& workspace, const fs::path& kernel_file,
                                       const Request& request, LastStage last,
                                       const std::function<void(const std::string&)>& say) {
  EarlierRun run;
  auto present = read_file(kernel_file);
  if (!present) return tl::unexpected(present.error());
  run.original_text = *present;
  run.is_there = fs::exists(workspace.journal());
  if (!run.is_there) return run;
  auto events = read_journal(workspace.journal());
  if (!events) {
    // It is kept aside: what it holds cannot be gone on with.
    say("warning: " + events.error().sentence);
    return run;
  }
  const RunState state = fold(*events);
  if (!state.finished) {
    if (auto taken = take_text_from_before(run, *events, workspace, kernel_file, say); !taken) {
      return tl::unexpected(taken.error());
    }
  }
  run.goes_on = goes_on_after(state.finished ? state.outcome : "", last) &&
                what_is_measured(state.request) == what_is_measured(to_json(request)) &&
                snapshot_of(*events) == sha256_hex(run.original_text);
  if (run.goes_on) {
    run.events = std::move(*events);
    return run;
  }
  if (last == LastStage::kFinalizeWinner) return cannot_finalize(workspace, state, kernel_file);
  // Another request: it begins with what the file holds now.
  run.original_text = std::move(*present);
  run.holds_winner = false;
  return run;
}

Result<Request> request_of_winner(const Workspace& workspace, const Request& now,
                                  const fs::path& checkout) {
  const bool there = fs::exists(workspace.journal());
  auto events = there ? read_journal(workspace.journal()) : std::vector<Event>{};
  if (!events) return tl::unexpected(events.error());
  const RunState state = fold(*events);
  if (get_string(state.winner, "variant").empty()) {
    return fail(ErrorKind::kUsage,
                fmt::format("There is no winner of {} in {} to finalize; lwb optimize looks for "
                            "one.",
                            now.kernel, checkout.string()));
  }
  auto earlier = request_from_json(state.request);
  if (!earlier) return tl::unexpected(earlier.error());
  // How to go on is said now; what was measured stays as it was asked for then.
  earlier->autonomy = now.autonomy;
  earlier->pull_request = now.pull_request;
  earlier->accept_known_failures = now.accept_known_failures;
  earlier->update_benchmark_csv = now.update_benchmark_csv;
  earlier->import_from_source = now.import_from_source || earlier->import_from_source;
  return earlier;
}

}  // namespace lwb
