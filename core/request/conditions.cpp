// Scope and target metric: small grammars of their own.
//   scope   = [general | forward | backward] {condition}      conditions joined by "and" or ","
//   target  = [forward | backward | full | memory] under NUMBER UNIT [at condition…]
//   condition = NAME (<= | >= | < | > | = | ==) NUMBER[k]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "core/base/text.h"
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

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// Names and numbers, comparison signs, and everything else one character at a time.
Tokens tokenize(std::string_view text) {
  Tokens tokens;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ',') {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_name(c)) {
      while (end < text.size() && is_name(text[end])) ++end;
    } else if ((c == '<' || c == '>' || c == '=') && end < text.size() && text[end] == '=') {
      ++end;
    }
    tokens.words.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

std::optional<Comparison> comparison_of(const std::string& sign) {
  if (sign == "<=") return Comparison::kLessEqual;
  if (sign == ">=") return Comparison::kGreaterEqual;
  if (sign == "<") return Comparison::kLess;
  if (sign == ">") return Comparison::kGreater;
  if (sign == "=" || sign == "==") return Comparison::kEqual;
  return std::nullopt;
}

// "8192", "4k", "0.3": the number, and what follows it ("k" is taken as a thousand times 1.024:
// sizes are powers of two).
std::optional<double> number_of(std::string word, std::string* unit = nullptr) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc()) return std::nullopt;
  std::string rest = word.substr(static_cast<std::size_t>(end - word.data()));
  if (rest == "k" || rest == "K") {
    value *= 1024;
    rest.clear();
  }
  if (unit != nullptr) *unit = rest;
  if (unit == nullptr && !rest.empty()) return std::nullopt;
  return value;
}

std::string number_text(double value) {
  return value == static_cast<double>(static_cast<long long>(value))
             ? std::to_string(static_cast<long long>(value))
             : fmt::format("{:g}", value);
}

std::string text_of(const Condition& condition) {
  return condition.name + to_string(condition.comparison) + number_text(condition.value);
}

Result<Condition> take_condition(Tokens& tokens, std::string_view whole) {
  const std::string name = tokens.take();
  const auto comparison = comparison_of(tokens.peek());
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0 || !comparison) {
    return fail(ErrorKind::kUsage,
                fmt::format("'{}' is not understood at '{}'; write conditions like "
                            "hidden_size<=1024 or T>=8192.",
                            whole, name));
  }
  tokens.take();
  const std::string word = tokens.take();
  const auto value = number_of(word);
  if (!value) {
    return fail(ErrorKind::kUsage,
                fmt::format("'{}' needs a number after '{}{}', not '{}'.", whole, name,
                            to_string(*comparison), word));
  }
  return Condition{name, *comparison, *value};
}

Result<std::vector<Condition>> take_conditions(Tokens& tokens, std::string_view whole) {
  std::vector<Condition> conditions;
  while (!tokens.at_end()) {
    const std::string word = to_lower(tokens.peek());
    if (word == "and" || word == "at" || word == "for" || word == "when" || word == "in") {
      tokens.take();
      continue;
    }
    auto condition = take_condition(tokens, whole);
    if (!condition) return tl::unexpected(condition.error());
    conditions.push_back(*condition);
  }
  return conditions;
}

// A time in µs or a memory size in bytes; `quantity` is set by the unit.
std::optional<double> limit_of(Tokens& tokens, TargetMetric::Quantity& quantity) {
  std::string unit;
  auto value = number_of(tokens.take(), &unit);
  if (!value) return std::nullopt;
  if (unit.empty()) {
    unit = tokens.take();
    if (unit == "\xC2" || unit == "\xCE") unit += tokens.take() + tokens.take();  // "µs"
  }
  const std::string lower = to_lower(unit);
  static const std::array<std::pair<const char*, double>, 6> times{
      {{"ns", 1e-3}, {"us", 1.0}, {"\xC2\xB5s", 1.0}, {"\xCE\xBCs", 1.0}, {"ms", 1e3}, {"s", 1e6}}};
  for (const auto& [name, factor] : times) {
    if (lower == name) {
      quantity = TargetMetric::Quantity::kTime;
      return *value * factor;
    }
  }
  // The stock script counts a MB as 2^20 bytes (spec section 1 rests on its peak).
  static const std::array<std::pair<const char*, double>, 7> sizes{{{"b", 1.0},
                                                                    {"kb", 1024.0},
                                                                    {"kib", 1024.0},
                                                                    {"mb", 1048576.0},
                                                                    {"mib", 1048576.0},
                                                                    {"gb", 1073741824.0},
                                                                    {"gib", 1073741824.0}}};
  for (const auto& [name, factor] : sizes) {
    if (lower == name) {
      quantity = TargetMetric::Quantity::kMemory;
      return *value * factor;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Scope> parse_scope(std::string_view text) {
  Scope scope;
  Tokens tokens = tokenize(text);
  const std::string first = to_lower(tokens.peek());
  if (tokens.at_end()) {
    return fail(ErrorKind::kUsage, "The scope is empty; give general, forward, backward, or a "
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
  const auto malformed = [&] {
    return fail(ErrorKind::kUsage,
                fmt::format("The target '{}' is not understood; write it like \"forward under 0.3ms "
                            "at hidden_size=4096\" or \"memory under 200MB\".",
                            text));
  };
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
  if (word != "under" && word != "below" && word != "<" && word != "<=") return malformed();
  const auto limit = limit_of(tokens, target.quantity);
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
  for (const Condition& condition : scope.conditions) parts.push_back(text_of(condition));
  return parts.empty() ? "general" : join(parts, " ");
}

std::string to_string(const TargetMetric& target) {
  const bool memory = target.quantity == TargetMetric::Quantity::kMemory;
  std::string text = memory ? "memory" : to_string(target.pass);
  text += memory ? fmt::format(" under {:g}MB", target.limit / 1048576.0)
                 : fmt::format(" under {:g}us", target.limit);
  std::vector<std::string> parts;
  for (const Condition& condition : target.conditions) parts.push_back(text_of(condition));
  return parts.empty() ? text : text + " at " + join(parts, " ");
}

}  // namespace lwb
