#include "core/variants/edits.h"

#include <fmt/format.h>

#include <algorithm>

namespace lwb {

Result<std::string> apply_edits(const std::string& original, std::vector<Edit> edits) {
  // At one place insertions come before the replacement that starts there.
  std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.begin == a.end && b.begin != b.end;
  });
  std::string text;
  std::size_t copied = 0;      // of the original, up to here
  const Edit* last = nullptr;  // the last replacement
  for (const Edit& edit : edits) {
    if (edit.begin > edit.end || edit.end > original.size()) {
      return fail(ErrorKind::kInternal,
                  fmt::format("{} wants to edit bytes {} to {} of a text of {} bytes.",
                              edit.technique, edit.begin, edit.end, original.size()));
    }
    if (edit.begin < copied) {
      const auto line =
          1 + std::count(original.begin(),
                         original.begin() + static_cast<std::ptrdiff_t>(edit.begin), '\n');
      return fail(ErrorKind::kInternal, fmt::format("{} and {} both want to change line {}.",
                                                    last->technique, edit.technique, line));
    }
    text.append(original, copied, edit.begin - copied);
    text += edit.text;
    copied = edit.end;
    if (edit.begin != edit.end) last = &edit;
  }
  return text.append(original, copied);
}

}  // namespace lwb
