// Pure functions over samples: ratios with intervals, and verdicts (spec section 7).
//
// How the interval is made, and why. Within one round (one process) the sides are interleaved
// A B B A …, so the i-th samples of both sides stand next to each other and whatever drifts (clock,
// heat, allocator) is common to them: the unit of evidence is the log ratio of such a pair. A round
// gives the 20 % trimmed mean of its pairs and its standard error by Yuen's rule (K. K. Yuen, "The
// two-sample trimmed t for unequal population variances", Biometrika 61, 1974), which 20 % of wild
// samples on each end do not move. Rounds are averaged, each with the weight of its pairs.
// A bootstrap over rounds alone is anti-conservative with 3 rounds (it can draw but 10 different
// sets), and a plain t interval over 3 round means is 9.9 standard errors wide. So the spread
// within rounds carries the interval, and the disagreement between rounds is tested against it:
// where chi-squared at 1 % says that the rounds differ by more than their own noise, the standard
// error is scaled up by the Birge ratio (Particle Data Group, "Review of Particle Physics", section
// 5.2.2) with degrees of freedom after Satterthwaite. An effect of one process on one side alone
// that is too small for that test is what `VerdictRule::noise_floor` is for.
// tests/measure/test_statistics.cpp shows the error rates on simulated noise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lwb {

double median(std::vector<double> values);
double quantile(std::vector<double> values, double q);     // linear interpolation, 0 when empty
double geometric_mean(const std::vector<double>& values);  // 1 when empty

// (q80 − q20) / median; 0 when there are fewer than two values.
double relative_spread(const std::vector<double>& values);

// Quantiles of the standard normal and of Student's t (G. W. Hill, Algorithm 396, CACM 13, 1970).
double normal_quantile(double p);
double student_quantile(double p, double degrees_of_freedom);

// Samples of the two sides in one round (one process), in the order taken.
struct RoundSamples {
  std::vector<double> old_us;
  std::vector<double> new_us;
  // The sides were interleaved in one process, so that equal indices stand beside each other. False
  // where each side had a process of its own: then the spread between rounds always counts.
  bool interleaved = true;
};

// Ratio old/new with a two-sided interval, symmetric on the log scale.
struct RatioEstimate {
  double ratio = 1;
  double low = 0, high = 0;  // interval at `confidence`
  double confidence = 0.99;
  int rounds = 0;
  int samples_old = 0, samples_new = 0;
  double spread_old = 0, spread_new = 0;  // (q80 − q20) / median over all samples
  double standard_error = 0;              // of the log ratio
  double degrees_of_freedom = 0;
  bool rounds_disagree = false;  // by more than their own noise: the interval is widened for it

  // The half-width of an interval at another two-sided confidence, on the log scale.
  double half_width(double two_sided_confidence) const;
};

// Samples that are all equal in a round count as one sample: they say nothing of the noise
// (field-notes C5). `samples_*` count them so. Deterministic: no random numbers.
RatioEstimate estimate_ratio(const std::vector<RoundSamples>& rounds, double confidence = 0.99);

// An estimate from a log ratio, its standard error and degrees of freedom.
RatioEstimate make_estimate(double log_ratio, double standard_error, double degrees_of_freedom,
                            double confidence);

enum class VerdictKind { kFaster, kSlower, kSame, kUncertain };
std::string to_string(VerdictKind);  // "FASTER", …
VerdictKind parse_verdict_kind(const std::string&);

struct Verdict {
  VerdictKind kind = VerdictKind::kUncertain;
  std::string reason;  // for UNCERTAIN: why; else a short justification
};

// FASTER: the whole interval lies above 1 + noise_floor. SLOWER: below 1 / (1 + noise_floor). SAME:
// two one-sided tests at `same_error` (Schuirmann 1987), that is: the two-sided interval at
// 1 − 2 × same_error lies inside [1 / (1 + equivalence), 1 + equivalence]. Otherwise
// UNCERTAIN(reason). `looks`: how often the same cell may be judged while rounds are added; each
// look gets its share of the error (Bonferroni), so that the rates hold after all of them.
struct VerdictRule {
  double confidence = 0.99;    // of FASTER and SLOWER, over all looks
  double noise_floor = 0.01;   // A/A spread between processes; measured where it was, at least this
  double equivalence = 0.015;  // what counts as the same; at least noise_floor
  double same_error = 0.05;    // chance to call SAME what differs by `equivalence`, over all looks
  int min_samples = 9;         // per side (Google Benchmark's note on Mann-Whitney)
  int looks = 1;
  double confidence_per_look() const { return 1.0 - (1.0 - confidence) / (looks < 1 ? 1 : looks); }
};
Verdict judge(const RatioEstimate& estimate, const VerdictRule& rule = {});

}  // namespace lwb
