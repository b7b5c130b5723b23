// Differences of texts: against the definition on random texts, against `patch` where it is
// installed, and by eye on code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/diff/diff.h"
#include "core/diff/sequence.h"

namespace lwb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The length by the textbook recurrence.
std::size_t common_length(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      best[i][j] = a[i] == b[j] ? best[i + 1][j + 1] + 1 : std::max(best[i + 1][j], best[i][j + 1]);
    }
  }
  return best[0][0];
}

TEST(LongestCommon, IsLongestAndInOrderForRandomSequences) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const auto draw = [&] {
      std::vector<int> items(random() % 14);
      for (int& item : items) item = static_cast<int>(random() % (1 + round % 5));
      return items;
    };
    const auto a = draw();
    const auto b = draw();
    const auto matches = longest_common(a, b);
    ASSERT_EQ(matches.size(), common_length(a, b));
    for (std::size_t i = 0; i < matches.size(); ++i) {
      ASSERT_EQ(a.at(matches[i].old_index), b.at(matches[i].new_index));
      if (i > 0) {
        ASSERT_LT(matches[i - 1].old_index, matches[i].old_index);
        ASSERT_LT(matches[i - 1].new_index, matches[i].new_index);
      }
    }
  }
}

TEST(LongestCommon, IsQuickForFilesThatHaveNothingInCommon) {
  std::vector<int> a(3000);
  std::vector<int> b(3000);
  for (int i = 0; i < 3000; ++i) {
    a[static_cast<std::size_t>(i)] = i;
    b[static_cast<std::size_t>(i)] = 10000 + i;
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(longest_common(a, b), IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> lines = {"a\n", "b\n", "c = 1\n", "c = 2\n", "\n", "d\r\n"};
  std::string text;
  for (std::size_t i = random() % 12; i > 0; --i) text += lines[random() % lines.size()];
  if (random() % 4 == 0) text += "no end";
  return text;
}

TEST(Diff, RowsHoldEveryLineOfBothTextsInOrder) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    const std::string a = random_text(random);
    const std::string b = random_text(random);
    const Diff diff = diff_texts(a, b);
    std::vector<std::string> old_lines;
    std::vector<std::string> new_lines;
    int added = 0;
    int removed = 0;
    for (const DiffRow& row : diff.rows) {
      if (row.old_side.line) {
        old_lines.push_back(row.old_side.text);
        ASSERT_EQ(row.old_side.line.value, static_cast<int>(old_lines.size()));
      }
      if (row.new_side.line) {
        new_lines.push_back(row.new_side.text);
        ASSERT_EQ(row.new_side.line.value, static_cast<int>(new_lines.size()));
      }
      ASSERT_EQ(row.kind == RowKind::kRemoved, !row.new_side.line);
      ASSERT_EQ(row.kind == RowKind::kAdded, !row.old_side.line);
      if (row.kind == RowKind::kSame) {
        ASSERT_EQ(row.old_side.text, row.new_side.text);
      }
      added += row.kind == RowKind::kAdded || row.kind == RowKind::kChanged;
      removed += row.kind == RowKind::kRemoved || row.kind == RowKind::kChanged;
    }
    ASSERT_EQ(old_lines, split_lines(a));
    ASSERT_EQ(new_lines, split_lines(b));
    ASSERT_EQ(added, diff.count.added);
    ASSERT_EQ(removed, diff.count.removed);
    ASSERT_EQ(diff.empty(), a == b);
  }
}

// Applies a unified diff as its format says, strictly.
std::string apply(const std::string& old_text, const std::string& patch) {
  std::vector<std::string> old_lines;
  for (std::size_t at = 0; at < old_text.size();) {
    const std::size_t end = std::min(old_text.find('\n', at), old_text.size() - 1) + 1;
    old_lines.push_back(old_text.substr(at, end - at));
    at = end;
  }
  std::string result;
  std::size_t next = 0;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < patch.size();) {
    const std::size_t end = patch.find('\n', at) + 1;
    lines.push_back(patch.substr(at, end - at));
    at = end;
  }
  for (std::size_t i = 2; i < lines.size(); ++i) {
    std::string line = lines[i];
    if (line.starts_with("@@")) {
      int begin = 0;
      int count = 1;
      std::sscanf(line.c_str(), "@@ -%d,%d", &begin, &count);
      const auto until = static_cast<std::size_t>(count == 0 ? begin : begin - 1);
      while (next < until) result += old_lines.at(next++);
      continue;
    }
    if (i + 1 < lines.size() && lines[i + 1].starts_with("\\")) line.pop_back();
    if (line.starts_with("\\")) continue;
    const std::string content = line.substr(1);
    if (line[0] != '+') {
      EXPECT_EQ(old_lines.at(next), content);
      ++next;
    }
    if (line[0] != '-') result += content;
  }
  while (next < old_lines.size()) result += old_lines[next++];
  return result;
}

TEST(UnifiedDiff, AppliedToTheOldTextGivesTheNewOne) {
  std::mt19937 random(13);
  for (int round = 0; round < 3000; ++round) {
    const std::string a = random_text(random);
    const std::string b = random_text(random);
    const std::string patch = unified_diff(a, b, "a/f", "b/f", static_cast<int>(random() % 4));
    ASSERT_EQ(patch.empty(), a == b);
    ASSERT_EQ(apply(a, patch), b) << patch;
  }
}

TEST(UnifiedDiff, IsTakenByGit) {
  if (std::system("git --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "git is not installed";
  const fs::path folder = fs::temp_directory_path() / ("lwb-diff-" + std::to_string(::getpid()));
  std::mt19937 random(17);
  for (int round = 0; round < 25; ++round) {
    const std::string a = "first\n" + random_text(random);
    const std::string b = random_text(random) + "last";
    ASSERT_TRUE(write_file_atomically(folder / "f", a));
    ASSERT_TRUE(write_file_atomically(folder / "p", unified_diff(a, b, "a/f", "b/f")));
    const std::string command =
        "cd '" + folder.string() + "' && GIT_CEILING_DIRECTORIES=/ git apply --whitespace=nowarn p";
    ASSERT_EQ(std::system(command.c_str()), 0) << *read_file(folder / "p");
    ASSERT_EQ(*read_file(folder / "f"), b);
  }
  fs::remove_all(folder);
}

TEST(UnifiedDiff, ReadsAsExpected) {
  std::string a;
  for (int i = 1; i <= 20; ++i) a += "line " + std::to_string(i) + "\n";
  std::string b = replace_all(a, "line 5\n", "line five\n");
  b = replace_all(b, "line 19\n", "");
  EXPECT_EQ(unified_diff(a, b, "a/k.py", "b/k.py", 1),
            "--- a/k.py\n+++ b/k.py\n"
            "@@ -4,3 +4,3 @@\n line 4\n-line 5\n+line five\n line 6\n"
            "@@ -18,3 +18,2 @@\n line 18\n-line 19\n line 20\n");
  EXPECT_EQ(unified_diff("", "x\n", "/dev/null", "b/f"),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(unified_diff("x", "x\n", "a", "b"),
            "--- a\n+++ b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n");
}

std::string marked(const DiffSide& side) {
  std::string text = side.text;
  for (auto mark = side.marks.rbegin(); mark != side.marks.rend(); ++mark) {
    text.insert(mark->end, "]").insert(mark->begin, "[");
  }
  return text;
}

TEST(Diff, MarksTheWordsThatChanged) {
  const Diff diff = diff_texts(
      "def f(x):\n    y = tl.load(ptr + offs, mask=mask, other=0)\n    return y\n",
      "def f(x):\n    # kept\n    y = tl.load(ptr + cols, mask=mask, other=0.0)\n    return y\n");
  std::vector<std::string> rows;
  for (const DiffRow& row : diff.rows)
    rows.push_back(marked(row.old_side) + "|" + marked(row.new_side));
  EXPECT_THAT(rows, ElementsAre("def f(x):|def f(x):", "|    # kept",
                                "    y = tl.load(ptr + [offs], mask=mask, other=[0])|"
                                "    y = tl.load(ptr + [cols], mask=mask, other=[0.0])",
                                "    return y|    return y"));
  EXPECT_EQ(diff.rows[2].kind, RowKind::kChanged);
  EXPECT_EQ(diff.count.added, 2);
  EXPECT_EQ(diff.count.removed, 1);
}

TEST(Diff, LinesWithNothingInCommonDoNotStandBesideEachOther) {
  const Diff diff = diff_texts("alpha beta\n", "x = 17\n");
  ASSERT_EQ(diff.rows.size(), 2u);
  EXPECT_EQ(diff.rows[0].kind, RowKind::kRemoved);
  EXPECT_EQ(diff.rows[1].kind, RowKind::kAdded);
}

TEST(Diff, MarksNeverCutALetter) {
  const Diff diff = diff_texts("größe = some_value # ä\n", "größer = some_value # ö\n");
  EXPECT_EQ(marked(diff.rows[0].old_side), "[größe] = some_value # [ä]");
  EXPECT_EQ(marked(diff.rows[0].new_side), "[größer] = some_value # [ö]");
}

TEST(Diff, SeesLineEnds) {
  const Diff diff = diff_texts("same\r\n", "same\n");
  ASSERT_EQ(diff.rows.size(), 1u);
  EXPECT_EQ(diff.rows[0].kind, RowKind::kChanged);
  EXPECT_THAT(diff.rows[0].old_side.marks, IsEmpty());
  EXPECT_FALSE(diff.empty());
}

TEST(Diff, FoldsWhatDidNotChange) {
  std::string a;
  for (int i = 0; i < 40; ++i) a += "line " + std::to_string(i) + "\n";
  std::string b = replace_all(a, "line 10\n", "line ten\n");
  b = replace_all(b, "line 14\n", "line 14b\n");
  b = replace_all(b, "line 39\n", "end\n");
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const RowRange& range : changed_ranges(diff_texts(a, b), 2)) {
    ranges.emplace_back(range.begin.value, range.end.value);
  }
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0], std::pair(std::size_t{8}, std::size_t{17}));
  EXPECT_EQ(ranges[1].first, 37u);
  EXPECT_THAT(changed_ranges(diff_texts(a, a)), IsEmpty());
}

std::vector<RowKind> kinds(const Diff& diff) {
  std::vector<RowKind> all;
  for (const DiffRow& row : diff.rows) all.push_back(row.kind);
  return all;
}

TEST(Diff, CanIgnoreWhiteSpace) {
  Diff diff = diff_texts("if x:\n  y = f(a,b)\nz\n", "if x:\n    y = f(a, b)\n\nz\nw\n");
  ignore_in(diff, {});
  EXPECT_THAT(kinds(diff), ::testing::Contains(RowKind::kChanged));
  ignore_in(diff, {true, false});
  for (const DiffRow& row : diff.rows) {
    EXPECT_EQ(is_change(row.kind), row.new_side.text == "w") << row.new_side.text;
  }
  EXPECT_FALSE(diff.empty()) << "the texts differ all the same";
}

TEST(Diff, CanIgnoreCommentsButNotWhatOnlyLooksLikeOne) {
  const std::string before =
      "x = 1\n"
      "s = '# no comment'\n"
      "\"\"\"text\n"
      "# of a docstring\n"
      "\"\"\"\n"
      "e = 'it\\'s #'  # one\n";
  const std::string after =
      "# a new line\n"
      "x = 1  # why\n"
      "s = '# NO comment'\n"
      "\"\"\"text\n"
      "# of the docstring\n"
      "\"\"\"\n"
      "e = 'it\\'s #'  # two\n";
  Diff diff = diff_texts(before, after);
  ignore_in(diff, {false, true});
  std::vector<std::string> changed;
  for (const DiffRow& row : diff.rows) {
    if (is_change(row.kind)) changed.push_back(row.new_side.text);
  }
  EXPECT_THAT(changed, ElementsAre("s = '# NO comment'", "# of the docstring"));
}

}  // namespace
}  // namespace lwb
