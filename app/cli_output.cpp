#include "app/cli_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"

namespace lwb {
namespace {

const char* name_of(Check::State state) {
  switch (state) {
    case Check::kOk: return "ok";
    case Check::kFailed: return "FAILED";
    case Check::kWarning: return "warning";
    case Check::kInfo: return "info";
  }
  return "info";
}

std::vector<std::string> file_names(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.string());
  return names;
}

}  // namespace

void print_kernels(const std::vector<KernelEntry>& kernels, bool json) {
  if (json) {
    Json list = Json::array();
    for (const KernelEntry& k : kernels) {
      list.push_back({{"name", k.name},
                      {"ready", k.ready},
                      {"reason", k.reason},
                      {"jit_kernels", k.jit_kernels},
                      {"autograd_functions", k.autograd_functions},
                      {"script", k.script.string()},
                      {"tests", file_names(k.tests)},
                      {"dependants", k.dependants},
                      {"foreign_launches", k.foreign_launches},
                      {"autotuned", k.autotuned}});
    }
    fmt::print("{}\n", print_json({{"kernels", list}}));
    return;
  }
  std::size_t width = 4;
  for (const KernelEntry& k : kernels) width = std::max(width, k.name.size());
  for (const KernelEntry& k : kernels) {
    fmt::print("{:<{}}  {:<9}  {}\n", k.name, width, k.ready ? "ready" : "not ready",
               k.ready ? fmt::format("{} kernel{}, {}{}", k.jit_kernels.size(),
                                     k.jit_kernels.size() == 1 ? "" : "s",
                                     k.script.filename().string(),
                                     k.autotuned ? ", autotuned" : "")
                       : k.reason);
  }
}

void print_preflight(const Preflight& preflight, bool json) {
  if (json) {
    fmt::print("{}\n", print_json(preflight.json()));
    return;
  }
  for (const Check& check : preflight.checks) {
    fmt::print("{:<8} {}: {}\n", name_of(check.state), check.title, check.sentence);
    if (!check.fix.empty()) fmt::print("         {}\n", check.fix);
    if (check.state == Check::kFailed && !check.details.empty()) fmt::print("{}\n", check.details);
  }
}

namespace {

void print_comparison(const FileComparison& comparison) {
  if (!comparison.measurement.recorded_on.empty()) {
    fmt::print("recorded on {}\n", comparison.measurement.recorded_on);
  }
  std::size_t width = 4;
  for (const CellVerdict& row : comparison.verdicts) width = std::max(width, row.call.size());
  fmt::print("{:<{}}  {:<8}  {:>9}  {:>9}  {:>7}  {:<15}  verdict\n", "call", width, "pass",
             "old µs", "new µs", "old/new", "interval");
  for (const CellVerdict& row : comparison.verdicts) {
    fmt::print("{:<{}}  {:<8}  {:>9.1f}  {:>9.1f}  {:>7.3f}  [{:.3f}, {:.3f}]  {}{}\n", row.call,
               width, to_string(row.pass), row.old_us, row.new_us, row.ratio.ratio, row.ratio.low,
               row.ratio.high, to_string(row.verdict.kind),
               row.verdict.kind == VerdictKind::kUncertain ? " (" + row.verdict.reason + ")" : "");
  }
  for (const auto& failure : comparison.measurement.failures) {
    fmt::print("failed: {} {} {} ({}): {}\n", failure.side, failure.call, failure.pass, failure.kind,
               failure.message);
  }
  for (const std::string& missing : comparison.measurement.not_measured) {
    fmt::print("not measured: {}\n", missing);
  }
  for (const std::string& note : comparison.measurement.notes) fmt::print("note: {}\n", note);
}

}  // namespace

void print_comparisons(const std::vector<FileComparison>& comparisons, bool json) {
  std::map<std::string, int> counts;
  Json list = Json::array();
  for (const FileComparison& comparison : comparisons) {
    for (const CellVerdict& row : comparison.verdicts) ++counts[to_string(row.verdict.kind)];
    list.push_back(comparison.json());
  }
  if (json) {
    fmt::print("{}\n", print_json({{"measurements", list}, {"counts", counts}}));
    return;
  }
  for (const FileComparison& comparison : comparisons) print_comparison(comparison);
  if (comparisons.size() < 2) return;
  fmt::print("verdicts over {} measurements:", comparisons.size());
  for (const auto& [verdict, count] : counts) fmt::print(" {} {}", count, verdict);
  fmt::print("\n");
}

}  // namespace lwb
