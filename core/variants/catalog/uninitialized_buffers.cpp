// Uninitialized buffers: a buffer that the kernel fills completely need not be set to zero before.
#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/variants/builder_facts.h"
#include "core/variants/catalog/techniques.h"

namespace lwb {
namespace {

std::string in_line(int line) { return ", line " + std::to_string(line); }

// Whether the expression, through assignments of the kernel, comes from `found`.
bool derives(const Function& kernel, const Expr& expr, const std::function<bool(const Expr&)>& found,
             std::set<std::string>& seen) {
  if (any_expr(expr, found)) return true;
  for (const std::string& name : expr.names) {
    if (!seen.insert(name).second) continue;
    for (const Statement* statement : assignments(kernel, name)) {
      const Expr* value = assigned_value(*statement, name);
      if (value && derives(kernel, *value, found, seen)) return true;
    }
  }
  return false;
}

bool derives(const Function& kernel, const Expr& expr, std::function<bool(const Expr&)> found) {
  std::set<std::string> seen;
  return derives(kernel, expr, found, seen);
}

// Each part of the mask is `index < bound`.
bool only_bounds(const Function& kernel, const Expr& mask) {
  const Expr& value = resolved(kernel, mask);
  if (value.kind == "BinOp" && value.op == "&") {
    return only_bounds(kernel, value.children[0]) && only_bounds(kernel, value.children[1]);
  }
  if (value.kind == "Subscript") return only_bounds(kernel, value.children[0]);
  if (value.kind != "Compare" || value.op != "<" || value.children[1].kind != "Name") return false;
  return parameter(kernel, value.children[1].text) &&
         derives(kernel, value.children[0], [](const Expr& e) {
           return e.kind == "Call" && e.callee == "tl.arange";
         });
}

std::string store_refusal(const Function& kernel, const MemoryAccess& store) {
  const int line = store.call.span.line;
  if (store.mask && !only_bounds(kernel, *store.mask)) {
    return "the store's mask is more than column < width" + in_line(line);
  }
  const bool moves = derives(kernel, store.pointer, [&](const Expr& expr) {
    return (expr.kind == "Call" && expr.callee == "tl.program_id") ||
           (expr.kind == "Name" && std::any_of(store.loops.begin(), store.loops.end(), [&](int l) {
              return kernel.loops[l].variable == expr.text;
            }));
  });
  if (!moves) return "the store's address moves with no row" + in_line(line);
  for (int p = kernel.statements[store.statement].parent; p >= 0; p = kernel.statements[p].parent) {
    if (kernel.statements[p].kind == "If" || kernel.statements[p].kind == "While") {
      return "the store is made under a condition" + in_line(line);
    }
  }
  return {};
}

std::string kernel_refusal(const Function& kernel, const std::string& formal) {
  std::string why = kernel.name + " stores nothing there";
  for (const MemoryAccess& access : kernel.accesses) {
    const auto& base = access.base_parameters;
    if (std::find(base.begin(), base.end(), formal) == base.end()) continue;
    if (access.kind != MemoryAccess::Kind::kStore) {
      return kernel.name + " reads it" + in_line(access.call.span.line);
    }
    why = store_refusal(kernel, access);
    if (!why.empty()) return kernel.name + ": " + why;
  }
  // A helper that gets the pointer may read it: accesses of helpers are not seen here.
  for (const Call& call : kernel.calls) {
    if (call.callee == "tl.load" || call.callee == "tl.store") continue;
    for (const Argument& argument : call.arguments) {
      if (argument.value.text == formal) {
        return kernel.name + " hands it to " + call.callee + in_line(call.span.line);
      }
    }
  }
  return why;
}

struct Zeros {
  const Statement* statement = nullptr;
  std::size_t begin = 0, end = 0;  // "zeros" in the callee
};

// x = torch.zeros(…), torch.zeros_like(…), y.new_zeros(…)
std::optional<Zeros> zeros_of(const SourceModel& model, const Statement& statement) {
  if (statement.kind != "Assign" || statement.targets.size() != 1 || !statement.value ||
      statement.target_exprs.size() != 1 || statement.target_exprs[0].kind != "Name" ||
      statement.value->kind != "Call") {
    return std::nullopt;
  }
  const Expr& call = *statement.value;
  const std::string last = last_part(call.callee);
  const bool torch = call.callee == "torch.zeros" || call.callee == "torch.zeros_like";
  if (!torch && last != "new_zeros") return std::nullopt;
  const std::size_t paren = model.text.find('(' , call.children.empty() ? call.span.begin
                                                                       : call.children[0].span.end);
  const std::size_t word = model.text.rfind("zeros", paren);
  if (word == std::string::npos || word < call.span.begin) return std::nullopt;
  return Zeros{&statement, word, word + 5};
}

// One of the launches runs whenever the end of `list` (children of `parent`'s branch) is reached.
bool always_launched(const Function& host, int parent, const std::string& branch, int after,
                     const std::set<int>& launching) {
  for (const Statement& s : host.statements) {
    if (s.parent != parent || s.branch != branch || s.index <= after) continue;
    if (launching.count(s.index)) return true;
    if (s.kind == "With" && always_launched(host, s.index, "body", s.index, launching)) return true;
    if (s.kind == "If" && always_launched(host, s.index, "body", s.index, launching) &&
        always_launched(host, s.index, "orelse", s.index, launching)) {
      return true;
    }
  }
  return false;
}

std::string refusal(const SourceModel& model, const Function& host, const Zeros& zeros,
                    std::size_t* first_launch) {
  const std::string& name = zeros.statement->targets[0];
  std::set<int> launching;
  std::vector<Span> known{zeros.statement->span};
  for (std::size_t i = 0; i < model.launches.size(); ++i) {
    const Launch& launch = model.launches[i];
    if (launch.host_function != host.qualified_name) continue;
    for (const auto& [formal, argument] : launch.bound) {
      if (argument.value.kind != "Name" || argument.value.text != name) continue;
      const Function* kernel = kernel_of(model, launch);
      if (!kernel) return launch.kernel + " is not defined in this file";
      const std::string why = kernel_refusal(*kernel, formal);
      if (!why.empty()) return why;
      if (launching.empty()) *first_launch = i;
      launching.insert(launch.call.statement);
    }
    if (launch.unpacks_args) return launch.kernel + " gets arguments that are not seen";
    known.push_back(launch.call.span);
  }
  if (launching.empty()) return "no launch of this function gets it";
  bool always = false;
  int at = zeros.statement->index;
  for (;;) {
    const Statement& s = host.statements[at];
    always = always || always_launched(host, s.parent, s.branch, s.index, launching);
    if (s.parent < 0) break;
    at = s.parent;
  }
  if (!always) return "no launch that fills it runs on every path";
  const std::size_t first = model.launches[*first_launch].call.span.begin;
  for (const std::size_t place : occurrences(model.text, host.span, name)) {
    if (place < zeros.statement->span.end || place >= first) continue;
    const char next = model.text[place + name.size()];
    const bool attribute = next == '.' && (model.text.compare(place + name.size(), 8, ".stride(") == 0 ||
                                           model.text.compare(place + name.size(), 6, ".shape") == 0);
    if (!attribute && std::none_of(known.begin(), known.end(), [&](const Span& span) {
          return place >= span.begin && place < span.end;
        })) {
      return "it is used before the launch" + in_line(line_number(model.text, place));
    }
  }
  return {};
}

class UninitializedBuffers final : public Technique {
 public:
  std::string id() const override { return "uninitialized-buffers"; }
  std::string title() const override { return "No zeros where the kernel writes everything"; }
  std::string section() const override { return "2.3"; }

  Applicability applicability(const TechniqueContext& context) const override {
    Applicability result;
    for (const Function& host : context.model.functions) {
      if (host.jit) continue;
      for (const Statement& statement : host.statements) {
        const auto zeros = zeros_of(context.model, statement);
        if (!zeros) continue;
        std::size_t launch = 0;
        const std::string why = refusal(context.model, host, *zeros, &launch);
        const std::string& name = statement.targets[0];
        const int line = statement.span.line;
        if (!why.empty()) {
          result.reasons.push_back(name + " of " + host.name + in_line(line) + ": " + why);
          continue;
        }
        result.sites.push_back({context.model.launches[launch].kernel, host.qualified_name, launch,
                                line, "buffer " + name + in_line(line)});
      }
    }
    return result;
  }

  Result<std::vector<Edit>> edits(const TechniqueContext& context, const Site& site,
                                  const std::string&, LaunchPlan&) const override {
    const Function* host = context.model.function(site.host_function);
    for (const Statement& statement : host->statements) {
      const auto zeros = zeros_of(context.model, statement);
      if (!zeros || statement.span.line != site.line) continue;
      std::vector<Edit> result{
          {zeros->begin, zeros->end, "empty", id(), "the kernel writes every element"}};
      if (statement.own_line) {
        result.push_back(comment_before(context.model, statement,
                                        "Not set to zero: the kernel writes every element.", id()));
      }
      return result;
    }
    return fail(ErrorKind::kInternal, "No buffer is set to zero in line " +
                                          std::to_string(site.line) + " of " + site.host_function + ".");
  }

  Hypothesis hypothesis(const TechniqueContext& context, const Site& site,
                        const PassFacts& facts) const override {
    Hypothesis result;
    result.text = "The zeros of " + site.what + " are written for nothing.";
    double bytes = 0;
    for (const FillRecord& fill : context.trace.fills) {
      const bool here = fill.host_function == last_part(site.host_function) && fill.line == site.line;
      if (here && fill.call == facts.call && fill.pass == facts.pass) bytes += fill.bytes;
    }
    result.no_effect = bytes <= 0;
    result.basis = "no such zeros were written at this call";
    if (bytes > 0 && facts.copy_rate > 0 && facts.op_us > 0) {
      // The copy rate counts a read and a write; a fill writes alone.
      const double saved = std::min(bytes / facts.copy_rate * 1e6, facts.op_us / 2);
      result.expected_gain = facts.op_us / (facts.op_us - saved);
      result.basis = format_bytes(bytes) + " at the copy rate";
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<Technique> make_uninitialized_buffers() {
  return std::make_unique<UninitializedBuffers>();
}

}  // namespace lwb
