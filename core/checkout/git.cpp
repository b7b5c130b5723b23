#include "core/checkout/git.h"

#include <algorithm>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {

Result<void> exclude_workspace(ProcessRunner& runner, const Environment& environment,
                               const fs::path& checkout) {
  constexpr const char* kLine = "/optimization/";
  ProcessSpec spec;
  spec.label = "git exclude file";
  // Asked of git: in a worktree the file is not below .git.
  spec.argv = {"git", "-C", checkout.string(), "rev-parse", "--git-path", "info/exclude"};
  spec.env = environment;
  auto found = runner.run(spec);
  if (!found) return tl::unexpected(found.error());
  if (!found->ok()) return {};
  // The repository must be the checkout's own, not one that it happens to lie in: the pattern is
  // anchored at the repository's root.
  if (!fs::exists(checkout / ".git")) return {};
  fs::path file = trim(found->out);
  if (file.is_relative()) file = checkout / file;
  std::string text;
  if (auto before = read_file(file)) text = *before;
  const auto lines = split_lines(text);
  if (std::find(lines.begin(), lines.end(), kLine) != lines.end()) return {};
  if (!text.empty() && text.back() != '\n') text += '\n';
  return write_file_atomically(file, text + kLine + "\n");
}

}  // namespace lwb
