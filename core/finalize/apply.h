// The one write of the kernel file (spec sections 6 and 9), and what the next start makes of a run
// that was killed around it.
#pragma once

#include <filesystem>
#include <string>

#include "core/run/journal.h"

namespace lwb {

struct ApplyJob {
  std::filesystem::path file;  // the kernel file in the user's tree
  std::string before, after;   // its text as the run found it, and the winner's
  std::string mode;            // "apply" or "revert", for the journal
};

// Checks that the file still holds `before`, journals "apply_begin" (durable), writes by temporary
// file, fsync and rename, and journals "apply_done". kGate when the file holds anything else;
// nothing was written then.
Result<void> apply_change(Journal& journal, const ApplyJob& job);

enum class ApplyState {
  kNever,      // the journal has no apply
  kUntouched,  // it was begun, the file still holds the text from before
  kApplied,    // the file holds the text that was to be written
  kForeign,    // the file holds neither: somebody else has changed it since
};

// What the file holds after the last apply that the journal knows, judged by hashes.
Result<ApplyState> state_of_apply(const Journal& journal, const std::filesystem::path& file);
// A sentence for the person who starts the run again; "" for kNever.
std::string describe(ApplyState state, const std::filesystem::path& file);

}  // namespace lwb
