// What the scope, the target and the sentence have in common: numbers, units, comparison signs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/request/request.h"

namespace lwb::grammar {

// "8192", "0.3ms", "4k", "1_024": the number and the letters after it. A "k" after a size is 1024,
// as sizes are powers of two; it is part of the number. Nothing when no finite number starts it.
struct Number {
  double value = 0;
  std::string unit;  // as written; "" when none follows
};
std::optional<Number> number_of(std::string_view word);

// Microseconds for times, bytes for sizes (1 MB = 2^20, as the stock script counts its peak).
struct Unit {
  TargetMetric::Quantity quantity = TargetMetric::Quantity::kTime;
  double factor = 1;
};
std::optional<Unit> unit_of(std::string_view word);

std::optional<Comparison> comparison_of(std::string_view sign);
std::string text_of(const Condition& condition);  // "hidden_size<=1024"

// The first two conditions on one name that no number meets ("T<=1024 and T>=8192"); "" when none.
std::string contradiction(const std::vector<Condition>& conditions);

// "The target '…' is not understood; write it like …": one wording everywhere.
std::string malformed_target(std::string_view text);
std::string malformed_condition(std::string_view text);

}  // namespace lwb::grammar
