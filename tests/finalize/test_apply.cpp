// The one write of the user's file, and what a start after kill -9 makes of it.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/finalize/apply.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;

class Apply : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("apply-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    file_ = folder_ / "op.py";
    ASSERT_TRUE(write_file_atomically(file_, before_));
  }
  Journal journal() const {
    auto opened = Journal::open(folder_ / "journal.jsonl");
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  ApplyState state() const {
    const auto found = state_of_apply(journal(), file_);
    EXPECT_TRUE(found);
    return *found;
  }
  fs::path folder_, file_;
  const std::string before_ = "original\n";
  const std::string after_ = std::string(200000, 'x') + "\n";
};

TEST_F(Apply, WritesOnceAndKeepsTheMode) {
  ::chmod(file_.c_str(), 0640);
  EXPECT_EQ(state(), ApplyState::kNever);
  Journal open = journal();
  ASSERT_TRUE(apply_change(open, {file_, before_, after_, folder_ / "kept.py"}));
  EXPECT_EQ(*read_file(file_), after_);
  struct stat info {};
  ::stat(file_.c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(state(), ApplyState::kApplied);
}

TEST_F(Apply, RefusesAFileThatSomebodyChanged) {
  ASSERT_TRUE(write_file_atomically(file_, "theirs\n"));
  Journal open = journal();
  const auto applied = apply_change(open, {file_, before_, after_, folder_ / "kept.py"});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().kind, ErrorKind::kGate);
  EXPECT_EQ(*read_file(file_), "theirs\n");
  EXPECT_EQ(state(), ApplyState::kNever);
}

TEST_F(Apply, AForeignEditAfterwardsIsSeen) {
  Journal open = journal();
  ASSERT_TRUE(apply_change(open, {file_, before_, after_, folder_ / "kept.py"}));
  ASSERT_TRUE(write_file_atomically(file_, "theirs\n"));
  EXPECT_EQ(state(), ApplyState::kForeign);
  EXPECT_THAT(describe(ApplyState::kForeign, file_), HasSubstr("changed since"));
}

TEST_F(Apply, TheWayBackIsKnownFromTheWayThere) {
  Journal open = journal();
  const ApplyJob job{file_, before_, after_, folder_ / "kept.py"};
  ASSERT_TRUE(apply_change(open, job));
  EXPECT_EQ(*read_file(job.kept), before_);
  ASSERT_TRUE(revert_change(open, job));
  EXPECT_EQ(*read_file(file_), before_);
  EXPECT_EQ(state(), ApplyState::kReverted);
  ASSERT_TRUE(write_file_atomically(file_, after_));  // as if killed before the revert's write
  EXPECT_EQ(state(), ApplyState::kApplied);
}

TEST_F(Apply, AnotherFilesChangeIsNotThisOnes) {
  const fs::path other = folder_ / "other.csv";
  ASSERT_TRUE(write_file_atomically(other, "a\n"));
  Journal open = journal();
  ASSERT_TRUE(apply_change(open, {other, "a\n", "b\n", folder_ / "kept.csv"}));
  EXPECT_EQ(state(), ApplyState::kNever);
}

// Killed at whatever moment: the file holds one of the two texts, and the state says which.
TEST_F(Apply, KilledAtAnyMomentTheFileIsOneOrTheOther) {
  int applied = 0;
  // Longer and longer, until it gets to its end (a busy machine takes its time), and a little
  // beyond.
  for (int delay_us = 0; delay_us < 2000000 && applied < 5; delay_us += 150 + delay_us / 20) {
    SetUp();
    const pid_t child = ::fork();
    if (child == 0) {
      auto open = Journal::open(folder_ / "journal.jsonl");
      (void)apply_change(*open, {file_, before_, after_, folder_ / "kept.py"});
      for (;;) ::pause();
    }
    ::usleep(static_cast<useconds_t>(delay_us));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    const std::string text = *read_file(file_);
    ASSERT_TRUE(text == before_ || text == after_) << "after " << delay_us << " us";
    const ApplyState found = state();
    if (text == after_) {
      EXPECT_EQ(found, ApplyState::kApplied);
      ++applied;
    } else {
      EXPECT_TRUE(found == ApplyState::kNever || found == ApplyState::kUntouched);
    }
  }
  EXPECT_GT(applied, 0) << "the longest delays should let it finish";
}

}  // namespace
}  // namespace lwb
