// Whole runs on the sample with the seam of simulated_gpu.h.
#include <gmock/gmock.h>

#include <cstdlib>

#include "core/pipeline/pipeline.h"
#include "core/run/state.h"
#include "tests/pipeline/simulated_gpu.h"

namespace lwb {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path kSample = fs::path(LWB_SOURCE_DIR) / "resources/sample";

class WholeRun : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("LWB_TEST_PYTHON");
    if (python == nullptr) GTEST_SKIP() << "LWB_TEST_PYTHON names no Python with torch and triton";
    ::setenv("TRITON_INTERPRET", "1", 1);
    ::setenv("LWB_TEST_SHIM", (fs::path(LWB_SOURCE_DIR) / "tests/python/triton_cpu.py").c_str(), 1);
    folder_ = fs::path(::testing::TempDir()) /
              ("run-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    ASSERT_TRUE(copy_tree(kSample, folder_ / "checkout"));
    file_ = folder_ / "checkout/src/liger_kernel/ops/scale_norm.py";
    workspace_ = folder_ / "checkout/optimization/scale_norm";
    original_ = *read_file(file_);
    options_.checkout = (folder_ / "checkout").string();
    options_.kernel = "scale_norm";
    options_.goal = "speed";
    options_.autonomous = true;
    options_.import_from_source = true;
    options_.python = python;
    options_.work_area = (folder_ / "area").string();
    options_.x_values = {32};
    options_.seam = &gpu_;
    listener_.say = [this](const std::string& text) { said_ += text + "\n"; };
    listener_.progress = [](const Progress&) {};
  }
  Result<RunOutcome> run(LastStage last = LastStage::kFinalize) {
    CancelToken cancel;
    gpu_.cancel = &cancel;
    cancel_ = &cancel;
    return run_pipeline(options_, last, cancel, listener_);
  }
  RunState state() const {
    auto events = read_journal(workspace_ / "journal.jsonl");
    EXPECT_TRUE(events);
    return fold(*events);
  }
  // The checkout without the workspace and the kernel file.
  std::map<std::string, std::string> rest_of_checkout() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "checkout")) {
      const std::string name = fs::relative(entry.path(), folder_ / "checkout").string();
      if (!entry.is_regular_file() || name.rfind("optimization/", 0) == 0) continue;
      if (entry.path() != file_) files[name] = *sha256_of_file(entry.path());
    }
    return files;
  }
  fs::path folder_, file_, workspace_;
  std::string original_, said_;
  SimulatedGpu gpu_;
  RunOptions options_;
  Listener listener_;
  CancelToken* cancel_ = nullptr;
};

TEST_F(WholeRun, EndsAppliedWithTheWinnerInTheKernelFileAndNothingElseChanged) {
  const auto before = rest_of_checkout();
  const auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << outcome.error().details << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << outcome->sentence << said_;
  EXPECT_EQ(outcome->exit_code, 0);
  const std::string text = *read_file(file_);
  EXPECT_THAT(text, HasSubstr("\"loop_stages\": 4"));
  EXPECT_THAT(text, Not(HasSubstr("Liger Workbench variant")));
  EXPECT_EQ(rest_of_checkout(), before);
  for (const char* name : {"profile.md", "profile.json", "comparison.md", "comparison.json",
                           "report.md", "report.html", "calls.json", "original_scale_norm.py",
                           "scale_norm_v1.py", "scale_norm_v1_notes.md", "scale_norm_v2.py",
                           "pull_request.md", "scale_norm.patch"}) {
    EXPECT_TRUE(fs::exists(workspace_ / name)) << name;
  }
  const RunState now = state();
  EXPECT_TRUE(now.finished);
  EXPECT_EQ(now.outcome, "APPLIED");
  EXPECT_EQ(now.variants.at(2)["decision"], "ACCEPTED");
  EXPECT_GT(get_number(now.variants.at(2)["score"], "low"), 1.2);
  EXPECT_THAT(*read_file(workspace_ / "report.md"), HasSubstr("APPLIED"));
  EXPECT_FALSE(fs::exists(folder_ / "area/scale_norm/tree")) << "the sandbox is removed";
}

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

// Stopped at one process after another: each start goes on, the kernel file is one of the two texts.
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
  outcome = run(LastStage::kFinalize);
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
  EXPECT_FALSE(fs::exists(workspace_ / "runs"));
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

TEST_F(WholeRun, AnUnknownKernelChangesNothing) {
  options_.kernel = "scale_nrom";
  const auto outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(outcome.error().sentence, HasSubstr("scale_norm"));
  EXPECT_FALSE(fs::exists(folder_ / "checkout/optimization"));
}

}  // namespace
}  // namespace lwb
