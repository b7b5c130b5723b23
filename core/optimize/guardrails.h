// Guardrails and the decision about a measured variant (spec section 5): pure functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/measure/op_time.h"
#include "core/optimize/variant_record.h"
#include "core/request/request.h"

namespace lwb {

struct GuardrailLimits {
  double non_target = 0.05;             // seed: "Non-target metric regression > 5 % worse"
  double cross_pass = 0.10;             // seed: "> 10 % on one pass"
  double slower_cell = 0.01;            // spec section 5: MIXED
  double memory_floor_bytes = 4 << 20;  // spec section 5: an absolute change below it does not trip
  double stop_improvement = 0.01;       // seed: "2 consecutive variants with < 1 % improvement"
};

// The cells in scope: ids of calls. Empty: every cell.
using ScopedCalls = std::set<std::string>;

// Geometric mean of old/new over the cells in scope for one pass; with no pass: the sum of forward
// and backward (full where that is what was measured). Cells without a judged measurement are left
// out. {1,1,1} when nothing is left.
Gain time_gain(const std::vector<CellVerdict>& verdicts, const ScopedCalls& scope,
               std::optional<Pass> pass);
Gain memory_gain(const std::vector<MemoryPeak>& peaks, const std::string& variant,
                 const ScopedCalls& scope);

// Fills score, gains, guardrails, decision and reason of a measured record.
void decide(VariantRecord& record, const Request& request, const ScopedCalls& scope,
            const GuardrailLimits& limits = {});

// Which of the stop rules holds, in words; empty: go on. `records` in order of their numbers.
std::string stop_reason(const std::vector<VariantRecord>& records, const Request& request,
                        const ScopedCalls& scope, const GuardrailLimits& limits = {});

// Whether the target metric is met by `record` in the cells that it names.
bool target_met(const TargetMetric& target, const VariantRecord& record,
                const std::vector<CapturedCall>& calls);

}  // namespace lwb
