#include "core/run/approvals.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/base/files.h"

namespace lwb {
namespace {

class Approvals : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("approvals-" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    journal_ = *Journal::open(folder_ / "journal.jsonl");
  }
  Result<ApprovalAnswer> ask_for(const ApprovalRequest& request) {
    auto policy = autonomous_approvals();
    auto inbox = inbox_approvals(folder_ / "inbox");
    std::vector<ApprovalSource*> sources{inbox.get()};
    if (autonomous_) sources.insert(sources.begin(), policy.get());
    return ask(journal_, sources, request, cancel_);
  }
  fs::path folder_;
  Journal journal_;
  CancelToken cancel_;
  bool autonomous_ = false;
};

TEST_F(Approvals, AnOrderGoesThroughInboxAndJournal) {
  const std::vector<std::string> order{"b", "a"};
  ASSERT_TRUE(answer_by_inbox(folder_ / "inbox", "profile", {"Go on", "why", "window", order}));
  for (int time = 0; time < 2; ++time) {  // the second time out of the journal, as after a resume
    const auto answer = ask_for({"profile", "?", "", {"Go on", "Stop"}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->choice, "Go on");
    EXPECT_EQ(answer->comment, "why");
    ASSERT_TRUE(answer->order);
    EXPECT_EQ(*answer->order, order);
  }
  EXPECT_EQ(journal_.events().size(), 2U);
}

TEST_F(Approvals, WithoutAnOrderThereIsNone) {
  ASSERT_TRUE(answer_by_inbox(folder_ / "inbox", "profile", {"Go on", "", "window"}));
  const auto answer = ask_for({"profile", "?", "", {"Go on"}});
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->order);
}

// A pause of an autonomous run waits for the person who wished it.
TEST_F(Approvals, PolicyDoesNotAnswerWhatIsForAPerson) {
  autonomous_ = true;
  const auto by_policy = ask_for({"winner", "?", "", {"Approve"}});
  ASSERT_TRUE(by_policy);
  EXPECT_EQ(by_policy->by, "autonomous");
  ASSERT_TRUE(answer_by_inbox(folder_ / "inbox", "pause-1", {"End", "", "window"}));
  const auto by_person = ask_for({"pause-1", "?", "", {"Go on", "End"}, true});
  ASSERT_TRUE(by_person);
  EXPECT_EQ(by_person->by, "window");
  EXPECT_EQ(by_person->choice, "End");
}

TEST_F(Approvals, APauseIsWishedUntilItIsWithdrawn) {
  const fs::path inbox = folder_ / "inbox";
  EXPECT_FALSE(pause_is_wished(inbox));
  ASSERT_TRUE(wish_for_pause(inbox));
  EXPECT_TRUE(pause_is_wished(inbox));
  withdraw_pause(inbox);
  EXPECT_FALSE(pause_is_wished(inbox));
}

}  // namespace
}  // namespace lwb
