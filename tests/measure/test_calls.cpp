#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/files.h"
#include "core/measure/calls.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json document(const std::vector<Json>& calls) {
  return {{"schema", 1}, {"kernel", "scaled_add"}, {"calls", calls}};
}

std::string sentence_of(const Json& doc) {
  const auto result = calls_from_json(doc, "calls file c.json");
  if (result) return "valid";
  EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
  return result.error().sentence;
}

TEST(Calls, ReadsAndWritesWhatWasCaptured) {
  const Json doc = document({call_json("T=2048"), call_json("T=4096", 4096)});
  const auto calls = calls_from_json(doc, "calls file");
  ASSERT_TRUE(calls) << calls.error().sentence;
  ASSERT_EQ(calls->calls.size(), 2u);
  EXPECT_FALSE(calls->calls[0].by_hand);
  EXPECT_EQ(calls->calls[1].cell.x, 4096);
  EXPECT_EQ(calls->calls[0].cell.config["hidden_size"], 4096);
  EXPECT_EQ(to_json(*calls), doc);
}

TEST(Calls, ACallThatCannotBeReplayedIsKeptWithTheReason) {
  Json call = call_json("a");
  call["args"][1] = {{"list", {{{"unsupported", "<ProcessGroup>"}}}}};
  const auto calls = calls_from_json(document({call}), "calls file");
  ASSERT_TRUE(calls);
  EXPECT_FALSE(calls->calls[0].replayable);
  EXPECT_EQ(calls->calls[0].why_not,
            "args[1] is <ProcessGroup>, which cannot be written down and replayed");
}

TEST(Calls, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(sentence_of(Json::array()), HasSubstr("calls file c.json has no list \"calls\""));
  Json call = call_json("a");
  call["args"][0]["tensor"]["shape"] = {2, "x"};
  EXPECT_EQ(
      sentence_of(document({call_json("z"), call})),
      "The call 1 of the calls file c.json (\"a\") is not valid: args[0].tensor.shape must be a "
      "list of integers.");
  call = call_json("a");
  call["args"][0]["tensor"]["stride"] = {1};
  EXPECT_THAT(sentence_of(document({call})),
              HasSubstr("args[0].tensor.stride must be a list of 2"));
  call = call_json("a");
  call.erase("function");
  EXPECT_THAT(sentence_of(document({call})), HasSubstr("function.module must name"));
  call = call_json("a");
  call["args"][1] = 3;
  EXPECT_THAT(sentence_of(document({call})), HasSubstr("args[1] must be an object such as"));
  call = call_json("a");
  call["kwargs"] = {{"eps", {{"number", 3}}}};
  EXPECT_THAT(sentence_of(document({call})), HasSubstr("kwargs.eps has none of the members"));
  call = call_json("a");
  call["reference"] = "nofunction";
  EXPECT_THAT(sentence_of(document({call})), HasSubstr("reference must be null or"));
  EXPECT_EQ(sentence_of(document({call_json("a"), call_json("a")})),
            "The calls file c.json has more than one call with the id \"a\" (call 1).");
  EXPECT_THAT(sentence_of({{"schema", 9}, {"calls", Json::array()}}), HasSubstr("has schema 9"));
}

TEST(Calls, AFileThatIsNoJsonIsAUsageError) {
  const auto file = std::filesystem::temp_directory_path() / "lwb_test_calls.json";
  ASSERT_TRUE(write_file_atomically(file, "{\n\"calls\": [\n"));
  auto calls = read_calls(file);
  ASSERT_FALSE(calls);
  EXPECT_EQ(calls.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(calls.error().sentence, HasSubstr("lwb_test_calls.json"));
  std::filesystem::remove(file);
  calls = read_calls(file);
  ASSERT_FALSE(calls);
  EXPECT_EQ(calls.error().kind, ErrorKind::kUsage);
}

CallsFile some_calls() {
  Json labelled = call_json("hand", 512, 8192);
  labelled["origin"] = "hand";
  labelled["labels"] = {{"in_place", false}, {"rows", 512}};
  labelled["cell"] = Json::object();
  return *calls_from_json(document({call_json("a", 1024, 2048), call_json("b", 8192, 2048),
                                    call_json("c", 1048576, 4096), labelled}),
                          "calls");
}

Condition condition(const std::string& name, Comparison comparison, double value) {
  return {name, comparison, value};
}

TEST(Scope, SelectsByXConfigurationAndLabels) {
  const CallsFile calls = some_calls();
  EXPECT_THAT(*calls_in_scope(calls, {}), ElementsAre("a", "b", "c", "hand"));
  EXPECT_THAT(*calls_in_scope(calls, {condition("hidden_size", Comparison::kLessEqual, 2048)}),
              ElementsAre("a", "b"));
  EXPECT_THAT(*calls_in_scope(calls, {condition("T", Comparison::kGreaterEqual, 8192),
                                      condition("hidden_size", Comparison::kLess, 4096)}),
              ElementsAre("b"));
  EXPECT_THAT(*calls_in_scope(calls, {condition("in_place", Comparison::kEqual, 0)}),
              ElementsAre("hand"));
}

TEST(Scope, KnowsOtherNamesOfTheSameNumber) {
  const CallsFile calls = some_calls();
  for (const char* name : {"hidden size", "HIDDEN_SIZE", "H", "Hidden-Size"}) {
    const auto found = calls_in_scope(calls, {condition(name, Comparison::kGreater, 2048)});
    ASSERT_TRUE(found) << name;
    EXPECT_THAT(*found, ElementsAre("c")) << name;
  }
  const auto found = calls_in_scope(calls, {condition("seq_len", Comparison::kEqual, 1024)});
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, ElementsAre("a"));
}

TEST(Scope, SaysWhatThereIsWhenNothingMatches) {
  const auto none = calls_in_scope(some_calls(), {condition("T", Comparison::kLess, 7)});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(none.error().sentence,
            "No cell meets the scope T<7; available: T = 1024, 8192, 1048576; eps = 1e-06; "
            "hidden_size = 2048, 4096; in_place = 0; rows = 512.");
  const auto unknown =
      calls_in_scope(some_calls(), {condition("vocab_size", Comparison::kLess, 7)});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().sentence, HasSubstr("names \"vocab_size\""));
}

}  // namespace
}  // namespace lwb
