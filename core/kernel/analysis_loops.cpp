// Where a kernel's loops may gain something, and addresses that may overflow.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/kernel/analysis_parts.h"

namespace lwb::analysis {
namespace {

const Statement& statement_of(const Function& kernel, const Loop& loop) {
  return kernel.statements[static_cast<std::size_t>(loop.statement)];
}

bool calls_program_id(const Expr& expr) {
  return any_expr(expr, [](const Expr& part) { return part.callee == "tl.program_id"; });
}

// Names that come from tl.program_id. With `narrow_only`, a name made 64 bits wide is left out.
std::set<std::string> from_program_id(const Function& kernel, bool narrow_only) {
  const auto is_wide = [](const Expr& expr) {
    return any_expr(expr, [](const Expr& part) { return part.callee == "tl.int64"; });
  };
  std::set<std::string> result;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Statement& statement : kernel.statements) {
      for (const std::string& target : statement.targets) {
        const Expr* value = assigned_value(statement, target);
        if (!value || result.contains(target) || (narrow_only && is_wide(*value))) continue;
        const bool derived =
            calls_program_id(*value) ||
            std::any_of(value->names.begin(), value->names.end(),
                        [&](const std::string& name) { return result.contains(name); });
        // What was loaded at such an address is data, not an index made from it.
        const bool data =
            any_expr(*value, [](const Expr& part) { return part.callee == "tl.load"; });
        if (derived && !data) changed |= result.insert(target).second;
      }
    }
  }
  if (!narrow_only) return result;
  // A name that was made wide anywhere is not called narrow: `pid = pid.to(tl.int64)`.
  for (const Statement& statement : kernel.statements) {
    if (!statement.value || !is_wide(*statement.value)) continue;
    for (const std::string& target : statement.targets) result.erase(target);
  }
  return result;
}

void add(std::vector<Finding>& list, const SourceModel& model, const char* category,
         std::string message, int line) {
  list.push_back({category, std::move(message), model.file, line});
}

// Accesses directly in this loop or in loops in it.
std::vector<const MemoryAccess*> accesses_in(const Function& kernel, int loop,
                                             MemoryAccess::Kind kind) {
  std::vector<const MemoryAccess*> result;
  for (const MemoryAccess& access : kernel.accesses) {
    if (access.kind == kind &&
        std::find(access.loops.begin(), access.loops.end(), loop) != access.loops.end()) {
      result.push_back(&access);
    }
  }
  return result;
}

// `range(start, …)` where start is program_id times something: each program has a contiguous block.
bool starts_at_own_block(const Function& kernel, const Loop& loop) {
  const std::size_t count = loop.iterator.arguments.size();
  const Expr* start = loop.iterator.positional(0);
  if (!start || count < 2 || !loop.iterator.positional(1)) return false;
  const std::set<std::string> own = from_program_id(kernel, false);
  const auto multiplied = [&](const Expr& expr) {
    return any_expr(expr, [&](const Expr& part) {
      if (part.kind != "BinOp" || part.op != "*") return false;
      return calls_program_id(part) ||
             std::any_of(part.names.begin(), part.names.end(),
                         [&](const std::string& name) { return own.contains(name); });
    });
  };
  bool contiguous = multiplied(*start);
  for (const std::string& name : start->names) {
    for (const Statement* statement : assignments(kernel, name)) {
      const Expr* value = assigned_value(*statement, name);
      contiguous |= own.contains(name) && value && multiplied(*value);
    }
  }
  const Expr* step = loop.iterator.positional(2);
  const bool strided =
      step && (any_expr(*step, [](const Expr& part) { return part.callee == "tl.num_programs"; }) ||
               (step->kind != "Constant"));
  return contiguous && !strided;
}

void add_loop_opportunities(const SourceModel& model, const Function& kernel, int index,
                            SourceAnalysis& result) {
  const Loop& loop = kernel.loops[static_cast<std::size_t>(index)];
  const int line = statement_of(kernel, loop).span.line;
  const std::string callee = last_part(loop.iterator.callee);
  const std::string where = kernel.name + ", loop over " + one_line(loop.variable, 30) + ": ";
  const auto loads = accesses_in(kernel, index, MemoryAccess::Kind::kLoad);
  const bool innermost =
      std::none_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const MemoryAccess& access) {
        const auto place = std::find(access.loops.begin(), access.loops.end(), index);
        return place != access.loops.end() && place + 1 != access.loops.end();
      });
  if (!loads.empty() && callee == "range" && innermost && !loop.iterator.keyword("num_stages")) {
    add(result.opportunities, model, "memory",
        where + std::to_string(loads.size()) + (loads.size() == 1 ? " load" : " loads") +
            " an iteration in a loop that names no pipeline depth; tl.range(…, num_stages=n) lets "
            "the next loads start before this iteration ends",
        line);
  }
  if (!loads.empty() && callee == "range" && starts_at_own_block(kernel, loop)) {
    add(result.opportunities, model, "parallelism",
        where +
            "each program takes iterations that follow each other; round robin over programs "
            "makes neighbouring programs read neighbouring memory and evens out the last block",
        line);
  }
}

void add_repeated_loads(const SourceModel& model, const Function& kernel, int index,
                        SourceAnalysis& result) {
  const Loop& loop = kernel.loops[static_cast<std::size_t>(index)];
  std::set<std::string> changing{loop.variable};
  for (const std::string& name : statement_of(kernel, loop).targets) changing.insert(name);
  for (const int inside : loop.body) {
    const Statement& statement = kernel.statements[static_cast<std::size_t>(inside)];
    changing.insert(statement.targets.begin(), statement.targets.end());
  }
  const auto fixed = [&](const Expr& expr) {
    return std::none_of(expr.names.begin(), expr.names.end(),
                        [&](const std::string& name) { return changing.contains(name); });
  };
  const std::vector<std::string> written = stored(kernel);
  for (const MemoryAccess* load : accesses_in(kernel, index, MemoryAccess::Kind::kLoad)) {
    if (load->loops.back() != index || !fixed(load->pointer)) continue;
    if (load->mask && !fixed(*load->mask)) continue;
    const auto& bases = load->base_parameters;
    if (std::any_of(bases.begin(), bases.end(), [&](const std::string& base) {
          return std::find(written.begin(), written.end(), base) != written.end();
        })) {
      continue;
    }
    add(result.opportunities, model, "memory",
        kernel.name + ": the load of " + join(bases, ", ") +
            " does not depend on the loop around it (line " +
            std::to_string(statement_of(kernel, loop).span.line) + ") and could stand before it",
        load->call.span.line);
  }
}

// Names that addresses are made of, through assignments.
std::set<std::string> address_names(const Function& kernel) {
  std::vector<std::string> waiting;
  for (const MemoryAccess& access : kernel.accesses) {
    waiting.insert(waiting.end(), access.pointer.names.begin(), access.pointer.names.end());
  }
  std::set<std::string> result;
  while (!waiting.empty()) {
    const std::string name = waiting.back();
    waiting.pop_back();
    if (!result.insert(name).second) continue;
    for (const Statement* statement : assignments(kernel, name)) {
      const Expr* value = assigned_value(*statement, name);
      if (value && statement->kind != "For") {
        waiting.insert(waiting.end(), value->names.begin(), value->names.end());
      }
    }
  }
  return result;
}

// program_id (32 bits) times something that only the launch knows, in an address.
const Expr* narrow_product(const Function& kernel, const Expr& expr,
                           const std::set<std::string>& narrow) {
  const Expr* found = nullptr;
  any_expr(expr, [&](const Expr& part) {
    if (part.kind != "BinOp" || part.op != "*" || part.children.size() != 2) return false;
    for (int side = 0; side < 2; ++side) {
      const Expr& index = part.children[static_cast<std::size_t>(side)];
      const Expr& other = part.children[static_cast<std::size_t>(1 - side)];
      const bool wide = any_expr(part, [](const Expr& e) { return e.callee == "tl.int64"; });
      const bool is_index =
          calls_program_id(index) ||
          std::any_of(index.names.begin(), index.names.end(),
                      [&](const std::string& name) { return narrow.contains(name); });
      const bool runtime =
          std::any_of(other.names.begin(), other.names.end(), [&](const std::string& name) {
            const Parameter* its = parameter(kernel, name);
            return its && !its->constexpr_;
          });
      if (is_index && runtime && !wide) {
        found = &part;
        return true;
      }
    }
    return false;
  });
  return found;
}

}  // namespace

void add_kernel_opportunities(const SourceModel& model, const Function& kernel,
                              SourceAnalysis& result) {
  for (std::size_t i = 0; i < kernel.loops.size(); ++i) {
    add_loop_opportunities(model, kernel, static_cast<int>(i), result);
    add_repeated_loads(model, kernel, static_cast<int>(i), result);
  }
  const bool hinted =
      std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [](const MemoryAccess& access) {
        return access.call.keyword("cache_modifier") || access.call.keyword("eviction_policy");
      });
  if (!hinted && !kernel.accesses.empty()) {
    add(result.opportunities, model, "memory",
        kernel.name + ": no load or store has a cache modifier or an eviction policy",
        kernel.span.line);
  }
}

void add_kernel_warnings(const SourceModel& model, const Function& kernel, SourceAnalysis& result) {
  const std::set<std::string> narrow = from_program_id(kernel, true);
  const std::set<std::string> addresses = address_names(kernel);
  std::map<std::string, std::set<int>> products;
  const auto check = [&](const Expr& expr) {
    const Expr* product = narrow_product(kernel, expr, narrow);
    if (product) products[one_line(product->text, 60)].insert(product->span.line);
  };
  for (const Statement& statement : kernel.statements) {
    for (const std::string& target : statement.targets) {
      const Expr* value = assigned_value(statement, target);
      if (value && statement.kind != "For" && addresses.contains(target)) check(*value);
    }
  }
  for (const MemoryAccess& access : kernel.accesses) check(access.pointer);
  if (!products.empty()) {
    std::vector<std::string> parts;
    int first_line = 0;
    for (const auto& [text, lines] : products) {
      std::vector<std::string> numbers;
      for (const int line : lines) numbers.push_back(std::to_string(line));
      parts.push_back(text + " (line " + join(numbers, ", ") + ")");
      if (first_line == 0 || *lines.begin() < first_line) first_line = *lines.begin();
    }
    add(result.warnings, model, "memory",
        kernel.name +
            ": program_id without .to(tl.int64) makes 32-bit offsets, which overflow "
            "past 2^31 elements: " +
            join(parts, ", "),
        first_line);
  }
  if (!kernel.autotuned) return;
  const bool restores = std::any_of(
      kernel.decorator_calls.begin(), kernel.decorator_calls.end(), [](const Call& call) {
        return call.keyword("reset_to_zero") || call.keyword("restore_value");
      });
  std::vector<std::string> changed = changed_by_atomics(kernel);
  const std::vector<std::string> reads_from = loaded(kernel);
  for (const std::string& base : stored(kernel)) {
    const bool in_place = std::find(reads_from.begin(), reads_from.end(), base) != reads_from.end();
    if (in_place) changed.push_back(base);
  }
  if (!restores && !changed.empty()) {
    add(result.warnings, model, "memory",
        kernel.name + ": autotuned without reset_to_zero or restore_value, but it updates " +
            join(changed, ", ") + "; the first call leaves the sum of all trials there",
        kernel.span.line);
  }
}

}  // namespace lwb::analysis
