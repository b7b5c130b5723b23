// A request sentence as words, and the rules' common view of them. Internal to core/request.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/request/grammar.h"
#include "core/request/request.h"

namespace lwb::sentence {

struct Word {
  std::string text;                // as written
  std::string lower;               // ASCII lower case, without apostrophes: "don't" is "dont"
  std::string plain;               // lower, letters and digits only: "rms_norm" is "rmsnorm"
  std::size_t begin = 0, end = 0;  // bytes in the sentence
  bool separator = false;          // , ; : . ( ) and the like: never a word of a phrase
  bool hyphened = false;           // joined to the word before by "-" or "/"
  bool used = false;               // some rule has read it
  bool kernel = false;             // part of the kernel's name
  bool negated = false;  // stands in "without …", "don't …", "not …": no rule may read it
};

// Everything that the rules share: the words, and what has been understood so far.
struct Reading {
  std::string sentence;
  std::vector<Word> words;
  ParsedSentence parsed;

  std::size_t size() const { return words.size(); }
  bool free(std::size_t i) const {
    return i < words.size() && !words[i].used && !words[i].negated && !words[i].separator;
  }
  const std::string& lower(std::size_t i) const;  // "" outside, for separators and for used words
  bool is(std::size_t i, std::initializer_list<std::string_view> choices) const;
  // How many words from `i` on spell `phrase` ("without asking me"); 0 when they do not.
  std::size_t phrase(std::size_t i, std::string_view phrase) const;
  void use(std::size_t begin, std::size_t end);
  std::string text(std::size_t begin, std::size_t end) const;  // words [begin, end) as written
};

Reading read_words(std::string_view sentence);
bool is_filler(const std::string& lower);
// Stretches of words that no rule has read, without the filler at their ends.
std::vector<std::string> leftovers(const Reading& reading);

// "five", "twenty-five", "a dozen", "12": a count, and the word behind it.
struct Count {
  double value = 0;
  std::size_t end = 0;
};
std::optional<Count> count_at(const Reading& reading, std::size_t i);

// The rules, in the order in which parse_sentence applies them. Each marks the words that it reads
// and sets its fields of reading.parsed; the error names what contradicts or is malformed.
Result<void> read_kernel(Reading& reading, const std::vector<std::string>& kernels);
Result<void> read_autonomy(Reading& reading);
Result<void> read_switches(Reading& reading);  // pull request, known failures
void mark_negations(Reading& reading);
Result<void> read_gpu(Reading& reading);
Result<void> read_budget(Reading& reading);  // variants, GPU time
Result<void> read_target(Reading& reading);
Result<void> read_regimes(Reading& reading);
Result<void> read_pass(Reading& reading);
Result<void> read_goal(Reading& reading);

// A condition that starts at word `i` ("hidden sizes up to 1024", "T >= 8192", "4k tokens or
// more"); none when no condition starts there.
struct FoundConditions {
  std::vector<Condition> conditions;
  std::size_t end = 0;
};
Result<std::optional<FoundConditions>> conditions_at(const Reading& reading, std::size_t i);

// "at most", "less than", "<=": the comparison and how many words say it.
struct FoundComparison {
  Comparison comparison = Comparison::kEqual;
  std::size_t end = 0;
};
std::optional<FoundComparison> comparison_at(const Reading& reading, std::size_t i);
// A number with or without unit, "0.3ms" or "0.3 ms".
struct FoundNumber {
  double value = 0;
  std::string unit;
  std::size_t end = 0;
};
std::optional<FoundNumber> number_at(const Reading& reading, std::size_t i);

// Sets the field's words once; a second, different value is the error that names both.
Result<void> note(Reading& reading, const std::string& field, const std::string& value,
                  std::size_t begin, std::size_t end);

}  // namespace lwb::sentence
