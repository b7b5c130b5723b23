// Programs per multiprocessor: a grid of one program for each may leave it waiting for memory.
#include <algorithm>

#include "core/variants/builder_facts.h"
#include "core/variants/catalog/techniques.h"

namespace lwb {
namespace {

bool counts_multiprocessors(const Function& host, const std::string& name, int depth = 0) {
  for (const Statement* statement : assignments(host, name)) {
    const Expr* value = assigned_value(*statement, name);
    if (!value) continue;
    if (any_expr(*value, [](const Expr& expr) {
          return expr.kind == "Attribute" && expr.op == "multi_processor_count";
        })) {
      return true;
    }
    if (value->kind == "Name" && depth < 4 && value->text != name &&
        counts_multiprocessors(host, value->text, depth + 1)) {
      return true;
    }
  }
  return false;
}

const Expr* first_dimension(const Launch& launch) {
  const Expr& grid = launch.grid_value;
  const bool tuple = grid.kind == "Tuple" || grid.kind == "List";
  return tuple && !grid.children.empty() ? &grid.children.front() : nullptr;
}

// Where the count may stand and grow: grids, leading dimensions of allocations, rows per program.
void allowed_in(const Expr& root, const std::string& name, std::vector<Span>& allowed) {
  for_each_expr(root, [&](const Expr& expr) {
    const CeilDivision division = ceil_division(expr);
    if (division.denominator && division.denominator->text == name) {
      // (n + m - 1) // m has the count twice.
      allowed.push_back(reads(*division.numerator, name) ? division.denominator->span : expr.span);
    }
    if (expr.kind != "Call") return;
    const std::string last = last_part(expr.callee);
    if (last != "empty" && last != "zeros" && last != "new_empty" && last != "new_zeros") return;
    if (expr.arguments.empty()) return;
    const Expr& shape = expr.arguments.front().value;
    if (shape.kind == "Tuple" || shape.kind == "List") {
      if (!shape.children.empty() && shape.children[0].text == name) {
        allowed.push_back(shape.children[0].span);
      }
    } else if (shape.text == name) {
      allowed.push_back(shape.span);
    }
  });
}

struct Count {
  std::string name;
  std::size_t anchor = 0;  // start of the line after the assignments
  std::string indent;
  std::string why;
};

Count count_of(const TechniqueContext& context, const Launch& launch) {
  const SourceModel& model = context.model;
  const Function& host = *model.function(launch.host_function);
  Count count;
  const auto no = [&](std::string why) {
    count.why = std::move(why);
    return count;
  };
  const Expr* dimension = first_dimension(launch);
  if (!dimension || dimension->kind != "Name" || parameter(host, dimension->text) ||
      !counts_multiprocessors(host, dimension->text)) {
    return no("the grid is not the count of multiprocessors");
  }
  count.name = dimension->text;
  const auto own = assignments(host, count.name);
  std::vector<int> statements{launch.call.statement};
  for (const Statement* statement : own) statements.push_back(statement->index);
  const int parent = common_parent(host, statements);
  const Statement& last = host.statements[ancestor_below(host, own.back()->index, parent)];
  const Statement& first = host.statements[ancestor_below(host, own.front()->index, parent)];
  const Statement& launching =
      host.statements[ancestor_below(host, launch.call.statement, parent)];
  if (last.span.end >= launching.span.begin) {
    return no(count.name + " is assigned again before the launch");
  }
  count.anchor = next_line(model.text, last.span.end);
  const std::size_t begin = line_begin(model.text, first.span.begin);
  count.indent = model.text.substr(begin, first.span.begin - begin);
  if (count.indent.find_first_not_of(" \t") != std::string::npos) {
    return no(count.name + " shares its line with another statement");
  }
  std::vector<Span> allowed;
  for (const Statement* statement : own) {
    for (const Expr& target : statement->target_exprs) allowed.push_back(target.span);
    if (statement->kind == "Assign" && statement->value) allowed.push_back(statement->value->span);
  }
  for (const Statement& statement : host.statements) {
    if (statement.value) allowed_in(*statement.value, count.name, allowed);
  }
  for (const Launch& other : model.launches) {
    if (other.host_function != launch.host_function) continue;
    const Expr* grid = first_dimension(other);
    if (grid && grid->text == count.name) allowed.push_back(grid->span);
  }
  for (const std::size_t at : occurrences(model.text, host.span, count.name)) {
    const bool known = std::any_of(allowed.begin(), allowed.end(), [&](const Span& span) {
      return at >= span.begin && at < span.end;
    });
    if (!known) {
      return no(count.name + " is used for something else, line " +
                std::to_string(line_number(model.text, at)));
    }
  }
  if (features_at(context, launch, count.anchor).empty() ||
      tensor_at(context, launch, count.anchor).empty()) {
    return no("the shapes are not known where " + count.name + " is assigned");
  }
  return count;
}

class ProgramsPerSm final : public Technique {
 public:
  std::string id() const override { return "programs-per-sm"; }
  std::string title() const override { return "More programs for each multiprocessor"; }
  std::string section() const override { return "5.2"; }

  Applicability applicability(const TechniqueContext& context) const override {
    Applicability result;
    const auto& launches = context.model.launches;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      std::string reason;
      if (!tunable(context, launches[i], &reason)) {
        result.reasons.push_back(reason);
        continue;
      }
      const Count count = count_of(context, launches[i]);
      const int line = launches[i].call.span.line;
      const std::string where = launches[i].kernel + ": ";
      // One count serves all launches of the function: it can follow the settings of just one.
      const bool taken = std::any_of(result.sites.begin(), result.sites.end(), [&](const Site& s) {
        return s.host_function == launches[i].host_function;
      });
      if (!count.why.empty() || taken) {
        const std::string why = taken ? "the count follows another launch's settings" : count.why;
        result.reasons.push_back(where + why + ", line " + std::to_string(line));
        continue;
      }
      result.sites.push_back({launches[i].kernel, launches[i].host_function, i, line,
                              "grid of " + launches[i].kernel + ", line " + std::to_string(line)});
    }
    return result;
  }

  Result<std::vector<Edit>> edits(const TechniqueContext& context, const Site& site,
                                  const std::string& settings, LaunchPlan& plan) const override {
    const Count count = count_of(context, context.model.launches[site.launch]);
    if (!count.why.empty()) return fail(ErrorKind::kInternal, site.kernel + ": " + count.why + ".");
    const std::string& newline = context.model.newline;
    const std::string line = count.indent + "# More than one program for each multiprocessor hides waits." +
                             newline + count.indent + count.name + " = " + count.name + " * " +
                             settings + ".get(\"programs_per_sm\", 1)" + newline;
    plan.knobs.push_back({"programs_per_sm", {1, 2, 4}, 1, id()});
    return std::vector<Edit>{{count.anchor, count.anchor, line, id(),
                              "several programs share a multiprocessor and hide each other's waits"}};
  }

  Hypothesis hypothesis(const TechniqueContext&, const Site& site,
                        const PassFacts& facts) const override {
    Hypothesis result;
    result.text = "One program for each multiprocessor leaves memory idle at the " + site.what + ".";
    if (facts.floor_us > 0 && facts.op_us > facts.floor_us) {
      result.expected_gain = facts.op_us / (facts.op_us - (facts.op_us - facts.floor_us) / 3);
      result.basis = "a third of the time above the floor";
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<Technique> make_programs_per_sm() { return std::make_unique<ProgramsPerSm>(); }

}  // namespace lwb
