// Whole runs on checkouts as people have them (label "long").
#include "tests/pipeline/whole_run.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OddCheckout : public WholeRun {};

// The user's edits are the baseline, and no part of the patch; HEAD, branch and index stay.
TEST_F(OddCheckout, EditsInTheFileAndADetachedHeadStayAsTheyAre) {
  git("init -q");
  git("add -A");
  git("commit -q -m first");
  git("checkout -q --detach");
  const std::string edited = original_ + "\n# the user's own line\n";
  ASSERT_TRUE(write_file_atomically(file_, edited));
  const std::string head = git("rev-parse HEAD");
  const auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
  EXPECT_EQ(git("rev-parse HEAD"), head);
  EXPECT_EQ(git("rev-parse --abbrev-ref HEAD"), "HEAD\n");
  EXPECT_EQ(git("diff --cached --stat"), "");
  EXPECT_THAT(*read_file(file_), HasSubstr("# the user's own line"));
  const RunState after = state();
  const std::string branch = get_string(after.pull_request, "branch");
  ASSERT_FALSE(branch.empty());
  EXPECT_THAT(git("show " + branch), Not(HasSubstr("the user's own line")));
  EXPECT_THAT(git("show " + branch), HasSubstr("_settings("));
}

// What the script says when it raises is shown, before any workspace is made.
TEST_F(OddCheckout, ABenchmarkScriptThatRaisesIsShown) {
  const fs::path script = folder_ / "checkout/benchmark/scripts/benchmark_scale_norm.py";
  ASSERT_TRUE(write_file_atomically(script, "raise ValueError('boom')\n" + *read_file(script)));
  const auto outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kPreflight) << outcome.error().sentence;
  EXPECT_THAT(outcome.error().sentence + outcome.error().details, HasSubstr("ValueError: boom"));
  EXPECT_FALSE(fs::exists(workspace_));
}

TEST_F(OddCheckout, AScopeThatNoCellMeetsIsSaidBeforeAnythingIsMade) {
  options_.scope = "hidden_size<=8";
  const auto outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kUsage) << outcome.error().sentence;
  EXPECT_THAT(outcome.error().sentence, HasSubstr("hidden_size<=8"));
  EXPECT_FALSE(fs::exists(workspace_));
}

}  // namespace
}  // namespace lwb
