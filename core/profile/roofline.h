// Floor, share of the roof and headroom of each call and pass (spec section 4), from op time, counted
// bytes and copy rates measured with a working set of the same size. No counters: the profile says so.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/measure/op_time.h"
#include "core/profile/launch_trace.h"

namespace lwb {

// spec section 4: within 10 % of the floor is "no headroom"; only working sets above twice the L2 count.
inline constexpr double kNoHeadroom = 1.10;

struct RooflineRow {
  std::string call;
  Pass pass = Pass::kForward;
  double op_us = 0;      // median over all rounds
  double spread = 0;     // (q80 − q20) / median
  double wall_us = 0;
  double bytes = 0;      // read plus written
  double working_set = 0;
  double floor_us = 0;   // bytes at the copy rate of that working set
  double share = 0;      // floor / op time
  bool large = false;    // working set above twice the L2
  bool launch_bound = false;  // op time under half of wall time
  std::string bottleneck;     // "memory-bound", "latency-bound", "balanced"; with the evidence
  std::string clock;
};

struct Roofline {
  std::vector<RooflineRow> rows;
  double best_copy_rate = 0;  // bytes per second, the largest measured
  bool no_headroom = false;   // spec section 4's rule over the cells in scope
  std::string diagnosis;      // one sentence
};

// `scope`: ids of the calls in scope, empty: all. `pass`: the scoped pass, nothing: both.
Roofline roofline(const Measurement& baseline, const std::string& side, const LaunchTrace& trace,
                  long long l2_bytes, const std::vector<std::string>& scope,
                  std::optional<Pass> pass);

// Working-set sizes at which the copy rate is to be measured: those of the trace, at most `limit`.
std::vector<long long> copy_sizes(const LaunchTrace& trace, std::size_t limit = 12);

Json to_json(const Roofline& roofline);

}  // namespace lwb
