// Pure functions over samples: ratios with intervals, and verdicts (spec section 7).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lwb {

double median(std::vector<double> values);
double quantile(std::vector<double> values, double q);  // linear interpolation, 0 when empty
double geometric_mean(const std::vector<double>& values);

// Samples of the two sides in one round (one process), in the order taken.
struct RoundSamples {
  std::vector<double> old_us;
  std::vector<double> new_us;
};

// Ratio old/new of medians, on the log scale, with a two-sided interval.
struct RatioEstimate {
  double ratio = 1;
  double low = 0, high = 0;  // interval at `confidence`
  double confidence = 0.99;
  int rounds = 0;
  int samples_old = 0, samples_new = 0;
  double spread_old = 0, spread_new = 0;  // (q80 − q20) / median
};

// Bootstrap over rounds and over samples within rounds (hierarchical), `resamples` times, with a
// fixed seed, so that the same samples always give the same interval. Equal samples (p20=p50=p80 of one sample) count as one.
RatioEstimate estimate_ratio(const std::vector<RoundSamples>& rounds, double confidence = 0.99,
                             int resamples = 2000, std::uint64_t seed = 1);

enum class VerdictKind { kFaster, kSlower, kSame, kUncertain };
std::string to_string(VerdictKind);  // "FASTER", …
VerdictKind parse_verdict_kind(const std::string&);

struct Verdict {
  VerdictKind kind = VerdictKind::kUncertain;
  std::string reason;  // for UNCERTAIN: why; else a short justification
};

// FASTER: the whole interval lies above 1 + noise_floor. SLOWER: below 1 / (1 + noise_floor). SAME: inside
// [1 / (1 + equivalence), 1 + equivalence]. Otherwise UNCERTAIN(reason).
struct VerdictRule {
  double noise_floor = 0.01;   // A/A spread between processes; measured where it was, at least this
  double equivalence = 0.01;   // what counts as the same
  int min_samples = 9;         // per side (Google Benchmark's note on Mann-Whitney)
};
Verdict judge(const RatioEstimate& estimate, const VerdictRule& rule = {});

}  // namespace lwb
