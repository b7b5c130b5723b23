#include "core/kernel/source_model.h"

#include <algorithm>

namespace lwb {

const Expr* Call::keyword(const std::string& name) const {
  for (const Argument& argument : arguments) {
    if (argument.name == name) return &argument.value;
  }
  return nullptr;
}

const Expr* Call::positional(std::size_t index) const {
  for (const Argument& argument : arguments) {
    if (argument.name == "*") return nullptr;  // what it unpacks shifts all that follow
    if (!argument.name.empty()) continue;
    if (index == 0) return &argument.value;
    --index;
  }
  return nullptr;
}

const Function* SourceModel::function(const std::string& qualified_name) const {
  const auto found = std::find_if(
      functions.begin(), functions.end(),
      [&](const Function& candidate) { return candidate.qualified_name == qualified_name; });
  return found == functions.end() ? nullptr : &*found;
}

const Function* SourceModel::function_named(const std::string& name) const {
  // The qualified name of a module-level function is its bare name.
  return function(name);
}

std::vector<const Function*> SourceModel::kernels() const {
  std::vector<const Function*> result;
  for (const Function& candidate : functions) {
    if (candidate.jit && candidate.launched) result.push_back(&candidate);
  }
  return result;
}

const SourceModel* PackageModel::module(const std::string& dotted) const {
  const auto found =
      std::find_if(modules.begin(), modules.end(),
                   [&](const SourceModel& candidate) { return candidate.module == dotted; });
  return found == modules.end() ? nullptr : &*found;
}

}  // namespace lwb
