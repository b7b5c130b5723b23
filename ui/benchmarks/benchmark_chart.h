// The two charts of the benchmarks as the board has them: a quantity over x, and the original over
// each variant in it.
#pragma once

#include <optional>
#include <string>

#include "core/measure/op_time.h"
#include "ui/charts/chart_widget.h"

namespace lwb {

class BenchmarkBoard;

enum class Quantity { kOpTime, kWallTime, kMemory };

constexpr int kRoofKey = -1;  // of a chart's line that is no variant

struct ChartChoice {
  Quantity quantity = Quantity::kOpTime;
  Pass pass = Pass::kForward;
  std::optional<std::string> shape;  // without one: all calls side by side, one tick each
  bool is_logarithmic = true;        // of the quantity; x is, wherever all x are above 0
  int selected = -1;                 // variant
};

// A line's key is its variant's number.
Chart quantity_chart(const BenchmarkBoard& board, const ChartChoice& choice);
Chart gain_chart(const BenchmarkBoard& board, const ChartChoice& choice);

}  // namespace lwb
