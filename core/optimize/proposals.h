// What to try next: a pure function of what was tried.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/optimize/guardrails.h"
#include "core/optimize/loop.h"

namespace lwb {

struct Proposal {
  std::vector<std::string> techniques;  // empty: the settings sweep (v1)
  int based_on = 0;
  // A MIXED variant once more, with the original's path kept at these calls.
  int gates = 0;
  std::set<std::string> keep_original;
};

// v1 is the sweep. Then all techniques that remain, tuned together (they interact: a deeper
// pipeline wants another grid; and each has a knob that can leave it out); if that gained nothing,
// one by one on top of the best, in the order of their expected gain. A MIXED variant is first
// gated. Nothing when all was tried. A set of techniques is never proposed twice.
std::optional<Proposal> next_proposal(const std::vector<VariantRecord>& records,
                                      const std::vector<StrategyItem>& order,
                                      const GuardrailLimits& limits = {});

// Those that the catalog made, in order: what a person offered neither steers the search nor uses
// up its budget.
std::vector<VariantRecord> of_catalog(const std::vector<VariantRecord>& records);

// The accepted record with the best score, or nullptr.
const VariantRecord* best_record(const std::vector<VariantRecord>& records);

// The strategy order as a person wants it: the items of the techniques in `wanted`, in that order;
// the others are struck, and names that are not in `order` mean nothing.
std::vector<StrategyItem> ordered(const std::vector<StrategyItem>& order,
                                  const std::vector<std::string>& wanted);

}  // namespace lwb
