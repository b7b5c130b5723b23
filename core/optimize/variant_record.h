// One variant of a run, from its hypothesis to its verdict: a row of the comparison.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/measure/op_time.h"
#include "core/variants/settings.h"

namespace lwb {

enum class Decision {
  kAccepted,   // measured, no guardrail tripped, no cell in scope slower
  kRejected,   // a guardrail tripped, or nothing was gained
  kMixed,      // gains, but a cell in scope is slower: its settings must keep the original's path there
  kDiscarded,  // failed the smoke test, did not build or crashed: never judged
};
std::string to_string(Decision);
Decision parse_decision(const std::string&);

// Old over new with an interval: 1.63 [1.61, 1.65].
struct Gain {
  double ratio = 1, low = 1, high = 1;
};
Json to_json(const Gain&);
Gain gain_from_json(const Json&);

struct VariantRecord {
  int number = 0;
  std::string author = "catalog";  // "catalog", "engineer", "agent"
  std::string based_on = "v0";
  std::vector<std::string> techniques;
  std::string title;               // one line: what it changes
  std::string sha256;
  int changed_lines = 0;  // added or replaced, against the original

  std::string hypothesis;          // before the experiment
  double expected_gain = 1;
  std::vector<std::string> changes;

  std::vector<SettingsTable> tables;
  int sweep_points = 0, sweep_dropped = 0;

  std::vector<CellVerdict> verdicts;
  std::vector<MemoryPeak> memory;  // of v0 and of this variant
  Gain score;                      // in the goal's quantity over the cells in scope
  Gain forward, backward;          // geometric means over the cells in scope
  Gain memory_gain;
  bool measured = false;

  Decision decision = Decision::kDiscarded;
  std::string reason;
  std::vector<std::string> guardrails;  // one sentence per guardrail that was looked at
  std::vector<std::string> learnings;

  std::string name() const { return "v" + std::to_string(number); }
};

Json to_json(const VariantRecord&);
Result<VariantRecord> variant_record_from_json(const Json&);

}  // namespace lwb
