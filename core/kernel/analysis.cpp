#include "core/kernel/analysis.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/base/text.h"
#include "core/kernel/analysis_parts.h"

namespace lwb {

std::string to_string(Tier tier) {
  switch (tier) {
    case Tier::kElementwise:
      return "1 (element-wise)";
    case Tier::kReduction:
      return "2 (reduction)";
    case Tier::kFusedOrMultiPass:
      return "3 (fused or multi-pass)";
  }
  return "unknown";
}

namespace analysis {

const Expr* bound_value(const Launch& launch, const std::string& parameter) {
  const auto found = launch.bound.find(parameter);
  return found == launch.bound.end() ? nullptr : &found->second.value;
}

const Function* kernel_of(const SourceModel& model, const Launch& launch) {
  if (!launch.kernel_module.empty()) return nullptr;
  const auto found = std::find_if(
      model.functions.begin(), model.functions.end(),
      [&](const Function& candidate) { return candidate.jit && candidate.name == launch.kernel; });
  return found == model.functions.end() ? nullptr : &*found;
}

namespace {

void add(std::vector<Finding>& list, const SourceModel& model, const char* category,
         std::string message, int line) {
  list.push_back({category, std::move(message), model.file, line});
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool is_zero_filled(const Expr& value) {
  static constexpr std::array kNames = {"zeros", "zeros_like", "new_zeros"};
  return value.kind == "Call" &&
         std::find(kNames.begin(), kNames.end(), last_part(value.callee)) != kNames.end();
}

// A buffer that is filled with zeros and that every kernel it is given to only stores to.
void add_zero_filled(const SourceModel& model, const Function& host, SourceAnalysis& result) {
  for (const Statement& statement : host.statements) {
    for (const std::string& name : statement.targets) {
      const Expr* value = assigned_value(statement, name);
      if (!value) continue;
      const bool zeros =
          is_zero_filled(*value) ||
          (value->kind == "IfExp" && value->children.size() == 3 &&
           (is_zero_filled(value->children[1]) || is_zero_filled(value->children[2])));
      if (!zeros) continue;
      bool given = false, only_stored = true;
      for (const Launch& launch : model.launches) {
        if (launch.host_function != host.qualified_name) continue;
        const Function* kernel = kernel_of(model, launch);
        for (const auto& [parameter, argument] : launch.bound) {
          if (argument.value.text != name) continue;
          given = true;
          only_stored &= kernel && contains(stored(*kernel), parameter) &&
                         !contains(loaded(*kernel), parameter) &&
                         !contains(changed_by_atomics(*kernel), parameter);
        }
      }
      if (!given || !only_stored) continue;
      add(result.opportunities, model, "memory",
          host.name + ": " + name +
              " is filled with zeros and the kernels only store to it; an "
              "uninitialized buffer saves one write of it, if every element is stored",
          statement.span.line);
    }
  }
}

// `out = grad` beside other assignments of `out`: the kernel may write into its input.
void add_host_aliases(const SourceModel& model, const Function& host, SourceAnalysis& result) {
  for (const Launch& launch : model.launches) {
    if (launch.host_function != host.qualified_name) continue;
    std::set<std::string> given;
    for (const auto& [parameter, argument] : launch.bound) {
      if (argument.value.kind == "Name") given.insert(argument.value.text);
    }
    for (const std::string& name : given) {
      for (const Statement* statement : assignments(host, name)) {
        const Expr* value = assigned_value(*statement, name);
        if (!value || value->kind != "Name" || value->text == name) continue;
        if (!given.contains(value->text)) continue;
        add(result.patterns, model, "memory",
            host.name + ": " + name + " can be " + value->text + " itself, and both are given to " +
                launch.kernel,
            statement->span.line);
      }
    }
  }
}

// What the launches of a host function are given, by the names it has there.
std::set<std::string> given_to_launches(const SourceModel& model, const Function& host) {
  std::set<std::string> result;
  for (const Launch& launch : model.launches) {
    if (launch.host_function != host.qualified_name) continue;
    for (const auto& [parameter, argument] : launch.bound) {
      if (argument.value.kind == "Name") result.insert(argument.value.text);
    }
  }
  return result;
}

void add_host_calls(const SourceModel& model, const Function& host, int first_launch_line,
                    SourceAnalysis& result) {
  static constexpr std::array kReductions = {"sum", "mean", "max", "min", "amax", "amin", "prod"};
  static constexpr std::array kSynchronizing = {"item", "tolist", "cpu", "synchronize"};
  const std::set<std::string> given = given_to_launches(model, host);
  const auto touches_buffer = [&](const Call& call) {
    if (call.statement < 0) return false;
    const auto& value = host.statements[static_cast<std::size_t>(call.statement)].value;
    return value && std::any_of(value->names.begin(), value->names.end(),
                                [&](const std::string& name) { return given.contains(name); });
  };
  for (const Call& call : host.calls) {
    const std::string name = last_part(call.callee);
    if (call.callee.find('.') == std::string::npos) continue;
    const std::string code =
        one_line(model.text.substr(call.span.begin, call.span.end - call.span.begin), 50);
    const int line = call.span.line;
    const auto is = [&](const auto& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (name == "contiguous") {
      add(result.opportunities, model, "host",
          host.name + ": " + code +
              " copies where the tensor is not contiguous; strides passed to the kernel would not",
          line);
    } else if (is(kSynchronizing)) {
      add(result.opportunities, model, "host", host.name + ": " + code + " waits for the GPU",
          line);
    } else if (first_launch_line > 0 && line > first_launch_line && is(kReductions) &&
               touches_buffer(call)) {
      add(result.opportunities, model, "host",
          host.name + ": " + code +
              " after the launch is another kernel and reads its whole input again",
          line);
    }
  }
}

void add_strides(const SourceModel& model, SourceAnalysis& result) {
  for (const Launch& launch : model.launches) {
    std::vector<std::string> strided;
    for (const auto& [parameter, argument] : launch.bound) {
      const bool stride = any_expr(argument.value, [](const Expr& part) {
        return part.kind == "Call" && last_part(part.callee) == "stride";
      });
      if (stride) strided.push_back(parameter);
    }
    if (strided.empty()) continue;
    add(result.patterns, model, "memory",
        launch.kernel + ": takes strides from its tensors (" + join(strided, ", ") +
            "); directions without a stride are taken as contiguous",
        launch.call.span.line);
  }
}

// The kernels that a function, with the host functions it calls, launches.
std::vector<const Function*> kernels_below(const SourceModel& model, const std::string& host) {
  std::vector<const Function*> result;
  for (const Function* part : with_callees(model, host)) {
    for (const Launch& launch : model.launches) {
      if (launch.host_function != part->qualified_name) continue;
      const Function* kernel = kernel_of(model, launch);
      if (kernel && std::find(result.begin(), result.end(), kernel) == result.end()) {
        result.push_back(kernel);
      }
    }
  }
  return result;
}

std::set<std::string> functions_computed(const SourceModel& model, const std::string& host) {
  std::set<std::string> result;
  for (const Function* kernel : kernels_below(model, host)) {
    for (const Function* part : with_helpers(model, *kernel)) {
      for (const Call& call : part->calls) {
        if (is_transcendental(call)) result.insert(last_part(call.callee));
      }
    }
  }
  return result;
}

void add_autograd(const SourceModel& model, SourceAnalysis& result) {
  for (const AutogradFunction& autograd : model.autograd_functions) {
    const std::string saved = autograd.saved.empty()
                                  ? "saves no tensor for backward"
                                  : "saves for backward: " + join(autograd.saved, ", ");
    add(result.patterns, model, "memory", autograd.name + " " + saved, autograd.span.line);
    const std::set<std::string> forward = functions_computed(model, autograd.forward);
    std::vector<std::string> again;
    for (const std::string& name : functions_computed(model, autograd.backward)) {
      if (forward.contains(name)) again.push_back(name);
    }
    if (again.empty()) continue;
    add(result.patterns, model, "compute",
        autograd.name + ": computed in forward and again in backward: " + join(again, ", "),
        autograd.span.line);
  }
}

void add_persistent(const SourceModel& model, const std::vector<LaunchConfiguration>& launches,
                    SourceAnalysis& result) {
  for (const LaunchConfiguration& launch : launches) {
    if (!launch.persistent_grid) continue;
    add(result.opportunities, model, "parallelism",
        launch.host_function + ": " + launch.kernel +
            " is launched with a grid that counts multiprocessors, " + launch.grid +
            "; more programs per multiprocessor may hide more latency",
        launch.line);
  }
}

}  // namespace

void add_host_findings(const SourceModel& model, SourceAnalysis& result) {
  add_strides(model, result);
  add_autograd(model, result);
  add_persistent(model, result.launches, result);
  for (const Function& host : model.functions) {
    if (host.jit) continue;
    int first_launch_line = 0;
    for (const Launch& launch : model.launches) {
      if (launch.host_function != host.qualified_name) continue;
      const int line = launch.call.span.line;
      if (first_launch_line == 0 || line < first_launch_line) first_launch_line = line;
    }
    if (first_launch_line > 0) {
      add_zero_filled(model, host, result);
      add_host_aliases(model, host, result);
    }
    add_host_calls(model, host, first_launch_line, result);
  }
}

}  // namespace analysis

SourceAnalysis analyse(const SourceModel& model) {
  SourceAnalysis result;
  for (const Launch& launch : model.launches) {
    result.launches.push_back(analysis::analyse_launch(model, launch));
    // A kernel of another file beside this file's own work: several passes make up the op.
    if (!launch.kernel_module.empty()) result.tier = Tier::kFusedOrMultiPass;
  }
  for (const Function* kernel : model.kernels()) {
    result.kernels.push_back(analysis::analyse_kernel(model, *kernel));
    result.tier = std::max(result.tier, result.kernels.back().tier);
    analysis::add_kernel_patterns(model, *kernel, result);
    analysis::add_kernel_opportunities(model, *kernel, result);
    analysis::add_kernel_warnings(model, *kernel, result);
  }
  analysis::add_host_findings(model, result);
  const auto by_line = [](const Finding& a, const Finding& b) { return a.line < b.line; };
  for (auto* list : {&result.patterns, &result.opportunities, &result.warnings}) {
    std::stable_sort(list->begin(), list->end(), by_line);
    const auto same = [](const Finding& a, const Finding& b) {
      return a.line == b.line && a.message == b.message;
    };
    list->erase(std::unique(list->begin(), list->end(), same), list->end());
  }
  return result;
}

}  // namespace lwb
