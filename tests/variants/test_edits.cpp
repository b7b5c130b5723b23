#include <gmock/gmock.h>

#include "core/variants/edits.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;

TEST(Edits, ReplacesAndInserts) {
  const auto text =
      apply_edits("abcdef", {{4, 6, "XY", "t", ""}, {0, 1, "A", "t", ""}, {2, 2, "-", "t", ""}});
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "Ab-cdXY");
}

TEST(Edits, InsertionsAtOnePlaceKeepTheirOrderAndComeBeforeTheReplacement) {
  const auto text = apply_edits(
      "one two",
      {{4, 7, "TWO", "a", ""}, {4, 4, "1", "b", ""}, {4, 4, "2", "c", ""}, {7, 7, "!", "d", ""}});
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "one 12TWO!");
}

TEST(Edits, OverlapNamesBothTechniquesAndTheLine) {
  const auto text = apply_edits("a\nbcd\n", {{2, 4, "x", "first", ""}, {3, 5, "y", "second", ""}});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().sentence, "first and second both want to change line 2.");
}

TEST(Edits, AnInsertionInsideOfAReplacementIsAnOverlap) {
  const auto text = apply_edits("abcdef", {{1, 5, "x", "first", ""}, {3, 3, "y", "second", ""}});
  EXPECT_FALSE(text);
}

TEST(Edits, BeyondTheEndIsRefused) {
  const auto text = apply_edits("abc", {{2, 9, "x", "first", ""}});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().sentence, HasSubstr("bytes 2 to 9 of a text of 3 bytes"));
}

}  // namespace
}  // namespace lwb
