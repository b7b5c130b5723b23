// Stage 3 (spec section 6): the winner in a sandbox through style and tests, repairs, plots, the
// one write of the kernel file after approval, report, branch and pull request text.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/finalize/apply.h"
#include "core/finalize/test_gate.h"
#include "core/optimize/loop.h"
#include "core/pipeline/profile_stage.h"
#include "core/pipeline/workbench.h"

namespace lwb {

struct FinalizeInputs {
  Workbench& bench;
  Sandbox& sandbox;
  const Request& request;
  const KernelEntry& kernel;
  const Gpu& gpu;
  const std::string& original_text;
  std::string environment_key;
  const ProfileResult& profile;
  const OptimizeResult& optimized;
  int chosen = 0;  // the approved variant
  bool interactive = false;
  std::function<void(const std::string&)> say;
  // The winner without its last technique, measured like any other; nothing when it has only one or
  // does not hold.
  std::function<Result<std::optional<VariantRecord>>(const VariantRecord& failed)> repair;
};

struct FinalizeResult {
  std::string outcome;  // APPLIED, NOT_APPLIED, REVERTED
  std::string sentence;
  int exit_code = 0;
  Json summary = Json::object();  // what the before/after summary shows, last
};

Result<FinalizeResult> finalize_stage(Session& session, const FinalizeInputs& inputs);

}  // namespace lwb
