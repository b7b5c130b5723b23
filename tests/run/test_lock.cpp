// One run at a time: waiting for a living holder, taking over from a dead one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "core/base/files.h"
#include "core/run/lock.h"

namespace lwb {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class LockFile : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("lwb-lock-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    file_ = root_ / "optimization/.lwb-lock";
  }
  void TearDown() override { fs::remove_all(root_); }

  // Another process that holds the lock until it is killed.
  pid_t holder(const std::string& kernel) const {
    int channel[2];
    EXPECT_EQ(::pipe(channel), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const CancelToken never;
      const auto lock = Lock::take(file_, kernel, never);
      [[maybe_unused]] const auto told = ::write(channel[1], lock ? "y" : "n", 1);
      for (;;) ::pause();
    }
    char answer = 0;
    EXPECT_EQ(::read(channel[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(channel[0]);
    ::close(channel[1]);
    return child;
  }
  static void kill_now(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  fs::path root_;
  fs::path file_;
  CancelToken never_;
};

TEST_F(LockFile, SaysWhoHoldsItAndGivesItBack) {
  EXPECT_FALSE(lock_holder(file_).has_value());
  {
    const auto lock = Lock::take(file_, "scale_norm", never_);
    ASSERT_TRUE(lock.has_value()) << lock.error().sentence;
    EXPECT_TRUE(lock->held());
    EXPECT_FALSE(lock->taken_over_from().has_value());
    const auto owner = lock_holder(file_);
    ASSERT_TRUE(owner.has_value());
    EXPECT_EQ(owner->pid, ::getpid());
    EXPECT_EQ(owner->kernel, "scale_norm");
    EXPECT_FALSE(owner->host.empty());
    EXPECT_FALSE(owner->user.empty());
    EXPECT_TRUE(is_alive(*owner));
    EXPECT_THAT(describe(*owner), HasSubstr("the run of scale_norm by "));
  }
  EXPECT_FALSE(lock_holder(file_).has_value());
  EXPECT_TRUE(Lock::take(file_, "again", never_).has_value());
}

TEST_F(LockFile, WaitsForALivingHolderAndSaysForWhom) {
  const pid_t child = holder("label_loss");
  std::vector<LockOwner> told;
  std::thread ends([&] {
    std::this_thread::sleep_for(700ms);
    kill_now(child);
  });
  const auto start = std::chrono::steady_clock::now();
  const auto lock =
      Lock::take(file_, "mine", never_, [&](const LockOwner& owner) { told.push_back(owner); });
  ends.join();
  ASSERT_TRUE(lock.has_value());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 600ms);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].pid, child);
  EXPECT_EQ(told[0].kernel, "label_loss");
  ASSERT_TRUE(lock->taken_over_from().has_value());  // it was killed, it did not release
  EXPECT_EQ(lock->taken_over_from()->pid, child);
}

TEST_F(LockFile, TakesOverFromTheDeadAtOnce) {
  kill_now(holder("label_loss"));
  EXPECT_FALSE(lock_holder(file_).has_value());
  bool waited = false;
  const auto lock = Lock::take(file_, "mine", never_, [&](const LockOwner&) { waited = true; });
  ASSERT_TRUE(lock.has_value());
  EXPECT_FALSE(waited);
  EXPECT_EQ(lock->taken_over_from()->kernel, "label_loss");
  EXPECT_EQ(lock_holder(file_)->kernel, "mine");
}

TEST_F(LockFile, WaitingCanBeCancelled) {
  const pid_t child = holder("label_loss");
  CancelToken cancel;
  const auto lock = Lock::take(file_, "mine", cancel, [&](const LockOwner&) { cancel.cancel(); });
  kill_now(child);
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().kind, ErrorKind::kStopped);
  EXPECT_THAT(lock.error().sentence, HasSubstr("held by the run of label_loss"));
}

TEST_F(LockFile, AFileThatWasRemovedMeanwhileIsNotTheLock) {
  auto first = Lock::take(file_, "first", never_);
  ASSERT_TRUE(first.has_value());
  fs::remove(file_);
  auto second = Lock::take(file_, "second", never_);
  ASSERT_TRUE(second.has_value());
  first->release();
  EXPECT_EQ(lock_holder(file_)->kernel, "second");
}

TEST_F(LockFile, OneOfManyHasItAtATime) {
  const fs::path counter = root_ / "counter";
  ASSERT_TRUE(write_file_atomically(counter, "0"));
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      for (int round = 0; round < 3; ++round) {
        const CancelToken never;
        const auto lock = Lock::take(file_, "counting", never);
        if (!lock) ::_exit(1);
        const int value = std::stoi(*read_file(counter));
        ::usleep(3000);
        static_cast<void>(write_file_atomically(counter, std::to_string(value + 1)));
      }
      ::_exit(0);
    }
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(*read_file(counter), "12");
}

TEST_F(LockFile, APidUsedAgainIsNotTheOwner) {
  LockOwner owner;
  owner.pid = ::getpid();
  owner.start_ticks = 1;  // this process did not start with the machine
  EXPECT_FALSE(is_alive(owner));
  owner.pid = 0;
  EXPECT_FALSE(is_alive(owner));
}

TEST_F(LockFile, AFolderThatCannotBeWrittenIsSaid) {
  const auto lock = Lock::take("/proc/nowhere/lock", "k", never_);
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().kind, ErrorKind::kPreflight);
}

TEST_F(LockFile, ACheckoutHasOneLockByWhateverPathItIsNamed) {
  fs::create_directories(root_ / "checkout");
  fs::create_directories(root_ / "other");
  fs::create_directory_symlink(root_ / "checkout", root_ / "link");
  const fs::path folder = root_ / "locks";
  const auto file = checkout_lock_file(root_ / "checkout", folder);
  ASSERT_TRUE(file.has_value()) << file.error().sentence;
  EXPECT_EQ(file->parent_path(), folder) << "not in the user's tree";
  EXPECT_EQ(*checkout_lock_file(root_ / "link", folder), *file);
  EXPECT_EQ(*checkout_lock_file(root_ / "other/../checkout/", folder), *file);
  EXPECT_NE(*checkout_lock_file(root_ / "other", folder), *file);
  EXPECT_TRUE(fs::is_empty(root_ / "checkout"));
  EXPECT_FALSE(checkout_lock_file(root_ / "nowhere", folder).has_value());
}

TEST_F(LockFile, GpuLocksLieInAFolderForAllUsers) {
  fs::create_directories(root_);
  const fs::path folder = root_ / "locks";
  const auto file = gpu_lock_file("GPU-1f2e/../x", folder);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(*file, folder / "gpu-GPU-1f2e____x.lock");
  struct stat facts {};
  ASSERT_EQ(::stat(folder.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 01777u);
  const mode_t before = ::umask(077);
  const auto lock = Lock::take(*file, "k", never_);
  ::umask(before);
  ASSERT_TRUE(lock.has_value());
  ASSERT_EQ(::stat(file->c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0666u);
  ASSERT_TRUE(write_file_atomically(root_ / "plain", ""));
  EXPECT_FALSE(gpu_lock_file("GPU-1", root_ / "plain").has_value());
}

}  // namespace
}  // namespace lwb
