#include "core/request/grammar.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/text.h"

namespace lwb::grammar {
namespace {

struct NamedUnit {
  const char* name;
  TargetMetric::Quantity quantity;
  double factor;
};

constexpr auto kTime = TargetMetric::Quantity::kTime;
constexpr auto kMemory = TargetMetric::Quantity::kMemory;
constexpr double kMega = 1048576.0;

constexpr std::array<NamedUnit, 29> kUnits{{
    {"ns", kTime, 1e-3},
    {"nanosecond", kTime, 1e-3},
    {"nanoseconds", kTime, 1e-3},
    {"us", kTime, 1},
    {"usec", kTime, 1},
    {"\xC2\xB5s", kTime, 1},  // micro sign
    {"\xCE\xBCs", kTime, 1},  // Greek mu
    {"microsecond", kTime, 1},
    {"microseconds", kTime, 1},
    {"ms", kTime, 1e3},
    {"msec", kTime, 1e3},
    {"millisecond", kTime, 1e3},
    {"milliseconds", kTime, 1e3},
    {"s", kTime, 1e6},
    {"sec", kTime, 1e6},
    {"second", kTime, 1e6},
    {"seconds", kTime, 1e6},
    {"b", kMemory, 1},
    {"bytes", kMemory, 1},
    {"kb", kMemory, 1024},
    {"kib", kMemory, 1024},
    {"mb", kMemory, kMega},
    {"mib", kMemory, kMega},
    {"megabyte", kMemory, kMega},
    {"megabytes", kMemory, kMega},
    {"gb", kMemory, kMega * 1024},
    {"gib", kMemory, kMega * 1024},
    {"gigabyte", kMemory, kMega * 1024},
    {"gigabytes", kMemory, kMega * 1024},
}};

bool allows(const Condition& condition, double low, double high) {
  switch (condition.comparison) {
    case Comparison::kLess:
      return low < condition.value;
    case Comparison::kLessEqual:
      return low <= condition.value;
    case Comparison::kGreater:
      return high > condition.value;
    case Comparison::kGreaterEqual:
      return high >= condition.value;
    case Comparison::kEqual:
      return low <= condition.value && condition.value <= high;
  }
  return true;
}

bool compatible(const Condition& a, const Condition& b) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const bool up = a.comparison == Comparison::kGreater || a.comparison == Comparison::kGreaterEqual;
  const bool down = a.comparison == Comparison::kLess || a.comparison == Comparison::kLessEqual;
  if (a.comparison == Comparison::kEqual) return b.holds(a.value);
  if (b.comparison == Comparison::kEqual) return a.holds(b.value);
  // A strict bound excludes its own value: step inside it before asking the other.
  const double low =
      a.comparison == Comparison::kGreater ? std::nextafter(a.value, infinite) : a.value;
  const double high =
      a.comparison == Comparison::kLess ? std::nextafter(a.value, -infinite) : a.value;
  return allows(b, up ? low : -infinite, down ? high : infinite);
}

}  // namespace

std::optional<Number> number_of(std::string_view word) {
  std::string digits;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool between = i > 0 && i + 1 < word.size() &&
                         std::isdigit(static_cast<unsigned char>(word[i - 1])) != 0 &&
                         std::isdigit(static_cast<unsigned char>(word[i + 1])) != 0;
    // Thousands marks: 1_024 and 1,024.
    if ((word[i] == '_' || word[i] == ',') && between) continue;
    digits += word[i];
  }
  if (digits.empty()) return std::nullopt;
  const bool starts = std::isdigit(static_cast<unsigned char>(digits[0])) != 0 ||
                      (digits[0] == '.' && digits.size() > 1 &&
                       std::isdigit(static_cast<unsigned char>(digits[1])) != 0);
  if (!starts) return std::nullopt;  // from_chars would take "inf" and "nan"
  Number number;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number.value);
  if (error != std::errc() || !std::isfinite(number.value)) return std::nullopt;
  number.unit = digits.substr(static_cast<std::size_t>(end - digits.data()));
  if (number.unit == "k" || number.unit == "K") {
    number.value *= 1024;
    number.unit.clear();
  }
  return number;
}

std::optional<Unit> unit_of(std::string_view word) {
  const std::string lower = to_lower(word);
  for (const NamedUnit& unit : kUnits) {
    if (lower == unit.name) return Unit{unit.quantity, unit.factor};
  }
  return std::nullopt;
}

std::optional<Comparison> comparison_of(std::string_view sign) {
  if (sign == "<=" || sign == "=<" || sign == "\xE2\x89\xA4") return Comparison::kLessEqual;
  if (sign == ">=" || sign == "=>" || sign == "\xE2\x89\xA5") return Comparison::kGreaterEqual;
  if (sign == "<") return Comparison::kLess;
  if (sign == ">") return Comparison::kGreater;
  if (sign == "=" || sign == "==") return Comparison::kEqual;
  return std::nullopt;
}

std::string text_of(const Condition& condition) {
  // fmt's shortest form reads back as the same number; large sizes stay digits, not powers.
  const double value = condition.value;
  const bool whole = std::abs(value) < 1e15 && value == std::floor(value);
  return condition.name + to_string(condition.comparison) +
         (whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value));
}

std::string contradiction(const std::vector<Condition>& conditions) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    for (std::size_t j = i + 1; j < conditions.size(); ++j) {
      if (conditions[i].name != conditions[j].name) continue;
      if (compatible(conditions[i], conditions[j])) continue;
      return text_of(conditions[i]) + " and " + text_of(conditions[j]);
    }
  }
  return {};
}

std::string malformed_target(std::string_view text) {
  return fmt::format(
      "The target '{}' is not understood; write it like \"forward under 0.3ms at "
      "hidden_size=4096\" or \"memory under 200MB\" (forward, backward, full or memory; under; a "
      "number above 0 with ns, us, ms, s, or KB, MB, GB).",
      text);
}

std::string malformed_condition(std::string_view text) {
  return fmt::format(
      "'{}' is not understood as an input regime; write a name, one of <=, >=, <, >, =, and a "
      "number, like hidden_size<=1024 or T>=8192.",
      text);
}

}  // namespace lwb::grammar
