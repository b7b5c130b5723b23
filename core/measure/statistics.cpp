#include "core/measure/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace lwb {
namespace {

constexpr double kTrim = 0.2;  // on each end

// Centre and variance of the centre of some values, both robust.
struct Centre {
  double value = 0;
  double variance = 0;
  int count = 0;  // 1 when all values are equal: they say nothing of the noise
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// 20 % trimmed mean; its variance from the Winsorized values (Yuen 1974).
Centre trimmed_centre(std::vector<double> values) {
  Centre centre;
  if (values.empty()) return centre;
  std::sort(values.begin(), values.end());
  if (values.front() == values.back()) return {values.front(), 0.0, 1};
  const std::size_t n = values.size();
  const std::size_t cut = static_cast<std::size_t>(kTrim * static_cast<double>(n));
  const std::size_t kept = n - 2 * cut;
  double sum = 0;
  for (std::size_t i = cut; i < n - cut; ++i) sum += values[i];
  for (std::size_t i = 0; i < cut; ++i) {
    values[i] = values[cut];
    values[n - 1 - i] = values[n - 1 - cut];
  }
  const double middle = mean(values);
  double squares = 0;
  for (const double v : values) squares += (v - middle) * (v - middle);
  const double h = static_cast<double>(kept);
  centre.value = sum / h;
  centre.variance = squares / (h * (h - 1.0));
  centre.count = static_cast<int>(n);
  return centre;
}

std::vector<double> logs(const std::vector<double>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const double v : values) {
    if (v > 0) result.push_back(std::log(v));
  }
  return result;
}

// Degrees of freedom left by trimming.
double freedom(int count) {
  return std::max(1.0, std::ceil(count * (1.0 - 2.0 * kTrim)) - 1.0);
}

// One round: its log ratio, its variance, and the degrees of freedom of that variance.
struct RoundEstimate {
  double log_ratio = 0;
  double variance = 0;
  double weight = 0;
  double freedom = 0;  // 0: the round says nothing of its own noise
};

RoundEstimate estimate_round(const RoundSamples& round) {
  const std::vector<double> old_logs = logs(round.old_us);
  const std::vector<double> new_logs = logs(round.new_us);
  RoundEstimate result;
  if (old_logs.empty() || new_logs.empty()) return result;
  result.weight = static_cast<double>(std::min(old_logs.size(), new_logs.size()));
  if (round.interleaved && old_logs.size() == new_logs.size()) {
    std::vector<double> pairs(old_logs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = old_logs[i] - new_logs[i];
    const Centre centre = trimmed_centre(std::move(pairs));
    result.log_ratio = centre.value;
    result.variance = centre.variance;
    result.freedom = centre.count > 1 ? freedom(centre.count) : 0;
    return result;
  }
  const Centre old_centre = trimmed_centre(old_logs);
  const Centre new_centre = trimmed_centre(new_logs);
  result.log_ratio = old_centre.value - new_centre.value;
  result.variance = old_centre.variance + new_centre.variance;
  if (old_centre.count > 1 || new_centre.count > 1) {
    result.freedom = freedom(std::max(2, std::min(old_centre.count, new_centre.count)));
  }
  return result;
}

// Chi-squared over its degrees of freedom, upper tail (Wilson and Hilferty 1931).
double chi_squared_ratio(double p_upper, double k) {
  const double z = normal_quantile(1.0 - p_upper);
  const double a = 2.0 / (9.0 * k);
  return std::pow(1.0 - a + z * std::sqrt(a), 3.0);
}

struct Combined {
  double log_ratio = 0, variance = 0, freedom = 0;
  bool disagree = false;
};

Combined combine(const std::vector<RoundEstimate>& rounds, bool interleaved) {
  double total = 0;
  for (const RoundEstimate& r : rounds) total += r.weight;
  Combined result;
  double within = 0;    // variance of the mean, from the spread within rounds
  double expected = 0;  // of the weighted sum of squares between rounds
  double within_freedom = 0;
  for (const RoundEstimate& r : rounds) {
    const double w = r.weight / total;
    result.log_ratio += w * r.log_ratio;
    within += w * w * r.variance;
    expected += w * (1.0 - w) * r.variance;
    within_freedom += r.freedom;
  }
  result.variance = within;
  result.freedom = within_freedom;
  const double k = static_cast<double>(rounds.size()) - 1.0;
  if (k < 1) return result;
  double squares = 0, weights_squared = 0;
  for (const RoundEstimate& r : rounds) {
    const double w = r.weight / total;
    squares += w * (r.log_ratio - result.log_ratio) * (r.log_ratio - result.log_ratio);
    weights_squared += w * w;
  }
  // What the rounds say about the variance of their mean, by themselves.
  const double between = squares * weights_squared / (1.0 - weights_squared);
  if (within_freedom <= 0 || expected <= 0) {  // nothing but the rounds to go by
    result.variance = between;
    result.freedom = k;
    return result;
  }
  const double birge_squared =
      squares / expected;  // 1 on average when rounds differ by noise alone
  const bool significant = birge_squared > chi_squared_ratio(0.01, k);
  if (birge_squared > 1.0 && (significant || !interleaved)) {
    const double excess = birge_squared - 1.0;
    result.variance = within * birge_squared;
    result.freedom = birge_squared * birge_squared / (1.0 / within_freedom + excess * excess / k);
    result.disagree = significant;
  }
  return result;
}

bool all_equal(const std::vector<double>& values) {
  return !values.empty() &&
         std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); });
}

int counted(const std::vector<double>& values) {
  return all_equal(values) ? 1 : static_cast<int>(values.size());
}

std::string percent(double ratio) {
  return fmt::format("{:+.1f} %", (ratio - 1.0) * 100.0);
}

std::string uncertain_reason(const RatioEstimate& e, const VerdictRule& rule, double equivalence) {
  if (e.rounds_disagree) {
    return fmt::format("the rounds disagree by more than their own noise ({} to {})",
                       percent(e.low), percent(e.high));
  }
  if (e.low > 1.0 || e.high < 1.0) {
    return fmt::format("a change of {} is not told apart from the noise floor of {:.1f} %",
                       percent(e.ratio), rule.noise_floor * 100.0);
  }
  return fmt::format("the interval {} to {} is too wide to tell a change from none within {:.1f} %",
                     percent(e.low), percent(e.high), equivalence * 100.0);
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double share = position - static_cast<double>(below);
  return values[below] + share * (values[above] - values[below]);
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 1;
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

double relative_spread(const std::vector<double>& values) {
  const double middle = median(values);
  if (values.size() < 2 || middle <= 0) return 0;
  return (quantile(values, 0.8) - quantile(values, 0.2)) / middle;
}

double normal_quantile(double p) {
  // By Newton's method on the distribution function: three steps from a logistic guess would do for
  // the middle, the tails need a few more.
  if (p == 0.5) return 0;
  const double tail = std::min(p, 1.0 - p);
  const double t = std::sqrt(-2.0 * std::log(tail));
  // Abramowitz and Stegun 26.2.23, error below 4.5e-4, as the start.
  double z = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
                     (1.0 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
  for (int i = 0; i < 4; ++i) {
    const double upper = 0.5 * std::erfc(z / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    z += (upper - tail) / density;
  }
  return p < 0.5 ? -z : z;
}

double student_quantile(double p, double df) {
  if (p == 0.5) return 0;
  const double two_tails = 2.0 * std::min(p, 1.0 - p);
  const double sign = p < 0.5 ? -1.0 : 1.0;
  if (df < 1.0) df = 1.0;
  if (df == 1.0) return sign / std::tan(two_tails * std::numbers::pi / 2.0);
  if (df == 2.0) return sign * std::sqrt(2.0 / (two_tails * (2.0 - two_tails)) - 2.0);
  const double a = 1.0 / (df - 0.5);
  const double b = 48.0 / (a * a);
  double c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
  const double d = ((94.5 / (b + c) - 3.0) / b + 1.0) * std::sqrt(a * std::numbers::pi / 2.0) * df;
  double x = d * two_tails;
  double y = std::pow(x, 2.0 / df);
  if (y > 0.05 + a) {
    x = normal_quantile(0.5 * two_tails);
    y = x * x;
    if (df < 5.0) c += 0.3 * (df - 4.5) * (x + 0.6);
    c = (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b + c;
    y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
    y = std::expm1(a * y * y);
  } else {
    y = ((1.0 / (((df + 6.0) / (df * y) - 0.089 * d - 0.822) * (df + 2.0) * 3.0) +
          0.5 / (df + 4.0)) *
             y -
         1.0) *
            (df + 1.0) / (df + 2.0) +
        1.0 / y;
  }
  return sign * std::sqrt(df * y);
}

double RatioEstimate::half_width(double two_sided_confidence) const {
  return student_quantile(0.5 + 0.5 * two_sided_confidence, degrees_of_freedom) * standard_error;
}

RatioEstimate make_estimate(double log_ratio, double standard_error, double degrees_of_freedom,
                            double confidence) {
  RatioEstimate estimate;
  estimate.standard_error = standard_error;
  estimate.degrees_of_freedom = degrees_of_freedom;
  estimate.confidence = confidence;
  estimate.ratio = std::exp(log_ratio);
  const double half = standard_error > 0 ? estimate.half_width(confidence) : 0.0;
  estimate.low = std::exp(log_ratio - half);
  estimate.high = std::exp(log_ratio + half);
  return estimate;
}

RatioEstimate estimate_ratio(const std::vector<RoundSamples>& rounds, double confidence) {
  std::vector<RoundEstimate> estimates;
  std::vector<double> old_all, new_all;
  int samples_old = 0, samples_new = 0;
  bool interleaved = true;
  for (const RoundSamples& round : rounds) {
    const RoundEstimate one = estimate_round(round);
    if (one.weight <= 0) continue;
    estimates.push_back(one);
    interleaved = interleaved && round.interleaved;
    samples_old += counted(round.old_us);
    samples_new += counted(round.new_us);
    old_all.insert(old_all.end(), round.old_us.begin(), round.old_us.end());
    new_all.insert(new_all.end(), round.new_us.begin(), round.new_us.end());
  }
  RatioEstimate result;
  result.confidence = confidence;
  if (estimates.empty()) return result;
  const Combined combined = combine(estimates, interleaved);
  result =
      make_estimate(combined.log_ratio, std::sqrt(combined.variance), combined.freedom, confidence);
  result.rounds = static_cast<int>(estimates.size());
  result.rounds_disagree = combined.disagree;
  result.samples_old = samples_old;
  result.samples_new = samples_new;
  result.spread_old = relative_spread(old_all);
  result.spread_new = relative_spread(new_all);
  return result;
}

std::string to_string(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kFaster:
      return "FASTER";
    case VerdictKind::kSlower:
      return "SLOWER";
    case VerdictKind::kSame:
      return "SAME";
    case VerdictKind::kUncertain:
      break;
  }
  return "UNCERTAIN";
}

VerdictKind parse_verdict_kind(const std::string& text) {
  if (text == "FASTER") return VerdictKind::kFaster;
  if (text == "SLOWER") return VerdictKind::kSlower;
  if (text == "SAME") return VerdictKind::kSame;
  return VerdictKind::kUncertain;
}

Verdict judge(const RatioEstimate& e, const VerdictRule& rule) {
  const int samples = std::min(e.samples_old, e.samples_new);
  if (samples == 0) return {VerdictKind::kUncertain, "there are no samples of both sides"};
  if (samples < rule.min_samples) {
    return {VerdictKind::kUncertain,
            fmt::format("{} {} a side, {} are needed", samples, samples == 1 ? "sample" : "samples",
                        rule.min_samples)};
  }
  const double floor = 1.0 + rule.noise_floor;
  const std::string interval = fmt::format("{} to {}", percent(e.low), percent(e.high));
  if (e.low > floor) {
    return {VerdictKind::kFaster, fmt::format("{} is above the noise floor of {:.1f} %", interval,
                                              rule.noise_floor * 100)};
  }
  if (e.high < 1.0 / floor) {
    return {VerdictKind::kSlower, fmt::format("{} is below the noise floor of {:.1f} %", interval,
                                              rule.noise_floor * 100)};
  }
  const double equivalence = std::max(rule.equivalence, rule.noise_floor);
  const double error = rule.same_error / std::max(1, rule.looks);
  const double half =
      e.standard_error > 0 ? e.half_width(1.0 - 2.0 * error) : 0.5 * std::log(e.high / e.low);
  if (std::abs(std::log(e.ratio)) + half < std::log1p(equivalence)) {
    return {VerdictKind::kSame, fmt::format("no change above {:.1f} %", equivalence * 100)};
  }
  return {VerdictKind::kUncertain, uncertain_reason(e, rule, equivalence)};
}

}  // namespace lwb
