// Which calls a scope selects.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "core/base/text.h"
#include "core/measure/calls.h"

namespace lwb {
namespace {

using Values = std::map<std::string, double>;  // name → number, of one call

void add_numbers(const Json& object, Values& values) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_number()) values.emplace(name, value.get<double>());
    if (value.is_boolean()) values.emplace(name, value.get<bool>() ? 1.0 : 0.0);
  }
}

// Labels first: what a person wrote about a call goes before what the script's configuration says.
Values values_of(const CapturedCall& call) {
  Values values;
  add_numbers(get_object(call.json, "labels"), values);
  if (!call.cell.x_name.empty() && call.cell.x.is_number()) {
    values.emplace(call.cell.x_name, call.cell.x.get<double>());
  }
  add_numbers(call.cell.config, values);
  return values;
}

// "hidden size", "hidden_size", "Hidden-Size" are one spelling.
std::string plain(const std::string& name) {
  std::string result;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return result;
}

// Names that people use for the same number. Within a group the name that the cells have is taken
// when there is but one such; so no name is guessed where two would fit.
const std::vector<std::vector<std::string>>& synonyms() {
  static const std::vector<std::vector<std::string>> groups = {
      {"hiddensize", "hidden", "h", "width", "hiddendim", "modeldim", "dmodel", "d"},
      {"intermediatesize", "ffn", "ffndim", "ffnsize"},
      {"seqlen", "sequencelength", "sequence", "t", "tokens", "l", "length", "tokenlength"},
      {"bt", "rows", "nrows", "tokens", "t"},
      {"vocabsize", "vocabulary", "vocab", "v"},
      {"batchsize", "batch", "b", "bsz"},
  };
  return groups;
}

// The name of the cells that `asked` means; nothing when none or more than one does.
std::optional<std::string> resolve(const std::string& asked, const std::set<std::string>& names) {
  if (names.count(asked) > 0) return asked;
  const std::string wanted = plain(asked);
  const auto only_match = [&](auto matches) -> std::optional<std::string> {
    std::optional<std::string> found;
    for (const std::string& name : names) {
      if (!matches(plain(name))) continue;
      if (found) return std::nullopt;
      found = name;
    }
    return found;
  };
  if (auto same = only_match([&](const std::string& name) { return name == wanted; })) return same;
  std::set<std::string> related;
  for (const auto& group : synonyms()) {
    if (std::find(group.begin(), group.end(), wanted) == group.end()) continue;
    related.insert(group.begin(), group.end());
  }
  return only_match([&](const std::string& name) { return related.count(name) > 0; });
}

std::string available(const std::vector<Values>& calls) {
  std::map<std::string, std::set<double>> values;
  for (const Values& call : calls) {
    for (const auto& [name, value] : call) values[name].insert(value);
  }
  std::vector<std::string> parts;
  for (const auto& [name, numbers] : values) {
    std::vector<std::string> texts;
    for (const double n : numbers) texts.push_back(fmt::format("{}", n));
    parts.push_back(name + " = " + join(texts, ", "));
  }
  return parts.empty() ? std::string("nothing, the cells have no numbers") : join(parts, "; ");
}

std::string text_of(const Condition& condition) {
  return fmt::format("{}{}{}", condition.name, to_string(condition.comparison), condition.value);
}

}  // namespace

Result<std::vector<std::string>> calls_in_scope(const CallsFile& calls,
                                                const std::vector<Condition>& conditions,
                                                const std::string& what) {
  std::vector<Values> values;
  std::set<std::string> names;
  for (const CapturedCall& call : calls.calls) {
    values.push_back(values_of(call));
    for (const auto& [name, value] : values.back()) names.insert(name);
  }
  std::vector<Condition> resolved = conditions;
  for (Condition& condition : resolved) {
    const auto name = resolve(condition.name, names);
    if (!name) {
      return fail(ErrorKind::kUsage,
                  fmt::format("The {} names \"{}\", which the cells do not have or which could "
                              "mean more than one of theirs; available: {}.",
                              what, condition.name, available(values)));
    }
    condition.name = *name;
  }
  std::vector<std::string> selected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool all = std::all_of(resolved.begin(), resolved.end(), [&](const Condition& c) {
      const auto found = values[i].find(c.name);
      return found != values[i].end() && c.holds(found->second);
    });
    if (all) selected.push_back(calls.calls[i].id);
  }
  if (selected.empty()) {
    std::vector<std::string> texts;
    for (const Condition& condition : conditions) texts.push_back(text_of(condition));
    return fail(ErrorKind::kUsage,
                texts.empty() ? std::string("There is no captured call to select from.")
                              : fmt::format("No cell meets the {} {}; available: {}.", what,
                                            join(texts, " and "), available(values)));
  }
  return selected;
}

}  // namespace lwb
