#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/measure/op_time.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

using testing::Contains;
using testing::HasSubstr;

Side side(const std::string& name) {
  return {name, "/box/" + name + "/src", "pkg.ops.scaled_add",
          "/box/" + name + "/src/pkg/ops/scaled_add.py", "sha-" + name};
}

std::vector<CapturedCall> calls(const std::vector<std::string>& ids) {
  std::vector<CapturedCall> result;
  for (const auto& id : ids) result.push_back(*call_from_json(call_json(id), "call"));
  return result;
}

// Plays lwb_measure.py: a clock with noise, and sides of different speed.
struct FakeGpu {
  std::map<std::string, double> factor;  // side → time against 100 µs
  double noise = 0.004;
  std::string clock = "events";
  std::set<std::string> kills;  // calls that end the process
  bool cannot_share = false;
  std::map<int, std::vector<int>> newcomers;  // process number → pids at its end
  double wall_us = 120;
  int processes = 0;
  std::mt19937_64 random{11};

  CannedProcess operator()(const ProcessSpec& spec) {
    const Json job = *parse_json(spec.stdin_text, "job");
    CannedProcess out;
    const int number = processes++;
    const auto& sides = job["sides"];
    if (cannot_share && sides.size() > 1) {
      out.lines.push_back(event_line({{"event", "fatal"},
                                      {"kind", "import"},
                                      {"message", "pkg cannot be imported a second time"}}));
      out.exit_code = 1;
      return out;
    }
    for (const auto& s : sides) {
      out.lines.push_back(event_line({{"event", "identity"},
                                      {"side", s["name"]},
                                      {"file", s["file"]},
                                      {"sha256", s["sha256"]},
                                      {"matches", true}}));
    }
    out.lines.push_back(event_line({{"event", "gpu"},
                                    {"when", "start"},
                                    {"processes", Json::array()},
                                    {"throttle_reasons", {"sw_thermal_slowdown"}}}));
    for (const auto& call : job["calls"]) {
      if (kills.count(call["id"]) > 0) {
        out.end = ProcessEnd::kSignaled;
        out.signal = 6;
        return out;
      }
      for (const auto& pass : job["passes"]) add_samples(job, call, pass, out);
      if (job["memory"]) {
        for (const auto& s : sides) {
          out.lines.push_back(event_line({{"event", "memory"},
                                          {"call", call["id"]},
                                          {"side", s["name"]},
                                          {"peak_bytes", 1000}}));
        }
      }
    }
    for (const auto& size : job["copy_sizes"]) {
      out.lines.push_back(
          event_line({{"event", "copy_rate"}, {"bytes", size}, {"us", {10.0, 11.0}}}));
    }
    out.lines.push_back(
        event_line({{"event", "gpu"}, {"when", "end"}, {"processes", newcomers[number]}}));
    out.lines.push_back(done_line());
    return out;
  }

  void add_samples(const Json& job, const Json& call, const Json& pass, CannedProcess& out) {
    std::normal_distribution<> normal(0, noise);
    for (const auto& s : job["sides"]) {
      std::vector<double> us;
      const double base = 100 * (factor.count(s["name"]) > 0 ? factor[s["name"]] : 1.0);
      for (int i = 0; i < job["samples"].get<int>(); ++i)
        us.push_back(base * std::exp(normal(random)));
      out.lines.push_back(event_line({{"event", "samples"},
                                      {"call", call["id"]},
                                      {"pass", pass},
                                      {"side", s["name"]},
                                      {"round", job["round"]},
                                      {"us", us},
                                      {"held", true},
                                      {"clock", clock},
                                      {"sm_mhz", {1980.0}},
                                      {"wall_us", {wall_us, wall_us}}}));
    }
  }
};

struct Measuring {
  FakeRunner runner;
  FakeGpu gpu;
  PythonTools tools;
  MeasureOptions options;
  std::vector<Side> sides{side("v0"), side("v1")};
  Result<Measurement> measure(const std::vector<std::string>& ids) {
    runner.answer = [this](const ProcessSpec& spec) { return gpu(spec); };
    return lwb::measure(runner, tools, sides, calls(ids), options);
  }
};

TEST(OpTime, OneFreshProcessARoundAndVerdicts) {
  Measuring run;
  run.gpu.factor = {{"v1", 0.8}};
  run.options.copy_sizes = {1 << 20};
  const auto m = run.measure({"a", "b"});
  ASSERT_TRUE(m) << m.error().sentence;
  EXPECT_EQ(run.runner.asked.size(), 3u);
  EXPECT_EQ(run.runner.jobs[1]["round"], 1);
  EXPECT_EQ(run.runner.jobs[0]["memory"], true);
  EXPECT_EQ(run.runner.jobs[1]["memory"], false);
  EXPECT_EQ(run.runner.jobs[1]["copy_sizes"].size(), 0u);
  EXPECT_EQ(m->copy_rates.size(), 1u);
  EXPECT_EQ(m->memory.size(), 4u);
  EXPECT_EQ(m->batches.size(), 3u * 2 * 2 * 2);
  EXPECT_NEAR(m->gpu_seconds, 4.5, 1e-9);
  EXPECT_EQ(m->notes.size(), 3u);  // throttled, once a round
  EXPECT_THAT(m->notes[0], HasSubstr("sw thermal slowdown"));
  const auto verdicts = compare_sides(*m, "v0", "v1");
  ASSERT_EQ(verdicts.size(), 4u);
  for (const auto& v : verdicts) {
    EXPECT_EQ(v.verdict.kind, VerdictKind::kFaster) << v.verdict.reason;
    EXPECT_NEAR(v.ratio.ratio, 1.25, 0.01);
    EXPECT_NEAR(v.ratio.confidence, 1 - 0.01 / 3, 1e-9);  // three looks were agreed on
    EXPECT_FALSE(v.launch_bound);
  }
}

TEST(OpTime, CellsThatAreUncertainGetMoreRounds) {
  Measuring run;
  run.gpu.noise = 0.05;
  const auto m = run.measure({"a", "b"});
  ASSERT_TRUE(m);
  EXPECT_EQ(run.runner.asked.size(), 5u);
  EXPECT_EQ(run.runner.jobs[4]["round"], 4);
}

TEST(OpTime, ACpuClockIsNeverJudged) {
  Measuring run;
  run.gpu.clock = "host";
  run.gpu.factor = {{"v1", 0.5}};
  const auto m = run.measure({"a"});
  ASSERT_TRUE(m);
  EXPECT_EQ(run.runner.asked.size(), 3u);  // and gets no rounds more
  for (const auto& v : compare_sides(*m, "v0", "v1")) {
    EXPECT_EQ(v.verdict.kind, VerdictKind::kUncertain);
    EXPECT_EQ(v.verdict.reason, "timed on the CPU, not judged");
  }
}

TEST(OpTime, ACallThatKillsItsProcessIsLeftOutAndListed) {
  Measuring run;
  run.gpu.kills = {"b"};
  const auto m = run.measure({"a", "b", "c"});
  ASSERT_TRUE(m) << m.error().sentence;
  ASSERT_EQ(m->failures.size(), 1u);
  EXPECT_EQ(m->failures[0].call, "b");
  EXPECT_EQ(m->failures[0].kind, "crashed");
  std::set<std::string> measured;
  for (const auto& v : compare_sides(*m, "v0", "v1")) measured.insert(v.call);
  EXPECT_EQ(measured, (std::set<std::string>{"a", "c"}));
  EXPECT_EQ(run.runner.asked.size(), 4u);  // the first round twice
  EXPECT_EQ(run.runner.jobs[1]["calls"].size(), 1u);
  EXPECT_EQ(run.runner.jobs[2]["calls"].size(), 2u);
}

TEST(OpTime, SidesThatCannotShareAProcessAlternate) {
  Measuring run;
  run.gpu.cannot_share = true;
  run.gpu.factor = {{"v1", 0.7}};
  run.options.extra_rounds = 0;
  const auto m = run.measure({"a"});
  ASSERT_TRUE(m) << m.error().sentence;
  ASSERT_EQ(run.runner.jobs.size(), 7u);
  EXPECT_EQ(run.runner.jobs[1]["sides"][0]["name"], "v0");
  EXPECT_EQ(run.runner.jobs[2]["sides"][0]["name"], "v1");
  EXPECT_EQ(run.runner.jobs[3]["sides"][0]["name"], "v1");
  EXPECT_EQ(run.runner.jobs[4]["sides"][0]["name"], "v0");
  EXPECT_THAT(m->notes, Contains(HasSubstr("cannot be imported into one process")));
  const auto verdicts = compare_sides(*m, "v0", "v1");
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].verdict.kind, VerdictKind::kFaster) << verdicts[0].verdict.reason;
}

TEST(OpTime, ARoundWithANewcomerOnTheGpuIsTakenAgain) {
  Measuring run;
  run.gpu.newcomers = {{1, {4711}}};
  run.options.extra_rounds = 0;
  const auto m = run.measure({"a"});
  ASSERT_TRUE(m);
  EXPECT_EQ(run.runner.asked.size(), 4u);
  EXPECT_EQ(m->batches.size(), 3u * 2 * 2);
  EXPECT_THAT(m->notes, Contains(HasSubstr("process 4711 came to the GPU")));
}

TEST(OpTime, AnotherFileImportedIsAnError) {
  Measuring run;
  run.runner.answers.push_back({{event_line({{"event", "identity"},
                                             {"side", "v0"},
                                             {"file", "/usr/lib/pkg.py"},
                                             {"sha256", "other"},
                                             {"matches", false}}),
                                 done_line()}});
  const auto m = run.measure({"a"});
  ASSERT_FALSE(m);
  EXPECT_EQ(
      m.error().sentence,
      "For side v0 Python imported /usr/lib/pkg.py (SHA-256 other) instead of "
      "/box/v0/src/pkg/ops/scaled_add.py (SHA-256 sha-v0); remove the other copy of the package "
      "from Python's path.");
}

TEST(OpTime, NoGpuIsAnErrorWithTheScriptsReason) {
  Measuring run;
  run.runner.answers.push_back(
      {{event_line(
           {{"event", "fatal"}, {"kind", "no_gpu"}, {"message", "torch finds no CUDA device."}})},
       1});
  const auto m = run.measure({"a"});
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().kind, ErrorKind::kPreflight);
  EXPECT_EQ(m.error().sentence, "Measuring v0, v1 failed (no_gpu): torch finds no CUDA device.");
}

TEST(OpTime, TheBudgetIsSharedOutBeforehand) {
  Measuring run;
  run.options.budget_s = 100;
  ASSERT_TRUE(run.measure({"a"}));
  for (const Json& job : run.runner.jobs) EXPECT_EQ(job["budget_s"], 20.0);
}

TEST(OpTime, JsonBothWays) {
  SampleBatch batch{"a", Pass::kBackward, "v1", 2, {1.5, 2}, {1980}, {30}, false, "kernels", false};
  EXPECT_EQ(to_json(sample_batch_from_json(to_json(batch))), to_json(batch));
  Measuring run;
  run.gpu.factor = {{"v1", 1.2}};
  run.gpu.wall_us = 500;
  const auto m = run.measure({"a"});
  const auto verdicts = compare_sides(*m, "v0", "v1");
  EXPECT_EQ(verdicts[0].verdict.kind, VerdictKind::kSlower);
  EXPECT_TRUE(verdicts[0].launch_bound);
  EXPECT_EQ(to_json(cell_verdict_from_json(to_json(verdicts[0]))), to_json(verdicts[0]));
}

}  // namespace
}  // namespace lwb
