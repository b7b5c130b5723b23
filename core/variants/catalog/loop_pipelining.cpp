// Loop pipelining: loads of the next iterations are in flight while this one computes.
#include <algorithm>
#include <set>

#include "core/variants/builder_facts.h"
#include "core/variants/catalog/techniques.h"

namespace lwb {
namespace {

// Names that depend on the loop's variable, through assignments in the body.
std::set<std::string> moving_names(const Function& kernel, const Loop& loop) {
  std::set<std::string> moving{loop.variable};
  for (bool grown = true; grown;) {
    grown = false;
    for (const int index : loop.body) {
      const Statement& statement = kernel.statements[index];
      if (!statement.value) continue;
      const auto& names = statement.value->names;
      if (std::none_of(names.begin(), names.end(), [&](const auto& n) { return moving.count(n); }))
        continue;
      for (const std::string& target : statement.targets) {
        grown = moving.insert(target).second || grown;
      }
    }
  }
  return moving;
}

// "" when the loop can be pipelined, else why not.
std::string refusal(const Function& kernel, std::size_t index) {
  const Loop& loop = kernel.loops[index];
  if (loop.iterator.callee != "range" && loop.iterator.callee != "tl.range") {
    return "the loop does not run over range()";
  }
  if (loop.iterator.keyword("num_stages")) return "the loop states its own num_stages";
  for (const Call& call : kernel.calls) {
    const bool inside = std::count(loop.body.begin(), loop.body.end(), call.statement) > 0;
    if (inside && call.callee == "tl.dot") {
      return "the launch's num_stages already pipelines a loop with a matrix product";
    }
  }
  const std::set<std::string> moving = moving_names(kernel, loop);
  for (const MemoryAccess& access : kernel.accesses) {
    if (access.kind != MemoryAccess::Kind::kLoad || access.loops.empty()) continue;
    if (access.loops.front() != static_cast<int>(index)) continue;
    const auto& names = access.pointer.names;
    if (std::any_of(names.begin(), names.end(), [&](const auto& n) { return moving.count(n); }))
      return {};
  }
  return "no load in the loop has an address that moves with it";
}

std::vector<std::size_t> outermost_loops(const Function& kernel) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < kernel.loops.size(); ++i) {
    const int statement = kernel.loops[i].statement;
    const bool inner = std::any_of(kernel.loops.begin(), kernel.loops.end(), [&](const Loop& loop) {
      return std::count(loop.body.begin(), loop.body.end(), statement) > 0;
    });
    if (!inner) result.push_back(i);
  }
  return result;
}

class LoopPipelining final : public Technique {
 public:
  std::string id() const override { return "loop-pipelining"; }
  std::string title() const override { return "Loop pipelining by tl.range(num_stages)"; }
  std::string section() const override { return "3.6"; }
  std::string min_triton() const override { return "3.0.0"; }

  Applicability applicability(const TechniqueContext& context) const override {
    Applicability result;
    const SourceModel& model = context.model;
    for (std::size_t i = 0; i < model.launches.size(); ++i) {
      const Launch& launch = model.launches[i];
      const Function* kernel = kernel_of(model, launch);
      std::string reason;
      if (!tunable(context, launch, &reason)) {
        result.reasons.push_back(reason);
        continue;
      }
      if (!kernel || triton_language_alias(model).empty()) {
        result.reasons.push_back(launch.kernel + ": the kernel is not defined in this file");
        continue;
      }
      const auto loops = outermost_loops(*kernel);
      if (loops.empty()) result.reasons.push_back(kernel->name + ": no loop");
      bool any = false;
      for (const std::size_t loop : loops) {
        const int line = kernel->loops[loop].iterator.span.line;
        const std::string why = refusal(*kernel, loop);
        if (!why.empty()) {
          result.reasons.push_back(kernel->name + ": " + why + ", line " + std::to_string(line));
        } else if (!any) {
          any = true;
          result.sites.push_back({kernel->name, launch.host_function, i, line,
                                  "loop of " + kernel->name + ", line " + std::to_string(line)});
        }
      }
    }
    return result;
  }

  Result<std::vector<Edit>> edits(const TechniqueContext& context, const Site& site,
                                  const std::string&, LaunchPlan& plan) const override {
    const Function& kernel = *kernel_of(context.model, context.model.launches[site.launch]);
    const std::string name = unique_name(context.model, "LOOP_STAGES");
    const std::string tl = triton_language_alias(context.model);
    std::vector<Edit> result;
    for (const std::size_t index : outermost_loops(kernel)) {
      if (!refusal(kernel, index).empty()) continue;
      const Call& range = kernel.loops[index].iterator;
      if (range.callee == "range") {
        const std::size_t begin = range.span.begin;
        result.push_back({begin, begin + 5, tl + ".range", id(), "a range that takes num_stages"});
      }
      const std::string argument = "num_stages=" + name;
      result.push_back({range.close.begin, range.close.begin,
                        range.trailing_comma ? " " + argument + "," : ", " + argument, id(),
                        "loads of later iterations are started ahead"});
      result.push_back(comment_before(context.model,
                                      kernel.statements[kernel.loops[index].statement],
                                      "Loads of the next iterations run ahead of this one.", id()));
    }
    plan.parameters.push_back({name, "1", "loop_stages"});
    plan.knobs.push_back({"loop_stages", {1, 2, 3, 4}, 1, id()});
    return result;
  }

  Hypothesis hypothesis(const TechniqueContext&, const Site& site,
                        const PassFacts& facts) const override {
    Hypothesis result;
    result.text = "Loads of the " + site.what + " wait for each other; started ahead they overlap.";
    // Latency hiding can win back at most the time above the floor; half of it is expected.
    if (facts.floor_us > 0 && facts.op_us > facts.floor_us) {
      result.expected_gain = facts.op_us / (facts.op_us - (facts.op_us - facts.floor_us) / 2);
      result.basis = "half of the time above the floor";
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<Technique> make_loop_pipelining() { return std::make_unique<LoopPipelining>(); }

}  // namespace lwb
