#include "core/optimize/guardrails.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"

namespace lwb {
namespace {

bool in_scope(const ScopedCalls& scope, const std::string& call) {
  return scope.empty() || scope.count(call) > 0;
}

bool judged(const CellVerdict& row) { return row.old_us > 0 && row.new_us > 0 && row.clock != "host"; }

// A pass of a general score is the sum of forward and backward: its ratio and interval follow from
// the two passes weighted by their share of the new time.
struct CellSum {
  double old_us = 0, new_us = 0, new_low = 0, new_high = 0;
  void add(const CellVerdict& row) {
    old_us += row.old_us;
    new_us += row.new_us;
    new_low += row.old_us / std::max(row.ratio.high, 1e-9);
    new_high += row.old_us / std::max(row.ratio.low, 1e-9);
  }
};

Gain mean_of(const std::vector<Gain>& gains) {
  if (gains.empty()) return {};
  double log_ratio = 0, low = 0, high = 0;
  for (const Gain& gain : gains) {
    log_ratio += std::log(gain.ratio);
    // Cells are measured apart from each other, so the errors of their logs add in square.
    low += std::pow(std::log(gain.ratio / gain.low), 2);
    high += std::pow(std::log(gain.high / gain.ratio), 2);
  }
  const double n = static_cast<double>(gains.size());
  const double ratio = std::exp(log_ratio / n);
  return {ratio, ratio * std::exp(-std::sqrt(low) / n), ratio * std::exp(std::sqrt(high) / n)};
}

std::string percent_worse(double ratio) { return format_percent(1 / ratio - 1); }

std::string label(const CellVerdict& row) { return row.call + " " + to_string(row.pass); }

const CellVerdict* worst_cell(const VariantRecord& record, const ScopedCalls& scope,
                              const GuardrailLimits& limits, std::optional<Pass> pass) {
  const CellVerdict* worst = nullptr;
  for (const CellVerdict& row : record.verdicts) {
    if (!in_scope(scope, row.call) || !judged(row) || (pass && row.pass != *pass)) continue;
    if (row.verdict.kind != VerdictKind::kSlower || row.ratio.ratio > 1 / (1 + limits.slower_cell)) {
      continue;
    }
    if (worst == nullptr || row.ratio.ratio < worst->ratio.ratio) worst = &row;
  }
  return worst;
}

// Cross-pass: at every x, one pass more than 10 % worse, beyond its own uncertainty.
std::string cross_pass_trip(const VariantRecord& record, const GuardrailLimits& limits) {
  const double limit = 1 / (1 + limits.cross_pass);
  for (const CellVerdict& row : record.verdicts) {
    if (!judged(row) || row.pass == Pass::kFull) continue;
    if (row.verdict.kind == VerdictKind::kSlower && row.ratio.high < limit) {
      return fmt::format("{} is {} worse, beyond the {} that one pass may lose for the other",
                         label(row), percent_worse(row.ratio.ratio),
                         format_percent(limits.cross_pass));
    }
  }
  return {};
}

std::string time_trip(const VariantRecord& record, const GuardrailLimits& limits) {
  const double limit = 1 / (1 + limits.non_target);
  for (const CellVerdict& row : record.verdicts) {
    if (judged(row) && row.verdict.kind == VerdictKind::kSlower && row.ratio.high < limit) {
      return fmt::format("op time of {} is {} worse (limit {})", label(row),
                         percent_worse(row.ratio.ratio), format_percent(limits.non_target));
    }
  }
  return {};
}

std::string memory_trip(const VariantRecord& record, const GuardrailLimits& limits) {
  std::map<std::string, double> before;
  for (const MemoryPeak& peak : record.memory) {
    if (peak.side == "v0") before[peak.call] = peak.peak_bytes;
  }
  for (const MemoryPeak& peak : record.memory) {
    if (peak.side == "v0" || before.count(peak.call) == 0) continue;
    const double old_bytes = before[peak.call];
    const double growth = peak.peak_bytes - old_bytes;
    if (growth > limits.non_target * old_bytes && growth >= limits.memory_floor_bytes) {
      return fmt::format("peak memory of {} grows from {} to {} (limit {})", peak.call,
                         format_bytes(old_bytes), format_bytes(peak.peak_bytes),
                         format_percent(limits.non_target));
    }
  }
  return {};
}

void look_at(VariantRecord& record, const std::string& name, const std::string& trip,
             std::string& first_trip) {
  record.guardrails.push_back(name + (trip.empty() ? ": held" : ": tripped, " + trip));
  if (first_trip.empty() && !trip.empty()) first_trip = trip;
}

Gain product(const Gain& a, const Gain& b) {
  return {a.ratio * b.ratio, a.low * b.low, a.high * b.high};
}

}  // namespace

Gain time_gain(const std::vector<CellVerdict>& verdicts, const ScopedCalls& scope,
               std::optional<Pass> pass) {
  std::map<std::string, CellSum> cells;
  std::map<std::string, bool> has_full;
  for (const CellVerdict& row : verdicts) {
    if (row.pass == Pass::kFull) has_full[row.call] = true;
  }
  for (const CellVerdict& row : verdicts) {
    if (!in_scope(scope, row.call) || !judged(row)) continue;
    const bool wanted = pass ? row.pass == *pass : (row.pass == Pass::kFull) == has_full[row.call];
    if (wanted) cells[row.call].add(row);
  }
  std::vector<Gain> gains;
  for (const auto& [call, sum] : cells) {
    gains.push_back({sum.old_us / sum.new_us, sum.old_us / sum.new_high, sum.old_us / sum.new_low});
  }
  return mean_of(gains);
}

Gain memory_gain(const std::vector<MemoryPeak>& peaks, const std::string& variant,
                 const ScopedCalls& scope) {
  std::map<std::string, double> before;
  for (const MemoryPeak& peak : peaks) {
    if (peak.side == "v0") before[peak.call] = peak.peak_bytes;
  }
  std::vector<Gain> gains;
  for (const MemoryPeak& peak : peaks) {
    if (peak.side != variant || !in_scope(scope, peak.call) || before[peak.call] <= 0 ||
        peak.peak_bytes <= 0) {
      continue;
    }
    const double ratio = before[peak.call] / peak.peak_bytes;  // the allocator counts exactly
    gains.push_back({ratio, ratio, ratio});
  }
  return mean_of(gains);
}

void decide(VariantRecord& record, const Request& request, const ScopedCalls& scope,
            const GuardrailLimits& limits) {
  record.forward = time_gain(record.verdicts, scope, Pass::kForward);
  record.backward = time_gain(record.verdicts, scope, Pass::kBackward);
  record.memory_gain = memory_gain(record.memory, record.name(), scope);
  const Gain time = time_gain(record.verdicts, scope, request.scope.pass);
  record.score = request.goal == Goal::kSpeed    ? time
                 : request.goal == Goal::kMemory ? record.memory_gain
                                                 : product(time, record.memory_gain);
  record.guardrails.clear();
  std::string trip;
  if (request.goal != Goal::kMemory) look_at(record, "memory", memory_trip(record, limits), trip);
  if (request.goal != Goal::kSpeed) look_at(record, "op time", time_trip(record, limits), trip);
  look_at(record, "cross-pass", cross_pass_trip(record, limits), trip);

  const CellVerdict* slower = worst_cell(record, scope, limits, request.scope.pass);
  if (!trip.empty()) {
    record.decision = Decision::kRejected;
    record.reason = trip;
  } else if (record.score.low <= 1 + limits.stop_improvement && record.score.ratio < 1.01) {
    record.decision = Decision::kRejected;
    record.reason = fmt::format("nothing gained: {} [{}, {}] over the cells in scope",
                                format_ratio(record.score.ratio), format_ratio(record.score.low),
                                format_ratio(record.score.high));
  } else if (record.score.low <= 1 + limits.stop_improvement) {
    record.decision = Decision::kRejected;
    record.reason = fmt::format("the gain {} is not above 1 % beyond its uncertainty [{}, {}]",
                                format_ratio(record.score.ratio), format_ratio(record.score.low),
                                format_ratio(record.score.high));
  } else if (slower != nullptr && request.goal != Goal::kMemory) {
    record.decision = Decision::kMixed;
    record.reason = fmt::format("{} is {} slower; the original's path must be kept there",
                                label(*slower), percent_worse(slower->ratio.ratio));
  } else {
    record.decision = Decision::kAccepted;
    record.reason = fmt::format("{} [{}, {}] over the cells in scope, no guardrail tripped",
                                format_ratio(record.score.ratio), format_ratio(record.score.low),
                                format_ratio(record.score.high));
  }
}

bool target_met(const TargetMetric& target, const VariantRecord& record,
                const std::vector<CapturedCall>& calls) {
  CallsFile file;
  file.calls = calls;
  const auto named = calls_in_scope(file, target.conditions);
  if (!named || named->empty()) return false;
  for (const std::string& call : *named) {
    double value = 0;
    bool found = false;
    if (target.quantity == TargetMetric::Quantity::kMemory) {
      for (const MemoryPeak& peak : record.memory) {
        if (peak.call == call && peak.side == record.name()) value = peak.peak_bytes, found = true;
      }
    } else {
      for (const CellVerdict& row : record.verdicts) {
        const bool part = target.pass == Pass::kFull ? row.pass != Pass::kFull
                                                     : row.pass == target.pass;
        if (row.call == call && part && judged(row)) value += row.new_us, found = true;
      }
    }
    if (!found || value > target.limit) return false;
  }
  return true;
}

std::string stop_reason(const std::vector<VariantRecord>& records, const Request& request,
                        const ScopedCalls&, const GuardrailLimits& limits) {
  if (static_cast<int>(records.size()) >= request.max_variants) {
    return fmt::format("the budget of {} variants is used up", request.max_variants);
  }
  double best = 1;
  int without = 0;  // consecutive measured variants that did not improve the best by 1 %
  for (const VariantRecord& record : records) {
    const bool counts = record.measured && record.decision != Decision::kDiscarded &&
                        record.decision != Decision::kRejected;
    if (!counts) {
      // A rejected variant does not count, unless it was rejected for having gained nothing.
      if (record.measured && record.reason.find("nothing gained") == 0) ++without;
      continue;
    }
    without = record.score.low > best * (1 + limits.stop_improvement) ? 0 : without + 1;
    best = std::max(best, record.score.ratio);
  }
  if (without >= 2) return "two consecutive variants improved the best by less than 1 %";
  return {};
}

}  // namespace lwb
