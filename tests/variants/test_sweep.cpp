// The sweep with its process replaced: what is asked, and what is survived.
#include <gmock/gmock.h>

#include "core/variants/sweep.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Settings kWide{{"num_warps", 16}};

class Sweeping : public ::testing::Test {
 protected:
  Sweeping() {
    hook_.function = "_f";
    hook_.kernel = "_k";
    hook_.pass = Pass::kBackward;
    hook_.knobs = {{"num_warps", {8, 16}, nullptr, ""}};
    hook_.shapes = {{"a", {{"n", 1}}, "bfloat16"}, {"b", {{"n", 2}}, "bfloat16"}};
    for (const char* id : {"a", "b", "elsewhere"}) {
      CapturedCall call;
      call.id = id;
      call.json = {{"id", id}};
      calls_.push_back(std::move(call));
    }
  }
  static std::string trying(const char* call, const Settings& settings) {
    return event_line(
        {{"event", "trying"}, {"hook", "_f"}, {"call", call}, {"settings", Json(settings)}});
  }
  static std::string point(const char* call, const Settings& settings, double us) {
    return event_line({{"event", "point"},
                       {"hook", "_f"},
                       {"call", call},
                       {"settings", Json(settings)},
                       {"status", "correct"},
                       {"median_us", us},
                       {"us", {us}},
                       {"registers", 40},
                       {"spills", 0},
                       {"shared_bytes", 1024}});
  }
  static std::string identity() {
    return event_line({{"event", "identity"}, {"side", "v1"}, {"matches", true}});
  }
  static std::string done() { return event_line({{"event", "done"}}); }
  Result<SweepResult> go(SweepOptions options = {}) {
    return sweep(runner_, {"python3", "/scripts", {}, {}}, {"v1", "/s", "m", "/s/m.py", "0"},
                 calls_, {hook_}, options);
  }
  FakeRunner runner_;
  Hook hook_;
  std::vector<CapturedCall> calls_;
};

TEST_F(Sweeping, AsksForTheCandidatesAtTheCallsThatReachTheHook) {
  runner_.answers = {
      {{identity(), trying("a", {}), point("a", {}, 10), point("a", kWide, 5), done()}}};
  const auto swept = go();
  ASSERT_TRUE(swept) << swept.error().sentence;
  ASSERT_EQ(swept->points.size(), 2u);
  EXPECT_EQ(swept->points[1].settings, kWide);
  EXPECT_EQ(swept->points[1].registers, 40);
  const Json& job = runner_.jobs[0];
  EXPECT_EQ(job["hooks"][0]["calls"], Json({"a", "b"}));
  EXPECT_EQ(job["calls"].size(), 2u);
  EXPECT_EQ(job["hooks"][0]["candidates"].size(), 2u);
  EXPECT_EQ(job["hooks"][0]["pass"], "backward");
}

TEST_F(Sweeping, APointThatKillsTheProcessIsLeftOutAndTheRestGoesOn) {
  CannedProcess killed{{identity(), trying("a", {}), point("a", {}, 10), trying("a", kWide)}};
  killed.end = ProcessEnd::kSignaled;
  killed.signal = 11;
  runner_.answers = {killed, {{identity(), trying("b", {}), point("b", {}, 20), done()}}};
  const auto swept = go();
  ASSERT_TRUE(swept) << swept.error().sentence;
  ASSERT_EQ(swept->points.size(), 3u);
  EXPECT_EQ(swept->points[1].status, "runtime");
  EXPECT_EQ(swept->points[1].settings, kWide);
  EXPECT_THAT(swept->notes, ElementsAre(HasSubstr("signal 11")));
  const Json& skip = runner_.jobs[1]["skip"];
  ASSERT_EQ(skip.size(), 2u);
  EXPECT_EQ(skip[1]["settings"], Json(kWide));
}

TEST_F(Sweeping, ALostContextAfterItsPointWasReportedIsNotReportedTwice) {
  CannedProcess lost{{identity(), trying("a", kWide), point("a", kWide, 5)}};
  lost.exit_code = 3;
  runner_.answers = {lost, {{identity(), done()}}};
  const auto swept = go();
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->points.size(), 1u);
}

TEST_F(Sweeping, WhereTheOriginalPathFailsNothingIsTuned) {
  CannedProcess lost{{identity(), trying("a", {})}};
  lost.exit_code = 3;
  runner_.answers = {lost, {{identity(), point("b", {}, 1), done()}}};
  const auto swept = go();
  ASSERT_TRUE(swept);
  EXPECT_EQ(runner_.jobs[1]["hooks"][0]["calls"], Json({"b"}));
  EXPECT_THAT(swept->notes, ElementsAre(HasSubstr("nothing is tuned there")));
}

TEST_F(Sweeping, ItEndsAfterSomeRestarts) {
  runner_.answer = [](const ProcessSpec&) {
    static int n = 0;
    CannedProcess killed{{identity(), trying("a", {{"num_warps", ++n}})}};
    killed.exit_code = 3;
    return killed;
  };
  SweepOptions options;
  options.max_restarts = 2;
  const auto swept = go(options);
  ASSERT_TRUE(swept);
  EXPECT_EQ(runner_.asked.size(), 3u);
  EXPECT_THAT(swept->notes.back(), HasSubstr("ended after 2 restarts"));
}

TEST_F(Sweeping, AnotherFileThanTheSidesIsAnError) {
  runner_.answers = {
      {{event_line(
            {{"event", "identity"}, {"side", "v1"}, {"matches", false}, {"file", "/other.py"}}),
        done()}}};
  const auto swept = go();
  ASSERT_FALSE(swept);
  EXPECT_THAT(swept.error().sentence, HasSubstr("/other.py"));
}

TEST_F(Sweeping, ADeathBeforeAnythingWasTriedIsAnError) {
  CannedProcess dead;
  dead.exit_code = 1;
  dead.err = "ImportError";
  runner_.answers = {dead};
  EXPECT_FALSE(go());
}

}  // namespace
}  // namespace lwb
