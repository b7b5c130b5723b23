#include "core/optimize/variant_record.h"

#include <array>
#include <utility>

namespace lwb {
namespace {

constexpr std::array<std::pair<Decision, const char*>, 4> kDecisions{{
    {Decision::kAccepted, "ACCEPTED"},
    {Decision::kRejected, "REJECTED"},
    {Decision::kMixed, "MIXED"},
    {Decision::kDiscarded, "DISCARDED"},
}};

std::vector<std::string> strings(const Json& object, const char* key) {
  std::vector<std::string> list;
  for (const Json& item : get_array(object, key)) {
    if (item.is_string()) list.push_back(item.get<std::string>());
  }
  return list;
}

}  // namespace

std::string to_string(Decision decision) {
  for (const auto& [value, name] : kDecisions) {
    if (value == decision) return name;
  }
  return "DISCARDED";
}

Decision parse_decision(const std::string& text) {
  for (const auto& [value, name] : kDecisions) {
    if (text == name) return value;
  }
  return Decision::kDiscarded;
}

Json to_json(const Gain& gain) {
  return {{"ratio", gain.ratio}, {"low", gain.low}, {"high", gain.high}};
}

Gain gain_from_json(const Json& json) {
  return {get_number(json, "ratio", 1), get_number(json, "low", 1), get_number(json, "high", 1)};
}

Json to_json(const VariantRecord& record) {
  Json tables = Json::array(), verdicts = Json::array(), memory = Json::array();
  for (const SettingsTable& table : record.tables) tables.push_back(to_json(table));
  for (const CellVerdict& verdict : record.verdicts) verdicts.push_back(to_json(verdict));
  for (const MemoryPeak& peak : record.memory) {
    memory.push_back({{"call", peak.call}, {"side", peak.side}, {"peak_bytes", peak.peak_bytes}});
  }
  return {{"number", record.number},
          {"author", record.author},
          {"based_on", record.based_on},
          {"techniques", record.techniques},
          {"title", record.title},
          {"sha256", record.sha256},
          {"changed_lines", record.changed_lines},
          {"hypothesis", record.hypothesis},
          {"expected_gain", record.expected_gain},
          {"changes", record.changes},
          {"tables", tables},
          {"sweep_points", record.sweep_points},
          {"sweep_dropped", record.sweep_dropped},
          {"verdicts", verdicts},
          {"memory", memory},
          {"score", to_json(record.score)},
          {"forward", to_json(record.forward)},
          {"backward", to_json(record.backward)},
          {"memory_gain", to_json(record.memory_gain)},
          {"measured", record.measured},
          {"decision", to_string(record.decision)},
          {"reason", record.reason},
          {"guardrails", record.guardrails},
          {"learnings", record.learnings}};
}

Result<VariantRecord> variant_record_from_json(const Json& json) {
  VariantRecord record;
  record.number = static_cast<int>(get_integer(json, "number"));
  if (record.number < 1) {
    return fail(ErrorKind::kInternal, "A variant in the journal has no number; the journal was "
                                      "written by another program or damaged.");
  }
  record.author = get_string(json, "author", "catalog");
  record.based_on = get_string(json, "based_on", "v0");
  record.techniques = strings(json, "techniques");
  record.title = get_string(json, "title");
  record.sha256 = get_string(json, "sha256");
  record.changed_lines = static_cast<int>(get_integer(json, "changed_lines"));
  record.hypothesis = get_string(json, "hypothesis");
  record.expected_gain = get_number(json, "expected_gain", 1);
  record.changes = strings(json, "changes");
  for (const Json& item : get_array(json, "tables")) {
    auto table = settings_table_from_json(item);
    if (!table) return tl::unexpected(table.error());
    record.tables.push_back(std::move(*table));
  }
  record.sweep_points = static_cast<int>(get_integer(json, "sweep_points"));
  record.sweep_dropped = static_cast<int>(get_integer(json, "sweep_dropped"));
  for (const Json& item : get_array(json, "verdicts")) {
    record.verdicts.push_back(cell_verdict_from_json(item));
  }
  for (const Json& item : get_array(json, "memory")) {
    record.memory.push_back(
        {get_string(item, "call"), get_string(item, "side"), get_number(item, "peak_bytes")});
  }
  record.score = gain_from_json(get_object(json, "score"));
  record.forward = gain_from_json(get_object(json, "forward"));
  record.backward = gain_from_json(get_object(json, "backward"));
  record.memory_gain = gain_from_json(get_object(json, "memory_gain"));
  record.measured = get_bool(json, "measured");
  record.decision = parse_decision(get_string(json, "decision"));
  record.reason = get_string(json, "reason");
  record.guardrails = strings(json, "guardrails");
  record.learnings = strings(json, "learnings");
  return record;
}

}  // namespace lwb
