#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "core/base/files.h"
#include "ui/run/journal_follower.h"

namespace lwb {
namespace {

namespace fs = std::filesystem;

class Follower : public ::testing::Test {
 protected:
  fs::path file() const { return fs::path(folder_.path().toStdString()) / "journal.jsonl"; }
  void settle() {
    ASSERT_TRUE(QTest::qWaitFor([&] {
      if (!follower_.is_idle()) return false;
      if (follower_.state().updated == last_) return true;
      follower_.look();
      return false;
    })) << follower_.state().updated;
  }
  void append(Journal& journal, const std::string& type, Json data) {
    ASSERT_TRUE(journal.append(type, std::move(data)));
    last_ = journal.events().back().time;
  }
  QTemporaryDir folder_;
  JournalFollower follower_;
  std::string last_;
};

TEST_F(Follower, SeesTheRunBeginAndGrow) {
  follower_.follow(file());
  EXPECT_TRUE(follower_.state().started.empty());
  auto journal = Journal::open(file());
  ASSERT_TRUE(journal);
  append(*journal, "run_started", {{"kernel", "k"}});
  settle();
  EXPECT_EQ(follower_.state().kernel, "k");
  QTest::qWait(5);  // another time stamp
  append(*journal, "variant", {{"number", 1}});
  settle();
  EXPECT_EQ(follower_.state().variants.size(), 1U);
}

TEST_F(Follower, AnotherRunInItsPlaceBeginsAnew) {
  {
    auto journal = Journal::open(file());
    append(*journal, "run_started", {{"kernel", "k"}});
    append(*journal, "variant", {{"number", 1}});
  }
  follower_.follow(file());
  settle();
  EXPECT_EQ(follower_.state().variants.size(), 1U);
  QSignalSpy restarted(&follower_, &JournalFollower::restarted);
  fs::rename(file(), file().string() + ".kept");
  auto journal = Journal::open(file());
  QTest::qWait(5);
  append(*journal, "run_started", {{"kernel", "k"}});
  settle();
  EXPECT_GE(restarted.count(), 1);
  EXPECT_TRUE(follower_.state().variants.empty());
}

TEST_F(Follower, HalfALineWaitsForItsEnd) {
  ASSERT_TRUE(write_file_atomically(
      file(), R"({"v":1,"seq":1,"time":"t1","type":"run_started","data":{"kernel":"k"}})" "\n"
              R"({"v":1,"seq":2,"time":"t2","type":"vari)"));
  follower_.follow(file());
  last_ = "t1";
  settle();
  EXPECT_TRUE(follower_.state().variants.empty());
}

TEST_F(Follower, DamageIsSaidAndEndsIt) {
  ASSERT_TRUE(write_file_atomically(file(), "no json\n{}\n"));
  QSignalSpy failed(&follower_, &JournalFollower::failed);
  follower_.follow(file());
  ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 1; }));
  EXPECT_TRUE(failed[0][0].toString().contains(QStringLiteral("line 1")));
}

// A line of several MiB is longer than what is read at once.
TEST_F(Follower, ALongLineIsReadWhole) {
  auto journal = Journal::open(file());
  append(*journal, "run_started", {{"kernel", "k"}});
  append(*journal, "profile", {{"text", std::string(9 << 20, 'x')}});
  follower_.follow(file());
  settle();
  EXPECT_EQ(get_string(follower_.state().profile, "text").size(), 9U << 20);
}

}  // namespace
}  // namespace lwb
