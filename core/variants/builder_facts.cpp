#include "core/variants/builder_facts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

namespace lwb {
namespace {

bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

bool is_one(const Expr& expr) { return expr.text == "1"; }

// Has its value on every path to `position` and keeps it until the end of the function.
bool settled_before(const Function& function, const std::string& name, std::size_t position) {
  bool known = parameter(function, name) != nullptr;
  for (const Statement* statement : assignments(function, name)) {
    if (statement->span.end > position) return false;
    bool always = statement->kind != "For";
    for (int p = statement->parent; p >= 0; p = function.statements[p].parent) {
      const Statement& outer = function.statements[p];
      // An enclosing statement that holds the place too was entered on the way there.
      if (outer.kind != "With" && outer.span.end <= position) always = false;
      if (outer.kind == "For" || outer.kind == "While") return false;
    }
    known = known || always;
  }
  return known;
}

bool from_shape(const Function& function, const std::string& name) {
  for (const Statement* statement : assignments(function, name)) {
    if (statement->value && any_expr(*statement->value, [](const Expr& expr) {
          return (expr.kind == "Attribute" && expr.op == "shape") ||
                 (expr.kind == "Call" && last_part(expr.callee) == "size");
        })) {
      return true;
    }
  }
  return false;
}

std::size_t first_place(const Function& function, const std::string& name) {
  const auto all = assignments(function, name);
  return all.empty() ? function.span.begin : all.front()->span.begin;
}

using Records = std::vector<const LaunchRecord*>;

// Whether the values of `name` follow from those of `chosen` in all records.
bool follows(const Records& records, const std::vector<std::string>& chosen,
             const std::string& name) {
  std::map<std::vector<long long>, long long> seen;
  for (const LaunchRecord* record : records) {
    std::vector<long long> key;
    for (const std::string& feature : chosen) key.push_back(record->locals.at(feature));
    const long long value = record->locals.at(name);
    if (seen.emplace(key, value).first->second != value) return false;
  }
  return true;
}

}  // namespace

Records records_of(const TechniqueContext& context, const Launch& launch) {
  const auto same = [](const Launch& a, const Launch& b) {
    return a.kernel == b.kernel && last_part(a.host_function) == last_part(b.host_function);
  };
  const auto& all = context.model.launches;
  const bool ambiguous = std::count_if(all.begin(), all.end(), [&](const Launch& other) {
                           return same(launch, other);
                         }) > 1;
  const int first = launch.call.span.line;
  const int last = line_number(context.model.text, launch.call.span.end);
  Records result;
  for (const LaunchRecord& record : context.trace.launches) {
    if (record.kernel != launch.kernel) continue;
    if (record.host_function != last_part(launch.host_function)) continue;
    if (ambiguous && record.line > 0 && (record.line < first || record.line > last)) continue;
    result.push_back(&record);
  }
  return result;
}

const Function* kernel_of(const SourceModel& model, const Launch& launch) {
  return launch.kernel_module.empty() ? model.function_named(launch.kernel) : nullptr;
}

std::string triton_language_alias(const SourceModel& model) {
  for (const Import& import : model.imports) {
    if (import.module == "triton.language" && import.name.empty()) {
      return import.alias.empty() ? "triton.language" : import.alias;
    }
    if (import.module == "triton" && import.name == "language") {
      return import.alias.empty() ? "language" : import.alias;
    }
  }
  return {};
}

const Expr& resolved(const Function& function, const Expr& expr) {
  if (expr.kind != "Name" || parameter(function, expr.text)) return expr;
  const auto all = assignments(function, expr.text);
  if (all.size() != 1 || all.front()->kind != "Assign") return expr;
  int position = -1;
  const Expr* value = assigned_value(*all.front(), expr.text, &position);
  if (!value || (position >= 0 && value == &*all.front()->value)) return expr;
  return *value;
}

bool same_text(const std::string& a, const std::string& b) {
  const auto bare = [](const std::string& text) {
    std::string result;
    for (const char c : text) {
      if (!std::isspace(static_cast<unsigned char>(c))) result += c;
    }
    return result;
  };
  return bare(a) == bare(b);
}

CeilDivision ceil_division(const Expr& expr) {
  if (expr.kind == "Call" && last_part(expr.callee) == "cdiv" && expr.arguments.size() == 2) {
    return {&expr.arguments[0].value, &expr.arguments[1].value};
  }
  if (expr.kind == "Call" && expr.callee == "math.ceil" && expr.arguments.size() == 1) {
    const Expr& inner = expr.arguments[0].value;
    if (inner.kind == "BinOp" && inner.op == "/") return {&inner.children[0], &inner.children[1]};
  }
  // -(-n // m)
  if (expr.kind == "UnaryOp" && expr.op == "-" && expr.children[0].kind == "BinOp" &&
      expr.children[0].op == "//") {
    const Expr& inner = expr.children[0];
    if (inner.children[0].kind == "UnaryOp" && inner.children[0].op == "-") {
      return {&inner.children[0].children[0], &inner.children[1]};
    }
  }
  // (n + m - 1) // m
  if (expr.kind == "BinOp" && expr.op == "//" && expr.children[0].kind == "BinOp" &&
      expr.children[0].op == "-" && is_one(expr.children[0].children[1])) {
    const Expr& sum = expr.children[0].children[0];
    if (sum.kind == "BinOp" && sum.op == "+" &&
        same_text(sum.children[1].text, expr.children[1].text)) {
      return {&sum.children[0], &expr.children[1]};
    }
  }
  return {};
}

std::vector<std::size_t> occurrences(const std::string& text, const Span& span,
                                     const std::string& name) {
  std::vector<std::size_t> result;
  std::size_t i = span.begin;
  while (i < span.end) {
    const char c = text[i];
    if (c == '#') {
      while (i < span.end && text[i] != '\n') ++i;
    } else if (c == '"' || c == '\'') {
      const bool triple = text.compare(i, 3, std::string(3, c)) == 0;
      const std::string quote(triple ? 3 : 1, c);
      i += quote.size();
      while (i < span.end && text.compare(i, quote.size(), quote) != 0) i += text[i] == '\\' ? 2 : 1;
      i += quote.size();
    } else if (word(c)) {
      const std::size_t begin = i;
      while (i < span.end && word(text[i])) ++i;
      const bool attribute = begin > 0 && text[begin - 1] == '.';
      if (!attribute && text.compare(begin, i - begin, name) == 0) result.push_back(begin);
    } else {
      ++i;
    }
  }
  return result;
}

std::size_t line_begin(const std::string& text, std::size_t position) {
  while (position > 0 && text[position - 1] != '\n') --position;
  return position;
}

std::size_t next_line(const std::string& text, std::size_t position) {
  const std::size_t end = text.find('\n', position);
  return end == std::string::npos ? text.size() : end + 1;
}

int line_number(const std::string& text, std::size_t position) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size()));
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

int common_parent(const Function& function, const std::vector<int>& statements) {
  for (int parent = function.statements[statements.front()].parent; parent >= 0;
       parent = function.statements[parent].parent) {
    if (std::all_of(statements.begin(), statements.end(), [&](int index) {
          return index != parent && ancestor_below(function, index, parent) >= 0;
        })) {
      return parent;
    }
  }
  return -1;
}

int ancestor_below(const Function& function, int statement, int parent) {
  while (statement >= 0 && function.statements[statement].parent != parent) {
    statement = function.statements[statement].parent;
  }
  return statement;
}

Edit comment_before(const SourceModel& model, const Statement& statement, const std::string& comment,
                    const std::string& technique) {
  const std::size_t begin = line_begin(model.text, statement.span.begin);
  std::size_t code = begin;
  while (model.text[code] == ' ' || model.text[code] == '\t') ++code;
  return {begin, begin, model.text.substr(begin, code - begin) + "# " + comment + model.newline,
          technique, "comment"};
}

std::vector<std::string> features_at(const TechniqueContext& context, const Launch& launch,
                                     std::size_t position) {
  const Function* host = context.model.function(launch.host_function);
  const Records records = records_of(context, launch);
  if (!host || records.empty()) return {};
  std::set<std::string> used(launch.grid_value.names.begin(), launch.grid_value.names.end());
  for (const Argument& argument : launch.call.arguments) {
    used.insert(argument.value.names.begin(), argument.value.names.end());
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : records.front()->locals) {
    const bool everywhere = std::all_of(records.begin(), records.end(), [&](const auto* record) {
      return record->locals.count(name) > 0;
    });
    if (everywhere && settled_before(*host, name, position)) names.push_back(name);
  }
  // Unpacked from a shape first, then what the launch names, then in source order.
  std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const std::string& name) {
      return std::make_tuple(!from_shape(*host, name), !used.count(name), first_place(*host, name));
    };
    return rank(a) < rank(b);
  });
  std::vector<std::string> chosen;
  for (const std::string& name : names) {
    if (chosen.size() == 3) break;
    // Dimensions are independent even where the trace happens to show one value of the other each.
    const bool dimension = from_shape(*host, name) && used.count(name) && chosen.size() < 2;
    if (follows(records, {}, name)) continue;  // never varies
    if (std::any_of(chosen.begin(), chosen.end(), [&](const std::string& other) {
          return follows(records, {other}, name) && follows(records, {name}, other);
        })) {
      continue;  // the same by another name
    }
    if (dimension || !follows(records, chosen, name)) chosen.push_back(name);
  }
  if (chosen.empty() && !names.empty()) chosen.push_back(names.front());
  return chosen;
}

std::string tensor_at(const TechniqueContext& context, const Launch& launch,
                      std::size_t position) {
  const Function* host = context.model.function(launch.host_function);
  const Records records = records_of(context, launch);
  if (!host || records.empty()) return {};
  std::string local;
  for (const bool floating : {true, false}) {
    for (const Argument& argument : launch.call.arguments) {
      const std::string& name = argument.value.text;
      if (argument.value.kind != "Name" || argument.name.starts_with("*")) continue;
      std::string target;
      for (const auto& [formal, bound] : launch.bound) {
        if (bound.value.span.begin == argument.value.span.begin) target = formal;
      }
      const bool tensor = std::all_of(records.begin(), records.end(), [&](const auto* record) {
        if (!record->args.is_object() || !record->args.contains(target)) return false;
        const Json& value = record->args[target];
        if (!value.is_object() || !value.contains("tensor")) return false;
        const std::string dtype = value["tensor"].value("dtype", "");
        return !floating || (!record->dtype.empty() && dtype == record->dtype);
      });
      if (!tensor) continue;
      bool before = parameter(*host, name) != nullptr;
      for (const Statement* statement : assignments(*host, name)) {
        before = before || (statement->span.end <= position && statement->parent < 0);
      }
      if (!before) continue;
      if (parameter(*host, name)) return name;
      if (local.empty()) local = name;
    }
    if (!local.empty()) return local;
  }
  return local;
}

bool tunable(const TechniqueContext& context, const Launch& launch, std::string* reason) {
  const auto no = [&](const std::string& why) {
    if (reason) {
      *reason = launch.kernel + ": " + why + ", line " + std::to_string(launch.call.span.line);
    }
    return false;
  };
  if (records_of(context, launch).empty()) return no("this launch never ran in the trace");
  const Function* kernel = kernel_of(context.model, launch);
  if (kernel && kernel->autotuned) return no("the kernel is autotuned");
  const Function* host = context.model.function(launch.host_function);
  if (!host || launch.call.statement < 0) return no("it is not launched from a function");
  return true;
}

std::string unique_name(const SourceModel& model, const std::string& wanted) {
  const Span all{0, model.text.size(), 1};
  std::string name = wanted;
  for (int n = 2; !occurrences(model.text, all, name).empty(); ++n) {
    name = wanted + "_" + std::to_string(n);
  }
  return name;
}

}  // namespace lwb
