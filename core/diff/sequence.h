// Myers' linear-space difference of two sequences of numbers (lines or words, numbered by content).
#pragma once

#include <cstddef>
#include <vector>

namespace lwb {

// Which elements are in both: a pair of indices for each, growing in both.
struct Match {
  std::size_t old_index = 0;
  std::size_t new_index = 0;
};

std::vector<Match> longest_common(const std::vector<int>& old_items,
                                  const std::vector<int>& new_items);

}  // namespace lwb
