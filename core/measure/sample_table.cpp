#include "core/measure/sample_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace lwb {

namespace {

constexpr double kConfidence = 0.95;

// "v12" → 12.
std::optional<int> variant_of(const std::string& side) {
  int number = 0;
  if (side.size() < 2 || side.front() != 'v') return std::nullopt;
  const auto [end, error] = std::from_chars(side.data() + 1, side.data() + side.size(), number);
  if (error != std::errc{} || end != side.data() + side.size() || number < 0) return std::nullopt;
  return number;
}

// A field of RFC 4180.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

CallName split_call_name(const std::string& call) {
  CallName name;
  name.rest = call;
  const std::size_t space = std::min(call.find(' '), call.size());
  const std::size_t equals = call.find('=');
  if (equals == std::string::npos || equals == 0 || equals > space) return name;
  double x = 0;
  const char* last = call.data() + space;
  const auto [end, error] = std::from_chars(call.data() + equals + 1, last, x);
  if (error != std::errc{} || end != last || !std::isfinite(x)) return name;
  name.has_x = true;
  name.x_name = call.substr(0, equals);
  name.x = x;
  name.rest = space < call.size() ? call.substr(space + 1) : "";
  return name;
}

SampleSummary summarize(std::vector<double> us, const std::vector<double>& wall_us) {
  SampleSummary summary;
  summary.n = static_cast<int>(us.size());
  summary.wall_us = wall_us.empty() ? 0 : median(wall_us);
  if (us.empty()) return summary;
  summary.median_us = median(us);
  summary.spread = relative_spread(us);
  std::sort(us.begin(), us.end());
  const double n = static_cast<double>(us.size());
  const double half = normal_quantile(0.5 + kConfidence / 2) * std::sqrt(n) / 2;
  const double below = std::max(0.0, std::floor(n / 2 - half));
  const auto rank = static_cast<std::size_t>(below);
  summary.low_us = us[rank];
  summary.high_us = us[us.size() - 1 - rank];
  return summary;
}

void SampleTable::add(const std::string& measurement, const SampleBatch& batch) {
  const std::optional<int> variant = variant_of(batch.side);
  if (!variant || batch.us.empty()) return;
  auto name = std::find(names_.begin(), names_.end(), measurement);
  if (name == names_.end()) name = names_.insert(names_.end(), measurement);
  const Cell cell{batch.call, batch.pass};
  auto [found, is_new] = samples_.try_emplace(cell);
  if (is_new) cells_.push_back(cell);
  Samples& samples = found->second[*variant];
  samples.us.insert(samples.us.end(), batch.us.begin(), batch.us.end());
  samples.wall_us.insert(samples.wall_us.end(), batch.wall_us.begin(), batch.wall_us.end());
  samples.summary.reset();
  Round& round = samples.rounds[{static_cast<int>(name - names_.begin()), batch.round}];
  round.us.insert(round.us.end(), batch.us.begin(), batch.us.end());
  round.interleaved = batch.interleaved;
  // The original may have come later than the variant.
  for (auto& [number, other] : found->second) other.ratio.reset();
}

void SampleTable::clear() {
  *this = SampleTable{};
}

std::vector<int> SampleTable::variants() const {
  std::set<int> numbers;
  for (const auto& [cell, sides] : samples_) {
    for (const auto& [number, samples] : sides) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

const SampleTable::Samples* SampleTable::find(const Cell& cell, int variant) const {
  const auto sides = samples_.find(cell);
  if (sides == samples_.end()) return nullptr;
  const auto samples = sides->second.find(variant);
  return samples == sides->second.end() ? nullptr : &samples->second;
}

std::optional<SampleSummary> SampleTable::summary(const Cell& cell, int variant) const {
  const Samples* samples = find(cell, variant);
  if (samples == nullptr) return std::nullopt;
  if (!samples->summary) samples->summary = summarize(samples->us, samples->wall_us);
  return samples->summary;
}

std::optional<RatioEstimate> SampleTable::ratio(const Cell& cell, int variant) const {
  const Samples* original = find(cell, 0);
  const Samples* samples = find(cell, variant);
  if (original == nullptr || samples == nullptr || variant == 0) return std::nullopt;
  if (samples->ratio) return samples->ratio;
  // Places in names_ grow with time.
  int last = -1;
  for (const auto& [key, round] : samples->rounds) {
    if (original->rounds.contains(key)) last = std::max(last, key.first);
  }
  if (last < 0) return std::nullopt;
  std::vector<RoundSamples> rounds;
  for (const auto& [key, round] : samples->rounds) {
    const auto old = original->rounds.find(key);
    if (key.first != last || old == original->rounds.end()) continue;
    rounds.push_back({old->second.us, round.us, round.interleaved && old->second.interleaved});
  }
  samples->ratio = estimate_ratio(rounds, kConfidence);
  return samples->ratio;
}

std::string to_csv(const SampleTable& table) {
  std::string text =
      "call,pass,variant,samples,median_us,low_95_us,high_95_us,relative_spread,wall_us,"
      "ratio_to_original,ratio_low_95,ratio_high_95\n";
  for (const SampleTable::Cell& cell : table.cells()) {
    for (const int variant : table.variants()) {
      const auto summary = table.summary(cell, variant);
      if (!summary) continue;
      text += fmt::format("{},{},v{},{},{:.3f},{:.3f},{:.3f},{:.5f},{:.2f}", csv_field(cell.call),
                          to_string(cell.pass), variant, summary->n, summary->median_us,
                          summary->low_us, summary->high_us, summary->spread, summary->wall_us);
      if (const auto ratio = table.ratio(cell, variant)) {
        text += fmt::format(",{:.5f},{:.5f},{:.5f}\n", ratio->ratio, ratio->low, ratio->high);
      } else {
        text += ",,,\n";
      }
    }
  }
  return text;
}

}  // namespace lwb
