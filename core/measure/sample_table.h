// What a run has measured so far, for charts: the samples of its journal, folded batch by batch
// into one cell for each call, pass and variant. Charts read this; verdicts come from
// compare_sides().
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/op_time.h"

namespace lwb {

// A call's name as the stock script's x and the rest: "T=1024 hidden_size=4096" → T, 1024,
// "hidden_size=4096".
struct CallName {
  bool has_x = false;  // false: no leading name=number; `rest` is the whole name
  std::string x_name;
  double x = 0;
  std::string rest;
};
CallName split_call_name(const std::string& call);

// Of all samples of one cell. The interval is the 95 % one of the median by order statistics, which
// assumes no distribution (W. J. Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2,
// with the normal approximation of the ranks). Samples of several rounds are pooled.
struct SampleSummary {
  int n = 0;
  double median_us = 0, low_us = 0, high_us = 0;
  double spread = 0;   // relative_spread()
  double wall_us = 0;  // median; 0 when not measured
};
SampleSummary summarize(std::vector<double> us, const std::vector<double>& wall_us);

class SampleTable {
 public:
  struct Cell {
    std::string call;
    Pass pass = Pass::kForward;
    friend bool operator==(const Cell&, const Cell&) = default;
    friend auto operator<=>(const Cell&, const Cell&) = default;
  };

  // `measurement`: the step that measured it; sides are compared within one only. A side that is no
  // variant ("v3") is passed over.
  void add(const std::string& measurement, const SampleBatch& batch);
  void clear();

  bool empty() const { return cells_.empty(); }
  const std::vector<Cell>& cells() const { return cells_; }  // in the order first measured
  std::vector<int> variants() const;                         // ascending; 0 is the original
  std::optional<SampleSummary> summary(const Cell& cell, int variant) const;
  // The original over the variant, above 1 is a gain, at 95 %: of the last measurement that holds
  // both.
  std::optional<RatioEstimate> ratio(const Cell& cell, int variant) const;

 private:
  struct Round {
    std::vector<double> us;
    bool interleaved = true;
  };
  struct Samples {
    std::vector<double> us, wall_us;
    std::map<std::pair<int, int>, Round> rounds;  // by measurement (its place in names_) and round
    mutable std::optional<SampleSummary> summary;
    mutable std::optional<RatioEstimate> ratio;
  };
  const Samples* find(const Cell& cell, int variant) const;
  std::vector<Cell> cells_;
  std::vector<std::string> names_;
  std::map<Cell, std::map<int, Samples>> samples_;
};

// One line a cell and variant, with a heading; times in microseconds.
std::string to_csv(const SampleTable& table);

}  // namespace lwb
