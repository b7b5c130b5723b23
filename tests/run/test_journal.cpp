// The journal: what was appended is read again, whatever happened to the writer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/run/journal.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;

class JournalFile : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("lwb-journal-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    file_ = root_ / "optimization/k/journal.jsonl";
  }
  void TearDown() override { fs::remove_all(root_); }

  void append_raw(std::string_view bytes) const {
    std::ofstream(file_, std::ios::app | std::ios::binary) << bytes;
  }

  fs::path root_;
  fs::path file_;
};

TEST_F(JournalFile, ReadsWhatWasAppended) {
  std::vector<std::string> told;
  auto journal = Journal::open(file_);
  ASSERT_TRUE(journal.has_value()) << journal.error().sentence;
  journal->on_event([&](const Event& event) { told.push_back(event.type); });
  ASSERT_TRUE(journal->append("run_started", {{"kernel", "k"}}, true));
  ASSERT_TRUE(journal->append("samples", {{"us", {1.5, 2.5}}, {"text", "a\nb ü"}}));
  EXPECT_THAT(told, ::testing::ElementsAre("run_started", "samples"));
  EXPECT_EQ(journal->file(), file_);

  const auto events = read_journal(file_);
  ASSERT_TRUE(events.has_value());
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].seq, 1);
  EXPECT_EQ((*events)[1].seq, 2);
  EXPECT_EQ((*events)[1].data, Json({{"us", {1.5, 2.5}}, {"text", "a\nb ü"}}));
  EXPECT_TRUE(
      std::regex_match((*events)[0].time, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")))
      << (*events)[0].time;
  EXPECT_EQ(split_lines(*read_file(file_)).size(), 2u);
  EXPECT_EQ(print_json(to_json((*events)[1])), split_lines(*read_file(file_))[1]);
}

TEST_F(JournalFile, GoesOnWhereItStopped) {
  for (int i = 0; i < 3; ++i) {
    auto journal = Journal::open(file_);
    ASSERT_TRUE(journal.has_value());
    EXPECT_EQ(journal->events().size(), static_cast<std::size_t>(i));
    ASSERT_TRUE(journal->append("step", {{"i", i}}));
  }
  EXPECT_EQ(read_journal(file_)->back().seq, 3);
}

TEST_F(JournalFile, CutsATornLastLineOff) {
  ASSERT_TRUE(Journal::open(file_)->append("whole", {}));
  const std::string whole = *read_file(file_);
  for (const std::string& torn :
       {std::string(R"({"v":1,"seq":2,"ti)"), std::string(4096, '\0'), std::string("\0\0\0\n", 4),
        std::string("{\"v\":1,\"seq\":2,\"type\":\"x\"}")}) {
    append_raw(torn);
    EXPECT_EQ(read_journal(file_)->size(), 1u);  // another process may read meanwhile
    auto journal = Journal::open(file_);
    ASSERT_TRUE(journal.has_value()) << journal.error().sentence;
    EXPECT_EQ(journal->events().size(), 1u);
    EXPECT_EQ(*read_file(file_), whole);
  }
}

TEST_F(JournalFile, NamesADamagedLine) {
  ASSERT_TRUE(Journal::open(file_)->append("first", {}));
  append_raw("damage\n");
  append_raw(R"({"v":1,"seq":3,"time":"","type":"third","data":{}})"
             "\n");
  const auto journal = Journal::open(file_);
  ASSERT_FALSE(journal.has_value());
  EXPECT_THAT(journal.error().sentence, HasSubstr(file_.string() + ", line 2"));
  EXPECT_FALSE(read_journal(file_).has_value());
}

TEST_F(JournalFile, RefusesANewerSchema) {
  ASSERT_TRUE(write_file_atomically(file_, R"({"v":99,"seq":1,"type":"x","data":{}})"
                                           "\n"));
  const auto journal = Journal::open(file_);
  ASSERT_FALSE(journal.has_value());
  EXPECT_EQ(journal.error().kind, ErrorKind::kPreflight);
  EXPECT_THAT(journal.error().sentence, HasSubstr("schema 99"));
}

TEST_F(JournalFile, WithoutAFileNothingIsAppended) {
  Journal journal;
  EXPECT_FALSE(journal.append("x", {}).has_value());
  EXPECT_FALSE(Journal::open("/proc/nowhere/journal.jsonl").has_value());
  EXPECT_FALSE(read_journal(file_).has_value());
}

TEST_F(JournalFile, ChildrensBytesThatAreNoTextDoNotStopIt) {
  auto journal = Journal::open(file_);
  ASSERT_TRUE(journal->append("process", {{"tail", "a\xff\xfe"}}));
  EXPECT_EQ(get_string(read_journal(file_)->at(0).data, "tail"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

// Field-notes C41, C44: a disk that fills up while a line is written.
TEST_F(JournalFile, AFullDiskLeavesOnlyWholeLines) {
  const auto journal = Journal::open(file_);
  ASSERT_TRUE(journal.has_value());
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50000, 50000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto writer = Journal::open(file_);
    bool right = writer->append("fits", {}).has_value();
    const auto result = writer->append("too large", {{"x", std::string(100000, 'x')}});
    right = right && !result && result.error().kind == ErrorKind::kPreflight &&
            writer->events().size() == 1 && writer->append("fits", {}).has_value();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto events = read_journal(file_);
  ASSERT_TRUE(events.has_value()) << events.error().sentence;
  EXPECT_EQ(events->size(), 2u);
  EXPECT_EQ(events->back().seq, 2);
}

// kill -9 of a writer, again and again: no event that was acknowledged is lost, none is damaged.
TEST_F(JournalFile, SurvivesKilledWriters) {
  std::size_t known = 0;
  for (int round = 0; round < 20; ++round) {
    int channel[2];
    ASSERT_EQ(::pipe(channel), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto journal = Journal::open(file_);
      for (int i = 0; journal; ++i) {
        const auto size = static_cast<std::size_t>(1 + (i * 7919) % 20000);
        if (!journal->append("samples", {{"x", std::string(size, 'x')}}, i % 5 == 0)) ::_exit(1);
        const auto count = static_cast<int>(journal->events().size());
        if (::write(channel[1], &count, sizeof count) != sizeof count) ::_exit(1);
      }
      ::_exit(1);
    }
    ::close(channel[1]);
    int count = 0;  // once it writes, wherever it is then
    ASSERT_EQ(::read(channel[0], &count, sizeof count), static_cast<ssize_t>(sizeof count));
    ::usleep(static_cast<useconds_t>(500 + round * 700));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    known = static_cast<std::size_t>(count);
    while (::read(channel[0], &count, sizeof count) == sizeof count) {
      known = static_cast<std::size_t>(count);
    }
    ::close(channel[0]);
    const auto journal = Journal::open(file_);
    ASSERT_TRUE(journal.has_value()) << journal.error().sentence;
    ASSERT_GE(journal->events().size(), known);
    for (std::size_t i = 0; i < journal->events().size(); ++i) {
      ASSERT_EQ(journal->events()[i].seq, static_cast<long long>(i + 1));
    }
  }
  EXPECT_GE(known, 20u);
}

}  // namespace
}  // namespace lwb
