#include "core/profile/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/base/text.h"

namespace lwb {
namespace {

constexpr double kNearlyOneSize = 1.02;

// Time to copy `bytes` (read plus written) from the measured sizes: straight between neighbours on
// the log scale of the rate, the nearest rate outside. A size is never slower than a larger one:
// where it was measured so, the larger one's time is the bound. Sizes that are nearly one share the
// better rate.
double copy_us(const Measurement& baseline, double bytes) {
  std::map<double, double> rates;  // bytes → bytes per µs
  for (const auto& rate : baseline.copy_rates) {
    const double us = median(rate.us);
    if (us > 0) rates[rate.bytes] = std::max(rates[rate.bytes], rate.bytes / us);
  }
  double least_us = std::numeric_limits<double>::infinity();
  for (auto rate = rates.rbegin(); rate != rates.rend(); ++rate) {
    least_us = std::min(least_us, rate->first / rate->second);
    rate->second = rate->first / least_us;
  }
  for (auto rate = rates.begin(); rate != rates.end(); ++rate) {
    const auto next = std::next(rate);
    if (next == rates.end() || next->first > kNearlyOneSize * rate->first) continue;
    rate->second = next->second = std::max(rate->second, next->second);
  }
  if (rates.empty() || bytes <= 0) return 0;
  const auto above = rates.lower_bound(bytes);
  if (above == rates.begin()) return bytes / above->second;
  const auto below = std::prev(above);
  if (above == rates.end()) return bytes / below->second;
  const double t = std::log(bytes / below->first) / std::log(above->first / below->first);
  return bytes / std::exp((1 - t) * std::log(below->second) + t * std::log(above->second));
}

// First rule that holds (spec section 4), from op time and counted bytes only: without counters the
// compute share is not known, so a low share of the roof is called latency-bound.
std::string bottleneck_of(const RooflineRow& row) {
  const std::string evidence = fmt::format("{} of the measured copy rate, from op time and counted "
                                           "bytes; no counters",
                                           format_percent(row.share));
  if (row.floor_us <= 0) return "unknown (no floor)";
  if (row.share > 0.6) return "memory-bound (" + evidence + ")";
  if (row.share < 0.4) return "latency-bound (" + evidence + ")";
  return "balanced (" + evidence + ")";
}

RooflineRow row_of(const std::vector<const SampleBatch*>& batches, const Measurement& baseline,
                   const LaunchTrace& trace, long long l2_bytes) {
  RooflineRow row;
  row.call = batches.front()->call;
  row.pass = batches.front()->pass;
  row.clock = batches.front()->clock;
  std::vector<double> us, wall;
  for (const SampleBatch* batch : batches) {
    us.insert(us.end(), batch->us.begin(), batch->us.end());
    wall.insert(wall.end(), batch->wall_us.begin(), batch->wall_us.end());
  }
  row.op_us = median(us);
  row.spread = row.op_us > 0 ? (quantile(us, 0.8) - quantile(us, 0.2)) / row.op_us : 0;
  row.wall_us = median(wall);
  row.launch_bound = row.wall_us > 0 && row.op_us < 0.5 * row.wall_us;
  if (const PassBytes* bytes = trace.bytes_of(row.call, row.pass)) {
    row.bytes = bytes->read + bytes->written;
    row.working_set = bytes->working_set > 0 ? bytes->working_set : row.bytes;
    row.floor_us = copy_us(baseline, row.bytes);
    row.share = row.op_us > 0 ? row.floor_us / row.op_us : 0;
    row.large = l2_bytes > 0 && row.working_set > 2.0 * static_cast<double>(l2_bytes);
  }
  row.bottleneck = bottleneck_of(row);
  return row;
}

bool scoped(const RooflineRow& row, const std::set<std::string>& scope, std::optional<Pass> pass) {
  return (scope.empty() || scope.count(row.call) > 0) && (!pass || row.pass == *pass);
}

std::string diagnose(const Roofline& roof, const std::set<std::string>& scope,
                     std::optional<Pass> pass) {
  const RooflineRow* worst = nullptr;
  for (const RooflineRow& row : roof.rows) {
    if (!row.large || !scoped(row, scope, pass) || row.floor_us <= 0) continue;
    if (worst == nullptr || row.share < worst->share) worst = &row;
  }
  if (worst == nullptr) return "No cell in scope has a working set above twice the L2.";
  if (roof.no_headroom) {
    return fmt::format("No headroom: every large cell in scope is within 10 % of its floor; the "
                       "furthest is {} {} at {} of the roof.",
                       worst->call, to_string(worst->pass), format_percent(worst->share));
  }
  return fmt::format("{} of {} is furthest from the roof: {}, floor {}, {}.",
                     to_string(worst->pass), worst->call, format_us(worst->op_us),
                     format_us(worst->floor_us), worst->bottleneck);
}

}  // namespace

std::vector<long long> copy_sizes(const LaunchTrace& trace, std::size_t limit) {
  std::set<long long> all;
  for (const PassBytes& bytes : trace.bytes) {
    const auto size = static_cast<long long>(bytes.read + bytes.written);
    if (size >= (1 << 20)) all.insert(size / 2 * 2);
  }
  std::vector<long long> sizes(all.begin(), all.end());
  if (sizes.size() <= limit) return sizes;
  std::vector<long long> chosen;  // spread evenly, both ends kept
  for (std::size_t i = 0; i < limit; ++i) {
    chosen.push_back(sizes[i * (sizes.size() - 1) / (limit - 1)]);
  }
  return chosen;
}

Roofline roofline(const Measurement& baseline, const std::string& side, const LaunchTrace& trace,
                  long long l2_bytes, const std::vector<std::string>& scope_list,
                  std::optional<Pass> pass) {
  const std::set<std::string> scope(scope_list.begin(), scope_list.end());
  std::map<std::pair<std::string, Pass>, std::vector<const SampleBatch*>> groups;
  std::vector<std::pair<std::string, Pass>> order;
  for (const SampleBatch& batch : baseline.batches) {
    if (batch.side != side) continue;
    auto& group = groups[{batch.call, batch.pass}];
    if (group.empty()) order.emplace_back(batch.call, batch.pass);
    group.push_back(&batch);
  }
  Roofline roof;
  for (const auto& key : order) {
    roof.rows.push_back(row_of(groups[key], baseline, trace, l2_bytes));
  }
  for (const auto& rate : baseline.copy_rates) {
    const double us = median(rate.us);
    if (us > 0) roof.best_copy_rate = std::max(roof.best_copy_rate, 1e6 * rate.bytes / us);
  }
  int large = 0, near = 0;
  for (const RooflineRow& row : roof.rows) {
    if (!row.large || !scoped(row, scope, pass) || row.clock == "host") continue;
    ++large;
    if (row.floor_us > 0 && row.op_us <= kNoHeadroom * row.floor_us) ++near;
  }
  roof.no_headroom = large > 0 && near == large;
  roof.diagnosis = diagnose(roof, scope, pass);
  return roof;
}

Json to_json(const Roofline& roof) {
  Json rows = Json::array();
  for (const RooflineRow& row : roof.rows) {
    rows.push_back({{"call", row.call},
                    {"pass", to_string(row.pass)},
                    {"op_us", row.op_us},
                    {"spread", row.spread},
                    {"wall_us", row.wall_us},
                    {"bytes", row.bytes},
                    {"working_set", row.working_set},
                    {"floor_us", row.floor_us},
                    {"share", row.share},
                    {"large", row.large},
                    {"launch_bound", row.launch_bound},
                    {"bottleneck", row.bottleneck},
                    {"clock", row.clock}});
  }
  return {{"rows", rows},
          {"best_copy_rate", roof.best_copy_rate},
          {"no_headroom", roof.no_headroom},
          {"diagnosis", roof.diagnosis},
          {"source", "op time and counted bytes; no counters"}};
}

}  // namespace lwb
