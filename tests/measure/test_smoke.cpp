#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/measure/smoke.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<CapturedCall> calls() {
  return {*call_from_json(call_json("a"), "call")};
}

Json compare(double original, double variant, double ulps = 1e-7) {
  return {{"event", "compare"},
          {"call", "a"},
          {"seed", 1},
          {"pass", "forward"},
          {"tensor", "output0"},
          {"dtype", "float32"},
          {"original_error", original},
          {"variant_error", variant},
          {"difference", 0.0},
          {"scale", 1.0},
          {"ulp_limit", ulps},
          {"nan_original", 0},
          {"nan_variant", 0},
          {"repeat_difference", 0.0},
          {"repeat_difference_original", 0.0}};
}

Json part(int index) {
  return {{"event", "part"}, {"index", index}};
}

TEST(Smoke, TwiceTheOriginalsErrorIsAllowed) {
  EXPECT_TRUE(judge_smoke({compare(1e-6, 2e-6)}, calls()).passed);
  const auto result = judge_smoke({compare(1e-6, 2.1e-6)}, calls());
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.failures,
              ElementsAre("Accuracy: output0 of the forward pass of call \"a\" (float32) is off by "
                          "2.1e-06, the original by 1e-06; 2e-06 is allowed (seed 1)."));
}

TEST(Smoke, FourUnitsInTheLastPlaceAreAllowedToAnExactOriginal) {
  EXPECT_TRUE(judge_smoke({compare(0, 4.7e-7, 4.8e-7)}, calls()).passed);
  EXPECT_FALSE(judge_smoke({compare(0, 4.9e-7, 4.8e-7)}, calls()).passed);
}

TEST(Smoke, NanAndInfiniteErrorsFail) {
  Json nan = compare(0, 0);
  nan["nan_variant"] = 3;
  EXPECT_THAT(judge_smoke({nan}, calls()).failures, ElementsAre(HasSubstr("has 3 NaN elements")));
  nan["nan_original"] = 3;
  EXPECT_TRUE(judge_smoke({nan}, calls()).passed);
  Json infinite = compare(0, 0);
  infinite["variant_error"] = nullptr;
  EXPECT_THAT(judge_smoke({infinite}, calls()).failures, ElementsAre(HasSubstr("not finite")));
}

TEST(Smoke, NanElsewhereThanInTheOriginalFails) {
  Json event = compare(0, 0);
  event["nan_original"] = event["nan_variant"] = 2;
  event["nan_elsewhere"] = 1;
  EXPECT_THAT(judge_smoke({event}, calls()).failures,
              ElementsAre(HasSubstr("1 NaN elements where the original has numbers")));
}

TEST(Smoke, AnOriginalThatIsOffWithoutBoundLimitsNothing) {
  Json event = compare(0, 5);
  event["original_error"] = nullptr;
  EXPECT_TRUE(judge_smoke({event}, calls()).passed);
}

TEST(Smoke, ASecondCallThatIsOffWithoutBoundFails) {
  Json event = compare(0, 0);
  event["repeat_difference"] = nullptr;
  EXPECT_THAT(judge_smoke({event}, calls()).failures, ElementsAre(HasSubstr("without bound")));
}

TEST(Smoke, ASecondCallMustGiveTheSame) {
  Json event = compare(1e-6, 1e-6);
  event["repeat_difference"] = 0.5;
  EXPECT_THAT(judge_smoke({event}, calls()).failures,
              ElementsAre(HasSubstr("Repeatability: a second")));
  event["repeat_difference_original"] = 0.4;  // its own atomics
  EXPECT_TRUE(judge_smoke({event}, calls()).passed);
  event["repeat_difference"] = 5e-8;
  event["repeat_difference_original"] = 0.0;
  const auto result = judge_smoke({event}, calls());
  EXPECT_TRUE(result.passed);
  EXPECT_THAT(result.remarks, ElementsAre(HasSubstr("repeats exactly")));
}

TEST(Smoke, OtherModifiedInputsFail) {
  const Json event = {{"event", "mutated"},
                      {"call", "a"},
                      {"pass", "backward"},
                      {"original", Json::array()},
                      {"variant", {"incoming0"}}};
  EXPECT_THAT(
      judge_smoke({compare(0, 0), event}, calls()).failures,
      ElementsAre("Modified inputs: the backward pass of call \"a\" modifies incoming0 in place, "
                  "the original nothing."));
}

TEST(Smoke, CheatsAreNamed) {
  const auto result = judge_smoke({compare(0, 0),
                                   {{"event", "static"},
                                    {"finding", "pointer_cache"},
                                    {"line", 7},
                                    {"message", "reads data_ptr()"}},
                                   {{"event", "noop"}, {"call", "a"}, {"changed", false}}},
                                  calls());
  EXPECT_THAT(result.failures, ElementsAre(HasSubstr("line 7 of the variant reads data_ptr()"),
                                           HasSubstr("when the variant's kernels do nothing")));
}

TEST(Smoke, NothingComparedIsNoPass) {
  EXPECT_THAT(judge_smoke({}, calls()).failures,
              ElementsAre(HasSubstr("call \"a\" was not compared")));
  EXPECT_FALSE(judge_smoke({}, {}).passed);
  const auto original = judge_smoke({{{"event", "smoke_failed"},
                                      {"call", "a"},
                                      {"side", "original"},
                                      {"pass", ""},
                                      {"kind", "internal"},
                                      {"message", "m"}}},
                                    calls());
  EXPECT_FALSE(original.passed);
  EXPECT_THAT(original.remarks,
              ElementsAre(HasSubstr("The original itself cannot run call \"a\"")));
}

struct Testing {
  FakeRunner runner;
  PythonTools tools;
  SmokeJob job{{"v0", "/a", "pkg.ops.x", "/a/x.py", "s0"},
               {"v2", "/b", "pkg.ops.x", "/b/x.py", "s2"},
               {{calls(), "float32"}, {calls(), ""}},
               {1, 2},
               "",
               true,
               "smoke v2"};
  static Json identity(const char* side, bool matches = true) {
    return {{"event", "identity"},
            {"side", side},
            {"file", "/f"},
            {"sha256", "s"},
            {"matches", matches}};
  }
  Result<SmokeResult> run(const std::vector<Json>& events, int exit_code = 0, bool done = true) {
    CannedProcess canned;
    for (const Json& e : events) canned.lines.push_back(event_line(e));
    if (done) canned.lines.push_back(done_line());
    canned.exit_code = exit_code;
    runner.answers.push_back(canned);
    return run_smoke(runner, tools, job);
  }
};

TEST(Smoke, RunsTheScriptAndReadsItsJsonBack) {
  Testing t;
  const auto result = t.run({Testing::identity("v0"), Testing::identity("v2"), part(0),
                             compare(1e-6, 1e-6), part(1), compare(1e-6, 1e-6)});
  ASSERT_TRUE(result) << result.error().sentence;
  EXPECT_TRUE(result->passed);
  EXPECT_EQ(t.runner.jobs[0]["parts"][0]["dtype"], "float32");
  EXPECT_TRUE(t.runner.jobs[0]["parts"][1]["dtype"].is_null());
  EXPECT_EQ(t.runner.asked[0].label, "smoke v2");
  EXPECT_EQ(to_json(smoke_result_from_json(to_json(*result))), to_json(*result));
}

TEST(Smoke, EachPartHasToCompareItsCalls) {
  Testing t;
  const auto result = t.run(
      {Testing::identity("v0"), Testing::identity("v2"), part(0), compare(1e-6, 1e-6), part(1)});
  ASSERT_TRUE(result) << result.error().sentence;
  EXPECT_THAT(result->failures, ElementsAre(HasSubstr("call \"a\" was not compared")));
}

TEST(Smoke, AVariantThatDoesNotImportHasFailed) {
  Testing t;
  const auto result =
      t.run({Testing::identity("v0"),
             {{"event", "fatal"}, {"kind", "import"}, {"message", "SyntaxError: x"}}},
            1, false);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->passed);
  EXPECT_THAT(result->failures,
              ElementsAre("Run: The smoke test of v2 failed (import): SyntaxError: x."));
}

TEST(Smoke, ACrashIsTheVariantsFailure) {
  Testing t;
  const auto result =
      t.run({Testing::identity("v0"), Testing::identity("v2"), compare(0, 0)}, 134, false);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->failures, ElementsAre(HasSubstr("exited with code 134")));
}

TEST(Smoke, AnotherFileImportedIsAnError) {
  Testing t;
  const auto result =
      t.run({Testing::identity("v0"), Testing::identity("v2", false), compare(0, 0)});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().sentence, HasSubstr("For side v2 Python imported /f"));
}

TEST(Smoke, WithoutAGpuNothingIsJudged) {
  Testing t;
  const auto result = t.run({{{"event", "fatal"}, {"kind", "no_gpu"}, {"message", "m"}}}, 1, false);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kPreflight);
}

}  // namespace
}  // namespace lwb
