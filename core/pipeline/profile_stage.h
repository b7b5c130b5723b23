// Stage 1 (spec section 4): cells, launches, stock baseline, op-time baseline, roofline, source
// analysis, strategy order, profile.md. Each costly part is a step that resumes.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/analysis.h"
#include "core/measure/capture.h"
#include "core/measure/stock.h"
#include "core/optimize/loop.h"
#include "core/pipeline/cells.h"
#include "core/pipeline/workbench.h"
#include "core/profile/launch_trace.h"
#include "core/profile/roofline.h"
#include "core/run/session.h"

namespace lwb {

struct ProfileResult {
  CaptureResult cells;
  std::vector<CapturedCall> calls;  // those that can be replayed
  ScopedCalls scope;
  LaunchTrace trace;
  Measurement baseline;
  StockTable stock;
  Roofline roof;
  SourceAnalysis analysis;
  std::vector<StrategyItem> order;
  std::vector<std::string> not_applicable;  // technique: reason
  std::string document;                     // profile.md
};

struct ProfileInputs {
  Workbench& bench;
  Sandbox& sandbox;
  const Request& request;
  const KernelEntry& kernel;
  const SourceModel& model;
  const Gpu& gpu;
  Side original;
  std::string environment_key;
  Cells cells;
};

Result<ProfileResult> profile_stage(Session& session, const ProfileInputs& inputs);

}  // namespace lwb
