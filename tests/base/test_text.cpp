#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/text.h"

namespace lwb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Text, SplitsLinesOfAnyKind) {
  EXPECT_THAT(split_lines(""), IsEmpty());
  EXPECT_THAT(split_lines("a"), ElementsAre("a"));
  EXPECT_THAT(split_lines("a\n"), ElementsAre("a"));
  EXPECT_THAT(split_lines("a\r\n\nb"), ElementsAre("a", "", "b"));
}

TEST(Text, SplitsJoinsTrimsAndReplaces) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(to_lower("RMS_Norm"), "rms_norm");
  EXPECT_EQ(replace_all("aaa", "a", "aa"), "aaaaaa");
  EXPECT_EQ(replace_all("abcabc", "bc", ""), "aa");
  EXPECT_EQ(replace_all("abc", "", "x"), "abc");
  EXPECT_EQ(replace_all("abc", "d", "x"), "abc");
}

TEST(Text, OffersTheNearestNames) {
  const std::vector<std::string> names = {"layer_norm", "rms_norm", "group_norm", "softmax",
                                          "poly_norm"};
  EXPECT_EQ(nearest_names("rms_nrom", names).front(), "rms_norm");
  EXPECT_THAT(nearest_names("RMSNorm", names, 1), ElementsAre("rms_norm"));
  EXPECT_THAT(nearest_names("xyzzy", names), IsEmpty());
  EXPECT_THAT(nearest_names("", names), IsEmpty());
  EXPECT_LE(nearest_names("norm_norm", names, 2).size(), 2u);
}

TEST(Text, FormatsTimes) {
  EXPECT_EQ(format_us(62.41), "62.4 µs");
  EXPECT_EQ(format_us(0.954), "0.95 µs");
  EXPECT_EQ(format_us(1769), "1.77 ms");
  EXPECT_EQ(format_us(999.6), "1.00 ms");  // the unit fits what is shown
  EXPECT_EQ(format_us(177.2), "177 µs");
  EXPECT_EQ(format_us(2.5e6), "2.50 s");
  EXPECT_EQ(format_us(0), "0.00 µs");
  EXPECT_EQ(format_us(-62.41), "-62.4 µs");
  EXPECT_EQ(format_us(std::nan("")), "n/a");
  EXPECT_EQ(format_duration(0.042), "42 ms");
  EXPECT_EQ(format_duration(4.21), "4.2 s");
  EXPECT_EQ(format_duration(59.97), "1 min 00 s");
  EXPECT_EQ(format_duration(185), "3 min 05 s");
  EXPECT_EQ(format_duration(3725), "1 h 02 min");
  EXPECT_EQ(format_duration(-1), "n/a");
}

TEST(Text, FormatsOtherNumbers) {
  EXPECT_EQ(format_bytes(67108864), "67.1 MB");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1.5e11), "150 GB");
  EXPECT_EQ(format_bytes(-4e6), "-4.00 MB");
  EXPECT_EQ(format_ratio(1.6312), "1.63×");
  EXPECT_EQ(format_ratio(std::numeric_limits<double>::infinity()), "n/a");
  EXPECT_EQ(format_percent(0.934), "93.4 %");
  EXPECT_EQ(format_shape({2048, 4096}), "2048×4096");
  EXPECT_EQ(format_shape({}), "");
}

}  // namespace
}  // namespace lwb
