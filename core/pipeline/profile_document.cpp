#include "core/pipeline/profile_document.h"

#include <fmt/format.h>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/report/template.h"
#include "core/variants/technique.h"

namespace lwb {
namespace {

Json findings(const std::vector<Finding>& list) {
  Json rows = Json::array();
  for (const Finding& finding : list) {
    rows.push_back({{"category", finding.category},
                    {"message", finding.message},
                    {"file", fs::path(finding.file).filename().string()},
                    {"line", finding.line}});
  }
  return rows;
}

Json launch_rows(const LaunchTrace& trace) {
  Json rows = Json::array();
  for (const LaunchRecord& launch : trace.launches) {
    rows.push_back({{"call", launch.call},
                    {"pass", to_string(launch.pass)},
                    {"kernel", launch.kernel},
                    {"grid", format_shape(launch.grid)},
                    {"warps", launch.num_warps},
                    {"stages", launch.num_stages},
                    {"registers", launch.registers},
                    {"spills", launch.spills},
                    {"shared", launch.shared_bytes},
                    {"line", launch.line}});
  }
  return rows;
}

Json order_rows(const std::vector<StrategyItem>& order) {
  Json rows = Json::array();
  int number = 2;
  for (const StrategyItem& item : order) {
    rows.push_back({{"number", number++},
                    {"technique", item.technique},
                    {"section", find_technique(item.technique) != nullptr
                                    ? find_technique(item.technique)->section()
                                    : ""},
                    {"pass", to_string(item.pass)},
                    {"expected", format_ratio(item.expected_gain)},
                    {"hypothesis", item.hypothesis}});
  }
  return rows;
}

Json configuration_rows(const SourceAnalysis& analysis) {
  Json rows = Json::array();
  for (const LaunchConfiguration& launch : analysis.launches) {
    rows.push_back({{"kernel", launch.kernel},
                    {"host", launch.host_function},
                    {"line", launch.line},
                    {"grid", launch.grid},
                    {"block", launch.block_source},
                    {"warps", launch.warps_source},
                    {"stages", launch.stages_source}});
  }
  return rows;
}

}  // namespace

Json roof_rows(const Roofline& roof) {
  Json rows = Json::array();
  for (const RooflineRow& row : roof.rows) {
    rows.push_back({{"call", row.call},
                    {"pass", to_string(row.pass)},
                    {"op", fmt::format("{:.1f}", row.op_us)},
                    {"spread", format_percent(row.spread)},
                    {"wall", fmt::format("{:.0f}", row.wall_us)},
                    {"bytes", format_bytes(row.bytes)},
                    {"floor", fmt::format("{:.1f}", row.floor_us)},
                    {"share", format_percent(row.share)},
                    {"large", row.large},
                    {"bottleneck", row.bottleneck},
                    {"launch_bound", row.launch_bound}});
  }
  return rows;
}

Json profile_json(const ProfileInputs& inputs, const ProfileResult& result) {
  return {{"schema", 1},
          {"kernel", inputs.kernel.name},
          {"gpu", to_json(inputs.gpu)},
          {"roofline", to_json(result.roof)},
          {"scope", result.scope},
          {"tier", to_string(result.analysis.tier)},
          {"configuration", configuration_rows(result.analysis)},
          {"launches", launch_rows(result.trace)},
          {"patterns", findings(result.analysis.patterns)},
          {"opportunities", findings(result.analysis.opportunities)},
          {"warnings", findings(result.analysis.warnings)},
          {"order", order_rows(result.order)},
          {"not_applicable", result.not_applicable},
          {"under_test", result.cells.under_test},
          {"reference", result.cells.reference}};
}

Result<std::string> profile_document(const Session& session, const ProfileInputs& inputs,
                                     const ProfileResult& result) {
  Json data = profile_json(inputs, result);
  data["gpu_name"] = inputs.gpu.name;
  data["versions"] = fmt::format("driver {}, torch {}, triton {}", inputs.gpu.driver,
                                 inputs.gpu.torch_version, inputs.gpu.triton_version);
  data["sm"] = fmt::format("{}.{}", inputs.gpu.capability_major, inputs.gpu.capability_minor);
  data["sm_count"] = inputs.gpu.sm_count;
  data["l2"] = format_bytes(static_cast<double>(inputs.gpu.l2_bytes));
  data["copy_rate"] = fmt::format("{:.2f} TB/s", result.roof.best_copy_rate / 1e12);
  const std::string recorded = session.runner.recorded_on();
  data["recorded"] = recorded.empty() ? "" : "recorded on " + recorded;
  data["diagnosis"] = result.roof.diagnosis;
  data["no_headroom"] = result.roof.no_headroom;
  data["rows"] = roof_rows(result.roof);
  data["launches"] = launch_rows(result.trace);
  data["stock_rows"] = result.stock.rows.size();
  Json failures = Json::array();
  for (const CellFailure& failure : result.cells.failures) {
    failures.push_back(failure.cell + ": " + failure.message);
  }
  for (const std::string& failure : result.trace.failures) failures.push_back(failure);
  for (const std::string& missing : result.baseline.not_measured) failures.push_back(missing);
  data["failures"] = failures;
  return render_template("optimization-profile.md", data);
}

Result<CheckReport> run_stock_benchmark(Workbench& bench, const Sandbox& sandbox,
                                        const KernelEntry& kernel, const Workspace& workspace,
                                        int number) {
  StockJob job;
  job.tree = sandbox.tree();
  job.script = sandbox.tree() / fs::relative(kernel.script, bench.checkout.root);
  job.label = fmt::format("stock benchmark v{}", number);
  job.csv = workspace.stock_csv(number);
  auto ran = run_stock(*bench.runner, bench.tools, job);
  if (!ran) return tl::unexpected(ran.error());
  CheckReport report;
  // A script that fails is not the variant's fault by itself: what is missing is said.
  if (ran->failure) report.remarks.push_back("stock benchmark: " + ran->failure->sentence);
  for (const std::string& metric : ran->missing_metrics) {
    report.remarks.push_back("stock benchmark: no rows of the metric " + metric);
  }
  return report;
}

}  // namespace lwb
