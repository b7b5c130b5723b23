// report.md and report.html (spec section 6): the whole run for people.
#pragma once

#include <string>
#include <vector>

#include "core/finalize/plots.h"
#include "core/finalize/style_gate.h"
#include "core/finalize/test_gate.h"
#include "core/optimize/loop.h"
#include "core/pipeline/profile_stage.h"

namespace lwb {

struct ReportInputs {
  std::string kernel, gpu, recorded_on;
  std::string outcome, sentence;
  bool applied = false;
  const ProfileResult& profile;
  const OptimizeResult& optimized;
  const VariantRecord* winner = nullptr;  // what was applied or would have been
  std::vector<CellVerdict> verdicts;      // of the winner, measured once more
  std::string diff;                       // original against what is written
  std::string test_sentence, test_command, style_sentence;
  PlotResult plots;
  std::vector<std::string> reproduction;  // commands
};

// Writes report.md and report.html (self-contained) and the op-time charts into the workspace.
// Returns the Markdown.
Result<std::string> write_report(const Workspace& workspace, const ReportInputs& inputs);

// Before and after of one pass over the measured calls: "60.1 → 37.5 µs at T=8192 …, 1.6×"; the
// call that takes longest.
std::string pass_summary(const std::vector<CellVerdict>& verdicts, Pass pass);
std::string memory_summary(const VariantRecord& record);

}  // namespace lwb
