// The difference of two texts as value types: lines matched by Myers' algorithm, rows for a
// side-by-side view with the words that changed, and a unified diff that `git apply` takes.
// E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986), in its
// linear-space form.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lwb {

// The number of a line, from 1; 0 is no line.
struct LineNumber {
  int value = 0;
  explicit operator bool() const { return value > 0; }
  auto operator<=>(const LineNumber&) const = default;
};

// A row of a side-by-side view, counted from 0.
struct RowNumber {
  std::size_t value = 0;
  auto operator<=>(const RowNumber&) const = default;
};

// Bytes [begin, end) of a line's text that are not in the other side's line; never half a UTF-8
// character.
struct WordMark {
  std::size_t begin = 0;
  std::size_t end = 0;
  auto operator<=>(const WordMark&) const = default;
};

enum class RowKind {
  kSame,     // the line is in both texts
  kRemoved,  // only in the old text
  kAdded,    // only in the new text
  kChanged,  // an old line and the new one that took its place, with marks
  kIgnored,  // differs, or stands on one side alone, in nothing but what is ignored: ignore_in()
};

inline bool is_change(RowKind kind) {
  return kind != RowKind::kSame && kind != RowKind::kIgnored;
}

struct DiffSide {
  LineNumber line;   // 0: this side is empty in this row
  std::string text;  // without the line end
  std::vector<WordMark> marks;
};

struct DiffRow {
  RowKind kind = RowKind::kSame;
  DiffSide old_side;
  DiffSide new_side;
};

// Rows [begin, end).
struct RowRange {
  RowNumber begin;
  RowNumber end;
};

struct DiffCount {
  int added = 0;  // lines; a changed line counts as one added and one removed
  int removed = 0;
};

struct Diff {
  std::vector<DiffRow> rows;  // every line of both texts, in order
  DiffCount count;
  bool empty() const { return count.added == 0 && count.removed == 0; }
};

// Line ends (\n, \r\n) and a missing one at the end are compared too: two lines may differ in
// nothing else, and then have no marks.
Diff diff_texts(std::string_view old_text, std::string_view new_text);

struct Ignored {
  bool white_space = false;  // of any kind; lines of nothing else too
  bool comments = false;     // Python's, and lines of nothing else
};
// Makes those of the differing rows kIgnored that are equal without what is ignored. `count` stays
// that of the texts.
void ignore_in(Diff& diff, const Ignored& ignored);

// The rows to show when unchanged ones further than `context` rows from a change are folded away.
std::vector<RowRange> changed_ranges(const Diff& diff, int context = 3);

// A unified diff with `context` lines around each change, the names after "--- " and "+++ " as
// given
// ("a/src/k.py"; "/dev/null" for a text that is not there). Empty when the texts are equal.
std::string unified_diff(std::string_view old_text, std::string_view new_text,
                         std::string_view old_name, std::string_view new_name, int context = 3);

}  // namespace lwb
