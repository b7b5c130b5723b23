// The end of stage 3: branch, patch and text of the pull request, and sending it after approval.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/device/gpu.h"
#include "core/finalize/pull_request.h"
#include "core/optimize/variant_record.h"
#include "core/pipeline/workbench.h"
#include "core/run/session.h"

namespace lwb {

struct PullRequestInputs {
  Workbench& bench;
  const KernelEntry& kernel;
  const Gpu& gpu;
  std::string recorded_on;  // ProcessRunner::recorded_on()
  const VariantRecord& winner;
  const std::vector<CellVerdict>& verdicts;
  std::vector<CommitFile> files;
  std::string test_command, test_sentence;
  bool style_passed = false;  // make checkstyle ran and had nothing to say
  std::function<void(const std::string&)> say;
};

// Writes pull_request.md and the patch into the workspace, makes the branch (`step`), asks whether
// it is to be sent, and journals "pull_request". What cannot be made is said, not an Error.
Result<void> pull_request_stage(Session& session, const PullRequestInputs& inputs,
                                const Step& step);

}  // namespace lwb
