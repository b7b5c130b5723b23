// Input regimes in words: "for hidden sizes up to 1024", "1024 <= T <= 8192", "4k tokens or more".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/request/words.h"

namespace lwb::sentence {
namespace {

struct Spelled {
  const char* words;
  Comparison comparison;
};

constexpr auto kLe = Comparison::kLessEqual;
constexpr auto kLt = Comparison::kLess;
constexpr auto kGe = Comparison::kGreaterEqual;
constexpr auto kGt = Comparison::kGreater;
constexpr auto kEq = Comparison::kEqual;

// Longer ones before those that they start with.
constexpr std::array<Spelled, 62> kComparisons{{
    {"up to and including", kLe},
    {"up to", kLe},
    {"at most", kLe},
    {"at max", kLe},
    {"no more than", kLe},
    {"not more than", kLe},
    {"no larger than", kLe},
    {"not larger than", kLe},
    {"no greater than", kLe},
    {"no longer than", kLe},
    {"no bigger than", kLe},
    {"no higher than", kLe},
    {"not above", kLe},
    {"not over", kLe},
    {"not exceeding", kLe},
    {"without exceeding", kLe},
    {"dont exceed", kLe},
    {"do not exceed", kLe},
    {"dont try more than", kLe},
    {"dont use more than", kLe},
    {"dont spend more than", kLe},
    {"a maximum of", kLe},
    {"maximum of", kLe},
    {"max of", kLe},
    {"a limit of", kLe},
    {"limit of", kLe},
    {"capped at", kLe},
    {"limited to", kLe},
    {"maximum", kLe},
    {"max", kLe},
    {"within", kLe},
    {"no less than", kGe},
    {"not less than", kGe},
    {"no smaller than", kGe},
    {"no fewer than", kGe},
    {"not below", kGe},
    {"not under", kGe},
    {"at least", kGe},
    {"a minimum of", kGe},
    {"minimum of", kGe},
    {"starting at", kGe},
    {"starting from", kGe},
    {"less than", kLt},
    {"smaller than", kLt},
    {"lower than", kLt},
    {"fewer than", kLt},
    {"shorter than", kLt},
    {"faster than", kLt},
    {"quicker than", kLt},
    {"below", kLt},
    {"under", kLt},
    {"more than", kGt},
    {"larger than", kGt},
    {"greater than", kGt},
    {"bigger than", kGt},
    {"longer than", kGt},
    {"higher than", kGt},
    {"above", kGt},
    {"over", kGt},
    {"beyond", kGt},
    {"equal to", kEq},
    {"exactly", kEq},
}};

struct Dimension {
  const char* words;
  const char* name;
};

// What people call the numbers of a cell. core/measure finds the cells' own name for them.
constexpr std::array<Dimension, 53> kDimensions{{
    {"hidden dimensions", "hidden_size"},
    {"hidden dimension", "hidden_size"},
    {"hidden sizes", "hidden_size"},
    {"hidden size", "hidden_size"},
    {"hidden dims", "hidden_size"},
    {"hidden dim", "hidden_size"},
    {"hidden_sizes", "hidden_size"},
    {"hiddensize", "hidden_size"},
    {"model dimension", "hidden_size"},
    {"model dim", "hidden_size"},
    {"hidden", "hidden_size"},
    {"widths", "hidden_size"},
    {"width", "hidden_size"},
    {"sequence lengths", "seq_len"},
    {"sequence length", "seq_len"},
    {"sequence len", "seq_len"},
    {"seq lengths", "seq_len"},
    {"seq length", "seq_len"},
    {"seq lens", "seq_len"},
    {"seq len", "seq_len"},
    {"seqlens", "seq_len"},
    {"seqlen", "seq_len"},
    {"context length", "seq_len"},
    {"sequences", "seq_len"},
    {"token length", "tokens"},
    {"token lengths", "tokens"},
    {"token counts", "tokens"},
    {"token count", "tokens"},
    {"number of tokens", "tokens"},
    {"num tokens", "tokens"},
    {"tokens", "tokens"},
    {"number of rows", "rows"},
    {"row count", "rows"},
    {"num rows", "rows"},
    {"rows", "rows"},
    {"vocabulary sizes", "vocab_size"},
    {"vocabulary size", "vocab_size"},
    {"vocab sizes", "vocab_size"},
    {"vocab size", "vocab_size"},
    {"vocabulary", "vocab_size"},
    {"vocab", "vocab_size"},
    {"batch sizes", "batch_size"},
    {"batch size", "batch_size"},
    {"batches", "batch_size"},
    {"batch", "batch_size"},
    {"intermediate sizes", "intermediate_size"},
    {"intermediate size", "intermediate_size"},
    {"number of heads", "num_heads"},
    {"num heads", "num_heads"},
    {"head dimension", "head_dim"},
    {"head dim", "head_dim"},
    {"number of experts", "num_experts"},
    {"num experts", "num_experts"},
}};

struct Name {
  std::string text;
  std::size_t end = 0;
  bool known = false;  // a dimension, or written like one ("T", "BT", "n_rows")
};

// Fields of the request and quantities of a target: never the name of a cell's number.
bool is_field(const Reading& reading, std::size_t i) {
  return reading.is(i, {"kernel", "target_kernel", "goal", "optimization_goal", "scope", "gpu",
                        "target_gpu", "autonomy", "mode", "max_variants", "variants", "target",
                        "target_metric", "budget", "budget_s", "pass", "pr"});
}

bool is_quantity(const Reading& reading, std::size_t i) {
  return reading.is(i, {"memory", "mem", "time", "latency", "runtime", "forward", "backward", "fwd",
                        "bwd", "full"});
}

bool looks_like_name(const std::string& text) {
  if (std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  if (text.find('_') != std::string::npos) return true;
  return text.size() <= 3 && text != "I" && text != "A" && text != "GPU" && text != "PR" &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; });
}

bool sign_at(const Reading& reading, std::size_t i) {
  return reading.free(i) && grammar::comparison_of(reading.words[i].text).has_value();
}

std::optional<Name> name_at(const Reading& reading, std::size_t i) {
  if (!reading.free(i) || is_field(reading, i)) return std::nullopt;
  for (const Dimension& dimension : kDimensions) {
    const std::size_t length = reading.phrase(i, dimension.words);
    if (length > 0) return Name{dimension.name, i + length, true};
  }
  const std::string& text = reading.words[i].text;
  if (looks_like_name(text)) return Name{text, i + 1, true};
  const bool letter = std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  if (letter && !is_quantity(reading, i)) return Name{text, i + 1, false};
  return std::nullopt;
}

// A size: a number without a unit.
std::optional<FoundNumber> size_at(const Reading& reading, std::size_t i) {
  auto number = number_at(reading, i);
  if (!number || !number->unit.empty()) return std::nullopt;
  // "2^13", "2*1024", "10%": not a number that is understood.
  if (number->end < reading.size()) {
    const Word& next = reading.words[number->end];
    const bool touches = reading.words[number->end - 1].end == next.begin;
    if (touches && (next.text == "^" || next.text == "*" || next.text == "%")) return std::nullopt;
  }
  return number;
}

struct Suffix {
  Comparison comparison;
  std::size_t end;
};

// "or more", "and above", "+".
std::optional<Suffix> suffix_at(const Reading& reading, std::size_t i) {
  if (i < reading.size() && reading.words[i].text == "+") return Suffix{kGe, i + 1};
  if (!reading.is(i, {"or", "and"})) return std::nullopt;
  if (reading.is(i + 1, {"more", "larger", "above", "greater", "bigger", "longer", "higher", "up",
                         "over", "beyond"})) {
    // "T=4096 and above 0.1": a number after it starts a comparison of its own.
    if (reading.is(i, {"and"}) && number_at(reading, i + 2)) return std::nullopt;
    return Suffix{kGe, i + 2};
  }
  if (reading.is(i + 1, {"less", "smaller", "below", "fewer", "shorter", "lower", "under"})) {
    if (reading.is(i, {"and"}) && number_at(reading, i + 2)) return std::nullopt;
    return Suffix{kLe, i + 2};
  }
  return std::nullopt;
}

std::size_t skip_verbs(const Reading& reading, std::size_t i) {
  while (reading.is(i, {"is", "are", "be", "being", "of", "values", "value", "stays", "that", "in",
                        "the", "range", "has", "with"})) {
    ++i;
  }
  return i;
}

// "between 1024 and 4096", "from 1k to 8k".
std::optional<FoundConditions> range_at(const Reading& reading, const std::string& name,
                                        std::size_t i) {
  const bool from = reading.is(i, {"from"});
  std::size_t first_at = i;
  if (from || reading.is(i, {"between"})) first_at = i + 1;
  const auto low = size_at(reading, first_at);
  if (!low) return std::nullopt;
  const bool joined = low->end < reading.size() && reading.words[low->end].hyphened;
  const bool word =
      reading.is(low->end, {"to", "through"}) || (first_at != i && reading.is(low->end, {"and"}));
  if (!joined && !word) {
    if (!from) return std::nullopt;
    return FoundConditions{{{name, kGe, low->value}}, low->end};
  }
  const auto high = size_at(reading, joined ? low->end : low->end + 1);
  if (!high) return std::nullopt;
  return FoundConditions{{{name, kGe, low->value}, {name, kLe, high->value}}, high->end};
}

// "… and at most 8192": one more bound on the same name.
void take_further_bounds(const Reading& reading, FoundConditions& found) {
  const std::string name = found.conditions.back().name;
  for (;;) {
    std::size_t next = found.end;
    while (reading.is(next, {"and", "but"}) ||
           (next < reading.size() && reading.words[next].text == ",")) {
      ++next;
    }
    if (next == found.end) return;
    const auto comparison = comparison_at(reading, next);
    if (!comparison) return;
    const auto number = size_at(reading, comparison->end);
    if (!number || name_at(reading, number->end).value_or(Name{}).known) return;
    found.conditions.push_back({name, comparison->comparison, number->value});
    found.end = number->end;
  }
}

Result<std::optional<FoundConditions>> name_first(const Reading& reading, std::size_t i) {
  const auto name = name_at(reading, i);
  if (!name) return std::nullopt;
  const bool sign = sign_at(reading, name->end);
  if (!sign && !name->known) return std::nullopt;
  const std::size_t next = sign ? name->end : skip_verbs(reading, name->end);
  if (auto range = range_at(reading, name->text, next)) return range;
  const auto comparison = comparison_at(reading, next);
  const std::size_t at = comparison ? comparison->end : next;
  const auto number = size_at(reading, at);
  if (!number) {
    if (!sign) return std::nullopt;
    // "goal=x" of an unknown field is left over; a comparison without its number is malformed.
    if (!name->known && comparison && comparison->comparison == kEq) return std::nullopt;
    std::size_t end = at;
    while (end < reading.size() && end <= at + 3 && !reading.words[end].used &&
           (end == at || reading.words[end - 1].end == reading.words[end].begin)) {
      ++end;
    }
    return fail(ErrorKind::kUsage,
                grammar::malformed_condition(reading.text(i, std::max(at, end))));
  }
  FoundConditions found{{{name->text, comparison ? comparison->comparison : kEq, number->value}},
                        number->end};
  if (const auto suffix = suffix_at(reading, number->end); suffix && !sign) {
    found.conditions.back().comparison = suffix->comparison;
    found.end = suffix->end;
  }
  take_further_bounds(reading, found);
  return found;
}

// "1024 <= T", "1024 <= T <= 8192".
std::optional<FoundConditions> number_first_sign(const Reading& reading, std::size_t i) {
  const auto number = size_at(reading, i);
  if (!number || !sign_at(reading, number->end)) return std::nullopt;
  const auto name = name_at(reading, number->end + 1);
  if (!name) return std::nullopt;
  const auto mirrored = [](Comparison comparison) {
    switch (comparison) {
      case Comparison::kLess:
        return Comparison::kGreater;
      case Comparison::kLessEqual:
        return Comparison::kGreaterEqual;
      case Comparison::kGreater:
        return Comparison::kLess;
      case Comparison::kGreaterEqual:
        return Comparison::kLessEqual;
      case Comparison::kEqual:
        break;
    }
    return Comparison::kEqual;
  };
  const auto first = grammar::comparison_of(reading.words[number->end].text);
  FoundConditions found{{{name->text, mirrored(*first), number->value}}, name->end};
  if (sign_at(reading, name->end)) {
    if (const auto second = size_at(reading, name->end + 1)) {
      found.conditions.push_back(
          {name->text, *grammar::comparison_of(reading.words[name->end].text), second->value});
      found.end = second->end;
    }
  }
  return found;
}

// "at least 4k tokens", "8192 tokens", "4096 or more rows".
std::optional<FoundConditions> number_first(const Reading& reading, std::size_t i) {
  const auto comparison = comparison_at(reading, i);
  const auto number = size_at(reading, comparison ? comparison->end : i);
  if (!number) return std::nullopt;
  std::size_t next = number->end;
  const auto suffix = suffix_at(reading, next);
  if (suffix) next = suffix->end;
  const auto name = name_at(reading, next);
  if (!name || !name->known) return std::nullopt;
  // "8192 T=…": the name belongs to what follows it.
  if (sign_at(reading, name->end)) return std::nullopt;
  FoundConditions found{{{name->text, comparison ? comparison->comparison : kEq, number->value}},
                        name->end};
  if (suffix) found.conditions.back().comparison = suffix->comparison;
  if (const auto after = suffix_at(reading, name->end); after && !suffix && !comparison) {
    found.conditions.back().comparison = after->comparison;
    found.end = after->end;
  }
  return found;
}

}  // namespace

std::optional<FoundComparison> comparison_at(const Reading& reading, std::size_t i) {
  std::size_t start = i;
  while (reading.is(start, {"is", "are", "be"})) ++start;
  if (sign_at(reading, start)) {
    return FoundComparison{*grammar::comparison_of(reading.words[start].text), start + 1};
  }
  for (const Spelled& spelled : kComparisons) {
    if (const std::size_t length = reading.phrase(start, spelled.words)) {
      return FoundComparison{spelled.comparison, start + length};
    }
  }
  return std::nullopt;
}

std::optional<FoundNumber> number_at(const Reading& reading, std::size_t i) {
  if (!reading.free(i)) return std::nullopt;
  const auto number = grammar::number_of(reading.words[i].text);
  if (!number) return std::nullopt;
  FoundNumber found{number->value, number->unit, i + 1};
  if (!found.unit.empty()) return found;
  if (reading.free(i + 1) && grammar::unit_of(reading.words[i + 1].text)) {
    found.unit = reading.words[i + 1].text;
    found.end = i + 2;
  } else if (reading.is(i + 1, {"k"})) {
    found.value *= 1024;
    found.end = i + 2;
  }
  return found;
}

Result<std::optional<FoundConditions>> conditions_at(const Reading& reading, std::size_t i) {
  if (!reading.free(i)) return std::nullopt;
  if (auto found = number_first_sign(reading, i)) return found;
  if (auto found = number_first(reading, i)) return found;
  return name_first(reading, i);
}

Result<void> read_regimes(Reading& reading) {
  std::vector<Condition>& all = reading.parsed.request.scope.conditions;
  for (std::size_t i = 0; i < reading.size(); ++i) {
    auto found = conditions_at(reading, i);
    if (!found) return tl::unexpected(found.error());
    if (!*found) continue;
    const std::string words = reading.text(i, (*found)->end);
    reading.use(i, (*found)->end);
    reading.parsed.fields.push_back({"regime", "", words});
    for (const Condition& condition : (*found)->conditions) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const Condition& other) {
        return grammar::text_of(other) == grammar::text_of(condition);
      });
      if (!known) all.push_back(condition);
    }
  }
  if (const std::string both = grammar::contradiction(all); !both.empty()) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("The sentence asks for {}, which no number meets; drop one of them.", both));
  }
  // A bound that belongs to nothing: "under 0.1 parsecs", "<= 4096".
  for (std::size_t i = 0; i < reading.size(); ++i) {
    const bool bare = sign_at(reading, i) || reading.is(i, {"under", "below"});
    if (!bare || !number_at(reading, i + 1)) continue;
    const bool target = reading.is(i, {"under", "below"}) || (i > 0 && is_quantity(reading, i - 1));
    const std::size_t begin = i > 0 && is_quantity(reading, i - 1) ? i - 1 : i;
    const std::size_t end = number_at(reading, i + 1)->end;
    const bool unit = reading.free(end) && !is_filler(reading.words[end].lower);
    const std::string words = reading.text(begin, unit ? end + 1 : end);
    return fail(ErrorKind::kUsage,
                target ? grammar::malformed_target(words) : grammar::malformed_condition(words));
  }
  return {};
}

}  // namespace lwb::sentence
