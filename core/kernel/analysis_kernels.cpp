// What one kernel does: counts, tier, memory and compute patterns.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/kernel/analysis_parts.h"

namespace lwb::analysis {
namespace {

template <std::size_t N>
bool one_of(const std::string& word, const std::array<const char*, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> bases(const Function& kernel, bool loads, bool stores, bool atomics) {
  std::vector<std::string> result;
  for (const MemoryAccess& access : kernel.accesses) {
    const bool wanted = access.kind == MemoryAccess::Kind::kLoad    ? loads
                        : access.kind == MemoryAccess::Kind::kStore ? stores
                                                                    : atomics;
    if (!wanted) continue;
    for (const std::string& base : access.base_parameters) {
      if (std::find(result.begin(), result.end(), base) == result.end()) result.push_back(base);
    }
  }
  return result;
}

Finding finding(const SourceModel& model, const char* category, std::string message, int line) {
  return {category, std::move(message), model.file, line};
}

// Loops one after the other (none inside another) that load from the same parameter.
std::map<std::string, std::vector<int>> passes_over(const Function& kernel) {
  std::map<std::string, std::set<int>> loops;
  for (const MemoryAccess& access : kernel.accesses) {
    if (access.kind != MemoryAccess::Kind::kLoad || access.loops.empty()) continue;
    for (const std::string& base : access.base_parameters) loops[base].insert(access.loops.front());
  }
  std::map<std::string, std::vector<int>> result;
  for (const auto& [base, indices] : loops) {
    if (indices.size() > 1) result[base].assign(indices.begin(), indices.end());
  }
  return result;
}

std::string describe_lines(const std::map<std::string, std::vector<int>>& lines_of) {
  std::vector<std::string> parts;
  for (const auto& [name, lines] : lines_of) {
    std::vector<std::string> numbers;
    for (const int line : lines) numbers.push_back(std::to_string(line));
    parts.push_back(name + " (line " + join(numbers, ", ") + ")");
  }
  return join(parts, ", ");
}

std::map<std::string, std::vector<int>> calls_by_name(const SourceModel& model,
                                                      const Function& kernel,
                                                      bool (*wanted)(const Call&)) {
  std::map<std::string, std::vector<int>> result;
  for (const Function* part : with_helpers(model, kernel)) {
    for (const Call& call : part->calls) {
      if (!wanted(call)) continue;
      std::vector<int>& lines = result[last_part(call.callee)];
      if (lines.empty() || lines.back() != call.span.line) lines.push_back(call.span.line);
    }
  }
  return result;
}

bool is_cast(const Call& call) {
  const std::string name = last_part(call.callee);
  return name == "cast" || (name == "to" && !call.arguments.empty());
}

// Calls that turn something into `dtype`: x.to(tl.float32), tl.cast(x, tl.float32).
std::vector<int> casts_to(const SourceModel& model, const Function& kernel, const char* dtype) {
  std::vector<int> lines;
  for (const Function* part : with_helpers(model, kernel)) {
    for (const Call& call : part->calls) {
      if (!is_cast(call)) continue;
      const bool matches =
          std::any_of(call.arguments.begin(), call.arguments.end(),
                      [&](const Argument& argument) { return argument.value.callee == dtype; });
      if (matches) lines.push_back(call.span.line);
    }
  }
  return lines;
}

std::string hint_of(const MemoryAccess& access) {
  std::vector<std::string> hints;
  for (const char* name : {"cache_modifier", "eviction_policy", "volatile"}) {
    const Expr* value = access.call.keyword(name);
    if (value) hints.push_back(std::string(name) + "=" + one_line(value->text));
  }
  return join(hints, ", ");
}

// Conditions that are known at compile time: constexpr parameters, `is None`, module constants.
int compile_time_branches(const SourceModel& model, const Function& kernel) {
  int count = 0;
  for (const Statement& statement : kernel.statements) {
    if (statement.kind != "If" || !statement.value) continue;
    const auto known = [&](const std::string& name) {
      const Parameter* found = parameter(kernel, name);
      return found ? found->constexpr_ || statement.value->op.starts_with("is")
                   : model.module_constants.contains(name);
    };
    const auto& names = statement.value->names;
    count += !names.empty() && std::all_of(names.begin(), names.end(), known);
  }
  return count;
}

}  // namespace

bool is_reduction(const Call& call) {
  static constexpr std::array kNames = {
      "sum",     "max",  "min",     "argmax",    "argmin",           "reduce",   "cumsum",
      "cumprod", "sort", "xor_sum", "reduce_or", "associative_scan", "histogram"};
  const std::string name = last_part(call.callee);
  // The built-in max and min of two values are no reductions; they carry no dot.
  return one_of(name, kNames) && call.callee.find('.') != std::string::npos;
}

bool is_transcendental(const Call& call) {
  static constexpr std::array kNames = {
      "exp", "exp2", "expm1", "log", "log2",    "log1p",   "sqrt",    "rsqrt",  "sin",
      "cos", "tanh", "erf",   "pow", "sigmoid", "softmax", "sqrt_rn", "div_rn", "fast_expf"};
  const std::string name = last_part(call.callee);
  return one_of(name, kNames) && call.callee.starts_with("tl.");
}

bool is_dot(const Call& call) {
  return call.callee == "tl.dot" || call.callee == "tl.dot_scaled";
}

std::vector<std::string> loaded(const Function& kernel) {
  return bases(kernel, true, false, false);
}
std::vector<std::string> stored(const Function& kernel) {
  return bases(kernel, false, true, false);
}
std::vector<std::string> changed_by_atomics(const Function& kernel) {
  return bases(kernel, false, false, true);
}

// Tier 3 is several matrix or data passes in one kernel: a dot, or the same data run over by loop
// after loop. Tier 2 combines values of a row or block; the rest is element-wise.
KernelAnalysis analyse_kernel(const SourceModel& model, const Function& kernel) {
  KernelAnalysis result;
  result.kernel = kernel.name;
  for (const Function* part : with_helpers(model, kernel)) {
    result.loops += static_cast<int>(part->loops.size());
    for (const Call& call : part->calls) {
      result.reductions += is_reduction(call);
      result.dots += is_dot(call);
    }
    for (const MemoryAccess& access : part->accesses) {
      result.loads += access.kind == MemoryAccess::Kind::kLoad;
      result.stores += access.kind == MemoryAccess::Kind::kStore;
      result.atomics += access.kind == MemoryAccess::Kind::kAtomic;
    }
  }
  if (result.dots > 0 || !passes_over(kernel).empty()) {
    result.tier = Tier::kFusedOrMultiPass;
  } else if (result.reductions > 0 || result.atomics > 0) {
    result.tier = Tier::kReduction;
  }
  return result;
}

namespace {

void add_memory_patterns(const SourceModel& model, const Function& kernel, SourceAnalysis& result) {
  const std::string name = kernel.name;
  const std::vector<std::string> reads_from = loaded(kernel);
  for (const std::string& base : stored(kernel)) {
    if (std::find(reads_from.begin(), reads_from.end(), base) == reads_from.end()) continue;
    const auto store =
        std::find_if(kernel.accesses.begin(), kernel.accesses.end(), [&](const MemoryAccess& a) {
          return a.kind == MemoryAccess::Kind::kStore &&
                 std::find(a.base_parameters.begin(), a.base_parameters.end(), base) !=
                     a.base_parameters.end();
        });
    result.patterns.push_back(
        finding(model, "memory", name + ": in place, stores to " + base + ", which it also loads",
                store->call.span.line));
  }
  for (const MemoryAccess& access : kernel.accesses) {
    const std::string hint = hint_of(access);
    if (hint.empty()) continue;
    result.patterns.push_back(finding(model, "memory",
                                      name + ": " + last_part(access.call.callee) + " of " +
                                          join(access.base_parameters, ", ") + " with " + hint,
                                      access.call.span.line));
  }
  for (const std::string& base : changed_by_atomics(kernel)) {
    result.patterns.push_back(
        finding(model, "memory", name + ": atomic updates of " + base, kernel.span.line));
  }
}

}  // namespace

void add_kernel_patterns(const SourceModel& model, const Function& kernel, SourceAnalysis& result) {
  add_memory_patterns(model, kernel, result);
  const auto add = [&](const std::string& text) {
    result.patterns.push_back(
        finding(model, "compute", kernel.name + ": " + text, kernel.span.line));
  };
  const auto functions = calls_by_name(model, kernel, is_transcendental);
  if (!functions.empty()) add("precision-sensitive functions " + describe_lines(functions));
  const auto reductions = calls_by_name(model, kernel, is_reduction);
  if (!reductions.empty()) add("reductions " + describe_lines(reductions));
  const auto dots = calls_by_name(model, kernel, is_dot);
  if (!dots.empty()) add("matrix products " + describe_lines(dots));
  const std::vector<int> widened = casts_to(model, kernel, "tl.float32");
  if (!widened.empty()) {
    add("casts" + describe_lines({{" to float32", widened}}));
  } else if (!reductions.empty() || !functions.empty()) {
    add("no cast to float32: it computes in the type of its inputs");
  }
  const int branches = compile_time_branches(model, kernel);
  if (branches > 0) {
    add(std::to_string(branches) + (branches == 1 ? " branch" : " branches") +
        " decided at compile time");
  }
  for (const auto& [base, loops] : passes_over(kernel)) {
    std::vector<std::string> lines;
    for (const int loop : loops) {
      const auto& statement = kernel.statements[static_cast<std::size_t>(
          kernel.loops[static_cast<std::size_t>(loop)].statement)];
      lines.push_back(std::to_string(statement.span.line));
    }
    add("runs over " + base + " in " + std::to_string(loops.size()) + " loops (lines " +
        join(lines, ", ") + ")");
  }
}

}  // namespace lwb::analysis
