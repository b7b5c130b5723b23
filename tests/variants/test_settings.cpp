// Choosing settings from sweep points, and the Python function that carries them: run for real.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "core/base/files.h"
#include "core/variants/settings.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Settings kWide{{"num_warps", 16}};
const Settings kDeep{{"loop_stages", 4}, {"num_warps", 8}};

SweepPoint point(const std::string& call, Settings settings, double us,
                 const std::string& status = "correct") {
  SweepPoint p;
  p.hook = "f";
  p.call = call;
  p.settings = std::move(settings);
  p.status = status;
  p.median_us = us;
  return p;
}

ShapePoint shape(const std::string& call, long long rows, long long cols,
                 const std::string& dtype = "bfloat16") {
  return {call, {{"rows", rows}, {"cols", cols}}, dtype};
}

const std::vector<std::string> kFeatures{"rows", "cols"};

BucketChoice bucket(long long rows, long long cols, Settings settings,
                    const std::string& dtype = "bfloat16") {
  return {{{"rows", rows}, {"cols", cols}}, dtype, std::move(settings), 10, 5};
}

SettingsTable table(std::vector<BucketChoice> buckets) {
  SettingsTable t{"f", kFeatures, std::move(buckets), 9, 0, "Test GPU"};
  return t;
}

TEST(ChooseSettings, TakesTheBestWhereItGains) {
  const auto t = choose_settings(
      "f", kFeatures, {shape("a", 1, 1), shape("b", 2, 1)},
      {point("a", {}, 10), point("a", kWide, 5), point("b", {}, 10), point("b", kWide, 9.95)});
  ASSERT_EQ(t.buckets.size(), 2u);
  EXPECT_EQ(t.buckets[0].settings, kWide);
  EXPECT_DOUBLE_EQ(t.buckets[0].original_us, 10);
  EXPECT_DOUBLE_EQ(t.buckets[0].best_us, 5);
  EXPECT_TRUE(t.buckets[1].settings.empty()) << "half a percent is not worth a change";
  EXPECT_DOUBLE_EQ(t.buckets[1].best_us, 10);
}

TEST(ChooseSettings, OneSettingForManyShapesWhereTheLossIsSmall) {
  // At each shape another one is the best by half a percent, kDeep is near everywhere.
  const auto t = choose_settings(
      "f", kFeatures, {shape("a", 1, 1), shape("b", 2, 1)},
      {point("a", {}, 10), point("a", kWide, 5.00), point("a", kDeep, 5.02), point("b", {}, 10),
       point("b", {{"num_warps", 2}}, 5.00), point("b", kDeep, 5.02)});
  EXPECT_EQ(t.buckets[0].settings, kDeep);
  EXPECT_EQ(t.buckets[1].settings, kDeep);
}

TEST(ChooseSettings, SharedShapesAreJudgedByTheGeometricMean) {
  const auto t =
      choose_settings("f", kFeatures, {shape("a", 1, 1), shape("b", 1, 1)},
                      {point("a", {}, 10), point("b", {}, 40), point("a", kWide, 5),
                       point("b", kWide, 40), point("a", kDeep, 9), point("b", kDeep, 18)});
  ASSERT_EQ(t.buckets.size(), 1u);
  EXPECT_EQ(t.buckets[0].settings, kDeep);
  EXPECT_NEAR(t.buckets[0].best_us, std::sqrt(9.0 * 18.0), 1e-9);
}

TEST(ChooseSettings, WhatWasNotTimedAtEveryCallOrFailedIsNotTaken) {
  const auto t = choose_settings("f", kFeatures, {shape("a", 1, 1), shape("b", 1, 1)},
                                 {point("a", {}, 10), point("b", {}, 10), point("a", kWide, 1),
                                  point("a", kDeep, 1), point("b", kDeep, 1, "correctness")});
  EXPECT_TRUE(t.buckets[0].settings.empty());
  const auto no_original =
      choose_settings("f", kFeatures, {shape("a", 1, 1)}, {point("a", kWide, 1)});
  EXPECT_TRUE(no_original.buckets[0].settings.empty());
}

// ------------------------------------------------------------- the function, asked by Python

class SettingsSource : public ::testing::Test {
 protected:
  // The answers of the function at (rows, cols, dtype, capability), by a Python that has no torch:
  // a stand-in with just what the function asks.
  std::string answer(const SettingsTable& t, const std::string& arguments, int major = 9) {
    const std::string source =
        "import functools\nclass cuda:\n    @staticmethod\n    def get_device_capability(d): "
        "return (" +
        std::to_string(major) +
        ", 0)\nclass torch: bfloat16, float32, cuda = 'b', 'f', cuda\n"
        "class gpu: type = 'cuda'\nclass cpu: type = 'cpu'\n" +
        settings_function_source(t, "_k") + "print(f(" + arguments + "))\n";
    const fs::path file =
        fs::path(::testing::TempDir()) /
        (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".py");
    EXPECT_TRUE(write_file_atomically(file, source));
    const std::string command = "python3 " + file.string();
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    char line[256] = "";
    EXPECT_NE(fgets(line, sizeof line, pipe.get()), nullptr) << source;
    return std::string(line).substr(0, std::string(line).find('\n'));
  }
};

TEST_F(SettingsSource, BordersLieAtTheGeometricMiddleAndOutsideIsTheOriginal) {
  const auto t =
      table({bucket(1024, 4096, kWide), bucket(4096, 4096, kDeep), bucket(4096, 1024, kWide)});
  EXPECT_EQ(answer(t, "1024, 4096, 'b', gpu"), "{'num_warps': 16}");
  EXPECT_THAT(settings_function_source(t, "_k"), HasSubstr("1024 <= rows < 2048"))
      << "the exact middle, not one beside it";
  EXPECT_EQ(answer(t, "2047, 4096, 'b', gpu"), "{'num_warps': 16}");
  EXPECT_EQ(answer(t, "2048, 4096, 'b', gpu"), "{'loop_stages': 4, 'num_warps': 8}");
  EXPECT_EQ(answer(t, "4096, 2048, 'b', gpu"), "{'loop_stages': 4, 'num_warps': 8}");
  EXPECT_EQ(answer(t, "4096, 2047, 'b', gpu"), "{'num_warps': 16}");
  for (const char* outside :
       {"1023, 4096, 'b', gpu", "4097, 4096, 'b', gpu", "4096, 1023, 'b', gpu",
        "4096, 4097, 'b', gpu", "1024, 1024, 'b', gpu" /* never measured */, "1024, 4096, 'f', gpu",
        "1024, 4096, 'b', cpu"}) {
    EXPECT_EQ(answer(t, outside), "None") << outside;
  }
  EXPECT_EQ(answer(t, "1024, 4096, 'b', gpu", 8), "None") << "another architecture";
}

TEST_F(SettingsSource, NeighboursWithTheSameSettingsAreOneBucket) {
  std::vector<BucketChoice> buckets;
  for (const long long rows : {1024, 2048, 4096}) {
    for (const long long cols : {1024, 4096}) buckets.push_back(bucket(rows, cols, kWide));
  }
  const std::string source = settings_function_source(table(buckets), "_k");
  EXPECT_THAT(source, HasSubstr("1024 <= cols <= 4096"));
  EXPECT_THAT(source, HasSubstr("1024 <= rows <= 4096"));
  EXPECT_EQ(source.find("{\"num_warps\""), source.rfind("{\"num_warps\"")) << source;
  EXPECT_EQ(answer(table(buckets), "3000, 2000, 'b', gpu"), "{'num_warps': 16}");
}

TEST_F(SettingsSource, BooleansAndDtypesArePython) {
  const auto t = table({bucket(8, 8, {{"round_robin", true}}), bucket(16, 8, {}),
                        bucket(8, 8, {{"round_robin", false}}, "float32")});
  EXPECT_EQ(answer(t, "8, 8, 'b', gpu"), "{'round_robin': True}");
  EXPECT_EQ(answer(t, "8, 8, 'f', gpu"), "{'round_robin': False}");
  EXPECT_EQ(answer(t, "16, 8, 'b', gpu"), "None");
}

TEST_F(SettingsSource, ATableThatChangesNothingAnswersNone) {
  const auto t = table({bucket(8, 8, {})});
  EXPECT_FALSE(t.changes_anything());
  EXPECT_THAT(settings_function_source(t, "_k"), Not(HasSubstr("torch")));
  EXPECT_EQ(answer(t, "8, 8, 'b', gpu"), "None");
}

TEST(SettingsTable, SurvivesTheJournal) {
  const auto t =
      table({bucket(8, 16, {{"round_robin", true}, {"num_warps", 4}}), bucket(8, 32, {})});
  const auto back = settings_table_from_json(to_json(t));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back).dump(), to_json(t).dump());
  EXPECT_EQ(settings_function_source(*back, "_k"), settings_function_source(t, "_k"));
  EXPECT_FALSE(settings_table_from_json(Json::object()));
}

}  // namespace
}  // namespace lwb
