// Comparing sides, and the JSON forms of what a measurement holds.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/measure/op_time.h"

namespace lwb {
namespace {

std::vector<double> numbers(const Json& list) {
  std::vector<double> result;
  for (const Json& item : list) {
    if (item.is_number()) result.push_back(item.get<double>());
  }
  return result;
}

// The samples of one call, pass and side, by round.
struct SideSamples {
  std::map<int, std::vector<double>> rounds;
  std::vector<double> all, wall;
  std::set<std::string> clocks;
  bool interleaved = true;
};

struct CellSamples {
  std::string call;
  Pass pass = Pass::kForward;
  SideSamples old_side, new_side;
};

void add(const SampleBatch& batch, SideSamples& side) {
  auto& round = side.rounds[batch.round];
  round.insert(round.end(), batch.us.begin(), batch.us.end());
  side.all.insert(side.all.end(), batch.us.begin(), batch.us.end());
  side.wall.insert(side.wall.end(), batch.wall_us.begin(), batch.wall_us.end());
  side.clocks.insert(batch.clock);
  side.interleaved = side.interleaved && batch.interleaved;
}

std::vector<CellSamples> collect(const Measurement& measurement, const std::string& old_side,
                                 const std::string& new_side) {
  std::vector<CellSamples> cells;
  std::map<std::pair<std::string, Pass>, std::size_t> index;
  for (const SampleBatch& batch : measurement.batches) {
    if (batch.side != old_side && batch.side != new_side) continue;
    const auto [found, is_new] = index.try_emplace({batch.call, batch.pass}, cells.size());
    if (is_new) cells.push_back({batch.call, batch.pass, {}, {}});
    CellSamples& cell = cells[found->second];
    if (batch.side == old_side) add(batch, cell.old_side);
    if (batch.side == new_side) add(batch, cell.new_side);
  }
  return cells;
}

CellVerdict verdict_of(const CellSamples& cell, const VerdictRule& rule) {
  CellVerdict result;
  result.call = cell.call;
  result.pass = cell.pass;
  std::vector<RoundSamples> rounds;
  for (const auto& [round, old_us] : cell.old_side.rounds) {
    const auto found = cell.new_side.rounds.find(round);
    if (found == cell.new_side.rounds.end()) continue;
    rounds.push_back(
        {old_us, found->second, cell.old_side.interleaved && cell.new_side.interleaved});
  }
  result.ratio = estimate_ratio(rounds, rule.confidence_per_look());
  result.old_us = median(cell.old_side.all);
  result.new_us = median(cell.new_side.all);
  result.old_wall_us = median(cell.old_side.wall);
  result.new_wall_us = median(cell.new_side.wall);
  result.clock = *cell.old_side.clocks.begin();
  result.launch_bound =
      result.clock != "host" && result.old_wall_us > 0 && result.old_us < 0.5 * result.old_wall_us;
  if (cell.old_side.clocks != cell.new_side.clocks || cell.old_side.clocks.size() > 1) {
    result.clock = "mixed";
    result.verdict = {VerdictKind::kUncertain, "the sides were not timed by one clock"};
  } else if (result.clock == "host") {
    result.verdict = {VerdictKind::kUncertain, "timed on the CPU, not judged"};
  } else {
    result.verdict = judge(result.ratio, rule);
  }
  return result;
}

Json to_json(const RatioEstimate& e) {
  return {{"ratio", e.ratio},
          {"low", e.low},
          {"high", e.high},
          {"confidence", e.confidence},
          {"rounds", e.rounds},
          {"samples_old", e.samples_old},
          {"samples_new", e.samples_new},
          {"spread_old", e.spread_old},
          {"spread_new", e.spread_new},
          {"standard_error", e.standard_error},
          {"degrees_of_freedom", e.degrees_of_freedom},
          {"rounds_disagree", e.rounds_disagree}};
}

RatioEstimate ratio_from_json(const Json& json) {
  RatioEstimate e;
  e.ratio = get_number(json, "ratio", 1);
  e.low = get_number(json, "low");
  e.high = get_number(json, "high");
  e.confidence = get_number(json, "confidence", 0.99);
  e.rounds = static_cast<int>(get_integer(json, "rounds"));
  e.samples_old = static_cast<int>(get_integer(json, "samples_old"));
  e.samples_new = static_cast<int>(get_integer(json, "samples_new"));
  e.spread_old = get_number(json, "spread_old");
  e.spread_new = get_number(json, "spread_new");
  e.standard_error = get_number(json, "standard_error");
  e.degrees_of_freedom = get_number(json, "degrees_of_freedom");
  e.rounds_disagree = get_bool(json, "rounds_disagree");
  return e;
}

Pass pass_from(const Json& json) {
  return parse_pass(get_string(json, "pass")).value_or(Pass::kForward);
}

}  // namespace

Json to_json(const Side& side) {
  return {{"name", side.name},
          {"src", side.src.string()},
          {"module", side.module},
          {"file", side.file.string()},
          {"sha256", side.sha256}};
}

Side side_from_json(const Json& json) {
  return {get_string(json, "name"), get_string(json, "src"), get_string(json, "module"),
          get_string(json, "file"), get_string(json, "sha256")};
}

Json to_json(const SampleBatch& batch) {
  return {{"call", batch.call},       {"pass", to_string(batch.pass)},
          {"side", batch.side},       {"round", batch.round},
          {"us", batch.us},           {"sm_mhz", batch.sm_mhz},
          {"wall_us", batch.wall_us}, {"held", batch.held},
          {"clock", batch.clock},     {"interleaved", batch.interleaved}};
}

SampleBatch sample_batch_from_json(const Json& json) {
  SampleBatch batch;
  batch.call = get_string(json, "call");
  batch.pass = pass_from(json);
  batch.side = get_string(json, "side");
  batch.round = static_cast<int>(get_integer(json, "round"));
  batch.us = numbers(get_array(json, "us"));
  batch.sm_mhz = numbers(get_array(json, "sm_mhz"));
  batch.wall_us = numbers(get_array(json, "wall_us"));
  batch.held = get_bool(json, "held", true);
  batch.clock = get_string(json, "clock", "events");
  batch.interleaved = get_bool(json, "interleaved", true);
  return batch;
}

std::vector<CellVerdict> compare_sides(const Measurement& measurement, const std::string& old_side,
                                       const std::string& new_side, const VerdictRule& rule) {
  VerdictRule own = rule;
  own.looks = std::max(own.looks, measurement.looks);
  std::vector<CellVerdict> verdicts;
  for (const CellSamples& cell : collect(measurement, old_side, new_side)) {
    if (cell.old_side.all.empty() || cell.new_side.all.empty()) continue;
    verdicts.push_back(verdict_of(cell, own));
  }
  return verdicts;
}

Json to_json(const CellVerdict& v) {
  return {{"call", v.call},
          {"pass", to_string(v.pass)},
          {"ratio", to_json(v.ratio)},
          {"verdict", to_string(v.verdict.kind)},
          {"reason", v.verdict.reason},
          {"old_us", v.old_us},
          {"new_us", v.new_us},
          {"old_wall_us", v.old_wall_us},
          {"new_wall_us", v.new_wall_us},
          {"clock", v.clock},
          {"launch_bound", v.launch_bound}};
}

CellVerdict cell_verdict_from_json(const Json& json) {
  CellVerdict v;
  v.call = get_string(json, "call");
  v.pass = pass_from(json);
  v.ratio = ratio_from_json(get_object(json, "ratio"));
  v.verdict.kind = parse_verdict_kind(get_string(json, "verdict"));
  v.verdict.reason = get_string(json, "reason");
  v.old_us = get_number(json, "old_us");
  v.new_us = get_number(json, "new_us");
  v.old_wall_us = get_number(json, "old_wall_us");
  v.new_wall_us = get_number(json, "new_wall_us");
  v.clock = get_string(json, "clock");
  v.launch_bound = get_bool(json, "launch_bound");
  return v;
}

}  // namespace lwb
