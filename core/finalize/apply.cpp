#include "core/finalize/apply.h"

#include <fmt/format.h>

#include "core/base/files.h"
#include "core/base/json.h"

namespace lwb {
namespace {

constexpr const char* kRevertMode = "revert";

Result<void> write_change(Journal& journal, const fs::path& file, const std::string& from,
                          const std::string& to, const char* mode) {
  auto present = read_file(file);
  if (!present) return tl::unexpected(present.error());
  if (*present != from) {
    return fail(
        ErrorKind::kGate,
        fmt::format("{} was changed by somebody else since the run began; it was left as it "
                    "is. Start the run again to optimize what it holds now.",
                    file.string()));
  }
  const std::string after = sha256_hex(to);
  if (auto begun = journal.append("apply_begin",
                                  {{"file", file.string()},
                                   {"before_sha256", sha256_hex(from)},
                                   {"after_sha256", after},
                                   {"mode", mode}},
                                  true);
      !begun) {
    return begun;
  }
  if (auto written = write_file_atomically(file, to); !written) return written;
  return journal.append("apply_done", {{"file", file.string()}, {"sha256", after}}, true);
}

}  // namespace

Result<void> apply_change(Journal& journal, const ApplyJob& job) {
  if (auto kept = write_file_atomically(job.kept, job.before); !kept) return kept;
  return write_change(journal, job.file, job.before, job.after, "apply");
}

Result<void> revert_change(Journal& journal, const ApplyJob& job) {
  return write_change(journal, job.file, job.after, job.before, kRevertMode);
}

Result<ApplyState> state_of_apply(const std::vector<Event>& events, const fs::path& file) {
  const Event* begun = nullptr;
  for (const Event& event : events) {
    if (event.type == "apply_begin" && get_string(event.data, "file") == file.string()) {
      begun = &event;
    }
  }
  if (!begun) return ApplyState::kNever;
  auto present = sha256_of_file(file);
  if (!present) return tl::unexpected(present.error());
  const bool revert = get_string(begun->data, "mode") == kRevertMode;
  if (*present == get_string(begun->data, "after_sha256")) {
    return revert ? ApplyState::kReverted : ApplyState::kApplied;
  }
  if (*present == get_string(begun->data, "before_sha256")) {
    return revert ? ApplyState::kApplied : ApplyState::kUntouched;
  }
  return ApplyState::kForeign;
}

std::string describe(ApplyState state, const fs::path& file) {
  switch (state) {
    case ApplyState::kNever:
      return {};
    case ApplyState::kUntouched:
      return fmt::format("{} holds its original text; the winner had not been written.",
                         file.string());
    case ApplyState::kApplied:
      return fmt::format("{} holds the approved winner.", file.string());
    case ApplyState::kReverted:
      return fmt::format("{} holds its original text again; the winner was taken back.",
                         file.string());
    case ApplyState::kForeign:
      return fmt::format("{} holds neither the original nor the winner: it was changed since.",
                         file.string());
  }
  return {};
}

}  // namespace lwb
