// The sample's recording (packaging/run.sh --record) still plays the whole run, from any folder and
// without a GPU, torch or Triton. When this fails, the program asks what it did not ask when the
// recording was made: renew it on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/pipeline/pipeline.h"
#include "core/process/child_environment.h"

#include "core/base/files.h"
#include "core/run/approvals.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;

class SampleRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("recording-" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    ProcessSpec copy;  // as run.sh does it
    const std::string source = LWB_SOURCE_DIR;
    copy.argv = {"bash", "-c",
                 "set -eu; root=" + source + "; . $root/packaging/sample.sh; copy_sample " +
                     (folder_ / "sample").string()};
    copy.env = own_environment();
    SystemRunner runner;
    const auto copied = runner.run(copy);
    ASSERT_TRUE(copied && copied->ok()) << (copied ? copied->err : "");
    options_.checkout = (folder_ / "sample").string();
    options_.kernel = "scale_norm";
    options_.goal = "speed";
    options_.autonomous = true;
    options_.import_from_source = true;
    options_.work_area = (folder_ / "area").string();
    options_.replay_file = source + "/resources/recordings/sample.json.gz";
    listener_.say = [this](const std::string& text) { said_ += text + "\n"; };
    listener_.progress = [](const Progress&) {};
  }
  Result<RunOutcome> run(LastStage last = LastStage::kFinalize) {
    return run_pipeline(options_, last, cancel_, listener_);
  }
  fs::path folder_;
  std::string said_;
  RunOptions options_;
  Listener listener_;
  CancelToken cancel_;
};

TEST_F(SampleRecording, PlaysTheWholeRunAndSaysWhereItWasRecorded) {
  const auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << outcome.error().details << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << outcome->sentence;
  EXPECT_EQ(outcome->summary["gpu"], "recorded on NVIDIA H200");
  EXPECT_THAT(said_, HasSubstr("recorded on NVIDIA H200"));
  const fs::path workspace = folder_ / "sample/optimization/scale_norm";
  for (const char* name :
       {"profile.md", "comparison.md", "report.md", "scale_norm_v1_notes.md", "pull_request.md"}) {
    const auto text = read_file(workspace / name);
    ASSERT_TRUE(text) << name;
    EXPECT_THAT(*text, HasSubstr("ecorded on NVIDIA H200")) << name;
  }
}

// The wish came when both variants were made; the stage is then gone through once more out of the
// journal. Were it heeded at the first of them, the answer that lies ready would end the search
// with nothing to choose from.
TEST_F(SampleRecording, APauseIsNotHeededForVariantsThatAreMade) {
  auto outcome = run(LastStage::kOptimize);
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  ASSERT_EQ(outcome->outcome, "WINNER");
  const fs::path inbox = folder_ / "sample/optimization/scale_norm/inbox";
  ASSERT_TRUE(wish_for_pause(inbox));
  ASSERT_TRUE(answer_by_inbox(inbox, "pause-0", {"End the search and choose the winner", "", "t"}));
  outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << outcome->sentence;
}

TEST_F(SampleRecording, RefusesWhatWasNotRecordedByName) {
  options_.kernel = "gated_relu";
  const auto outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().sentence, HasSubstr("was not recorded in"));
  EXPECT_FALSE(fs::exists(folder_ / "sample/optimization/gated_relu"));
}

}  // namespace
}  // namespace lwb
