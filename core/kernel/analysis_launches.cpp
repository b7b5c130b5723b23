// How each launch gets its grid, block size, warps and stages.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "core/base/text.h"
#include "core/kernel/analysis_parts.h"

namespace lwb::analysis {
namespace {

constexpr int kDepth = 6;  // of variables, helpers and ctx members that are followed

bool is_identifier(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Expr name_expr(const std::string& name) {
  Expr result;
  result.kind = "Name";
  result.text = name;
  result.names = {name};
  return result;
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

// What the index-th result of a function of this file comes from.
std::string describe_result(const SourceModel& model, const Function& function, int index,
                            int depth) {
  std::vector<std::string> sources;
  for (const Statement& statement : function.statements) {
    if (statement.kind != "Return" || !statement.value) continue;
    const Expr* value = &*statement.value;
    if (index >= 0) {
      if (value->kind != "Tuple" || value->children.size() <= static_cast<std::size_t>(index)) {
        return {};
      }
      value = &value->children[static_cast<std::size_t>(index)];
    }
    add_once(sources, describe_source(model, function, *value, depth + 1));
  }
  return join(sources, " or ");
}

// The argument that callers of `function` in this file give for its parameter.
std::string describe_argument(const SourceModel& model, const Function& function,
                              const Parameter& parameter, int depth) {
  const auto place = std::find_if(function.parameters.begin(), function.parameters.end(),
                                  [&](const Parameter& p) { return p.name == parameter.name; });
  const auto index = static_cast<std::size_t>(place - function.parameters.begin());
  std::vector<std::string> sources;
  for (const Function& caller : model.functions) {
    for (const Call& call : caller.calls) {
      if (call.callee != function.qualified_name) continue;
      const Expr* value = call.keyword(parameter.name);
      if (!value) value = call.positional(index);
      if (value) add_once(sources, describe_source(model, caller, *value, depth + 1));
    }
  }
  if (sources.empty() && !parameter.default_text.empty()) {
    return "argument default " + one_line(parameter.default_text);
  }
  if (sources.empty()) return "argument " + parameter.name + " of " + function.name;
  return join(sources, " or ");
}

// `ctx.member` in a backward: what forward put there.
std::string describe_member(const SourceModel& model, const Function& function, const Expr& value,
                            int depth) {
  for (const AutogradFunction& autograd : model.autograd_functions) {
    if (autograd.backward != function.qualified_name) continue;
    const auto member = autograd.ctx.find(value.op);
    if (member == autograd.ctx.end()) continue;
    const std::string& setter =
        autograd.setup_context.empty() ? autograd.forward : autograd.setup_context;
    const Function* forward = model.function(setter);
    if (forward && is_identifier(member->second)) {
      return value.text + ": " +
             describe_source(model, *forward, name_expr(member->second), depth + 1);
    }
    return value.text + ": " + one_line(member->second);
  }
  return one_line(value.text);
}

std::string describe_name(const SourceModel& model, const Function& function,
                          const std::string& name, int depth) {
  std::vector<std::string> sources;
  for (const Statement* statement : assignments(function, name)) {
    int position = -1;
    const Expr* value = assigned_value(*statement, name, &position);
    if (!value) continue;
    std::string source;
    if (value->kind == "Call" && depth < kDepth) {
      const Function* callee = model.function(value->callee);
      if (callee && !callee->jit) source = describe_result(model, *callee, position, depth);
    }
    const bool element = position >= 0 && (value->kind == "Attribute" || value->kind == "Name");
    if (source.empty() && element) {
      source = one_line(value->text) + "[" + std::to_string(position) + "]";
    } else if (source.empty() && reads(*value, name)) {
      source = one_line(value->text);  // made from itself: no further
    } else if (source.empty()) {
      source = describe_source(model, function, *value, depth + 1);
    }
    add_once(sources, source);
  }
  if (!sources.empty()) return join(sources, " or ");
  if (const Parameter* found = parameter(function, name)) {
    return describe_argument(model, function, *found, depth);
  }
  const std::size_t inner = function.qualified_name.rfind(".<locals>.");
  if (inner != std::string::npos) {
    if (const Function* outer = model.function(function.qualified_name.substr(0, inner))) {
      return describe_name(model, *outer, name, depth);
    }
  }
  const auto constant = model.module_constants.find(name);
  if (constant != model.module_constants.end()) {
    return "module constant " + name + " = " + one_line(constant->second.text);
  }
  return name;
}

bool looks_like_block(const std::string& name) {
  const std::string lower = to_lower(name);
  return lower.find("block") != std::string::npos || lower.find("tile") != std::string::npos;
}

// Of a kernel in another file, what is a constexpr is not known here; they are written in capitals.
bool looks_like_constexpr(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c); });
}

// Constexpr parameters that say how much one program takes: they shape tl.arange or block pointers,
// or are called a block.
std::vector<std::string> block_parameters(const Function& kernel) {
  std::vector<std::string> result;
  for (const Parameter& candidate : kernel.parameters) {
    if (!candidate.constexpr_) continue;
    const bool shapes =
        std::any_of(kernel.calls.begin(), kernel.calls.end(), [&](const Call& call) {
          if (call.callee != "tl.arange" && call.callee != "tl.make_block_ptr") return false;
          return std::any_of(call.arguments.begin(), call.arguments.end(),
                             [&](const Argument& a) { return reads(a.value, candidate.name); });
        });
    if (shapes || looks_like_block(candidate.name)) result.push_back(candidate.name);
  }
  return result;
}

std::string describe_option(const SourceModel& model, const Launch& launch, const Function* host,
                            const std::string& name) {
  const auto bound = launch.bound.find(name);
  if (bound != launch.bound.end()) {
    const Expr& value = bound->second.value;
    return host ? describe_source(model, *host, value) : one_line(value.text);
  }
  const auto unpacked = launch.unpacked.find(name);
  if (unpacked != launch.unpacked.end()) {
    const Expr& value = unpacked->second.value;
    const std::string source = host ? describe_source(model, *host, value) : one_line(value.text);
    return source + " (in the unpacked dict)";
  }
  return {};
}

std::string describe_blocks(const SourceModel& model, const Launch& launch, const Function* kernel,
                            const Function* host) {
  std::vector<std::string> names;
  if (kernel) {
    names = block_parameters(*kernel);
  } else {
    for (const auto& [name, argument] : launch.bound) {
      if (looks_like_block(name) && looks_like_constexpr(name)) names.push_back(name);
    }
  }
  std::vector<std::string> sources;
  for (const std::string& name : names) {
    std::string source = describe_option(model, launch, host, name);
    const Parameter* found = kernel ? parameter(*kernel, name) : nullptr;
    if (source.empty() && kernel && kernel->autotuned) source = "autotune";
    if (source.empty() && found && !found->default_text.empty()) {
      source = "argument default " + one_line(found->default_text);
    }
    if (source.empty()) source = "not seen in this launch";
    sources.push_back(names.size() == 1 ? source : name + ": " + source);
  }
  return sources.empty() ? "no block size" : join(sources, "; ");
}

std::string describe_setting(const SourceModel& model, const Launch& launch, const Function* kernel,
                             const Function* host, const std::string& name, int fallback) {
  std::string source = describe_option(model, launch, host, name);
  if (!source.empty()) return source;
  if (kernel && kernel->autotuned) return "autotune";
  source = "Triton's default (" + std::to_string(fallback) + ")";
  if (!launch.unpacked_known) source += ", unless the unpacked dict sets it";
  return source;
}

// Whether what `name` is made of counts multiprocessors, however it came here.
bool counts_multiprocessors(const SourceModel& model, const Function& function, const Expr& value,
                            std::set<std::string>& seen, int depth) {
  // The properties that torch gives them, and how functions that wrap them are called.
  static constexpr std::array kSigns = {
      "multi_processor_count", "multiprocessor", "num_sms", "sm_count", "core_count",
      "gpu_eu_count"};
  const std::string text = to_lower(value.text);
  const bool sign = std::any_of(kSigns.begin(), kSigns.end(), [&](const char* word) {
    return text.find(word) != std::string::npos;
  });
  if (sign && value.kind != "Name") return true;
  if (depth > kDepth) return sign;
  for (const std::string& name : value.names) {
    if (!seen.insert(function.qualified_name + ":" + name).second) continue;
    for (const Statement* statement : assignments(function, name)) {
      const Expr* its = assigned_value(*statement, name);
      if (its && counts_multiprocessors(model, function, *its, seen, depth + 1)) return true;
    }
    if (!parameter(function, name)) continue;
    for (const Function& caller : model.functions) {
      for (const Call& call : caller.calls) {
        if (call.callee != function.qualified_name) continue;
        const Expr* given = call.keyword(name);
        if (given && counts_multiprocessors(model, caller, *given, seen, depth + 1)) return true;
      }
    }
  }
  return sign;
}

}  // namespace

std::string describe_source(const SourceModel& model, const Function& function, const Expr& value,
                            int depth) {
  if (depth > kDepth) return one_line(value.text);
  if (value.kind == "Constant") return "constant " + one_line(value.text);
  if (value.kind == "Name" && value.callee.empty()) {
    return describe_name(model, function, value.text, depth);
  }
  if (value.kind == "Attribute" && value.callee.empty()) {
    return describe_member(model, function, value, depth);
  }
  if (value.kind == "IfExp" && value.children.size() == 3) {
    const Expr& condition = value.children[0];
    return describe_source(model, function, value.children[1], depth + 1) + " if " +
           one_line(condition.text, 60) + ", else " +
           describe_source(model, function, value.children[2], depth + 1);
  }
  return one_line(value.text);
}

bool is_persistent(const SourceModel& model, const Launch& launch) {
  const Function* host = model.function(launch.host_function);
  if (!host) return false;
  std::set<std::string> seen;
  return counts_multiprocessors(model, *host, launch.grid_value, seen, 0);
}

LaunchConfiguration analyse_launch(const SourceModel& model, const Launch& launch) {
  const Function* host = model.function(launch.host_function);
  const Function* kernel = kernel_of(model, launch);
  LaunchConfiguration result;
  result.kernel = launch.kernel;
  result.host_function = launch.host_function;
  result.line = launch.call.span.line;
  result.grid = one_line(launch.grid.kind == "Name" ? launch.grid_value.text : launch.grid.text);
  result.block_source = describe_blocks(model, launch, kernel, host);
  // Triton's defaults on NVIDIA (CUDAOptions): 4 warps, 3 stages.
  result.warps_source = describe_setting(model, launch, kernel, host, "num_warps", 4);
  bool loops = kernel == nullptr;  // of a kernel in another file nothing is known here
  if (kernel) {
    for (const Function* part : with_helpers(model, *kernel)) loops |= !part->loops.empty();
  }
  result.stages_source =
      loops ? describe_setting(model, launch, kernel, host, "num_stages", 3) : "moot: no loop";
  result.persistent_grid = is_persistent(model, launch);
  return result;
}

}  // namespace lwb::analysis
