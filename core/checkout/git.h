// Git, as far as the workspace needs it. checkout, stash and reset are never used on the user's tree.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/process/process.h"

namespace lwb {

// Keeps the workspace out of git status by one line in the repository's own exclude file; does nothing
// when the line is there or the checkout is no repository.
Result<void> exclude_workspace(ProcessRunner& runner, const Environment& environment,
                               const std::filesystem::path& checkout);

}  // namespace lwb
