#include <gtest/gtest.h>

#include "core/base/result.h"

namespace lwb {
namespace {

TEST(Result, EachKindHasItsExitCode) {
  EXPECT_EQ(exit_code(ErrorKind::kGate), 1);
  EXPECT_EQ(exit_code(ErrorKind::kUsage), 2);
  EXPECT_EQ(exit_code(ErrorKind::kPreflight), 3);
  EXPECT_EQ(exit_code(ErrorKind::kStopped), 4);
  EXPECT_EQ(exit_code(ErrorKind::kInternal), 5);
}

TEST(Result, CarriesTheWholeError) {
  const Result<int> result = fail(ErrorKind::kUsage, "What, where, what to do.", "traceback");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(result.error().sentence, "What, where, what to do.");
  EXPECT_EQ(result.error().details, "traceback");
}

}  // namespace
}  // namespace lwb
