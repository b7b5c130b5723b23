#include "core/request/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "core/base/text.h"

namespace lwb::sentence {
namespace {

unsigned char byte(char c) {
  return static_cast<unsigned char>(c);
}
bool is_digit(char c) {
  return std::isdigit(byte(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(byte(c)) != 0 || c == '_' || byte(c) > 127;
}
bool is_sign(char c) {
  return c == '<' || c == '>' || c == '=';
}

// Typographic characters become the plain ones that the rules know. A space takes the place of
// those that are no word.
std::string plain_characters(std::string_view sentence) {
  static const std::array<std::pair<const char*, const char*>, 12> table{{
      {"\xE2\x89\xA4", "<="},   // ≤
      {"\xE2\x89\xA5", ">="},   // ≥
      {"\xE2\x80\x99", "'"},    // ’
      {"\xE2\x80\x98", "'"},    // ‘
      {"\xE2\x80\x9C", "\""},   // “
      {"\xE2\x80\x9D", "\""},   // ”
      {"\xE2\x80\x93", "-"},    // –
      {"\xE2\x80\x94", " , "},  // —
      {"\xE2\x80\xA6", " , "},  // …
      {"\xC2\xA0", " "},        // no-break space
      {"\xE2\x80\xAF", " "},    // narrow no-break space
      {"\xC3\x97", "x"},        // ×
  }};
  std::string text(sentence);
  for (const auto& [from, to] : table) text = replace_all(text, from, to);
  return text;
}

// The end of the number that starts at `i`: "0.3ms", "8,192", ".5".
std::size_t number_end(const std::string& text, std::size_t i) {
  std::size_t end = i;
  while (end < text.size()) {
    const char c = text[end];
    const bool digit_next = end + 1 < text.size() && is_digit(text[end + 1]);
    if (is_digit(c) || (c == '.' && digit_next)) {
      ++end;
    } else if (c == ',' && digit_next && end + 3 < text.size() && is_digit(text[end + 2]) &&
               is_digit(text[end + 3]) && (end + 4 >= text.size() || !is_digit(text[end + 4])) &&
               end - i <= 3) {
      ++end;  // a thousands mark
    } else {
      break;
    }
  }
  while (end < text.size() && is_word(text[end])) ++end;
  return end;
}

std::size_t word_end(const std::string& text, std::size_t i) {
  const bool fraction = text[i] == '.' && i + 1 < text.size() && is_digit(text[i + 1]) &&
                        (i == 0 || !is_word(text[i - 1]));
  if (is_digit(text[i]) || fraction) return number_end(text, i);
  std::size_t end = i;
  if (is_word(text[i])) {
    while (end < text.size() &&
           (is_word(text[end]) ||
            (text[end] == '\'' && end + 1 < text.size() && is_word(text[end + 1])))) {
      ++end;
    }
    return end;
  }
  if (is_sign(text[i])) {
    while (end < text.size() && is_sign(text[end])) ++end;
    return end;
  }
  return i + 1;
}

Word make_word(const std::string& text, std::size_t begin, std::size_t end) {
  Word word;
  word.text = text.substr(begin, end - begin);
  word.begin = begin;
  word.end = end;
  for (const char c : to_lower(word.text)) {
    if (c == '\'') continue;
    word.lower += c;
    if (std::isalnum(byte(c)) != 0) word.plain += c;
  }
  const char c = text[begin];
  word.separator = !is_word(c) && !is_sign(c) && !(c == '.' && end - begin > 1);
  return word;
}

// "src/package/ops/name.py" and "name.py" mean the file's name: the rest of the path is read.
void read_paths(Reading& reading) {
  for (std::size_t i = 2; i < reading.size(); ++i) {
    Word& extension = reading.words[i];
    Word& dot = reading.words[i - 1];
    const bool joined = dot.end == extension.begin && reading.words[i - 2].end == dot.begin;
    if (extension.lower != "py" || dot.text != "." || !joined) continue;
    extension.used = true;
    dot.used = true;
    for (std::size_t j = i - 2; j > 0 && reading.words[j].hyphened; --j) {
      reading.words[j - 1].used = true;
    }
  }
}

const std::set<std::string>& fillers() {
  static const std::set<std::string> words = {"a",
                                              "about",
                                              "all",
                                              "also",
                                              "an",
                                              "and",
                                              "any",
                                              "around",
                                              "as",
                                              "at",
                                              "be",
                                              "best",
                                              "better",
                                              "but",
                                              "by",
                                              "can",
                                              "checkout",
                                              "could",
                                              "do",
                                              "focus",
                                              "focusing",
                                              "for",
                                              "from",
                                              "fully",
                                              "get",
                                              "give",
                                              "go",
                                              "goal",
                                              "gpu",
                                              "gpus",
                                              "have",
                                              "hello",
                                              "help",
                                              "hey",
                                              "hi",
                                              "how",
                                              "i",
                                              "id",
                                              "ideally",
                                              "if",
                                              "implementation",
                                              "improve",
                                              "in",
                                              "input",
                                              "inputs",
                                              "into",
                                              "is",
                                              "it",
                                              "its",
                                              "just",
                                              "keep",
                                              "kernel",
                                              "kernels",
                                              "lets",
                                              "let",
                                              "liger",
                                              "like",
                                              "look",
                                              "looking",
                                              "make",
                                              "may",
                                              "me",
                                              "mode",
                                              "more",
                                              "much",
                                              "must",
                                              "my",
                                              "need",
                                              "needs",
                                              "now",
                                              "nvidia",
                                              "of",
                                              "on",
                                              "one",
                                              "only",
                                              "op",
                                              "operator",
                                              "optimization",
                                              "optimisation",
                                              "optimise",
                                              "optimised",
                                              "optimize",
                                              "optimized",
                                              "optimizing",
                                              "or",
                                              "our",
                                              "pass",
                                              "passes",
                                              "perf",
                                              "performance",
                                              "please",
                                              "possible",
                                              "really",
                                              "regime",
                                              "request",
                                              "run",
                                              "runs",
                                              "scope",
                                              "set",
                                              "should",
                                              "so",
                                              "some",
                                              "target",
                                              "than",
                                              "thank",
                                              "thanks",
                                              "that",
                                              "the",
                                              "their",
                                              "them",
                                              "then",
                                              "there",
                                              "these",
                                              "this",
                                              "those",
                                              "time",
                                              "to",
                                              "triton",
                                              "try",
                                              "trying",
                                              "tune",
                                              "tuning",
                                              "up",
                                              "us",
                                              "use",
                                              "using",
                                              "very",
                                              "want",
                                              "wants",
                                              "we",
                                              "when",
                                              "where",
                                              "which",
                                              "will",
                                              "with",
                                              "would",
                                              "you",
                                              "your",
                                              "=",
                                              "target_kernel",
                                              "optimization_goal",
                                              "target_gpu",
                                              "autonomy",
                                              "target_metric",
                                              "metric",
                                              "budget",
                                              "card",
                                              "hardware",
                                              "machine",
                                              "architecture",
                                              "geforce",
                                              "speedup_goal",
                                              "values",
                                              "sizes",
                                              "cells",
                                              "size",
                                              "while",
                                              "still",
                                              "ok",
                                              "okay",
                                              "work",
                                              "ligers",
                                              "kernel's",
                                              "am",
                                              "im",
                                              "id",
                                              "well",
                                              "code",
                                              "function",
                                              "layer",
                                              "loss",
                                              "activation",
                                              "it's",
                                              "maximum",
                                              "max",
                                              "most"};
  return words;
}

const std::vector<std::string>& small_numbers() {
  static const std::vector<std::string> names = {
      "zero",     "one",     "two",     "three",     "four",     "five",    "six",
      "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
      "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  return names;
}

std::optional<int> small_number(const std::string& word) {
  const auto& names = small_numbers();
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin());
}

std::optional<int> tens(const std::string& word) {
  static const std::vector<std::string> names = {"twenty", "thirty",  "forty",  "fifty",
                                                 "sixty",  "seventy", "eighty", "ninety"};
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin()) * 10 + 20;
}

}  // namespace

const std::string& Reading::lower(std::size_t i) const {
  static const std::string none;
  return free(i) ? words[i].lower : none;
}

bool Reading::is(std::size_t i, std::initializer_list<std::string_view> choices) const {
  if (!free(i)) return false;
  return std::find(choices.begin(), choices.end(), words[i].lower) != choices.end();
}

std::size_t Reading::phrase(std::size_t i, std::string_view phrase) const {
  std::size_t length = 0;
  while (!phrase.empty()) {
    const std::string_view part = phrase.substr(0, phrase.find(' '));
    if (!free(i + length) || words[i + length].lower != part) return 0;
    ++length;
    phrase.remove_prefix(std::min(part.size() + 1, phrase.size()));
  }
  return length;
}

void Reading::use(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end && i < words.size(); ++i) words[i].used = true;
}

std::string Reading::text(std::size_t begin, std::size_t end) const {
  if (begin >= end || begin >= words.size()) return {};
  const std::size_t last = std::min(end, words.size()) - 1;
  return sentence.substr(words[begin].begin, words[last].end - words[begin].begin);
}

Reading read_words(std::string_view sentence) {
  Reading reading;
  reading.sentence = plain_characters(sentence);
  const std::string& text = reading.sentence;
  bool joined = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (std::isspace(byte(c)) != 0) {
      joined = false;
      ++i;
      continue;
    }
    const bool inside =
        i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
    // A hyphen or a slash between two words joins them; "-3" keeps its sign as a separator.
    if ((c == '-' || c == '/') && inside) {
      joined = true;
      ++i;
      continue;
    }
    // "--goal": the dashes of an option say nothing more.
    if (c == '-' && (text.compare(i, 2, "--") == 0 || (i > 0 && text[i - 1] == '-'))) {
      ++i;
      continue;
    }
    const std::size_t end = word_end(text, i);
    Word word = make_word(text, i, end);
    word.hyphened = joined;
    joined = false;
    reading.words.push_back(std::move(word));
    i = end;
  }
  read_paths(reading);
  return reading;
}

bool is_filler(const std::string& lower) {
  return fillers().count(lower) > 0;
}

std::vector<std::string> leftovers(const Reading& reading) {
  std::vector<std::string> stretches;
  const auto plain = [&](std::size_t i) {
    return !reading.words[i].negated && is_filler(reading.words[i].lower);
  };
  for (std::size_t i = 0; i < reading.size();) {
    const auto open = [&](std::size_t k) {
      return k < reading.size() && !reading.words[k].used && !reading.words[k].separator;
    };
    if (!open(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (open(end)) ++end;
    std::size_t first = i;
    std::size_t last = end;
    while (first < last && plain(first)) ++first;
    while (last > first && plain(last - 1)) --last;
    if (first < last) stretches.push_back(reading.text(first, last));
    i = end;
  }
  return stretches;
}

std::optional<Count> count_at(const Reading& reading, std::size_t i) {
  if (!reading.free(i)) return std::nullopt;
  const std::string& word = reading.words[i].lower;
  if (const auto number = grammar::number_of(word)) {
    if (!number->unit.empty() || word.back() == 'k') return std::nullopt;
    return Count{number->value, i + 1};
  }
  if (word == "a" || word == "one") {
    if (reading.is(i + 1, {"dozen"})) return Count{12, i + 2};
    if (reading.is(i + 1, {"hundred"})) return Count{100, i + 2};
  }
  if (word == "a" && reading.phrase(i + 1, "couple of") > 0) return Count{2, i + 3};
  if (word == "dozen") return Count{12, i + 1};
  if (word == "single") return Count{1, i + 1};
  if (const auto small = small_number(word)) return Count{static_cast<double>(*small), i + 1};
  if (const auto ten = tens(word)) {
    const auto unit = small_number(reading.lower(i + 1));
    if (unit && *unit > 0 && *unit < 10) return Count{static_cast<double>(*ten + *unit), i + 2};
    return Count{static_cast<double>(*ten), i + 1};
  }
  return std::nullopt;
}

Result<void> note(Reading& reading, const std::string& field, const std::string& value,
                  std::size_t begin, std::size_t end) {
  const std::string words = reading.text(begin, end);
  reading.use(begin, end);
  for (ParsedSentence::Field& known : reading.parsed.fields) {
    if (known.name != field) continue;
    if (known.value == value) {
      known.words += ", " + words;
      return {};
    }
    return fail(ErrorKind::kUsage,
                fmt::format("The sentence asks for two values of {}: {} (\"{}\") and {} (\"{}\"); "
                            "keep one of them.",
                            field, known.value, known.words, value, words));
  }
  reading.parsed.fields.push_back({field, value, words});
  return {};
}

}  // namespace lwb::sentence
