// The one write of the kernel file (spec sections 6 and 9), and what the next start makes of a run
// that was killed around it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/run/journal.h"

namespace lwb {

struct ApplyJob {
  std::filesystem::path file;  // in the user's tree
  std::string before, after;   // its text as it is found, and the one to write
  std::filesystem::path kept;  // where `before` is kept for a revert, also one by a later start
};

// Checks that the file still holds `before`, keeps that in `kept`, journals "apply_begin"
// (durable), writes by temporary file, fsync and rename, and journals "apply_done". kGate when the
// file holds anything else; nothing was written then.
Result<void> apply_change(Journal& journal, const ApplyJob& job);
// The way back: the file must hold `after`, and gets `before`.
Result<void> revert_change(Journal& journal, const ApplyJob& job);

enum class ApplyState {
  kNever,      // the journal has no change of this file
  kUntouched,  // it was begun, the file still holds the text from before
  kApplied,    // the file holds the text that was to be written
  kReverted,   // that was taken back: the file holds the text from before
  kForeign,    // the file holds neither: somebody else has changed it since
};

// What the file holds after the last change of it that the journal knows, judged by hashes.
Result<ApplyState> state_of_apply(const std::vector<Event>& events,
                                  const std::filesystem::path& file);
inline Result<ApplyState> state_of_apply(const Journal& journal,
                                         const std::filesystem::path& file) {
  return state_of_apply(journal.events(), file);
}
// A sentence for the person who starts the run again; "" for kNever.
std::string describe(ApplyState state, const std::filesystem::path& file);

}  // namespace lwb
