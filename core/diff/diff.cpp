#include "core/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/diff/sequence.h"

namespace lwb {
namespace {

// Lines with their ends, so that nothing of a text is lost.
std::vector<std::string_view> whole_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;  // letters beyond ASCII stay whole
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The length of the first word: a name, a number with its fraction, a run of blanks, or one other
// character.
std::size_t word_length(std::string_view line) {
  std::size_t length = 1;
  if (line[0] == ' ') {
    while (length < line.size() && line[length] == ' ') ++length;
    return length;
  }
  if (!is_word(line[0])) return length;
  const auto belongs = [&](std::size_t at) {
    const bool is_fraction =
        is_digit(line[0]) && line[at] == '.' && at + 1 < line.size() && is_digit(line[at + 1]);
    return is_word(line[at]) || is_fraction;
  };
  while (length < line.size() && belongs(length)) ++length;
  return length;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t length = word_length(line);
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
  return words;
}

// Numbers for equal content, over both sides.
class Numbering {
 public:
  std::vector<int> number(const std::vector<std::string_view>& items) {
    std::vector<int> numbers;
    numbers.reserve(items.size());
    for (const auto item : items) {
      numbers.push_back(known_.emplace(item, static_cast<int>(known_.size())).first->second);
    }
    return numbers;
  }

 private:
  std::unordered_map<std::string_view, int> known_;
};

std::vector<Match> match(const std::vector<std::string_view>& a,
                         const std::vector<std::string_view>& b) {
  Numbering numbering;
  const auto old_items = numbering.number(a);
  return longest_common(old_items, numbering.number(b));
}

bool is_blank(std::string_view word) {
  return word.front() == ' ' || word.front() == '\t';
}

// How much of two lines is common: 0 nothing, 1 all; blanks do not count.
double similarity(std::string_view a, std::string_view b) {
  const auto words_a = words_of(a);
  const auto words_b = words_of(b);
  const auto letters = [](const std::vector<std::string_view>& words) {
    std::size_t sum = 0;
    for (const auto word : words) sum += is_blank(word) ? 0 : word.size();
    return sum;
  };
  const std::size_t all = letters(words_a) + letters(words_b);
  if (all == 0) return 1;
  std::size_t common = 0;
  for (const Match& pair : match(words_a, words_b)) {
    const auto word = words_a[pair.old_index];
    common += is_blank(word) ? 0 : 2 * word.size();
  }
  return static_cast<double>(common) / static_cast<double>(all);
}

// The stretches of `line` that hold no matched word; neighbours are joined.
std::vector<WordMark> unmatched(const std::vector<std::string_view>& words,
                                const std::vector<bool>& matched) {
  std::vector<WordMark> marks;
  std::size_t at = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!matched[i] && !marks.empty() && marks.back().end == at) {
      marks.back().end += words[i].size();
    } else if (!matched[i]) {
      marks.push_back({at, at + words[i].size()});
    }
    at += words[i].size();
  }
  return marks;
}

void mark_words(DiffRow& row) {
  const auto old_words = words_of(row.old_side.text);
  const auto new_words = words_of(row.new_side.text);
  std::vector<bool> old_matched(old_words.size());
  std::vector<bool> new_matched(new_words.size());
  for (const Match& pair : match(old_words, new_words)) {
    old_matched[pair.old_index] = true;
    new_matched[pair.new_index] = true;
  }
  row.old_side.marks = unmatched(old_words, old_matched);
  row.new_side.marks = unmatched(new_words, new_matched);
}

// Two lines stand beside each other as one changed line when at least so much of them is common.
constexpr double kAlike = 0.45;
// Above so many pairs the lines of a block are taken in their order instead of the best pairing.
constexpr std::size_t kMostPairs = 40000;

using Lines = std::vector<std::string_view>;

// The pairing of removed with added lines, in order, whose similarities add up to the most: the
// longest-common-subsequence recurrence with weights.
std::vector<Match> pair_lines(const Lines& removed, const Lines& added) {
  const std::size_t rows = removed.size();
  const std::size_t columns = added.size();
  std::vector<Match> pairs;
  if (rows * columns > kMostPairs) {
    for (std::size_t i = 0; i < std::min(rows, columns); ++i) {
      if (similarity(without_end(removed[i]), without_end(added[i])) >= kAlike)
        pairs.push_back({i, i});
    }
    return pairs;
  }
  std::vector<std::vector<double>> weight(rows, std::vector<double>(columns));
  std::vector<std::vector<double>> best(rows + 1, std::vector<double>(columns + 1, 0.0));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      const double alike = similarity(without_end(removed[i]), without_end(added[j]));
      weight[i][j] = alike >= kAlike ? alike : 0;
      best[i][j] = std::max({best[i + 1][j], best[i][j + 1],
                             weight[i][j] > 0 ? best[i + 1][j + 1] + weight[i][j] : 0});
    }
  }
  for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
    if (weight[i][j] > 0 && best[i][j] == best[i + 1][j + 1] + weight[i][j]) {
      pairs.push_back({i++, j++});
    } else if (best[i][j] == best[i + 1][j]) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

class RowWriter {
 public:
  RowWriter(const Lines& old_lines, const Lines& new_lines) : old_(old_lines), new_(new_lines) {}

  void same(std::size_t old_index, std::size_t new_index) {
    add(RowKind::kSame, old_index, new_index);
  }

  // Old lines [a0, a1) were replaced by new lines [b0, b1).
  void block(std::size_t a0, std::size_t a1, std::size_t b0, std::size_t b1) {
    const auto part = [](const Lines& lines, std::size_t from, std::size_t to) {
      return Lines(lines.begin() + static_cast<std::ptrdiff_t>(from),
                   lines.begin() + static_cast<std::ptrdiff_t>(to));
    };
    std::size_t a = a0;
    std::size_t b = b0;
    const auto only = [&](std::size_t a_end, std::size_t b_end) {
      for (; a < a_end; ++a) add(RowKind::kRemoved, a, kNone);
      for (; b < b_end; ++b) add(RowKind::kAdded, kNone, b);
    };
    for (const Match& pair : pair_lines(part(old_, a0, a1), part(new_, b0, b1))) {
      only(a0 + pair.old_index, b0 + pair.new_index);
      add(RowKind::kChanged, a++, b++);
      mark_words(diff_.rows.back());
    }
    only(a1, b1);
    diff_.count.removed += static_cast<int>(a1 - a0);
    diff_.count.added += static_cast<int>(b1 - b0);
  }

  Diff take() { return std::move(diff_); }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  static DiffSide side(const Lines& lines, std::size_t index) {
    if (index == kNone) return {};
    return {LineNumber{static_cast<int>(index) + 1}, std::string(without_end(lines[index])), {}};
  }
  void add(RowKind kind, std::size_t old_index, std::size_t new_index) {
    diff_.rows.push_back({kind, side(old_, old_index), side(new_, new_index)});
  }

  const Lines& old_;
  const Lines& new_;
  Diff diff_;
};

// A stretch of the edit: old lines [a0, a1) became new lines [b0, b1).
struct Block {
  std::size_t a0, a1, b0, b1;
};

std::vector<Block> changed_blocks(const Lines& old_lines, const Lines& new_lines) {
  std::vector<Block> blocks;
  std::size_t a = 0;
  std::size_t b = 0;
  const auto close = [&](std::size_t a_end, std::size_t b_end) {
    if (a < a_end || b < b_end) blocks.push_back({a, a_end, b, b_end});
  };
  for (const Match& pair : match(old_lines, new_lines)) {
    close(pair.old_index, pair.new_index);
    a = pair.old_index + 1;
    b = pair.new_index + 1;
  }
  close(old_lines.size(), new_lines.size());
  return blocks;
}

// "-3,7": the first line and the number of lines; without lines the line before them.
std::string range_text(std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  if (count == 1) return fmt::format("{}", begin + 1);
  return fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

void append_line(std::string& out, char sign, std::string_view line) {
  out += sign;
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

}  // namespace

Diff diff_texts(std::string_view old_text, std::string_view new_text) {
  const Lines old_lines = whole_lines(old_text);
  const Lines new_lines = whole_lines(new_text);
  RowWriter rows(old_lines, new_lines);
  std::size_t a = 0;
  std::size_t b = 0;
  const auto same_until = [&](std::size_t a_end) {
    while (a < a_end) rows.same(a++, b++);
  };
  for (const Block& block : changed_blocks(old_lines, new_lines)) {
    same_until(block.a0);
    rows.block(block.a0, block.a1, block.b0, block.b1);
    a = block.a1;
    b = block.b1;
  }
  same_until(old_lines.size());
  return rows.take();
}

std::vector<RowRange> changed_ranges(const Diff& diff, int context) {
  const auto around = static_cast<std::size_t>(std::max(context, 0));
  std::vector<RowRange> ranges;
  for (std::size_t i = 0; i < diff.rows.size(); ++i) {
    if (diff.rows[i].kind == RowKind::kSame) continue;
    const RowNumber begin{i > around ? i - around : 0};
    const RowNumber end{std::min(i + around + 1, diff.rows.size())};
    if (!ranges.empty() && begin <= ranges.back().end) {
      ranges.back().end = end;
    } else {
      ranges.push_back({begin, end});
    }
  }
  return ranges;
}

std::string unified_diff(std::string_view old_text, std::string_view new_text,
                         std::string_view old_name, std::string_view new_name, int context) {
  const Lines old_lines = whole_lines(old_text);
  const Lines new_lines = whole_lines(new_text);
  const auto around = static_cast<std::size_t>(std::max(context, 0));
  const auto blocks = changed_blocks(old_lines, new_lines);
  if (blocks.empty()) return {};
  std::string out = fmt::format("--- {}\n+++ {}\n", old_name, new_name);
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t last = first;  // blocks whose contexts touch share a hunk
    while (last + 1 < blocks.size() && blocks[last + 1].a0 - blocks[last].a1 <= 2 * around) ++last;
    const std::size_t before = std::min(around, blocks[first].a0);
    const std::size_t after = std::min(around, old_lines.size() - blocks[last].a1);
    const std::size_t begin = blocks[first].a0 - before;
    out += fmt::format("@@ -{} +{} @@\n", range_text(begin, blocks[last].a1 + after),
                       range_text(blocks[first].b0 - before, blocks[last].b1 + after));
    std::size_t at = begin;
    const auto same_until = [&](std::size_t end) {
      for (; at < end; ++at) append_line(out, ' ', old_lines[at]);
    };
    for (; first <= last; ++first) {
      const Block& block = blocks[first];
      same_until(block.a0);
      for (; at < block.a1; ++at) append_line(out, '-', old_lines[at]);
      for (std::size_t b = block.b0; b < block.b1; ++b) append_line(out, '+', new_lines[b]);
    }
    same_until(at + after);
  }
  return out;
}

namespace {

// Cuts comments off the lines of one Python text, which come in order: what stands in a string that
// goes on over lines is none.
class CommentCutter {
 public:
  std::string cut(const std::string& line) {
    char quote = 0;  // of a string within this line
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (c == '\\') {
        ++i;
      } else if (!open_.empty()) {
        if (line.compare(i, 3, open_) == 0) {
          i += 2;
          open_.clear();
        }
      } else if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '#') {
        std::string code = line.substr(0, i);
        code.erase(code.find_last_not_of(" \t") + 1);
        return code;
      } else if (c == '"' || c == '\'') {
        const std::string three(3, c);
        if (line.compare(i, 3, three) == 0) {
          open_ = three;
          i += 2;
        } else {
          quote = c;
        }
      }
    }
    return line;
  }

 private:
  std::string open_;  // the quotes that end the string that goes on
};

std::string without_white_space(const std::string& text) {
  std::string rest;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\r' && c != '\f') rest += c;
  }
  return rest;
}

}  // namespace

void ignore_in(Diff& diff, const Ignored& ignored) {
  CommentCutter old_cutter, new_cutter;
  const auto kept = [&](const DiffSide& side, CommentCutter& cutter) {
    if (!side.line) return std::string();
    const std::string code = ignored.comments ? cutter.cut(side.text) : side.text;
    return ignored.white_space ? without_white_space(code) : code;
  };
  for (DiffRow& row : diff.rows) {
    const std::string before = kept(row.old_side, old_cutter),
                      after = kept(row.new_side, new_cutter);
    const bool nothing = without_white_space(before + after).empty();
    const bool alone = !row.old_side.line || !row.new_side.line;
    if (row.kind == RowKind::kSame) continue;
    if (alone ? nothing && (ignored.white_space || ignored.comments) : before == after) {
      row.kind = RowKind::kIgnored;
    }
  }
}

}  // namespace lwb
