// Whole runs that end otherwise, are stopped, or go stage by stage (label "long": minutes each).
#include <gmock/gmock.h>

#include "core/measure/stock_table.h"
#include "tests/pipeline/whole_run.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;

TEST_F(WholeRun, WithoutAnythingToGainThereIsNoWinner) {
  gpu_.gain.clear();
  const auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "NO_WINNER");
  EXPECT_EQ(outcome->exit_code, 0);
  EXPECT_EQ(*read_file(file_), original_);
}

TEST_F(WholeRun, FailingTestsKeepTheWinnerOut) {
  gpu_.failing_tests = {"test/a.py::test_two"};
  const auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "NOT_APPLIED") << said_;
  EXPECT_EQ(outcome->exit_code, 1);
  EXPECT_THAT(outcome->sentence, HasSubstr("test/a.py::test_two"));
  EXPECT_EQ(*read_file(file_), original_);
}

TEST_F(WholeRun, ATestThatTheWinnerMakesSkipItselfKeepsItOut) {
  gpu_.skipping_tests = {"test/a.py::test_two"};
  const auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "NOT_APPLIED") << said_;
  EXPECT_THAT(outcome->sentence, HasSubstr("test/a.py::test_two"));
  EXPECT_EQ(*read_file(file_), original_);
}

TEST_F(WholeRun, ATestThatFailsOnTheUnchangedKernelNeedsTheOption) {
  gpu_.always_failing = {"test/a.py::test_one"};
  auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "NOT_APPLIED");
  EXPECT_THAT(outcome->sentence, HasSubstr("--accept-known-failures"));
  EXPECT_EQ(*read_file(file_), original_);
  options_.accept_known_failures = true;
  outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
}

// Ended after the write and before the run's end: the next start finishes the same run.
TEST_F(WholeRun, StoppedAfterTheWriteItEndsAppliedWithNothingMeasuredAgain) {
  gpu_.on_start = [&](const ProcessSpec& spec) {
    if (spec.label == "import of the written file") cancel_->cancel();
  };
  auto outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kStopped);
  const std::string written = *read_file(file_);
  EXPECT_NE(written, original_);
  int measured = 0;
  gpu_.on_start = [&](const ProcessSpec& spec) {
    const std::string script = spec.argv.size() > 2 ? spec.argv[2] : "";
    if (script.find("lwb_sweep") != std::string::npos ||
        script.find("lwb_measure") != std::string::npos) {
      ++measured;
    }
  };
  outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
  EXPECT_EQ(*read_file(file_), written);
  EXPECT_EQ(measured, 0);
  EXPECT_THAT(said_, HasSubstr("holds the approved winner"));
  EXPECT_FALSE(fs::exists(workspace_ / "runs"));
}

// Answered through the inbox, applied with rows for the shared CSV, and taken back at the end.
TEST_F(WholeRun, RevertedAtTheEndEveryFileHoldsWhatItHeld) {
  const auto before = rest_of_checkout();
  options_.autonomous = false;
  options_.update_benchmark_csv = true;
  for (const auto& [id, choice] : {std::pair{"profile", "Go on with this strategy order"},
                                   {"winner", "Approve winner v2"},
                                   {"finalize", "Apply v2"},
                                   {"result", "Revert to the original"}}) {
    ASSERT_TRUE(write_file_atomically(workspace_ / "inbox" / (std::string(id) + ".json"),
                                      print_json({{"choice", choice}, {"by", "test"}})));
  }
  gpu_.on_start = [&](const ProcessSpec& spec) {
    if (spec.label == "tests of v2") {
      StockRow row;
      row.kernel_name = "scale_norm";
      row.kernel_provider = "liger";
      row.metric_name = "speed";
      row.x_value = "32";
      ASSERT_TRUE(write_file_atomically(workspace_ / "benchmarks/v2_results.csv",
                                        write_stock_csv({{row}})));
    }
  };
  const auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "REVERTED") << outcome->sentence << said_;
  EXPECT_EQ(outcome->exit_code, 1);
  EXPECT_EQ(*read_file(file_), original_);
  EXPECT_EQ(rest_of_checkout(), before);
  EXPECT_THAT(said_, HasSubstr("This run's rows are in"));
}

// Stopped at one process after another: each start goes on, the kernel file is one of the two
// texts.
TEST_F(WholeRun, StoppedAgainAndAgainItGoesOnWhereItStood) {
  int starts = 0;
  Result<RunOutcome> outcome = fail(ErrorKind::kInternal, "not started");
  for (; starts < 12; ++starts) {
    // A measurement begins anew when it was stopped, so a start has to get through a whole one.
    int allowed = 16 + 3 * starts;
    gpu_.on_start = [&](const ProcessSpec&) {
      if (--allowed == 0) cancel_->cancel();
    };
    outcome = run();
    const std::string text = *read_file(file_);
    if (outcome) break;
    EXPECT_EQ(outcome.error().kind, ErrorKind::kStopped) << outcome.error().sentence;
    EXPECT_TRUE(text == original_ || text.find("\"loop_stages\": 4") != std::string::npos);
  }
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
  EXPECT_GE(starts, 1);
  EXPECT_THAT(said_, HasSubstr("going on with the run"));
  EXPECT_FALSE(fs::exists(workspace_ / "runs")) << "one run, not several";
}

TEST_F(WholeRun, StageByStageIsOneRun) {
  auto outcome = run(LastStage::kProfile);
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "PROFILED");
  outcome = run(LastStage::kOptimize);
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "WINNER");
  EXPECT_EQ(*read_file(file_), original_);
  options_.goal.clear();  // the run's own request is taken
  options_.x_values.clear();
  outcome = run(LastStage::kFinalizeWinner);
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
  EXPECT_FALSE(fs::exists(workspace_ / "runs"));
}

// Recorded in one checkout, replayed in another with no program started: the same run.
TEST_F(WholeRun, ARecordingReplaysTheSameRunElsewhere) {
  options_.record_file = (folder_ / "recording.json.gz").string();
  auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
  const std::string applied = *read_file(file_);

  ASSERT_TRUE(copy_tree(kSample, folder_ / "elsewhere/checkout"));
  options_.checkout = (folder_ / "elsewhere/checkout").string();
  options_.work_area = (folder_ / "elsewhere/area").string();
  options_.replay_file = options_.record_file;
  options_.record_file.clear();
  options_.seam = nullptr;
  outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << outcome.error().details;
  EXPECT_EQ(outcome->outcome, "APPLIED") << outcome->sentence;
  EXPECT_EQ(*read_file(folder_ / "elsewhere/checkout/src/liger_kernel/ops/scale_norm.py"), applied);
  EXPECT_THAT(*read_file(folder_ / "elsewhere/checkout/optimization/scale_norm/report.md"),
              HasSubstr("ecorded on"));
}

TEST_F(WholeRun, AForeignEditBeforeTheWriteIsKept) {
  gpu_.on_start = [&](const ProcessSpec& spec) {
    if (spec.label.rfind("tests of", 0) == 0) {
      ASSERT_TRUE(write_file_atomically(file_, original_ + "# mine\n"));
    }
  };
  const auto outcome = run();
  EXPECT_FALSE(outcome && outcome->outcome == "APPLIED");
  EXPECT_EQ(*read_file(file_), original_ + "# mine\n");
}

}  // namespace
}  // namespace lwb
