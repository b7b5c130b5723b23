#include "core/optimize/proposals.h"

#include <algorithm>
#include <iterator>

namespace lwb {
namespace {

std::set<std::string> as_set(const std::vector<std::string>& list) {
  return {list.begin(), list.end()};
}

bool was_tried(const std::vector<VariantRecord>& records, const std::set<std::string>& techniques) {
  return std::any_of(records.begin(), records.end(), [&](const VariantRecord& record) {
    return as_set(record.techniques) == techniques;
  });
}

// Calls at which a MIXED variant is slower.
std::set<std::string> slower_calls(const VariantRecord& record, const GuardrailLimits& limits) {
  std::set<std::string> calls;
  for (const CellVerdict& row : record.verdicts) {
    if (row.verdict.kind == VerdictKind::kSlower &&
        row.ratio.ratio < 1 / (1 + limits.slower_cell)) {
      calls.insert(row.call);
    }
  }
  return calls;
}

std::optional<Proposal> gate_last(const std::vector<VariantRecord>& records,
                                  const GuardrailLimits& limits) {
  if (records.empty() || records.back().decision != Decision::kMixed) return std::nullopt;
  const VariantRecord& mixed = records.back();
  // Gating a variant that was itself gated would go round in circles.
  if (mixed.title.find("gated") != std::string::npos) return std::nullopt;
  Proposal proposal;
  proposal.techniques = mixed.techniques;
  proposal.based_on = mixed.number;
  proposal.gates = mixed.number;
  proposal.keep_original = slower_calls(mixed, limits);
  return proposal;
}

}  // namespace

std::vector<VariantRecord> of_catalog(const std::vector<VariantRecord>& records) {
  std::vector<VariantRecord> made;
  std::copy_if(records.begin(), records.end(), std::back_inserter(made),
               [](const VariantRecord& record) { return record.author == "catalog"; });
  return made;
}

const VariantRecord* best_record(const std::vector<VariantRecord>& records) {
  const VariantRecord* best = nullptr;
  for (const VariantRecord& record : records) {
    if (record.decision != Decision::kAccepted) continue;
    if (best == nullptr || record.score.ratio > best->score.ratio) best = &record;
  }
  return best;
}

std::optional<Proposal> next_proposal(const std::vector<VariantRecord>& records,
                                      const std::vector<StrategyItem>& order,
                                      const GuardrailLimits& limits) {
  if (records.empty()) return Proposal{};
  if (auto gated = gate_last(records, limits)) return gated;
  const VariantRecord* best = best_record(records);
  Proposal proposal;
  proposal.based_on = best != nullptr ? best->number : 0;
  const std::vector<std::string> base =
      best != nullptr ? best->techniques : std::vector<std::string>{};
  std::vector<std::string> remaining;
  for (const StrategyItem& item : order) {
    if (std::find(base.begin(), base.end(), item.technique) == base.end() &&
        std::find(remaining.begin(), remaining.end(), item.technique) == remaining.end()) {
      remaining.push_back(item.technique);
    }
  }
  if (remaining.empty()) return std::nullopt;
  const auto with = [&](std::size_t from, std::size_t to) {
    std::vector<std::string> all = base;
    all.insert(all.end(), remaining.begin() + static_cast<long>(from),
               remaining.begin() + static_cast<long>(to));
    return all;
  };
  std::vector<std::vector<std::string>> wishes;
  wishes.push_back(with(0, remaining.size()));
  for (std::size_t i = 0; i < remaining.size(); ++i) wishes.push_back(with(i, i + 1));
  for (auto& techniques : wishes) {
    if (was_tried(records, as_set(techniques))) continue;
    proposal.techniques = std::move(techniques);
    return proposal;
  }
  return std::nullopt;
}

std::vector<StrategyItem> ordered(const std::vector<StrategyItem>& order,
                                  const std::vector<std::string>& wanted) {
  std::vector<StrategyItem> result;
  for (const std::string& technique : wanted) {
    std::copy_if(order.begin(), order.end(), std::back_inserter(result),
                 [&](const StrategyItem& item) { return item.technique == technique; });
  }
  return result;
}

}  // namespace lwb
