// Small text helpers: lines, words, nearest names, formatting of numbers with units.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lwb {

// Without the line ends (\n or \r\n); a line end at the very end starts no further line.
std::vector<std::string> split_lines(std::string_view text);
// n separators give n + 1 parts, empty ones too.
std::vector<std::string> split(std::string_view text, char separator);
std::string trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string to_lower(std::string_view text);  // ASCII letters
std::string replace_all(std::string text, std::string_view what, std::string_view with);

// The `limit` names nearest to `name` by edit distance (upper and lower case alike), nearest first;
// names further than half of `name`'s length are left out.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names,
                                       std::size_t limit = 3);

// Numbers for people: three significant digits; "n/a" for NaN and infinities.
std::string format_us(double us);             // "62.4 µs", "1.77 ms"
std::string format_bytes(double bytes);       // "67.1 MB" (10^6), as DRAM rates are counted
std::string format_ratio(double ratio);       // "1.63×"
std::string format_percent(double share);     // 0.934 → "93.4 %"
std::string format_duration(double seconds);  // "42 ms", "4.2 s", "3 min 05 s", "1 h 02 min"
// "2048×4096": a shape or grid.
std::string format_shape(const std::vector<long long>& shape);

}  // namespace lwb
