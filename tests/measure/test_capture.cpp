#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/measure/capture.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Capturing {
  FakeRunner runner;
  PythonTools tools;
  CaptureJob job;
  Capturing() {
    job.side = {"v0", "/box/src", "pkg.ops.x", "/box/src/pkg/ops/x.py", "s"};
    job.kernel = "x";
    job.script = "/box/benchmark/scripts/benchmark_x.py";
    job.root = "/box";
  }
  Result<CaptureResult> run(const std::vector<Json>& events, bool done = true) {
    CannedProcess canned;
    canned.lines.push_back(event_line({{"event", "identity"},
                                       {"side", "v0"},
                                       {"file", "/f"},
                                       {"sha256", "s"},
                                       {"matches", true}}));
    for (const Json& e : events) canned.lines.push_back(event_line(e));
    if (done) canned.lines.push_back(done_line());
    canned.exit_code = done ? 0 : 1;
    runner.answers.push_back(canned);
    return capture_calls(runner, tools, job);
  }
};

const Json kPlan = {{"event", "plan"},
                    {"kernel_name", "x"},
                    {"providers", {"ours", "torch"}},
                    {"modes", {"full", "forward"}},
                    {"metric", "speed"},
                    {"x_name", "T"},
                    {"x_label", "tokens"},
                    {"x_values", {1024, 2048}},
                    {"configs", {{{"hidden_size", 4096}}}},
                    {"model", nullptr}};

TEST(Capture, CollectsPlansModelsProvidersAndCalls) {
  Capturing c;
  c.job.x_values = {2048, 8192};
  const auto result = c.run(
      {kPlan,
       {{"event", "registry"},
        {"models", {{"small", {{"hidden_size", 2048}}}}},
        {"width_key", "hidden_size"}},
       {{"event", "providers"}, {"under_test", {"ours"}}, {"reference", {"torch"}}},
       {{"event", "call"}, {"call", call_json("T=2048")}},
       {{"event", "cell_failed"}, {"id", "T=8192"}, {"kind", "out_of_memory"}, {"message", "m"}}});
  ASSERT_TRUE(result) << result.error().sentence;
  EXPECT_EQ(result->plans[0].x_name, "T");
  EXPECT_EQ(result->width_key, "hidden_size");
  EXPECT_THAT(result->under_test, ElementsAre("ours"));
  EXPECT_EQ(result->calls.calls[0].id, "T=2048");
  EXPECT_EQ(result->failures[0].cell, "T=8192");
  EXPECT_EQ(c.runner.jobs[0]["x"], Json({2048, 8192}));
  EXPECT_TRUE(c.runner.jobs[0]["x"][0].is_number_integer());
  EXPECT_TRUE(c.runner.jobs[0]["models"].is_null());
  const auto again = capture_result_from_json(to_json(*result));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(*result));
}

TEST(Capture, AScriptThatRaisesStopsWithItsTraceback) {
  Capturing c;
  const auto result = c.run({{{"event", "fatal"},
                              {"kind", "script_raised"},
                              {"message", "TypeError: f() takes 1 argument"},
                              {"traceback", "Traceback …"}}},
                            false);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kPreflight);
  EXPECT_EQ(result.error().sentence,
            "Capturing the calls of benchmark script /box/benchmark/scripts/benchmark_x.py failed "
            "(script_raised): TypeError: f() takes 1 argument.");
  EXPECT_EQ(result.error().details, "Traceback …");
}

TEST(Capture, NoCallAtAllIsSaid) {
  Capturing c;
  const auto result = c.run({kPlan});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().sentence, HasSubstr("calls the autograd.Function of pkg.ops.x"));
}

}  // namespace
}  // namespace lwb
