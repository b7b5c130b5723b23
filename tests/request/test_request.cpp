#include "core/request/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lwb {
namespace {

using testing::HasSubstr;

TEST(Scope, PassesAndRegimes) {
  EXPECT_FALSE(parse_scope("general")->pass);
  EXPECT_EQ(parse_scope("backward")->pass, Pass::kBackward);
  const auto regime = parse_scope("hidden_size<=1024");
  ASSERT_TRUE(regime);
  ASSERT_EQ(regime->conditions.size(), 1u);
  EXPECT_TRUE(regime->conditions[0].holds(1024));
  EXPECT_FALSE(regime->conditions[0].holds(1025));
  const auto both = parse_scope("forward T >= 8k and hidden_size == 4096");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->conditions.size(), 2u);
  EXPECT_EQ(both->conditions[0].value, 8192);
  EXPECT_EQ(to_string(*both), "forward T>=8192 hidden_size=4096");
}

TEST(Scope, MalformedOnesSayWhatIsAllowed) {
  for (const char* text : {"", "sideways", "hidden_size", "T>=", "T>=many", "<=4", "T>=inf",
                           "T>=4 and", "T<1024 and T>8192", "T>=4ms"}) {
    const auto scope = parse_scope(text);
    ASSERT_FALSE(scope) << text;
    EXPECT_EQ(scope.error().kind, ErrorKind::kUsage);
    EXPECT_FALSE(scope.error().sentence.empty());
  }
}

TEST(Target, TimesAndMemory) {
  const auto time = parse_target("forward under 0.3ms at hidden_size=4096");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->pass, Pass::kForward);
  EXPECT_NEAR(time->limit, 300, 1e-9);
  EXPECT_EQ(time->conditions.size(), 1u);
  const auto memory = parse_target("memory under 200MB");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->quantity, TargetMetric::Quantity::kMemory);
  EXPECT_EQ(memory->limit, 200.0 * (1 << 20));
  EXPECT_NEAR(parse_target("below 65 us")->limit, 65, 1e-9);
  EXPECT_NEAR(parse_target("full less than 65 \xC2\xB5s")->limit, 65, 1e-9);
  // Written and read again, no digit is lost.
  EXPECT_EQ(parse_target(to_string(*parse_target("under 1234567.25us")))->limit, 1234567.25);
}

TEST(Target, MalformedOnesAreRefused) {
  for (const char* text : {"fast", "forward under soon", "memory under 3ms", "forward under 3MB",
                           "under -1us", "forward over 3ms", "under inf ms", "under 0us", "under 3",
                           "under 3 parsecs", "below 3us at T"}) {
    const auto target = parse_target(text);
    ASSERT_FALSE(target) << text;
    EXPECT_THAT(target.error().sentence, HasSubstr(text));
  }
}

TEST(Request, ThereAndBack) {
  Request request;
  request.kernel = "some_norm";
  request.goal = Goal::kMemory;
  request.scope = *parse_scope("backward T>=2048");
  request.target = *parse_target("backward under 60us at T=8192");
  request.models = {"small"};
  request.x_values = {1024, 2048};
  request.budget_s = 60;
  const auto again = request_from_json(to_json(request));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(request));
  EXPECT_FALSE(request_from_json(Json{{"optimization_goal", "beauty"}}));
  EXPECT_FALSE(request_from_json(Json{{"max_variants", 0}}));
}

}  // namespace
}  // namespace lwb
