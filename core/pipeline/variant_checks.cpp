#include "core/pipeline/variant_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/measure/smoke.h"
#include "core/variants/compile_check.h"

namespace lwb {
namespace {

// Calls of one kind differ in sizes alone: same function, same other arguments.
struct Kind {
  std::string name;
  double elements = 0;
};

Kind kind_of(const CapturedCall& call) {
  Kind kind{get_object(call.json, "function").dump(), 0};
  for (const Json& argument : get_array(call.json, "args")) {
    const Json& tensor = get_object(argument, "tensor");
    if (tensor.empty()) {
      kind.name += argument.dump();
      continue;
    }
    double count = 1;
    for (const Json& n : get_array(tensor, "shape")) count *= n.get<double>();
    kind.elements += count;
    kind.name += "tensor" + get_string(tensor, "dtype");
  }
  return kind;
}

// The smallest call of each kind (correctness does not need the large ones), and the largest.
std::vector<CapturedCall> smoke_calls(const std::vector<CapturedCall>& calls, bool largest_too) {
  std::map<std::string, std::pair<double, const CapturedCall*>> smallest, largest;
  for (const CapturedCall& call : calls) {
    const Kind kind = kind_of(call);
    auto& low = smallest[kind.name];
    if (!low.second || kind.elements < low.first) low = {kind.elements, &call};
    auto& high = largest[kind.name];
    if (!high.second || kind.elements > high.first) high = {kind.elements, &call};
  }
  std::vector<CapturedCall> chosen;
  for (const auto& [kind, best] : smallest) chosen.push_back(*best.second);
  for (const auto& [kind, best] : largest) {
    if (largest_too && smallest.at(kind).second != best.second) chosen.push_back(*best.second);
  }
  return chosen;
}

// In float32, then in each call's own dtype, where the largest calls are compared too.
Result<void> smoke(const VariantChecks& in, const Side& variant, CheckReport& report) {
  SmokeJob job;
  job.original = in.original;
  job.variant = variant;
  job.parts = {{smoke_calls(in.calls, false), "float32"}, {smoke_calls(in.calls, true), ""}};
  job.seeds = {1};
  job.label = "smoke " + variant.name;
  auto judged = run_smoke(in.runner, in.tools, job);
  if (!judged) return tl::unexpected(judged.error());
  report.passed = judged->passed;
  report.failures = std::move(judged->failures);
  report.remarks = std::move(judged->remarks);
  return {};
}

// What does not compile for the architecture fails, unless the original does not either.
Result<void> compile_elsewhere(const VariantChecks& in, const Side& variant, CheckReport& report) {
  const std::vector<int> capabilities = capabilities_of(to_string(in.gpu));
  auto compiled = compile_for(in.runner, in.tools, variant, in.trace, capabilities);
  if (!compiled) return tl::unexpected(compiled.error());
  std::vector<std::string> broken;
  for (const CompiledLaunch& launch : *compiled) {
    report.remarks.push_back(describe(launch));
    if (!launch.ok) broken.push_back(describe(launch));
  }
  if (broken.empty()) return {};
  auto before = compile_for(in.runner, in.tools, in.original, in.trace, capabilities);
  if (!before) return tl::unexpected(before.error());
  const bool always = std::any_of(before->begin(), before->end(),
                                  [](const CompiledLaunch& launch) { return !launch.ok; });
  if (always) {
    report.remarks.push_back("The original does not compile there either.");
    return {};
  }
  report.passed = false;
  report.failures.insert(report.failures.end(), broken.begin(), broken.end());
  return {};
}

}  // namespace

Result<CheckReport> check_variant(const VariantChecks& checks, const Side& variant) {
  CheckReport report;
  if (auto done = smoke(checks, variant, report); !done) return tl::unexpected(done.error());
  if (report.passed && checks.gpu != TargetGpu::kAuto) {
    if (auto done = compile_elsewhere(checks, variant, report); !done) {
      return tl::unexpected(done.error());
    }
  }
  return report;
}

}  // namespace lwb
