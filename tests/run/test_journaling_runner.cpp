// Children are journaled once each, whichever thread started them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "core/base/files.h"
#include "core/run/journaling_runner.h"

namespace lwb {
namespace {

class AtOnce final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessSpec&, const LineSink&) override {
    return ProcessOutcome{};
  }
  std::chrono::milliseconds child_wall() const override { return {}; }
};

// Pre-flight starts children on threads of its own before there is a journal, a thread sanitizer or
// a lost event would show what is not guarded.
TEST(JournalingRunner, LosesNoChildOfManyThreads) {
  const fs::path folder =
      fs::temp_directory_path() / ("lwb-journaling-" + std::to_string(::getpid()));
  fs::remove_all(folder);
  AtOnce inner;
  JournalingRunner runner(inner);
  const auto start_many = [&](const std::string& prefix) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 200; ++i) {
          ProcessSpec spec;
          spec.label = prefix + std::to_string(thread * 200 + i);
          EXPECT_TRUE(runner.run(spec));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  start_many("early ");
  auto journal = Journal::open(folder / "journal.jsonl");
  ASSERT_TRUE(journal);
  ASSERT_TRUE(runner.attach(&*journal));
  start_many("late ");
  const auto events = read_journal(journal->file());
  ASSERT_TRUE(events) << events.error().sentence;
  std::set<std::string> labels;
  long long seq = 0;
  for (const Event& event : *events) {
    EXPECT_EQ(event.seq, ++seq);
    labels.insert(get_string(event.data, "label"));
  }
  EXPECT_EQ(events->size(), 3200u);
  EXPECT_EQ(labels.size(), 3200u);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lwb
