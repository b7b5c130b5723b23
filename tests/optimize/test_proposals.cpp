#include "core/optimize/proposals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records.h"

namespace lwb {
namespace {

using testing::ElementsAre;
using testing_records::cell;
using testing_records::record;

const std::vector<StrategyItem> kOrder{{"pipeline", "", 1.5, Pass::kBackward},
                                       {"grid", "", 1.2, Pass::kBackward},
                                       {"buffers", "", 1.1, Pass::kBackward}};

TEST(NextProposal, TheSweepComesFirst) {
  const auto proposal = next_proposal({}, kOrder);
  ASSERT_TRUE(proposal);
  EXPECT_TRUE(proposal->techniques.empty());
}

TEST(NextProposal, ThenEverythingTogether) {
  std::vector<VariantRecord> records{record(1, {}, Decision::kAccepted, 1.1)};
  const auto all = next_proposal(records, kOrder);
  EXPECT_THAT(all->techniques, ElementsAre("pipeline", "grid", "buffers"));
  EXPECT_EQ(all->based_on, 1);
  records.push_back(record(2, {"pipeline", "grid", "buffers"}, Decision::kAccepted, 1.6));
  EXPECT_FALSE(next_proposal(records, kOrder));
}

TEST(NextProposal, WhenEverythingTogetherFailsTheyAreTriedOneByOne) {
  std::vector<VariantRecord> records{
      record(1, {}, Decision::kRejected, 1),
      record(2, {"pipeline", "grid", "buffers"}, Decision::kDiscarded, 1)};
  EXPECT_THAT(next_proposal(records, kOrder)->techniques, ElementsAre("pipeline"));
  records.push_back(record(3, {"pipeline"}, Decision::kAccepted, 1.4));
  EXPECT_THAT(next_proposal(records, kOrder)->techniques, ElementsAre("pipeline", "grid"));
  records.push_back(record(4, {"pipeline", "grid"}, Decision::kDiscarded, 1));
  EXPECT_THAT(next_proposal(records, kOrder)->techniques, ElementsAre("pipeline", "buffers"));
  records.push_back(record(5, {"pipeline", "buffers"}, Decision::kDiscarded, 1));
  EXPECT_FALSE(next_proposal(records, kOrder));
}

TEST(NextProposal, AMixedVariantIsGatedOnce) {
  VariantRecord mixed = record(2, {"pipeline"}, Decision::kMixed, 1.3);
  mixed.verdicts = {cell("a", Pass::kBackward, 10, 0.95, VerdictKind::kSlower),
                    cell("b", Pass::kBackward, 10, 1.50, VerdictKind::kFaster)};
  std::vector<VariantRecord> records{record(1, {}, Decision::kRejected, 1), mixed};
  const auto gated = next_proposal(records, kOrder);
  EXPECT_EQ(gated->gates, 2);
  EXPECT_THAT(gated->keep_original, ElementsAre("a"));
  VariantRecord again = mixed;
  again.number = 3;
  again.title = "x (v2 gated)";
  records.push_back(again);
  EXPECT_EQ(next_proposal(records, kOrder)->gates, 0);
}

TEST(NextProposal, NothingBesidesTheSweepWhenNothingApplies) {
  EXPECT_FALSE(next_proposal({record(1, {}, Decision::kRejected, 1)}, {}));
}

TEST(Proposals, ThePersonsOrderMovesAndStrikes) {
  const std::vector<StrategyItem> order{{"a", "", 1, Pass::kForward},
                                        {"b", "", 1, Pass::kForward},
                                        {"a", "", 1, Pass::kBackward},
                                        {"c", "", 1, Pass::kForward}};
  const auto wanted = ordered(order, {"c", "a", "unknown"});
  ASSERT_EQ(wanted.size(), 3U);
  EXPECT_EQ(wanted[0].technique, "c");
  EXPECT_EQ(wanted[1].technique, "a");
  EXPECT_EQ(wanted[1].pass, Pass::kForward);
  EXPECT_EQ(wanted[2].pass, Pass::kBackward);
  EXPECT_TRUE(ordered(order, {}).empty());
}

}  // namespace
}  // namespace lwb
