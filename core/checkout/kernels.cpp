// Which op files there are, and what belongs to each: found by what files import, not by their names.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/checkout/checkout.h"

namespace lwb {
namespace {

class Reach {
 public:
  explicit Reach(const PackageModel& model) {
    for (const SourceModel& module : model.modules) modules_[module.module] = &module;
  }

  // Modules that `name` reaches through imports, itself included. Names re-exported by a package's
  // __init__ lead to the module that defines them, so that importing one op does not reach all.
  const std::set<std::string>& from(const std::string& name) {
    auto& reached = memo_[name];
    if (!reached.empty()) return reached;
    std::set<std::string> seen{name};
    std::vector<std::string> open{name};
    while (!open.empty()) {
      const std::string here = open.back();
      open.pop_back();
      const auto it = modules_.find(here);
      if (it == modules_.end()) continue;
      for (const std::string& target : targets(*it->second)) {
        if (seen.insert(target).second) open.push_back(target);
      }
    }
    return memo_[name] = std::move(seen);
  }

 private:
  std::string resolve(const std::string& module, const std::string& name, int depth = 0) const {
    if (!name.empty() && modules_.count(module + "." + name) > 0) return module + "." + name;
    const auto it = modules_.find(module);
    if (it == modules_.end() || name.empty() || depth > 6) return module;
    for (const Import& import : it->second->imports) {
      const std::string& known = import.alias.empty() ? import.name : import.alias;
      if (known == name && import.module != module) {
        return resolve(import.module, import.name, depth + 1);
      }
    }
    return module;
  }

  std::set<std::string> targets(const SourceModel& module) const {
    std::set<std::string> found;
    for (const Import& import : module.imports) {
      const std::string target = resolve(import.module, import.name);
      const auto it = modules_.find(target);
      if (it == modules_.end()) continue;
      // A package itself re-exports everything: following it would reach every op from anywhere.
      if (fs::path(it->second->file).filename() == "__init__.py") continue;
      found.insert(target);
    }
    return found;
  }

  std::map<std::string, const SourceModel*> modules_;
  std::map<std::string, std::set<std::string>> memo_;
};

bool is_op_module(const Checkout& checkout, const SourceModel& module) {
  const fs::path file = module.file;
  return file.parent_path() == checkout.ops() && file.filename() != "__init__.py";
}

std::size_t ops_reached(const Checkout& checkout, const std::set<std::string>& reached) {
  const std::string prefix = checkout.package + ".ops.";
  return static_cast<std::size_t>(
      std::count_if(reached.begin(), reached.end(), [&](const std::string& name) {
        return name.rfind(prefix, 0) == 0 && name.find('.', prefix.size()) == std::string::npos;
      }));
}

bool names_kernel(const SourceModel& script, const std::string& kernel) {
  const auto it = script.keyword_strings.find("kernel_name");
  return it != script.keyword_strings.end() &&
         std::find(it->second.begin(), it->second.end(), kernel) != it->second.end();
}

// Of the files that reach the op: the conventional name first, then one that writes rows under the
// op's name, then the one that reaches the fewest other ops.
std::vector<const SourceModel*> files_of(const Checkout& checkout, const PackageModel& model,
                                         Reach& reach, const std::string& kernel,
                                         const std::string& top, const std::string& stem) {
  struct Candidate {
    int rank;
    std::size_t ops;
    const SourceModel* file;
  };
  std::vector<Candidate> found;
  for (const SourceModel& module : model.modules) {
    const fs::path file = module.file;
    if (module.module.rfind(top + ".", 0) != 0) continue;
    if (file.filename().string().rfind(stem, 0) != 0) continue;
    const auto& reached = reach.from(module.module);
    if (reached.count(checkout.op_module(kernel)) == 0) continue;
    const bool conventional = file.stem() == stem + kernel;
    found.push_back({conventional ? 0 : names_kernel(module, kernel) ? 1 : 2,
                     ops_reached(checkout, reached), &module});
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.rank, a.ops) < std::tie(b.rank, b.ops);
  });
  // A file that reaches many ops measures or tests something else that happens to use this one.
  std::vector<const SourceModel*> files;
  for (const Candidate& candidate : found) {
    if (candidate.rank < 2 || candidate.ops <= 4) files.push_back(candidate.file);
  }
  if (!files.empty()) return files;
  // Nothing leads to the op by imports (a dispatcher stands between): the convention has to do.
  for (const SourceModel& module : model.modules) {
    const fs::path file = module.file;
    if (module.module.rfind(top + ".", 0) == 0 && file.stem() == stem + kernel) {
      files.push_back(&module);
    }
  }
  return files;
}

std::vector<std::string> kernel_files_used(const Checkout& checkout, const SourceModel& module) {
  std::set<std::string> files;
  for (const Launch& launch : module.launches) {
    if (!launch.kernel_module.empty() && launch.kernel_module != module.module) {
      files.insert(launch.kernel_module);
    }
  }
  for (const Import& import : module.imports) {
    if (import.module.rfind(checkout.package + ".ops.", 0) == 0 &&
        import.name.find("kernel") != std::string::npos) {
      files.insert(import.module);
    }
  }
  return {files.begin(), files.end()};
}

void take_source(KernelEntry& entry, const SourceModel& module) {
  for (const Function& function : module.functions) {
    if (function.jit && function.launched) entry.jit_kernels.push_back(function.name);
    entry.autotuned = entry.autotuned || function.autotuned;
  }
  for (const AutogradFunction& function : module.autograd_functions) {
    entry.autograd_functions.push_back(function.name);
  }
}

void take_others(KernelEntry& entry, const Checkout& checkout, const PackageModel& model,
                 const SourceModel& module) {
  for (const SourceModel& other : model.modules) {
    if (&other == &module) continue;
    for (const Launch& launch : other.launches) {
      if (launch.kernel_module == module.module) {
        entry.foreign_launches.push_back(fmt::format(
            "{}:{}", fs::path(other.file).lexically_relative(checkout.root).string(),
            launch.call.span.line));
      }
    }
    if (!is_op_module(checkout, other)) continue;
    for (const Import& import : other.imports) {
      if (import.module == module.module) {
        entry.dependants.push_back(fs::path(other.file).stem().string());
        break;
      }
    }
  }
}

std::string reason_of(const KernelEntry& entry, const Checkout& checkout,
                      const SourceModel& module) {
  if (entry.jit_kernels.empty()) {
    const auto used = kernel_files_used(checkout, module);
    return used.empty() ? "it holds no @triton.jit kernel that is launched"
                        : "it holds no kernel of its own; its kernels are in " + join(used, ", ");
  }
  if (entry.script.empty()) return "no script in benchmark/scripts measures it";
  if (entry.tests.empty()) return "no test in test/ tests it";
  return {};
}

}  // namespace

std::vector<KernelEntry> list_kernels(const Checkout& checkout, const PackageModel& model) {
  Reach reach(model);
  std::vector<KernelEntry> entries;
  for (const SourceModel& module : model.modules) {
    if (!is_op_module(checkout, module)) continue;
    KernelEntry entry;
    entry.name = fs::path(module.file).stem().string();
    take_source(entry, module);
    take_others(entry, checkout, model, module);
    if (const auto scripts =
            files_of(checkout, model, reach, entry.name, "benchmark", "benchmark_");
        !scripts.empty()) {
      entry.script = scripts.front()->file;
    }
    for (const SourceModel* test : files_of(checkout, model, reach, entry.name, "test", "test_")) {
      entry.tests.emplace_back(test->file);
    }
    std::stable_sort(entry.tests.begin(), entry.tests.end(), [](const fs::path& a, const fs::path& b) {
      return (a.parent_path().filename() == "transformers") >
             (b.parent_path().filename() == "transformers");
    });
    entry.reason = reason_of(entry, checkout, module);
    entry.ready = entry.reason.empty();
    entries.push_back(std::move(entry));
  }
  for (const auto& [file, message] : model.unparsable) {
    if (fs::path(file).parent_path() != checkout.ops()) continue;
    KernelEntry entry;
    entry.name = fs::path(file).stem().string();
    entry.reason = "it does not parse: " + message;
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const KernelEntry& a, const KernelEntry& b) { return a.name < b.name; });
  return entries;
}

Result<KernelEntry> find_kernel(const std::vector<KernelEntry>& kernels, const std::string& kernel) {
  std::vector<std::string> names;
  for (const KernelEntry& entry : kernels) {
    if (entry.name == kernel) return entry;
    names.push_back(entry.name);
  }
  const auto nearest = nearest_names(kernel, names);
  return fail(ErrorKind::kUsage,
              fmt::format("There is no op file {}.py in this checkout; {}", kernel,
                          nearest.empty() ? "lwb kernels lists those that are there."
                                          : "did you mean " + join(nearest, ", ") + "?"));
}

}  // namespace lwb
