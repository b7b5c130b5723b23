// Error rates of the verdicts on simulated noise: what a verdict says must hold.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

#include "core/measure/statistics.h"

namespace lwb {
namespace {

struct Noise {
  double per_sample = 0.02;       // lognormal
  double between_rounds = 0.015;  // common to both sides of a process
  double drift = 0.002;           // random walk within a process, common to both
  double outliers = 0.02;         // share of samples that are up to several times as slow
  double one_sided = 0;           // of a process, on one side alone
};

class Machine {
 public:
  explicit Machine(std::uint64_t seed, Noise noise = {}) : random_(seed), noise_(noise) {}

  // `ratio`: old over new.
  std::vector<RoundSamples> measure(int rounds, double ratio, int samples = 20) {
    std::vector<RoundSamples> result;
    for (int r = 0; r < rounds; ++r) {
      double level = normal(noise_.between_rounds);
      const double side = normal(noise_.one_sided);
      RoundSamples round;
      for (int i = 0; i < samples; ++i) {
        level += normal(noise_.drift);
        round.old_us.push_back(100 * std::exp(level + side + sample()) * ratio);
        round.new_us.push_back(100 * std::exp(level + sample()));
      }
      result.push_back(round);
    }
    return result;
  }

 private:
  double normal(double sd) { return sd > 0 ? std::normal_distribution<>(0, sd)(random_) : 0; }
  double sample() {
    double x = normal(noise_.per_sample);
    if (std::uniform_real_distribution<>()(random_) < noise_.outliers) {
      x += std::exponential_distribution<>(3.0)(random_);
    }
    return x;
  }
  std::mt19937_64 random_;
  Noise noise_;
};

struct Rates {
  double faster = 0, slower = 0, same = 0, uncertain = 0, covered = 0;
};

Rates rates(double ratio, int rounds, const Noise& noise = {}, const VerdictRule& rule = {},
            int cells = 2000) {
  Machine machine(42, noise);
  Rates result;
  const double one = 1.0 / cells;
  for (int i = 0; i < cells; ++i) {
    const auto estimate =
        estimate_ratio(machine.measure(rounds, ratio), rule.confidence_per_look());
    if (estimate.low <= ratio && ratio <= estimate.high) result.covered += one;
    switch (judge(estimate, rule).kind) {
      case VerdictKind::kFaster:
        result.faster += one;
        break;
      case VerdictKind::kSlower:
        result.slower += one;
        break;
      case VerdictKind::kSame:
        result.same += one;
        break;
      case VerdictKind::kUncertain:
        result.uncertain += one;
        break;
    }
  }
  return result;
}

TEST(Statistics, AnUnchangedKernelIsCalledTheSame) {
  const Rates r = rates(1.0, 3);
  EXPECT_GE(r.same, 0.90);
  EXPECT_LE(r.faster + r.slower, 0.01);
  EXPECT_GE(r.covered, 0.98);
}

TEST(Statistics, AChangeOfThreePercentIsFound) {
  EXPECT_GE(rates(1.03, 3).faster, 0.95);
  EXPECT_GE(rates(1 / 1.03, 3).slower, 0.95);
}

TEST(Statistics, RatesHoldAfterAllLooks) {
  VerdictRule rule;
  rule.looks = 3;
  int wrong = 0, same = 0, found = 0;
  constexpr int kCells = 1500;
  Machine machine(7);
  const auto decided = [&](double ratio) {
    auto samples = machine.measure(5, ratio);
    for (std::size_t rounds = 3; rounds <= 5; ++rounds) {
      const std::vector<RoundSamples> so_far(samples.begin(),
                                             samples.begin() + static_cast<long>(rounds));
      const auto kind = judge(estimate_ratio(so_far, rule.confidence_per_look()), rule).kind;
      if (kind != VerdictKind::kUncertain) return kind;
    }
    return VerdictKind::kUncertain;
  };
  for (int i = 0; i < kCells; ++i) {
    const auto aa = decided(1.0);
    same += aa == VerdictKind::kSame;
    wrong += aa == VerdictKind::kFaster || aa == VerdictKind::kSlower;
    found += decided(1 / 1.03) == VerdictKind::kSlower;
  }
  EXPECT_GE(same, 0.95 * kCells);
  EXPECT_LE(wrong, 0.01 * kCells);
  EXPECT_GE(found, 0.97 * kCells);
}

// A process may favour one side (addresses of its buffers). What 3 rounds cannot tell, the noise
// floor covers: no verdict of a gain comes of it.
TEST(Statistics, AnEffectOfTheProcessOnOneSideMakesNoWinner) {
  Noise noise;
  for (const double effect : {0.003, 0.006, 0.01}) {
    noise.one_sided = effect;
    const Rates r = rates(1.0, 3, noise);
    EXPECT_LE(r.faster + r.slower, 0.01) << effect;
  }
}

TEST(Statistics, RoundsThatDisagreeWidenTheInterval) {
  Noise noise;
  noise.one_sided = 0.04;
  const Rates r = rates(1.0, 3, noise);
  // What remains are three rounds that lie on one side by chance, too close together to tell.
  EXPECT_LE(r.faster + r.slower, 0.06);
  EXPECT_GE(r.uncertain, 0.85);
  // Fixed rounds: +8 %, 0 %, −8 %.
  Machine machine(3);
  std::vector<RoundSamples> rounds;
  for (const double ratio : {1.08, 1.0, 0.92}) rounds.push_back(machine.measure(1, ratio).front());
  const auto estimate = estimate_ratio(rounds);
  EXPECT_TRUE(estimate.rounds_disagree);
  EXPECT_LT(estimate.low, 0.90);
  const Verdict verdict = judge(estimate);
  EXPECT_EQ(verdict.kind, VerdictKind::kUncertain);
  EXPECT_NE(verdict.reason.find("disagree"), std::string::npos) << verdict.reason;
}

// Field-notes C2: each sample 1 % slower than the one before; both sides see it.
TEST(Statistics, CommonDriftIsNotBlamedOnOneSide) {
  Noise noise;
  noise.between_rounds = 0.2;
  noise.drift = 0.02;
  const Rates r = rates(1.0, 3, noise, {}, 500);
  EXPECT_GE(r.same, 0.88);
  EXPECT_EQ(r.faster + r.slower, 0);
}

// Field-notes C1: a spread of ±8 % and equal means: no winner.
TEST(Statistics, LoudNoiseGivesNoWinner) {
  Noise noise;
  noise.per_sample = 0.08;
  const Rates r = rates(1.0, 3, noise, {}, 1000);
  EXPECT_LE(r.faster + r.slower, 0.01);
}

TEST(Statistics, QuietKernelsAreToldAtOnePercentAndAHalf) {
  Noise noise;
  noise.per_sample = 0.004;
  EXPECT_GE(rates(1.0, 3, noise).same, 0.995);
  EXPECT_GE(rates(1.015, 3, noise).faster, 0.9);
}

TEST(Statistics, SeparateProcessesNeedMore) {
  Machine machine(5);
  auto rounds = machine.measure(3, 1.0);
  for (auto& round : rounds) round.interleaved = false;
  rounds[1].old_us = machine.measure(1, 1.06).front().old_us;  // another process, another clock
  EXPECT_NE(judge(estimate_ratio(rounds)).kind, VerdictKind::kSlower);
  EXPECT_NE(judge(estimate_ratio(rounds)).kind, VerdictKind::kFaster);
}

TEST(Statistics, EqualSamplesCountAsOne) {
  // Field-notes C5: p20 = p50 = p80 is one sample, never zero noise.
  const std::vector<RoundSamples> rounds(
      3, {std::vector<double>(20, 10.0), std::vector<double>(20, 9.0), true});
  const auto estimate = estimate_ratio(rounds);
  EXPECT_EQ(estimate.samples_old, 3);
  const Verdict verdict = judge(estimate);
  EXPECT_EQ(verdict.kind, VerdictKind::kUncertain);
  EXPECT_EQ(verdict.reason, "3 samples a side, 9 are needed");
}

TEST(Statistics, NothingMeasuredIsUncertain) {
  EXPECT_EQ(judge(estimate_ratio({})).kind, VerdictKind::kUncertain);
  EXPECT_EQ(judge(estimate_ratio({{{1.0}, {}, true}})).kind, VerdictKind::kUncertain);
}

TEST(Statistics, QuantilesOfTheDistributions) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(normal_quantile(0.0005), -3.290527, 1e-6);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  // Tables of Student's t.
  EXPECT_NEAR(student_quantile(0.995, 1), 63.657, 0.01);
  EXPECT_NEAR(student_quantile(0.995, 2), 9.925, 0.01);
  EXPECT_NEAR(student_quantile(0.995, 3), 5.841, 0.02);
  EXPECT_NEAR(student_quantile(0.975, 10), 2.228, 0.002);
  EXPECT_NEAR(student_quantile(0.95, 57), 1.672, 0.002);
  EXPECT_NEAR(student_quantile(0.05, 5), -2.015, 0.005);
}

TEST(Statistics, MediansAndMeans) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_NEAR(quantile({0, 10}, 0.2), 2, 1e-12);
  EXPECT_NEAR(geometric_mean({2, 8}), 4, 1e-12);
  EXPECT_EQ(geometric_mean({}), 1);
}

TEST(Statistics, OneEstimateTakesLessThanFiveMilliseconds) {
  Machine machine(1);
  const auto rounds = machine.measure(3, 1.01);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) estimate_ratio(rounds);
  const auto each = (std::chrono::steady_clock::now() - start) / 20;
  EXPECT_LT(std::chrono::duration<double>(each).count(), 0.005);
}

}  // namespace
}  // namespace lwb
