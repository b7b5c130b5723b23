#include <gtest/gtest.h>

#include "core/measure/sample_table.h"

namespace lwb {
namespace {

SampleBatch batch(const std::string& side, int round, std::vector<double> us) {
  SampleBatch batch;
  batch.call = "T=1024 hidden_size=4096";
  batch.side = side;
  batch.round = round;
  batch.us = std::move(us);
  batch.wall_us = {300, 310, 320};
  return batch;
}
const SampleTable::Cell kCell{"T=1024 hidden_size=4096", Pass::kForward};

TEST(CallNames, AreTheXOfTheStockScriptAndTheRest) {
  const CallName name = split_call_name("T=1024 hidden_size=4096");
  EXPECT_TRUE(name.has_x);
  EXPECT_EQ(name.x_name, "T");
  EXPECT_EQ(name.x, 1024);
  EXPECT_EQ(name.rest, "hidden_size=4096");
  EXPECT_EQ(split_call_name("BT=8192").rest, "");
}

TEST(CallNames, AreLeftWholeWithoutALeadingNumber) {
  for (const char* call : {"", "in place", "mode=fast T=2", "=3 a", "T=12x", "a b=3", "T= 3"}) {
    const CallName name = split_call_name(call);
    EXPECT_FALSE(name.has_x) << call;
    EXPECT_EQ(name.rest, call);
  }
}

TEST(SampleSummaries, HaveTheMediansIntervalByRanks) {
  std::vector<double> us;
  for (int i = 1; i <= 100; ++i) us.push_back(i);
  const SampleSummary summary = summarize(us, {5, 7, 9});
  EXPECT_EQ(summary.n, 100);
  EXPECT_DOUBLE_EQ(summary.median_us, 50.5);
  // Ranks 40 and 61 for n = 100 (Conover, section 3.2).
  EXPECT_DOUBLE_EQ(summary.low_us, 41);
  EXPECT_DOUBLE_EQ(summary.high_us, 60);
  EXPECT_DOUBLE_EQ(summary.wall_us, 7);
}

TEST(SampleSummaries, OfFewSamplesSpanThemAll) {
  const SampleSummary summary = summarize({3, 1, 2}, {});
  EXPECT_EQ(summary.low_us, 1);
  EXPECT_EQ(summary.high_us, 3);
  EXPECT_EQ(summary.wall_us, 0);
  EXPECT_EQ(summarize({}, {}).n, 0);
}

TEST(SampleTables, PoolRoundsOfOneVariant) {
  SampleTable table;
  EXPECT_TRUE(table.empty());
  table.add("baseline", batch("v0", 0, {10, 10, 11}));
  table.add("baseline", batch("v0", 1, {12, 12, 12}));
  table.add("measure v2", batch("v2", 0, {5}));
  EXPECT_EQ(table.cells().size(), 1U);
  EXPECT_EQ(table.variants(), (std::vector<int>{0, 2}));
  EXPECT_EQ(table.summary(kCell, 0)->n, 6);
  EXPECT_DOUBLE_EQ(table.summary(kCell, 0)->median_us, 11.5);
  EXPECT_FALSE(table.summary(kCell, 1));
  EXPECT_FALSE(table.summary({"other", Pass::kForward}, 0));
}

TEST(SampleTables, CompareWithinOneMeasurementAndTakeTheLast) {
  SampleTable table;
  const std::vector<double> slow{20, 20.2, 19.8, 20.1, 20, 19.9, 20, 20.1, 19.9, 20};
  const std::vector<double> fast{10, 10.1, 9.9, 10, 10.05, 9.95, 10, 10.1, 9.9, 10};
  table.add("measure v1", batch("v1", 0, fast));
  EXPECT_FALSE(table.ratio(kCell, 1)) << "nothing to compare with yet";
  table.add("baseline", batch("v0", 0, fast));
  EXPECT_FALSE(table.ratio(kCell, 1)) << "another measurement";
  table.add("measure v1", batch("v0", 0, slow));
  EXPECT_NEAR(table.ratio(kCell, 1)->ratio, 2.0, 0.02);
  table.add("measure the best again", batch("v0", 0, fast));
  table.add("measure the best again", batch("v1", 0, fast));
  EXPECT_NEAR(table.ratio(kCell, 1)->ratio, 1.0, 0.02);
  EXPECT_FALSE(table.ratio(kCell, 0));
  table.clear();
  EXPECT_TRUE(table.empty());
}

TEST(SampleTables, PassOverWhatIsNoVariant) {
  SampleTable table;
  for (const char* side : {"reference", "v", "v1x", "", "v-1"}) {
    table.add("m", batch(side, 0, {1}));
  }
  table.add("m", batch("v1", 0, {}));
  EXPECT_TRUE(table.empty());
}

TEST(SampleTables, AreWrittenAsCsv) {
  SampleTable table;
  SampleBatch odd = batch("v0", 0, {2, 4});
  odd.call = "a, \"b\"";
  table.add("m", odd);
  const std::string csv = to_csv(table);
  EXPECT_NE(csv.find("\n\"a, \"\"b\"\"\",forward,v0,2,3.000,2.000,4.000,"), std::string::npos)
      << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
}

}  // namespace
}  // namespace lwb
