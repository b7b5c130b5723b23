// Scope and target metric: small grammars of their own.
//   scope   = [general | forward | backward] {condition}      conditions joined by "and" or ","
//   target  = [forward | backward | full | memory] under NUMBER UNIT [at condition…]
//   condition = NAME (<= | >= | < | > | = | ==) NUMBER[k]
#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "core/base/text.h"
#include "core/request/grammar.h"
#include "core/request/request.h"

namespace lwb {
namespace {

struct Tokens {
  std::vector<std::string> words;
  std::size_t next = 0;
  bool at_end() const { return next >= words.size(); }
  const std::string& peek() const {
    static const std::string end;
    return at_end() ? end : words[next];
  }
  std::string take() { return at_end() ? std::string() : words[next++]; }
};

// Bytes above 127 belong to a word, so that "Âµs" is one.
bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '.' || byte > 127;
}

bool is_sign(char c) {
  return c == '<' || c == '>' || c == '=';
}

// Names and numbers, comparison signs, and everything else one character at a time. Brackets
// around a condition and commas between conditions carry no meaning.
Tokens tokenize(std::string_view raw) {
  std::string text = replace_all(std::string(raw), "\xE2\x89\xA4", "<=");  // "≤"
  text = replace_all(text, "\xE2\x89\xA5", ">=");                          // "≥"
  Tokens tokens;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ',') {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_word(c)) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (is_sign(c)) {
      while (end < text.size() && is_sign(text[end])) ++end;
    }
    tokens.words.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

Result<Condition> take_condition(Tokens& tokens, std::string_view whole) {
  const std::string name = tokens.take();
  const auto comparison = grammar::comparison_of(tokens.peek());
  const bool named =
      !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_');
  if (!named || !comparison) return fail(ErrorKind::kUsage, grammar::malformed_condition(whole));
  tokens.take();
  const std::string word = tokens.take();
  const auto number = grammar::number_of(word);
  if (!number || !number->unit.empty()) {
    return fail(ErrorKind::kUsage,
                fmt::format("'{}' needs a number after '{}{}', {}; write it like {}{}1024.", whole,
                            name, to_string(*comparison),
                            word.empty() ? "and there is none" : "not '" + word + "'", name,
                            to_string(*comparison)));
  }
  return Condition{name, *comparison, number->value};
}

Result<std::vector<Condition>> take_conditions(Tokens& tokens, std::string_view whole) {
  std::vector<Condition> conditions;
  while (!tokens.at_end()) {
    const std::string word = to_lower(tokens.peek());
    if (word == "and" || word == "at" || word == "for" || word == "when" || word == "in") {
      tokens.take();
      if (tokens.at_end()) return fail(ErrorKind::kUsage, grammar::malformed_condition(whole));
      continue;
    }
    auto condition = take_condition(tokens, whole);
    if (!condition) return tl::unexpected(condition.error());
    conditions.push_back(*condition);
  }
  if (const std::string both = grammar::contradiction(conditions); !both.empty()) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("'{}' asks for {}, which no number meets; drop one of them.", whole, both));
  }
  return conditions;
}

// A time in µs or a memory size in bytes; `quantity` is set by the unit.
std::optional<double> take_limit(Tokens& tokens, TargetMetric::Quantity& quantity) {
  const auto number = grammar::number_of(tokens.take());
  if (!number) return std::nullopt;
  const auto unit = grammar::unit_of(number->unit.empty() ? tokens.take() : number->unit);
  if (!unit) return std::nullopt;
  quantity = unit->quantity;
  return number->value * unit->factor;
}

}  // namespace

Result<Scope> parse_scope(std::string_view text) {
  Scope scope;
  Tokens tokens = tokenize(text);
  const std::string first = to_lower(tokens.peek());
  if (tokens.at_end()) {
    return fail(ErrorKind::kUsage,
                "The scope is empty; give general, forward, backward, or a "
                "regime such as hidden_size<=1024.");
  }
  if (first == "general") {
    tokens.take();
  } else if (const auto pass = parse_pass(first)) {
    if (*pass != Pass::kFull) scope.pass = *pass;
    tokens.take();
  }
  auto conditions = take_conditions(tokens, text);
  if (!conditions) return tl::unexpected(conditions.error());
  scope.conditions = std::move(*conditions);
  return scope;
}

Result<TargetMetric> parse_target(std::string_view text) {
  const auto malformed = [&] { return fail(ErrorKind::kUsage, grammar::malformed_target(text)); };
  TargetMetric target;
  Tokens tokens = tokenize(text);
  bool memory = false;
  if (const auto pass = parse_pass(to_lower(tokens.peek()))) {
    target.pass = *pass;
    tokens.take();
  } else if (to_lower(tokens.peek()) == "memory") {
    memory = true;
    tokens.take();
  }
  const std::string word = to_lower(tokens.take());
  const bool than = word == "less" && to_lower(tokens.peek()) == "than";
  if (than) tokens.take();
  if (!than && word != "under" && word != "below" && word != "<" && word != "<=") {
    return malformed();
  }
  const auto limit = take_limit(tokens, target.quantity);
  if (!limit || *limit <= 0) return malformed();
  if (memory != (target.quantity == TargetMetric::Quantity::kMemory)) return malformed();
  target.limit = *limit;
  auto conditions = take_conditions(tokens, text);
  if (!conditions) return tl::unexpected(conditions.error());
  target.conditions = std::move(*conditions);
  return target;
}

std::string to_string(const Scope& scope) {
  std::vector<std::string> parts;
  if (scope.pass) parts.push_back(to_string(*scope.pass));
  for (const Condition& condition : scope.conditions) parts.push_back(grammar::text_of(condition));
  return parts.empty() ? "general" : join(parts, " ");
}

std::string to_string(const TargetMetric& target) {
  const bool memory = target.quantity == TargetMetric::Quantity::kMemory;
  std::string text = memory ? "memory" : to_string(target.pass);
  text += memory ? fmt::format(" under {}MB", target.limit / 1048576.0)
                 : fmt::format(" under {}us", target.limit);
  std::vector<std::string> parts;
  for (const Condition& condition : target.conditions) parts.push_back(grammar::text_of(condition));
  return parts.empty() ? text : text + " at " + join(parts, " ");
}

}  // namespace lwb
