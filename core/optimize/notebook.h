// The lab notebook: `{kernel}_vN_notes.md`, written before the experiment and completed after it;
// and the comparison of all variants (spec section 5).
#pragma once

#include <string>
#include <vector>

#include "core/optimize/variant_record.h"
#include "core/run/workspace.h"

namespace lwb {

struct NoteContext {
  std::string diagnosis;    // the profile's bottleneck sentence
  std::string diff;         // unified diff against the original
  std::string recorded_on;  // GPU name when the numbers come from a recording
  const std::vector<VariantRecord>* prior = nullptr;
  bool done = false;
};

Result<void> write_notes(const Workspace& workspace, const VariantRecord& record,
                         const NoteContext& context);

struct ComparisonInput {
  std::string kernel;
  std::string gpu;
  std::string recorded_on;
  std::string goal, scope;
  std::string stop_reason;
  std::vector<VariantRecord> records;
  int winner = 0;  // 0: none
  std::string winner_reason;
  std::vector<CellVerdict> final_verdicts;  // the winner against v0, measured once more
  Gain final_score;
};

// comparison.md and comparison.json.
Result<void> write_comparison(const Workspace& workspace, const ComparisonInput& input);
Json comparison_json(const ComparisonInput& input);

// "1.63× [1.61, 1.65]"
std::string format_gain(const Gain& gain);
std::string format_gain(const RatioEstimate& ratio);
std::string format_settings(const Settings& settings);  // "num_warps 8, loop_stages 4"

}  // namespace lwb
