#include "core/checkout/symbol_graph.h"

#include <algorithm>
#include <cctype>

#include "core/base/files.h"

namespace lwb {
namespace {

constexpr int kDeepest = 8;  // re-exports of re-exports; more is a cycle

std::string first_part(const std::string& dotted) { return dotted.substr(0, dotted.find('.')); }


// The string literals that stand first in a call: `dispatch("name", …)`.
std::set<std::string> first_arguments(std::string_view code) {
  std::set<std::string> found;
  for (std::size_t at = code.find('('); at != std::string_view::npos; at = code.find('(', at + 1)) {
    std::size_t i = at + 1;
    while (i < code.size() && std::isspace(static_cast<unsigned char>(code[i])) != 0) ++i;
    if (i >= code.size() || (code[i] != '"' && code[i] != '\'')) continue;
    const std::size_t end = code.find(code[i], i + 1);
    if (end != std::string_view::npos) found.emplace(code.substr(i + 1, end - i - 1));
  }
  return found;
}

std::string_view piece(const std::string& text, std::size_t begin, std::size_t end) {
  if (begin >= text.size() || end <= begin) return {};
  return std::string_view(text).substr(begin, end - begin);
}

}  // namespace

std::string SymbolGraph::node(const std::string& module, const std::string& symbol) {
  return module + ":" + symbol;
}

SymbolGraph::SymbolGraph(const PackageModel& model, const std::string& package) {
  for (const SourceModel& module : model.modules) add(module);
  for (const auto& [name, module] : modules_) register_names(module, package);
}

void SymbolGraph::add(const SourceModel& model) {
  Module& module = modules_[model.module];
  module.model = &model;
  for (const Function& function : model.functions) {
    module.symbols[first_part(function.qualified_name)].push_back(&function);
  }
  for (const ClassDefinition& definition : model.classes) {
    module.symbols[definition.name];
    module.bases[definition.name] = definition.bases;
  }
  module.text = model.text;
  if (module.text.empty()) module.text = read_file(model.file).value_or("");
}

void SymbolGraph::register_names(const Module& module, const std::string& package) {
  for (const Function& function : module.model->functions) {
    for (const Call& decorator : function.decorator_calls) {
      if (decorator.callee.rfind(package + ".", 0) != 0) continue;
      for (const std::string& name :
           first_arguments(piece(module.text, decorator.span.begin, decorator.span.end))) {
        registered_[name].push_back(
            node(module.model->module, first_part(function.qualified_name)));
      }
    }
  }
}

// "pkg.ops.utils.settings.x" → "pkg.ops.utils:settings"; "" when it is no symbol of these modules.
std::string SymbolGraph::resolve(const std::string& dotted, const std::string& from,
                                 int depth) const {
  if (depth > kDeepest) return {};
  if (dotted.find('.') == std::string::npos) {
    const auto own = modules_.find(from);
    return own == modules_.end() ? std::string() : resolve_in(own->second, dotted, depth);
  }
  for (std::size_t end = dotted.rfind('.'); end != std::string::npos && end > 0;
       end = dotted.rfind('.', end - 1)) {
    const auto it = modules_.find(dotted.substr(0, end));
    if (it != modules_.end()) {
      return resolve_in(it->second, first_part(dotted.substr(end + 1)), depth);
    }
  }
  // A script imports its neighbour by its bare name ("utils").
  const std::size_t folder = from.rfind('.');
  if (folder == std::string::npos || depth > 0) return {};
  const std::string neighbour = from.substr(0, folder) + "." + dotted;
  return modules_.count(from.substr(0, folder) + "." + first_part(dotted)) == 0
             ? std::string()
             : resolve(neighbour, from, depth + 1);
}

std::string SymbolGraph::resolve_in(const Module& module, const std::string& symbol,
                                    int depth) const {
  if (module.symbols.count(symbol) > 0) return node(module.model->module, symbol);
  for (const Import& import : module.model->imports) {
    if (import.module == module.model->module) continue;
    const std::string& known = import.alias.empty() ? import.name : import.alias;
    if (known == symbol || import.name == "*") {
      std::string found =
          resolve(import.module + "." + (import.name == "*" ? symbol : import.name),
                  module.model->module, depth + 1);
      if (!found.empty()) return found;
    }
  }
  return {};
}

std::vector<std::string> SymbolGraph::edges(const Module& module, const Function& function) const {
  std::vector<std::string> found;
  for (const std::string& reference : function.references) {
    if (std::string target = resolve(reference, module.model->module); !target.empty()) {
      found.push_back(std::move(target));
    }
  }
  if (registered_.empty()) return found;
  // From the parameter list on: the function's own decorators are not uses.
  for (const std::string& name :
       first_arguments(piece(module.text, function.signature_close.end, function.span.end))) {
    const auto it = registered_.find(name);
    if (it != registered_.end()) found.insert(found.end(), it->second.begin(), it->second.end());
  }
  return found;
}

const std::vector<std::string>& SymbolGraph::edges_of(const std::string& from) {
  const auto known = edges_.find(from);
  if (known != edges_.end()) return known->second;
  std::vector<std::string> found;
  const std::size_t colon = from.find(':');
  const auto it = modules_.find(from.substr(0, colon));
  if (it != modules_.end()) {
    const Module& module = it->second;
    const std::string symbol = from.substr(colon + 1);
    if (const auto functions = module.symbols.find(symbol); functions != module.symbols.end()) {
      for (const Function* function : functions->second) {
        const auto more = edges(module, *function);
        found.insert(found.end(), more.begin(), more.end());
      }
    }
    if (const auto bases = module.bases.find(symbol); bases != module.bases.end()) {
      for (const std::string& base : bases->second) {
        if (std::string target = resolve(base, it->first); !target.empty()) {
          found.push_back(std::move(target));
        }
      }
    }
  }
  return edges_[from] = std::move(found);
}

std::set<std::string> SymbolGraph::closure(std::vector<std::string> open) {
  std::set<std::string> seen(open.begin(), open.end());
  while (!open.empty()) {
    const std::string here = std::move(open.back());
    open.pop_back();
    for (const std::string& target : edges_of(here)) {
      if (seen.insert(target).second) open.push_back(target);
    }
  }
  return seen;
}

const std::set<std::string>& SymbolGraph::reached_from(const std::string& name) {
  if (const auto known = memo_.find(name); known != memo_.end()) return known->second;
  std::vector<std::string> open;
  if (const auto it = modules_.find(name); it != modules_.end()) {
    for (const auto& [symbol, functions] : it->second.symbols) open.push_back(node(name, symbol));
    for (const std::string& reference : it->second.model->references) {
      if (std::string target = resolve(reference, name); !target.empty()) {
        open.push_back(std::move(target));
      }
    }
  }
  return memo_[name] = closure(std::move(open));
}

std::set<std::string> SymbolGraph::reached_from_symbol(const std::string& module,
                                                       const std::string& symbol) {
  return closure({node(module, symbol)});
}

}  // namespace lwb
