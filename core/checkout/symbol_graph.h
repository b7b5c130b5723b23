// Who uses what in a checkout, function by function: from a benchmark script or a test, which
// functions and classes of the package are reached. Module imports would not do: importing one name
// of a package's __init__ would reach every op.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/kernel/source_model.h"

namespace lwb {

class SymbolGraph {
 public:
  // `package`: the package whose registrations by name are followed: a function decorated with
  // `@register("name")` of the package is reached by whoever calls something with "name" as its
  // first argument (a dispatcher, field-notes part 3).
  SymbolGraph(const PackageModel& model, const std::string& package);

  // "module:Symbol" for a module-level function or class.
  static std::string node(const std::string& module, const std::string& symbol);

  // Everything that the code of `module` reaches, its own functions included.
  const std::set<std::string>& reached_from(const std::string& module);
  // Everything that the functions of `module` named by `symbol` reach, itself included.
  std::set<std::string> reached_from_symbol(const std::string& module, const std::string& symbol);

 private:
  struct Module {
    const SourceModel* model = nullptr;
    std::map<std::string, std::vector<const Function*>> symbols;  // top-level name → its functions
    std::map<std::string, std::vector<std::string>> bases;        // class → base classes
    std::string text;                                             // for string literals
  };

  void add(const SourceModel& model);
  void register_names(const Module& module, const std::string& package);
  std::string resolve(const std::string& dotted, const std::string& from, int depth = 0) const;
  std::string resolve_in(const Module& module, const std::string& symbol, int depth) const;
  std::vector<std::string> edges(const Module& module, const Function& function) const;
  const std::vector<std::string>& edges_of(const std::string& node);
  std::set<std::string> closure(std::vector<std::string> open);

  std::map<std::string, Module> modules_;
  std::map<std::string, std::vector<std::string>> registered_;  // name → nodes
  std::map<std::string, std::vector<std::string>> edges_;
  std::map<std::string, std::set<std::string>> memo_;
};

}  // namespace lwb
