// A whole run on the sample, from request to the written kernel file.
#include <gmock/gmock.h>

#include "tests/pipeline/whole_run.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(WholeRun, EndsAppliedWithTheWinnerInTheKernelFileAndNothingElseChanged) {
  git("init -q -b main");
  git("add -A");
  git("commit -q -m start");
  const auto before = rest_of_checkout();
  options_.gpu = "ampere";
  const auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << outcome.error().details << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << outcome->sentence << said_;
  EXPECT_EQ(outcome->exit_code, 0);
  const std::string text = *read_file(file_);
  EXPECT_THAT(text, HasSubstr("\"loop_stages\": 4"));
  EXPECT_THAT(text, Not(HasSubstr("Liger Workbench variant")));
  EXPECT_EQ(rest_of_checkout(), before);
  EXPECT_EQ(git("status --porcelain"), " M src/liger_kernel/ops/scale_norm.py\n");
  EXPECT_EQ(git("branch --show-current"), "main\n");
  EXPECT_EQ(git("diff --name-only main liger-workbench/scale_norm-v2"),
            "src/liger_kernel/ops/scale_norm.py\n");
  EXPECT_EQ(git("show liger-workbench/scale_norm-v2:src/liger_kernel/ops/scale_norm.py"), text);
  for (const char* name :
       {"profile.md", "profile.json", "comparison.md", "comparison.json", "report.md",
        "report.html", "calls.json", "original_scale_norm.py", "scale_norm_v1.py",
        "scale_norm_v1_notes.md", "scale_norm_v2.py", "pull_request.md", "scale_norm.patch"}) {
    EXPECT_TRUE(fs::exists(workspace_ / name)) << name;
  }
  const RunState now = state();
  EXPECT_TRUE(now.finished);
  EXPECT_EQ(now.outcome, "APPLIED");
  EXPECT_EQ(now.variants.at(2)["decision"], "ACCEPTED");
  EXPECT_GT(get_number(now.variants.at(2)["score"], "low"), 1.2);
  EXPECT_THAT(now.variants.at(2)["learnings"].dump(),
              HasSubstr("sm_80: _scale_norm_backward_kernel"));
  EXPECT_THAT(*read_file(workspace_ / "report.md"), HasSubstr("APPLIED"));
  EXPECT_FALSE(fs::exists(folder_ / "area/scale_norm/tree")) << "the sandbox is removed";
}

TEST_F(WholeRun, WithoutAWinnerThereIsNothingToFinalize) {
  const auto outcome = run(LastStage::kFinalizeWinner);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(outcome.error().sentence, HasSubstr("no winner of scale_norm"));
  EXPECT_FALSE(fs::exists(folder_ / "checkout/optimization"));
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
