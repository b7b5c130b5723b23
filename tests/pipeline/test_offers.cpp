// Variants that a person offers to a run: judged like any other, whenever they come.
#include "core/run/offers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/pipeline/whole_run.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Offers : public WholeRun {
 protected:
  void SetUp() override {
    WholeRun::SetUp();
    gpu_.gain["by_hand"] = 2.0;
  }
  // What the simulated GPU takes for twice as fast.
  VariantOffer faster() const {
    return {original_ + "# \"by_hand\": 1\n", "a second look\nat the end", "v1", "engineer", ""};
  }
  void offer(const VariantOffer& offered) {
    auto done = offer_variant(workspace_ / "inbox", offered);
    EXPECT_TRUE(done) << done.error().sentence;
  }
  // Once, when the child with this label is started.
  void offer_at(const std::string& label, const VariantOffer& offered) {
    gpu_.on_start = [this, label, offered, done = false](const ProcessSpec& spec) mutable {
      if (done || spec.label.rfind(label, 0) != 0) return;
      done = true;
      offer(offered);
    };
  }
  static const Json* by_engineer(const RunState& state) {
    for (const auto& [number, record] : state.variants) {
      if (get_string(record, "author") == "engineer") return &record;
    }
    return nullptr;
  }
  void answer(const std::string& id, const std::string& choice) {
    ASSERT_TRUE(answer_by_inbox(workspace_ / "inbox", id, {choice, "", "window"}));
  }
};

TEST_F(Offers, OneIsMadeBeforeTheCatalogsNextAndMayWin) {
  offer_at("measure v0, v1 round", faster());
  auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
  const RunState after = state();
  const Json* record = by_engineer(after);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(get_integer(*record, "number"), 2);
  EXPECT_EQ(get_string(*record, "title"), "a second look at the end");
  EXPECT_EQ(get_string(*record, "based_on"), "v1");
  EXPECT_EQ(get_string(*record, "decision"), "ACCEPTED");
  EXPECT_EQ(get_string(after.winner, "variant"), "v2");
  // The catalog went on as it would have without it.
  ASSERT_EQ(after.variants.count(3), 1u);
  EXPECT_EQ(get_string(after.variants.at(3), "author"), "catalog");
  EXPECT_EQ(*read_file(file_), original_ + "# \"by_hand\": 1\n") << "without the variant's header";
  EXPECT_THAT(*read_file(workspace_ / "scale_norm_v2.py"), HasSubstr("based on v1"));
  EXPECT_FALSE(variant_is_offered(workspace_ / "inbox"));
}

TEST_F(Offers, OneThatDoesNotEvenImportIsDiscardedAndTheRunGoesOn) {
  VariantOffer broken = faster();
  broken.text = original_ + "def (:\n";
  offer_at("measure v0, v1 round", broken);
  auto outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "APPLIED") << said_;
  const RunState after = state();
  const Json* record = by_engineer(after);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(get_string(*record, "decision"), "DISCARDED");
  EXPECT_THAT(get_string(*record, "reason"), HasSubstr("SyntaxError"));
}

TEST_F(Offers, TheOriginalItselfIsRejectedUnmeasured) {
  VariantOffer same = faster();
  same.text = original_;
  offer_at("measure v0, v1 round", same);
  auto outcome = run(LastStage::kOptimize);
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  const RunState after = state();
  ASSERT_NE(by_engineer(after), nullptr);
  EXPECT_EQ(get_string(*by_engineer(after), "reason"), "it is the original");
}

// While the winner is asked about: it is withdrawn, and asked again with the new one measured.
TEST_F(Offers, OneThatComesAtTheWinnersQuestionIsMeasuredFirst) {
  options_.autonomous = false;
  answer("profile", "Go on with this strategy order");
  answer("winner-2", "Approve winner v3");
  offer_at("measure v0, v2, v1", faster());
  auto outcome = run(LastStage::kOptimize);
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  EXPECT_EQ(outcome->outcome, "WINNER") << outcome->sentence;
  const RunState after = state();
  EXPECT_EQ(get_string(after.winner, "variant"), "v3");
  EXPECT_TRUE(after.pending.empty());
  const auto answered = std::find_if(after.answers.begin(), after.answers.end(),
                                     [](const Json& a) { return get_string(a, "id") == "winner"; });
  ASSERT_NE(answered, after.answers.end());
  EXPECT_EQ(get_string(*answered, "choice"), kVariantOffered);
}

TEST_F(Offers, StoppedWhileItIsMeasuredItIsMadeOnce) {
  bool offered = false;
  gpu_.on_start = [&](const ProcessSpec& spec) {
    if (!offered && spec.label.rfind("measure v0, v1 round", 0) == 0) {
      offered = true;
      offer(faster());
    }
    if (spec.label.rfind("measure v0, v2 round", 0) == 0) cancel_->cancel();
  };
  auto outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kStopped);
  gpu_.on_start = {};
  outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().sentence << said_;
  const RunState after = state();
  int made = 0;
  for (const auto& [number, record] : after.variants) {
    made += get_string(record, "author") == "engineer" ? 1 : 0;
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(get_string(after.winner, "variant"), "v2");
}

TEST_F(Offers, ARunThatTakesNoneSaysWhy) {
  RunState none;
  EXPECT_THAT(offer_problem(none), HasSubstr("no run of this kernel"));
  RunState live;
  live.started = "2026-01-01T00:00:00Z";
  live.kernel = "scale_norm";
  EXPECT_EQ(offer_problem(live), "");
  RunState replayed = live;
  replayed.recorded_on = "NVIDIA H200";
  EXPECT_THAT(offer_problem(replayed), HasSubstr("recording"));
  RunState over = live;
  over.finished = true;
  EXPECT_THAT(offer_problem(over), HasSubstr("is finished"));
  auto untitled = offer_variant(folder_, {"x = 1\n", "  ", "v0", "engineer", ""});
  ASSERT_FALSE(untitled);
  EXPECT_THAT(untitled.error().sentence, HasSubstr("title"));
}

}  // namespace
}  // namespace lwb
