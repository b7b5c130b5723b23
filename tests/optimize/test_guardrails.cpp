#include "core/optimize/guardrails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records.h"

namespace lwb {
namespace {

using testing::HasSubstr;
using testing_records::cell;
using testing_records::record;

VariantRecord measured(std::vector<CellVerdict> rows) {
  VariantRecord made;
  made.number = 1;
  made.measured = true;
  made.verdicts = std::move(rows);
  return made;
}

Request request(Goal goal = Goal::kSpeed) {
  Request made;
  made.goal = goal;
  return made;
}

TEST(Decide, AGainWithoutATripIsAccepted) {
  VariantRecord variant = measured({cell("a", Pass::kForward, 40, 1.0, VerdictKind::kSame),
                                    cell("a", Pass::kBackward, 100, 1.6, VerdictKind::kFaster)});
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kAccepted) << variant.reason;
  // 140 µs become 40 + 62.5 µs.
  EXPECT_NEAR(variant.score.ratio, 140.0 / 102.5, 1e-6);
  EXPECT_NEAR(variant.backward.ratio, 1.6, 1e-9);
  EXPECT_LT(variant.score.low, variant.score.ratio);
}

TEST(Decide, NoiseIsNotAGain) {
  VariantRecord variant = measured({cell("a", Pass::kBackward, 100, 1.004, VerdictKind::kSame)});
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kRejected);
  EXPECT_THAT(variant.reason, HasSubstr("nothing gained"));
}

TEST(Decide, AGainThatTheIntervalDoesNotCarryIsRejected) {
  VariantRecord variant =
      measured({cell("a", Pass::kBackward, 100, 1.03, VerdictKind::kUncertain, 0.03)});
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kRejected);
  EXPECT_THAT(variant.reason, HasSubstr("uncertainty"));
}

TEST(Decide, ACellThatIsSlowerMakesItMixed) {
  VariantRecord variant = measured({cell("a", Pass::kBackward, 100, 1.6, VerdictKind::kFaster),
                                    cell("b", Pass::kBackward, 20, 0.97, VerdictKind::kSlower)});
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kMixed);
  EXPECT_THAT(variant.reason, HasSubstr("b backward"));
}

TEST(Decide, ASlowerCellOutOfScopeDoesNotCount) {
  VariantRecord variant = measured({cell("a", Pass::kBackward, 100, 1.6, VerdictKind::kFaster),
                                    cell("b", Pass::kBackward, 20, 0.97, VerdictKind::kSlower)});
  decide(variant, request(), {"a"});
  EXPECT_EQ(variant.decision, Decision::kAccepted) << variant.reason;
}

TEST(Decide, OnePassMayNotPayForTheOther) {
  VariantRecord variant = measured({cell("a", Pass::kBackward, 100, 2.0, VerdictKind::kFaster),
                                    cell("a", Pass::kForward, 40, 0.85, VerdictKind::kSlower)});
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kRejected);
  EXPECT_THAT(variant.reason, HasSubstr("one pass may lose"));
}

TEST(Decide, ARegressionWithinItsOwnUncertaintyTripsNothing) {
  // 12 % slower, but the interval reaches to 8 %: it cannot be told from less than the limit.
  VariantRecord variant =
      measured({cell("a", Pass::kBackward, 100, 2.0, VerdictKind::kFaster),
                cell("a", Pass::kForward, 40, 0.893, VerdictKind::kSlower, 0.04)});
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kMixed);
}

TEST(Decide, MemoryBelowFourMebibytesDoesNotTrip) {
  VariantRecord variant = measured({cell("a", Pass::kBackward, 100, 2.0, VerdictKind::kFaster)});
  variant.memory = {{"a", "v0", 10e6}, {"a", "v1", 13e6}};
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kAccepted) << variant.reason;
  variant.memory = {{"a", "v0", 100e6}, {"a", "v1", 110e6}};
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kRejected);
  EXPECT_THAT(variant.reason, HasSubstr("peak memory"));
}

TEST(Decide, ForTheGoalMemoryTimeIsGuarded) {
  VariantRecord variant = measured({cell("a", Pass::kBackward, 100, 0.9, VerdictKind::kSlower)});
  variant.memory = {{"a", "v0", 100e6}, {"a", "v1", 50e6}};
  decide(variant, request(Goal::kMemory), {});
  EXPECT_EQ(variant.decision, Decision::kRejected);
  EXPECT_NEAR(variant.score.ratio, 2, 1e-9);
}

TEST(Decide, TimedOnTheCpuIsNeverJudged) {
  CellVerdict row = cell("a", Pass::kBackward, 100, 2.0, VerdictKind::kUncertain);
  row.clock = "host";
  VariantRecord variant = measured({row});
  decide(variant, request(), {});
  EXPECT_EQ(variant.decision, Decision::kRejected);
}

TEST(StopReason, TwoVariantsWithoutImprovement) {
  const std::vector<VariantRecord> records{record(1, {}, Decision::kAccepted, 1.5),
                                           record(2, {"t"}, Decision::kAccepted, 1.503),
                                           record(3, {"t", "u"}, Decision::kAccepted, 1.504)};
  EXPECT_EQ(stop_reason({records[0], records[1]}, request(), {}), "");
  EXPECT_THAT(stop_reason(records, request(), {}), HasSubstr("two consecutive"));
}

TEST(StopReason, VariantsThatTrippedAGuardrailDoNotCount) {
  VariantRecord tripped = record(2, {"t"}, Decision::kRejected, 1.2);
  tripped.reason = "peak memory of a grows";
  EXPECT_EQ(stop_reason({record(1, {}, Decision::kAccepted, 1.5), tripped, tripped}, request(), {}),
            "");
}

TEST(StopReason, TheBudgetOfVariants) {
  Request two = request();
  two.max_variants = 2;
  EXPECT_THAT(stop_reason({record(1, {}, Decision::kAccepted, 1.5),
                           record(2, {"t"}, Decision::kAccepted, 2.0)},
                          two, {}),
              HasSubstr("budget of 2 variants"));
}

TEST(TargetMet, InTheCellsThatItNamesOnly) {
  CapturedCall small, large;
  small.id = "small", large.id = "large";
  small.cell.x_name = large.cell.x_name = "T";
  small.cell.x = 1024, large.cell.x = 8192;
  small.cell.config = large.cell.config = Json::object();
  VariantRecord variant = measured({cell("small", Pass::kForward, 20, 2.0, VerdictKind::kFaster),
                                    cell("large", Pass::kForward, 200, 2.0, VerdictKind::kFaster)});
  TargetMetric target;
  target.pass = Pass::kForward;
  target.limit = 15;
  target.conditions = {{"T", Comparison::kEqual, 1024}};
  EXPECT_TRUE(target_met(target, variant, {small, large}));
  target.conditions = {{"T", Comparison::kEqual, 8192}};
  EXPECT_FALSE(target_met(target, variant, {small, large}));
}

}  // namespace
}  // namespace lwb
