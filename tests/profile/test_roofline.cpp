// Floor and share of the roof from copy rates, and what is called no headroom.
#include "core/profile/roofline.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lwb {
namespace {

constexpr double kMb = 1e6;
constexpr long long kL2 = 50'000'000;

class RooflineOf : public ::testing::Test {
 protected:
  void add(const std::string& call, Pass pass, double bytes, double op_us) {
    SampleBatch batch;
    batch.call = call;
    batch.pass = pass;
    batch.side = "v0";
    batch.us = {op_us, op_us, op_us};
    batch.wall_us = {4 * op_us};
    baseline_.batches.push_back(batch);
    PassBytes counted;
    counted.call = call;
    counted.pass = pass;
    counted.read = counted.written = bytes / 2;
    trace_.bytes.push_back(counted);
  }
  Roofline roof(const std::vector<std::string>& scope = {}) {
    return roofline(baseline_, "v0", trace_, kL2, scope, std::nullopt);
  }
  Measurement baseline_;
  LaunchTrace trace_;
};

TEST_F(RooflineOf, FloorIsTheCopyOfTheSameSize) {
  baseline_.copy_rates = {{100 * kMb, {40, 50, 60}}, {400 * kMb, {100, 100}}};
  add("a", Pass::kForward, 100 * kMb, 80);
  add("b", Pass::kForward, 200 * kMb, 80);
  add("c", Pass::kForward, 800 * kMb, 400);
  const Roofline r = roof();
  EXPECT_DOUBLE_EQ(r.rows[0].floor_us, 50);
  EXPECT_NEAR(r.rows[0].share, 50.0 / 80, 1e-12);
  // 2 and 4 MB/µs: their geometric mean in the middle of the log scale.
  EXPECT_NEAR(r.rows[1].floor_us, 200 / std::sqrt(8.0), 1e-9);
  EXPECT_DOUBLE_EQ(r.rows[2].floor_us, 200);  // the last rate goes on
  EXPECT_DOUBLE_EQ(r.best_copy_rate, 4e12);
}

TEST_F(RooflineOf, ASizeIsNeverSlowerThanALargerOne) {
  baseline_.copy_rates = {{10 * kMb, {15}}, {20 * kMb, {12}}, {40 * kMb, {20}}};
  add("a", Pass::kForward, 10 * kMb, 14);
  add("b", Pass::kForward, 20 * kMb, 14);
  const Roofline r = roof();
  EXPECT_DOUBLE_EQ(r.rows[0].floor_us, 12);
  EXPECT_DOUBLE_EQ(r.rows[1].floor_us, 12);
}

TEST_F(RooflineOf, SizesThatAreNearlyOneShareTheBetterRate) {
  baseline_.copy_rates = {{100 * kMb, {40}}, {101 * kMb, {50.5}}};
  add("a", Pass::kForward, 101 * kMb, 60);
  EXPECT_NEAR(roof().rows[0].floor_us, 40.4, 1e-9);
}

TEST_F(RooflineOf, NoHeadroomAsksForEveryLargeCellInScope) {
  baseline_.copy_rates = {{200 * kMb, {100}}};
  add("near", Pass::kForward, 200 * kMb, 109);
  add("far", Pass::kForward, 200 * kMb, 200);
  add("small", Pass::kForward, 10 * kMb, 900);  // within twice the L2: does not count
  EXPECT_FALSE(roof().no_headroom);
  EXPECT_NE(roof().diagnosis.find("far"), std::string::npos);
  EXPECT_TRUE(roof({"near", "small"}).no_headroom);
  EXPECT_FALSE(roof({"small"}).no_headroom);
}

TEST_F(RooflineOf, WithoutCopyRatesThereIsNoFloor) {
  add("a", Pass::kForward, 200 * kMb, 100);
  const Roofline r = roof();
  EXPECT_EQ(r.rows[0].floor_us, 0);
  EXPECT_FALSE(r.no_headroom);
  EXPECT_EQ(r.rows[0].bottleneck, "unknown (no floor)");
}

}  // namespace
}  // namespace lwb
