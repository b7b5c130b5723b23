#include "core/measure/op_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/measure/round.h"
#include "core/measure/script.h"

namespace lwb {
namespace {

std::string second_of(const std::vector<Side>& sides) {
  std::vector<std::string> names;
  for (const Side& side : sides) names.push_back(side.name);
  return join(names, ", ");
}

// The calls of `calls` that still need measuring: replayable and not known to fail.
std::vector<CapturedCall> without(const std::vector<CapturedCall>& calls,
                                  const std::set<std::string>& excluded) {
  std::vector<CapturedCall> left;
  for (const CapturedCall& call : calls) {
    if (excluded.count(call.id) == 0) left.push_back(call);
  }
  return left;
}

struct Uncertain {
  std::set<std::string> calls;
  std::set<Pass> passes;
};

Uncertain uncertain_cells(const Measurement& measurement, const std::vector<Side>& sides,
                          const VerdictRule& rule) {
  Uncertain result;
  for (std::size_t i = 1; i < sides.size(); ++i) {
    for (const CellVerdict& cell : compare_sides(measurement, sides[0].name, sides[i].name, rule)) {
      if (cell.verdict.kind != VerdictKind::kUncertain || cell.clock == "host") continue;
      result.calls.insert(cell.call);
      result.passes.insert(cell.pass);
    }
  }
  return result;
}

}  // namespace

VerdictRule rule_for(const MeasureOptions& options, VerdictRule rule) {
  rule.looks = 1 + std::max(0, options.extra_rounds);
  return rule;
}

Result<Measurement> measure(ProcessRunner& runner, const PythonTools& tools,
                            const std::vector<Side>& sides, const std::vector<CapturedCall>& calls,
                            const MeasureOptions& options,
                            const std::function<void(const SampleBatch&)>& on_batch) {
  Measurement measurement;
  measurement.recorded_on = runner.recorded_on();
  RoundRunner rounds(runner, tools, sides, options, measurement, on_batch);
  std::vector<CapturedCall> replayable;
  for (const CapturedCall& call : calls) {
    if (call.replayable) {
      replayable.push_back(call);
    } else {
      measurement.not_measured.push_back(fmt::format("{}: {}", call.id, call.why_not));
    }
  }
  if (replayable.empty() || sides.empty()) return measurement;

  const int base = std::max(1, options.rounds);
  for (int round = 0; round < base; ++round) {
    const auto left = without(replayable, rounds.failed_calls());
    if (left.empty()) return measurement;
    if (auto done = rounds.run(round, left, options.passes); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (sides.size() < 2) return measurement;
  measurement.looks = 1 + std::max(0, options.extra_rounds);
  const VerdictRule rule = rule_for(options);
  for (int extra = 0; extra < options.extra_rounds; ++extra) {
    const Uncertain open = uncertain_cells(measurement, sides, rule);
    std::vector<CapturedCall> again;
    for (const CapturedCall& call : without(replayable, rounds.failed_calls())) {
      if (open.calls.count(call.id) > 0) again.push_back(call);
    }
    if (again.empty()) break;
    std::vector<Pass> passes;
    for (const Pass pass : options.passes) {
      if (open.passes.count(pass) > 0) passes.push_back(pass);
    }
    if (auto done = rounds.run(base + extra, again, passes); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (measurement.batches.empty() && !measurement.failures.empty()) {
    measurement.notes.push_back(fmt::format("No call could be measured with {}: {}",
                                            second_of(sides),
                                            measurement.failures.front().message));
  }
  return measurement;
}

}  // namespace lwb
