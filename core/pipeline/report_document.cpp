#include "core/pipeline/report_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/optimize/notebook.h"
#include "core/pipeline/profile_document.h"
#include "core/report/svg_chart.h"
#include "core/report/template.h"

namespace lwb {
namespace {

std::string techniques_of(const VariantRecord& record) {
  return record.techniques.empty() ? "launch settings" : join(record.techniques, ", ");
}

Json variant_rows(const std::vector<VariantRecord>& records, int except) {
  Json rows = Json::array();
  for (const VariantRecord& r : records) {
    if (r.number == except) continue;
    rows.push_back({{"name", r.name()},
                    {"techniques", techniques_of(r)},
                    {"decision", to_string(r.decision)},
                    {"score", r.measured ? format_gain(r.score) : "-"},
                    {"forward", r.measured ? format_ratio(r.forward.ratio) : "-"},
                    {"backward", r.measured ? format_ratio(r.backward.ratio) : "-"},
                    {"reason", r.reason}});
  }
  return rows;
}

Json cell_rows(const std::vector<CellVerdict>& verdicts) {
  Json rows = Json::array();
  for (const CellVerdict& row : verdicts) {
    rows.push_back({{"call", row.call},
                    {"pass", to_string(row.pass)},
                    {"old", fmt::format("{:.1f}", row.old_us)},
                    {"new", fmt::format("{:.1f}", row.new_us)},
                    {"ratio", format_ratio(row.ratio.ratio)},
                    {"interval", fmt::format("{:.3f}-{:.3f}", row.ratio.low, row.ratio.high)},
                    {"verdict", to_string(row.verdict.kind)},
                    {"wall", fmt::format("{:.0f} → {:.0f}", row.old_wall_us, row.new_wall_us)}});
  }
  return rows;
}

// What tells a call's curve from others over x: its configuration's sizes, and whatever a call by
// hand has in its name besides.
std::string curve_of(const CapturedCall& call) {
  std::string name = call.id;
  const std::string x =
      call.cell.x_name + "=" +
      (call.cell.x.is_string() ? call.cell.x.get<std::string>() : call.cell.x.dump());
  const std::size_t at = name.find(x);
  if (at != std::string::npos) name.erase(at, x.size());
  return trim(name);
}

// One chart a pass: op time over x, a curve for each configuration before and after.
Chart chart_of(const ReportInputs& in, Pass pass, const std::string& name) {
  Chart chart;
  chart.title = fmt::format("{} {}", in.kernel, to_string(pass));
  chart.subtitle = fmt::format("{}, op time, median", measured_on(in.recorded_on, in.gpu));
  chart.y_label = "op time, µs";
  std::map<std::string, std::pair<ChartSeries, ChartSeries>> curves;
  for (const CellVerdict& row : in.verdicts) {
    const auto call = std::find_if(in.profile.calls.begin(), in.profile.calls.end(),
                                   [&](const CapturedCall& c) { return c.id == row.call; });
    if (row.pass != pass || call == in.profile.calls.end() || !call->cell.x.is_number()) continue;
    chart.x_label = call->cell.x_name;
    auto& [before, after] = curves[curve_of(*call)];
    before.name = trim("original " + curve_of(*call));
    after.name = trim(name + " " + curve_of(*call));
    before.dashed = true;
    before.x.push_back(call->cell.x.get<double>());
    after.x.push_back(before.x.back());
    before.y.push_back(row.old_us);
    after.y.push_back(row.new_us);
  }
  for (auto& [key, pair] : curves) {
    chart.series.push_back(std::move(pair.first));
    chart.series.push_back(std::move(pair.second));
  }
  return chart;
}

Result<Json> draw(const Workspace& workspace, const ReportInputs& in) {
  Json plots = Json::array();
  if (in.winner) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kFull}) {
      const Chart chart = chart_of(in, pass, in.winner->name());
      if (chart.series.empty()) continue;
      const std::string file = fmt::format("{}_op_time_{}.svg", in.kernel, to_string(pass));
      if (auto written = write_file_atomically(workspace.root / file, to_svg(chart)); !written) {
        return tl::unexpected(written.error());
      }
      plots.push_back({{"name", chart.title + ", op time"}, {"file", file}});
    }
  }
  for (const fs::path& picture : in.plots.pictures) {
    const std::string file = fs::relative(picture, workspace.root).string();
    plots.push_back({{"name", "stock benchmark, " + picture.stem().string()}, {"file", file}});
  }
  return plots;
}

Json recommendations(const ReportInputs& in) {
  Json list = Json::array();
  for (const Finding& finding : in.profile.analysis.opportunities) {
    list.push_back(fmt::format("{} (line {})", finding.message, finding.line));
  }
  return list;
}

}  // namespace

std::string pass_summary(const std::vector<CellVerdict>& verdicts, Pass pass) {
  const CellVerdict* longest = nullptr;
  for (const CellVerdict& row : verdicts) {
    if (row.pass == pass && (!longest || row.old_us > longest->old_us)) longest = &row;
  }
  if (!longest) return "not measured";
  return fmt::format("{} → {}, {} [{:.3f}, {:.3f}] at {}", format_us(longest->old_us),
                     format_us(longest->new_us), format_ratio(longest->ratio.ratio),
                     longest->ratio.low, longest->ratio.high, longest->call);
}

std::string memory_summary(const VariantRecord& record) {
  const MemoryPeak* before = nullptr;
  for (const MemoryPeak& peak : record.memory) {
    if (peak.side == "v0" && (!before || peak.peak_bytes > before->peak_bytes)) before = &peak;
  }
  if (!before) return "not measured";
  for (const MemoryPeak& peak : record.memory) {
    if (peak.side == "v0" || peak.call != before->call) continue;
    return fmt::format("{} → {} at {}", format_bytes(before->peak_bytes),
                       format_bytes(peak.peak_bytes), before->call);
  }
  return "not measured";
}

Result<std::string> write_report(const Workspace& workspace, const ReportInputs& in) {
  auto plots = draw(workspace, in);
  if (!plots) return tl::unexpected(plots.error());
  const Json rows = cell_rows(in.verdicts);
  const Json data{
      {"kernel", in.kernel},
      {"outcome", in.outcome},
      {"sentence", in.sentence},
      {"gpu", measured_on(in.recorded_on, in.gpu)},
      {"applied", in.applied ? "yes" : "no"},
      {"winner", in.winner ? in.winner->name() + ", " + techniques_of(*in.winner) : "none"},
      {"forward", pass_summary(in.verdicts, Pass::kForward)},
      {"backward", pass_summary(in.verdicts, Pass::kBackward)},
      {"memory", in.winner ? memory_summary(*in.winner) : "not measured"},
      {"tests", in.test_sentence},
      {"test_command", in.test_command},
      {"style", in.style_sentence},
      {"recorded", in.recorded_on.empty() ? "" : "All times recorded on " + in.recorded_on + "."},
      {"diagnosis", in.profile.roof.diagnosis},
      {"roof", roof_rows(in.profile.roof)},
      {"stop_reason", in.optimized.stop_reason},
      {"variants", variant_rows(in.optimized.records, 0)},
      {"has_rows", !rows.empty()},
      {"rows", rows},
      {"has_winner", in.winner != nullptr},
      {"changes", in.winner ? in.winner->changes : std::vector<std::string>{}},
      {"diff", in.diff},
      {"rejected", variant_rows(in.optimized.records, in.winner ? in.winner->number : 0)},
      {"not_applicable", in.profile.not_applicable},
      {"plots", *plots},
      {"plot_notes", in.plots.notes},
      {"smoke", in.winner ? "passed" : "nothing to test"},
      {"recommendations", recommendations(in)},
      {"reproduction", in.reproduction}};
  auto text = render_template("report.md", data);
  if (!text) return text;
  if (auto written = write_file_atomically(workspace.root / "report.md", *text); !written) {
    return tl::unexpected(written.error());
  }
  auto html = markdown_to_html(*text, in.kernel + ": " + in.outcome, workspace.root);
  if (!html) return tl::unexpected(html.error());
  if (auto written = write_file_atomically(workspace.root / "report.html", *html); !written) {
    return tl::unexpected(written.error());
  }
  return text;
}

}  // namespace lwb
