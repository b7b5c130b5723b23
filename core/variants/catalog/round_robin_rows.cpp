// Round-robin rows: at any moment all programs work on neighbouring rows, and none has many more
// rows than another.
#include <algorithm>
#include <set>

#include "core/variants/builder_facts.h"
#include "core/variants/catalog/techniques.h"

namespace lwb {
namespace {

struct BlockedRows {
  const Loop* loop = nullptr;
  const Expr* start = nullptr;  // the expression to choose instead of, pid * n
  const Expr* end = nullptr;    // min(…, rows)
  std::string program;          // text of the program id
  const Expr* per_program = nullptr;
  const Expr* rows = nullptr;
  std::string why;  // refusal, "" when it fits
};

bool is_program_id(const Function& kernel, const Expr& expr) {
  const Expr* value = &resolved(kernel, expr);
  while (value->kind == "Call" && (value->callee == ".to" || value->callee == ".cast") &&
         !value->children.empty()) {
    value = &resolved(kernel, value->children[0]);
  }
  return value->kind == "Call" && value->callee == "tl.program_id" &&
         value->arguments.size() == 1 && value->arguments[0].value.text == "0";
}

// pid * n or n * pid.
bool product_of_program(const Function& kernel, const Expr& expr, const Expr** program,
                        const Expr** factor) {
  if (expr.kind != "BinOp" || expr.op != "*") return false;
  for (const std::size_t i : {0u, 1u}) {
    if (!is_program_id(kernel, expr.children[i])) continue;
    *program = &expr.children[i];
    *factor = &expr.children[1 - i];
    return true;
  }
  return false;
}

// (pid + 1) * n, start + n, pid * n + n.
bool is_block_end(const Expr& expr, const Expr& start_name, const BlockedRows& rows) {
  if (expr.kind != "BinOp" || expr.children.size() != 2) return false;
  const auto pair = [&](const auto& first, const auto& second) {
    return (first(expr.children[0]) && second(expr.children[1])) ||
           (first(expr.children[1]) && second(expr.children[0]));
  };
  const auto factor = [&](const Expr& e) { return same_text(e.text, rows.per_program->text); };
  if (expr.op == "+") {
    return pair([&](const Expr& e) {
      return same_text(e.text, start_name.text) || same_text(e.text, rows.start->text);
    }, factor);
  }
  const auto next = [&](const Expr& e) {
    if (e.kind != "BinOp" || e.op != "+") return false;
    const auto& c = e.children;
    return (same_text(c[0].text, rows.program) && c[1].text == "1") ||
           (same_text(c[1].text, rows.program) && c[0].text == "1");
  };
  return expr.op == "*" && pair(next, factor);
}

BlockedRows shape_of(const Function& kernel, const Loop& loop) {
  BlockedRows rows;
  rows.loop = &loop;
  const auto no = [&](std::string why) {
    rows.why = std::move(why);
    return rows;
  };
  const Call& range = loop.iterator;
  if ((range.callee != "range" && range.callee != "tl.range") || !range.positional(1) ||
      range.positional(2) || range.keyword("step")) {
    return no("the loop is no range(start, end)");
  }
  const Expr& start_name = *range.positional(0);
  rows.start = &resolved(kernel, start_name);
  const Expr* program = nullptr;
  if (!product_of_program(kernel, *rows.start, &program, &rows.per_program)) {
    return no("the loop does not start at program id * rows per program");
  }
  rows.program = program->text;
  rows.end = &resolved(kernel, *range.positional(1));
  const std::string& callee = rows.end->callee;
  if (rows.end->kind != "Call" || (callee != "min" && callee != "tl.minimum") ||
      rows.end->arguments.size() != 2) {
    return no("the loop does not end at min(end of the block, rows)");
  }
  for (const std::size_t i : {0u, 1u}) {
    if (!is_block_end(rows.end->arguments[i].value, start_name, rows)) continue;
    rows.rows = &rows.end->arguments[1 - i].value;
  }
  if (!rows.rows) return no("the end of the loop is not that of the program's block");
  return rows;
}

std::string carried_refusal(const Function& kernel, const Loop& loop, const std::string& name) {
  int reads_in_sums = 0;
  for (const int index : loop.body) {
    const Statement& s = kernel.statements[index];
    const bool assigned = std::count(s.targets.begin(), s.targets.end(), name) > 0;
    const std::string line = ", line " + std::to_string(s.span.line);
    const bool in_value = s.value && reads(*s.value, name);
    if (!assigned) {
      if (in_value) return name + " is read while it is summed up" + line;
      continue;
    }
    const bool plus = s.kind == "AugAssign" && s.op == "+=" && !in_value;
    const bool sum = s.kind == "Assign" && s.value && s.value->kind == "BinOp" &&
                     s.value->op == "+" && s.value->children[0].text == name &&
                     !reads(s.value->children[1], name);
    if (!plus && !sum) return name + " is carried through the loop and is no sum" + line;
    ++reads_in_sums;
  }
  return reads_in_sums ? std::string() : name + " is carried through the loop";
}

std::set<std::string> moving_names(const Function& kernel, const Loop& loop) {
  std::set<std::string> moving{loop.variable};
  for (bool grown = true; grown;) {
    grown = false;
    for (const int index : loop.body) {
      const Statement& s = kernel.statements[index];
      if (!s.value) continue;
      for (const std::string& name : s.value->names) {
        if (!moving.count(name)) continue;
        for (const std::string& target : s.targets) grown |= moving.insert(target).second;
        break;
      }
    }
  }
  return moving;
}

std::string memory_refusal(const Function& kernel, const BlockedRows& rows, int loop_index) {
  const std::set<std::string> moving = moving_names(kernel, *rows.loop);
  std::map<std::string, std::string> stored;
  for (const MemoryAccess& access : kernel.accesses) {
    if (std::count(access.loops.begin(), access.loops.end(), loop_index) == 0) continue;
    const std::string line = ", line " + std::to_string(access.call.span.line);
    if (access.kind == MemoryAccess::Kind::kAtomic) return "the loop holds an atomic" + line;
    if (access.kind != MemoryAccess::Kind::kStore) continue;
    const auto& names = access.pointer.names;
    if (std::none_of(names.begin(), names.end(), [&](const auto& n) { return moving.count(n); }))
      return "a store in the loop does not move with the row" + line;
    for (const auto& base : access.base_parameters) stored[base] = access.pointer.text;
  }
  for (const MemoryAccess& access : kernel.accesses) {
    if (access.kind != MemoryAccess::Kind::kLoad) continue;
    for (const auto& base : access.base_parameters) {
      const auto found = stored.find(base);
      if (found == stored.end() || same_text(found->second, access.pointer.text)) continue;
      return base + " is stored in the loop and read elsewhere, line " +
             std::to_string(access.call.span.line);
    }
  }
  return {};
}

// What the order of rows must not change.
std::string order_refusal(const SourceModel& model, const Function& kernel,
                          const BlockedRows& rows) {
  const Loop& loop = *rows.loop;
  const Statement& head = kernel.statements[loop.statement];
  for (const std::string& name : loop.carried) {
    const std::string why = carried_refusal(kernel, loop, name);
    if (!why.empty()) return why;
  }
  const Span inside{head.header.end, head.span.end, 0};
  std::set<std::string> fixed{rows.per_program->names.begin(), rows.per_program->names.end()};
  fixed.insert(loop.iterator.positional(0)->names.begin(), loop.iterator.positional(0)->names.end());
  fixed.insert(loop.iterator.positional(1)->names.begin(), loop.iterator.positional(1)->names.end());
  // Bare row counts may be read anywhere; they do not depend on which rows a program has.
  for (const std::string& name : rows.rows->names) fixed.erase(name);
  for (const std::string& name : fixed) {
    const auto found = occurrences(model.text, inside, name);
    if (!found.empty()) {
      return name + " is used in the loop, line " +
             std::to_string(line_number(model.text, found.front()));
    }
  }
  // Start and end are used for nothing but the loop (and the start for the end).
  for (const std::size_t i : {0u, 1u}) {
    const Expr& bound = *loop.iterator.positional(i);
    if (bound.kind != "Name") continue;
    for (const std::size_t at : occurrences(model.text, kernel.body, bound.text)) {
      const Expr* end = rows.end;
      const bool known = (at >= loop.iterator.span.begin && at < loop.iterator.span.end) ||
                         (at >= end->span.begin && at < end->span.end);
      const auto own = assignments(kernel, bound.text);
      const bool target = !own.empty() && at == own.front()->span.begin;
      if (!known && !target) {
        return bound.text + " is used outside of the loop's range, line " +
               std::to_string(line_number(model.text, at));
      }
    }
  }
  // What the last iteration leaves behind is another row's.
  std::set<std::string> left;
  for (const int index : loop.body) {
    const auto& targets = kernel.statements[index].targets;
    left.insert(targets.begin(), targets.end());
  }
  left.insert(loop.variable);
  for (const std::string& name : loop.carried) left.erase(name);
  for (const std::string& name : left) {
    const Span after{head.span.end, kernel.span.end, 0};
    const auto found = occurrences(model.text, after, name);
    if (!found.empty()) {
      return name + " of the last row is used after the loop, line " +
             std::to_string(line_number(model.text, found.front()));
    }
  }
  return memory_refusal(kernel, rows, static_cast<int>(rows.loop - kernel.loops.data()));
}

// The programs of the launch cover all rows: rows per program = ceil(rows / programs). Else blocks
// leave rows out that round robin would not.
std::string cover_refusal(const SourceModel& model, const Launch& launch, const BlockedRows& rows) {
  const Function* host = model.function(launch.host_function);
  const auto per = launch.bound.find(rows.per_program->text);
  const auto all = launch.bound.find(rows.rows->text);
  if (!host || per == launch.bound.end() || all == launch.bound.end()) {
    return "rows and rows per program are not both arguments of the launch";
  }
  const CeilDivision division = ceil_division(resolved(*host, per->second.value));
  const Expr& grid = launch.grid_value;
  const bool single = grid.kind == "Tuple" && grid.children.size() == 1;
  if (!division.numerator || !single ||
      !same_text(division.numerator->text, all->second.value.text) ||
      !same_text(division.denominator->text, grid.children[0].text)) {
    return "rows per program is not seen to be the rows divided by the grid, rounded up";
  }
  return {};
}

class RoundRobinRows final : public Technique {
 public:
  std::string id() const override { return "round-robin-rows"; }
  std::string title() const override { return "Rows dealt round robin to the programs"; }
  std::string section() const override { return "3.6"; }

  Applicability applicability(const TechniqueContext& context) const override {
    Applicability result;
    const SourceModel& model = context.model;
    for (std::size_t i = 0; i < model.launches.size(); ++i) {
      std::string reason;
      const Launch& launch = model.launches[i];
      if (!tunable(context, launch, &reason)) {
        result.reasons.push_back(reason);
        continue;
      }
      const Function* kernel = kernel_of(model, launch);
      if (!kernel || triton_language_alias(model).empty()) {
        result.reasons.push_back(launch.kernel + ": the kernel is not defined in this file");
        continue;
      }
      if (kernel->loops.empty()) result.reasons.push_back(kernel->name + ": no loop");
      bool found = false;
      for (const Loop& loop : kernel->loops) {
        const BlockedRows rows = shape_of(*kernel, loop);
        const std::string why = rows.why.empty() ? refusal(model, *kernel, rows) : rows.why;
        const int line = kernel->statements[loop.statement].span.line;
        if (!why.empty()) {
          result.reasons.push_back(kernel->name + ": " + why + " (loop in line " +
                                   std::to_string(line) + ")");
        } else if (!found) {
          found = true;
          result.sites.push_back({kernel->name, launch.host_function, i, line,
                                  "row loop of " + kernel->name + ", line " + std::to_string(line)});
        }
      }
    }
    return result;
  }

  Result<std::vector<Edit>> edits(const TechniqueContext& context, const Site& site,
                                  const std::string&, LaunchPlan& plan) const override {
    const SourceModel& model = context.model;
    const Function& kernel = *kernel_of(model, model.launches[site.launch]);
    const std::string flag = unique_name(model, "ROUND_ROBIN");
    const std::string tl = triton_language_alias(model);
    std::vector<Edit> result;
    for (const Loop& loop : kernel.loops) {
      const BlockedRows rows = shape_of(kernel, loop);
      if (!rows.why.empty() || !refusal(model, kernel, rows).empty()) continue;
      const Call& range = loop.iterator;
      const std::size_t start = rows.start->span.begin, end = rows.end->span.begin;
      result.push_back({start, start, rows.program + " if " + flag + " else ", id(),
                        "the program's first row is its own number"});
      result.push_back({end, end, rows.rows->text + " if " + flag + " else ", id(),
                        "each program goes on to the last row"});
      const std::string step = tl + ".num_programs(0) if " + flag + " else 1";
      result.push_back({range.close.begin, range.close.begin,
                        range.trailing_comma ? " " + step + "," : ", " + step, id(),
                        "and takes every so many-th row"});
      result.push_back(comment_before(model, kernel.statements[loop.statement],
                                      "Rows in turn: programs read neighbouring rows at one time.",
                                      id()));
      break;
    }
    plan.parameters.push_back({flag, "False", "round_robin"});
    plan.knobs.push_back({"round_robin", {false, true}, false, id()});
    return result;
  }

  Hypothesis hypothesis(const TechniqueContext&, const Site& site,
                        const PassFacts&) const override {
    return {"Rows of the " + site.what +
                " dealt in turn spread the remainder evenly and keep neighbouring rows in one wave.",
            1.05, "the share of rows that a rounded-up block adds to the longest program"};
  }

 private:
  static std::string refusal(const SourceModel& model, const Function& kernel,
                             const BlockedRows& rows) {
    std::string why = order_refusal(model, kernel, rows);
    for (const Launch& launch : model.launches) {
      if (!why.empty()) break;
      if (kernel_of(model, launch) == &kernel) why = cover_refusal(model, launch, rows);
    }
    return why;
  }
};

}  // namespace

std::unique_ptr<Technique> make_round_robin_rows() { return std::make_unique<RoundRobinRows>(); }

}  // namespace lwb
