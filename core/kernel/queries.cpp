#include "core/kernel/queries.h"

#include <algorithm>

namespace lwb {

void for_each_expr(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  visit(expr);
  for (const Expr& child : expr.children) for_each_expr(child, visit);
  for (const Argument& argument : expr.arguments) for_each_expr(argument.value, visit);
}

bool any_expr(const Expr& expr, const std::function<bool(const Expr&)>& visit) {
  if (visit(expr)) return true;
  for (const Expr& child : expr.children) {
    if (any_expr(child, visit)) return true;
  }
  for (const Argument& argument : expr.arguments) {
    if (any_expr(argument.value, visit)) return true;
  }
  return false;
}

bool reads(const Expr& expr, std::string_view name) {
  return std::find(expr.names.begin(), expr.names.end(), name) != expr.names.end();
}

std::vector<const Statement*> assignments(const Function& function, std::string_view name) {
  std::vector<const Statement*> result;
  for (const Statement& statement : function.statements) {
    const auto& targets = statement.targets;
    if (std::find(targets.begin(), targets.end(), name) != targets.end()) {
      result.push_back(&statement);
    }
  }
  return result;
}

const Expr* assigned_value(const Statement& statement, std::string_view name, int* position) {
  if (position) *position = -1;
  if (!statement.value) return nullptr;
  for (const Expr& target : statement.target_exprs) {
    for (std::size_t i = 0; i < target.children.size(); ++i) {
      if (target.kind != "Tuple" && target.kind != "List") break;
      if (target.children[i].text != name) continue;
      if (position) *position = static_cast<int>(i);
      const bool tuple = statement.value->kind == "Tuple" || statement.value->kind == "List";
      const bool matches = tuple && statement.value->children.size() == target.children.size();
      return matches ? &statement.value->children[i] : &*statement.value;
    }
  }
  return &*statement.value;
}

const Parameter* parameter(const Function& function, std::string_view name) {
  const auto found =
      std::find_if(function.parameters.begin(), function.parameters.end(),
                   [&](const Parameter& candidate) { return candidate.name == name; });
  return found == function.parameters.end() ? nullptr : &*found;
}

std::string last_part(const std::string& dotted) {
  const std::size_t dot = dotted.rfind('.');
  return dot == std::string::npos ? dotted : dotted.substr(dot + 1);
}

std::string one_line(const std::string& text, std::size_t limit) {
  std::string result;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!space) {
      result += c;
    } else if (!result.empty() && result.back() != ' ' && result.back() != '(') {
      result += ' ';
    }
  }
  if (result.size() <= limit) return result;
  while (limit > 0 && (static_cast<unsigned char>(result[limit]) & 0xC0) == 0x80) --limit;
  return result.substr(0, limit) + "…";
}

namespace {

std::vector<const Function*> reachable(const SourceModel& model, const Function& start, bool jit) {
  std::vector<const Function*> result{&start};
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::string inner = result[i]->qualified_name + ".<locals>.";
    for (const Function& candidate : model.functions) {
      if (candidate.jit != jit ||
          std::find(result.begin(), result.end(), &candidate) != result.end()) {
        continue;
      }
      const auto& calls = result[i]->calls;
      const bool called = std::any_of(calls.begin(), calls.end(), [&](const Call& call) {
        return call.callee == candidate.qualified_name;
      });
      if (called || candidate.qualified_name.starts_with(inner)) result.push_back(&candidate);
    }
  }
  return result;
}

}  // namespace

std::vector<const Function*> with_helpers(const SourceModel& model, const Function& function) {
  return reachable(model, function, true);
}

std::vector<const Function*> with_callees(const SourceModel& model, const std::string& name) {
  const Function* start = model.function(name);
  if (!start) return {};
  return reachable(model, *start, false);
}

}  // namespace lwb
