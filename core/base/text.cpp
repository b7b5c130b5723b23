#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace lwb {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Rounded to three significant digits, so that a unit can be chosen by what will be shown.
double round3(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

std::string three_digits(double rounded) {
  const double size = std::abs(rounded);
  return fmt::format("{:.{}f}", rounded, size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

// The value in the largest unit in which it is at least 1.
std::string with_unit(double value, const std::vector<std::string_view>& units) {
  if (!std::isfinite(value)) return "n/a";
  double shown = round3(value);
  std::size_t unit = 0;
  while (std::abs(shown) >= 1000 && unit + 1 < units.size()) {
    shown = round3(shown / 1000);
    ++unit;
  }
  return fmt::format("{} {}", three_digits(shown), units[unit]);
}

// Levenshtein distance, upper and lower case alike.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.emplace_back(line);
  }
  return lines;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

std::string replace_all(std::string text, std::string_view what, std::string_view with) {
  if (what.empty()) return text;
  std::string result;
  std::size_t begin = 0;
  for (std::size_t at; (at = text.find(what, begin)) != std::string::npos;
       begin = at + what.size()) {
    result.append(text, begin, at - begin).append(with);
  }
  return begin == 0 ? text : result.append(text, begin);
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names,
                                       std::size_t limit) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : names) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance * 2 <= name.size()) ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > limit) ranked.resize(limit);
  std::vector<std::string> result;
  result.reserve(ranked.size());
  for (auto& [distance, candidate] : ranked) result.push_back(std::move(candidate));
  return result;
}

std::string format_us(double us) {
  return with_unit(us, {"µs", "ms", "s"});
}

std::string format_bytes(double bytes) {
  if (std::isfinite(bytes) && std::abs(bytes) < 1000) return fmt::format("{:.0f} B", bytes);
  return with_unit(bytes, {"B", "kB", "MB", "GB", "TB", "PB"});
}

std::string format_ratio(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.2f}×", ratio) : "n/a";
}

std::string format_percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * 100) : "n/a";
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "n/a";
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const long long minutes = (whole + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string format_shape(const std::vector<long long>& shape) {
  return fmt::format("{}", fmt::join(shape, "×"));
}

}  // namespace lwb
