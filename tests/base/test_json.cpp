#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/base/json.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;

TEST(ParseJson, NamesTheDocumentAndTheLine) {
  const auto result =
      parse_json("{\n  \"a\": 1,\n  oops\n}", "calls file /x/c.json", ErrorKind::kUsage);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(result.error().sentence,
            "The calls file /x/c.json is not valid JSON at line 3; correct it there.");
  EXPECT_FALSE(result.error().details.empty());
}

TEST(ParseJson, RefusesWhatIsNoDocument) {
  for (const char* text : {"", "  \n", "{\"a\":1", "{} {}", "{\"a\":NaN}", "\"\xff\""}) {
    EXPECT_FALSE(parse_json(text, "text").has_value()) << text;
  }
}

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(print_json(*parse_json(R"({"z":1,"a":[true,null]})", "text")),
            R"({"z":1,"a":[true,null]})");
}

TEST(PrintJson, NeverThrows) {
  EXPECT_EQ(print_json(Json("a\xff"
                            "b")),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(print_json(Json(std::numeric_limits<double>::quiet_NaN())), "null");
  EXPECT_EQ(print_json(Json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(JsonMembers, FallBackWhenAbsentNullOrOfAnotherType) {
  const Json object = {{"s", "text"}, {"n", 1.5}, {"w", 8192.0},     {"i", 7},
                       {"b", true},   {"l", {1}}, {"o", {{"k", 1}}}, {"z", nullptr}};
  EXPECT_EQ(get_string(object, "s"), "text");
  EXPECT_EQ(get_string(object, "n", "no"), "no");
  EXPECT_EQ(get_string(object, "z", "no"), "no");
  EXPECT_EQ(get_number(object, "n"), 1.5);
  EXPECT_EQ(get_number(object, "i"), 7.0);
  EXPECT_EQ(get_number(object, "s", -1), -1);
  EXPECT_EQ(get_integer(object, "i"), 7);
  EXPECT_EQ(get_integer(object, "w"), 8192);
  EXPECT_EQ(get_integer(object, "n", -1), -1);
  EXPECT_EQ(get_integer(object, "b", -1), -1);
  EXPECT_TRUE(get_bool(object, "b"));
  EXPECT_TRUE(get_bool(object, "i", true));
  EXPECT_EQ(get_array(object, "l").size(), 1u);
  EXPECT_TRUE(get_array(object, "o").is_array());
  EXPECT_EQ(get_object(object, "o").size(), 1u);
  EXPECT_TRUE(get_object(object, "missing").is_object());
  EXPECT_EQ(get_string(Json::array(), "s", "no"), "no");
  EXPECT_EQ(get_string(Json(), "s", "no"), "no");
}

}  // namespace
}  // namespace lwb
