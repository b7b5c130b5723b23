#include "core/optimize/notebook.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/report/template.h"

namespace lwb {
namespace {

Json row_of(const CellVerdict& row) {
  return {{"call", row.call},
          {"pass", to_string(row.pass)},
          {"old", fmt::format("{:.1f}", row.old_us)},
          {"new", fmt::format("{:.1f}", row.new_us)},
          {"ratio", format_ratio(row.ratio.ratio)},
          {"interval", fmt::format("{:.3f}-{:.3f}", row.ratio.low, row.ratio.high)},
          {"verdict", to_string(row.verdict.kind) + (row.verdict.kind == VerdictKind::kUncertain &&
                                                             !row.verdict.reason.empty()
                                                         ? " (" + row.verdict.reason + ")"
                                                         : "")}};
}

Json rows_of(const std::vector<CellVerdict>& verdicts) {
  Json rows = Json::array();
  for (const CellVerdict& verdict : verdicts) rows.push_back(row_of(verdict));
  return rows;
}

Json memory_rows(const VariantRecord& record) {
  // Each round has its own; the largest counts.
  std::vector<std::string> calls;
  std::map<std::string, double> before, after;
  for (const MemoryPeak& peak : record.memory) {
    auto& side = peak.side == "v0" ? before : after;
    const auto [known, fresh] = side.emplace(peak.call, peak.peak_bytes);
    if (!fresh) known->second = std::max(known->second, peak.peak_bytes);
    if (fresh && peak.side == "v0") calls.push_back(peak.call);
  }
  Json rows = Json::array();
  for (const std::string& call : calls) {
    if (after.count(call) == 0) continue;
    rows.push_back(
        {{"call", call}, {"old", format_bytes(before[call])}, {"new", format_bytes(after[call])}});
  }
  return rows;
}

Json tables_of(const VariantRecord& record) {
  Json tables = Json::array();
  for (const SettingsTable& table : record.tables) {
    Json buckets = Json::array();
    for (const BucketChoice& bucket : table.buckets) {
      std::vector<std::string> shape;
      for (const std::string& feature : table.features) {
        const auto it = bucket.features.find(feature);
        shape.push_back(it == bucket.features.end() ? "-" : std::to_string(it->second));
      }
      buckets.push_back({{"shape", join(shape, " × ")},
                         {"dtype", bucket.dtype},
                         {"settings", bucket.settings.empty() ? "the original's path"
                                                              : format_settings(bucket.settings)},
                         {"original", fmt::format("{:.1f}", bucket.original_us)},
                         {"best", fmt::format("{:.1f}", bucket.best_us)}});
    }
    tables.push_back({{"function", table.function},
                      {"features", join(table.features, " × ")},
                      {"buckets", buckets}});
  }
  return tables;
}

std::string sweep_sentence(const VariantRecord& record) {
  if (record.sweep_points == 0) return "No sweep was run for this variant.";
  return fmt::format(
      "{} points were tried, {} of them dropped before or during timing (spills, "
      "does not fit, wrong result, failed).",
      record.sweep_points, record.sweep_dropped);
}

std::string variant_row(const VariantRecord& record) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", record.name(), record.author,
                     record.techniques.empty() ? "settings" : join(record.techniques, ", "),
                     to_string(record.decision), record.measured ? format_gain(record.score) : "-",
                     record.measured ? format_ratio(record.forward.ratio) : "-",
                     record.measured ? format_ratio(record.backward.ratio) : "-", record.reason);
}

std::string verdict_table(const std::vector<CellVerdict>& verdicts, const std::string& name) {
  std::string text = fmt::format(
      "\n| call | pass | v0 µs | {} µs | old/new | interval | delta | verdict | wall µs |\n"
      "|---|---|---|---|---|---|---|---|---|\n",
      name);
  for (const CellVerdict& row : verdicts) {
    text += fmt::format(
        "| {} | {} | {:.1f} | {:.1f} | {} | {:.3f}-{:.3f} | {:+.1f} % | {} | {:.0f} → "
        "{:.0f}{} |\n",
        row.call, to_string(row.pass), row.old_us, row.new_us, format_ratio(row.ratio.ratio),
        row.ratio.low, row.ratio.high, row.old_us > 0 ? 100 * (row.new_us / row.old_us - 1) : 0.0,
        to_string(row.verdict.kind), row.old_wall_us, row.new_wall_us,
        row.launch_bound ? ", launch-bound" : "");
  }
  return text;
}

}  // namespace

std::string format_gain(const Gain& gain) {
  return fmt::format("{:.3f}× [{:.3f}, {:.3f}]", gain.ratio, gain.low, gain.high);
}

std::string format_gain(const RatioEstimate& ratio) {
  return format_gain(Gain{ratio.ratio, ratio.low, ratio.high});
}

std::string format_settings(const Settings& settings) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : settings) parts.push_back(name + " " + value.dump());
  return join(parts, ", ");
}

Result<void> write_notes(const Workspace& workspace, const VariantRecord& record,
                         const NoteContext& context) {
  Json prior = Json::array();
  if (context.prior != nullptr) {
    for (const VariantRecord& earlier : *context.prior) {
      if (earlier.number >= record.number) continue;
      prior.push_back({{"name", earlier.name()},
                       {"decision", to_string(earlier.decision)},
                       {"score", format_ratio(earlier.score.ratio)},
                       {"learning", join(earlier.learnings, " ")}});
    }
  }
  const Json rows = rows_of(record.verdicts);
  const Json memory = memory_rows(record);
  const Json data{
      {"kernel", workspace.kernel},
      {"name", record.name()},
      {"title", record.title},
      {"author", record.author},
      {"based_on", record.based_on},
      {"techniques", record.techniques},
      {"hypothesis", record.hypothesis},
      {"diagnosis", context.diagnosis},
      {"expected", record.expected_gain > 1
                       ? "old/new of about " + format_ratio(record.expected_gain)
                       : "no gain beyond noise; a control"},
      {"prior", prior},
      {"changes", record.changes},
      {"diff", context.diff},
      {"done", context.done},
      {"decision", to_string(record.decision)},
      {"reason", record.reason},
      {"recorded",
       context.recorded_on.empty() ? "" : "Times recorded on " + context.recorded_on + "."},
      {"has_rows", !rows.empty()},
      {"rows", rows},
      {"has_memory", !memory.empty()},
      {"memory", memory},
      {"guardrails", record.guardrails},
      {"sweep", sweep_sentence(record)},
      {"tables", tables_of(record)},
      {"learnings", record.learnings}};
  auto text = render_template("variant-notes.md", data);
  if (!text) return tl::unexpected(text.error());
  return write_file_atomically(workspace.notes(record.number), *text);
}

Json comparison_json(const ComparisonInput& input) {
  Json variants = Json::array(), verdicts = Json::array();
  for (const VariantRecord& record : input.records) variants.push_back(to_json(record));
  for (const CellVerdict& row : input.final_verdicts) verdicts.push_back(to_json(row));
  return {{"schema", 1},
          {"kernel", input.kernel},
          {"gpu", input.gpu},
          {"recorded_on", input.recorded_on},
          {"goal", input.goal},
          {"scope", input.scope},
          {"stop_reason", input.stop_reason},
          {"winner", input.winner == 0 ? Json(nullptr) : Json("v" + std::to_string(input.winner))},
          {"winner_reason", input.winner_reason},
          {"final_score", to_json(input.final_score)},
          {"final_verdicts", verdicts},
          {"variants", variants}};
}

Result<void> write_comparison(const Workspace& workspace, const ComparisonInput& input) {
  std::string text = fmt::format("# {}: comparison of all variants\n\n", input.kernel);
  text += input.recorded_on.empty() ? fmt::format("Measured on {}.", input.gpu)
                                    : fmt::format("Recorded on {}.", input.recorded_on);
  text += fmt::format(" Goal {}, scope {}. Ratios are old over new op time: above 1 is a gain.\n\n",
                      input.goal, input.scope);
  text += fmt::format("**Winner: {}.** {}\n\nStopped because {}.\n\n",
                      input.winner == 0 ? "none" : "v" + std::to_string(input.winner),
                      input.winner_reason, input.stop_reason);
  text +=
      "| variant | author | techniques | decision | score | forward | backward | reason |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const VariantRecord& record : input.records) text += variant_row(record);
  if (!input.final_verdicts.empty()) {
    text +=
        fmt::format("\n## v{} against v0, measured once more in fresh processes\n", input.winner);
    text += verdict_table(input.final_verdicts, "v" + std::to_string(input.winner));
  }
  for (const VariantRecord& record : input.records) {
    if (!record.measured) continue;
    text += fmt::format("\n## {}: {}\n", record.name(), record.title);
    text += verdict_table(record.verdicts, record.name());
    const Json memory = memory_rows(record);
    if (!memory.empty()) {
      text += fmt::format("\n| call | v0 peak | {} peak |\n|---|---|---|\n", record.name());
      for (const Json& row : memory) {
        text += fmt::format("| {} | {} | {} |\n", get_string(row, "call"), get_string(row, "old"),
                            get_string(row, "new"));
      }
    }
  }
  text += "\n## What was learned\n\n";
  for (const VariantRecord& record : input.records) {
    for (const std::string& learning : record.learnings) {
      text += fmt::format("- {}: {}\n", record.name(), learning);
    }
  }
  if (auto written = write_file_atomically(workspace.root / "comparison.md", text); !written) {
    return written;
  }
  return write_file_atomically(workspace.root / "comparison.json",
                               comparison_json(input).dump(2) + "\n");
}

}  // namespace lwb
