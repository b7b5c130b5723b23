#include "core/finalize/apply.h"

#include <fmt/format.h>

#include "core/base/files.h"
#include "core/base/json.h"

namespace lwb {

Result<void> apply_change(Journal& journal, const ApplyJob& job) {
  auto present = read_file(job.file);
  if (!present) return tl::unexpected(present.error());
  if (*present != job.before) {
    return fail(
        ErrorKind::kGate,
        fmt::format("{} was changed by somebody else since the run began; it was left as it "
                    "is. Start the run again to optimize what it holds now.",
                    job.file.string()));
  }
  const std::string after = sha256_hex(job.after);
  if (auto begun = journal.append("apply_begin",
                                  {{"file", job.file.string()},
                                   {"before_sha256", sha256_hex(job.before)},
                                   {"after_sha256", after},
                                   {"mode", job.mode}},
                                  true);
      !begun) {
    return begun;
  }
  if (auto written = write_file_atomically(job.file, job.after); !written) return written;
  return journal.append("apply_done", {{"file", job.file.string()}, {"sha256", after}}, true);
}

Result<ApplyState> state_of_apply(const Journal& journal, const fs::path& file) {
  const Event* begun = nullptr;
  for (const Event& event : journal.events()) {
    if (event.type == "apply_begin") begun = &event;
  }
  if (!begun) return ApplyState::kNever;
  auto present = sha256_of_file(file);
  if (!present) return tl::unexpected(present.error());
  if (*present == get_string(begun->data, "after_sha256")) return ApplyState::kApplied;
  if (*present == get_string(begun->data, "before_sha256")) return ApplyState::kUntouched;
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
    case ApplyState::kForeign:
      return fmt::format("{} holds neither the original nor the winner: it was changed since.",
                         file.string());
  }
  return {};
}

}  // namespace lwb
