#include "core/measure/stock_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

// Upstream's columns, in upstream's order (benchmark/scripts/utils.py, BenchmarkDataCSVRow).
const std::vector<std::string>& columns() {
  static const std::vector<std::string> names = {
      "kernel_name", "kernel_provider", "kernel_operation_mode",
      "metric_name", "metric_unit",     "x_name",
      "x_label",     "x_value",         "y_value_50",
      "y_value_20",  "y_value_80",      "extra_benchmark_config_str",
      "gpu_name",    "timestamp",       "liger_version"};
  return names;
}

struct Record {
  std::vector<std::string> fields;
  int line = 0;  // where it begins
};

// RFC 4180: quoted fields may hold commas, line ends and doubled quotes. CRLF or LF.
Result<std::vector<Record>> split_records(std::string_view text, std::string_view what) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<Record> records;
  Record record;
  std::string field;
  bool quoted = false, any = false;
  int line = 1;
  record.line = 1;
  const auto end_field = [&] {
    record.fields.push_back(std::move(field));
    field.clear();
  };
  const auto end_record = [&] {
    if (any || !record.fields.empty()) {
      end_field();
      records.push_back(std::move(record));
    }
    record = Record();
    any = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && field.empty()) {
      quoted = any = true;
    } else if (c == ',') {
      end_field();
      any = true;
    } else if (c == '\n' || (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n')) {
      if (c == '\r') {
        ++i;
        ++line;
      }
      end_record();
      record.line = line;
    } else {
      field += c;
      any = true;
    }
  }
  if (quoted) {
    return fail(ErrorKind::kInternal,
                fmt::format("{} ends inside a quoted field that begins at line {}: it was cut off.",
                            what, record.line));
  }
  end_record();
  return records;
}

// A number as Python writes it; "nan" and "" are NaN.
bool parse_number(const std::string& text, double& value) {
  const std::string plain = to_lower(trim(text));
  if (plain.empty() || plain == "nan" || plain == "none") {
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  if (plain == "inf" || plain == "-inf") {
    value = plain[0] == '-' ? -std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::infinity();
    return true;
  }
  const auto result = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  return result.ec == std::errc() && result.ptr == plain.data() + plain.size();
}

// As Python's repr: the shortest digits that read back the same, with a fraction.
std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  return "\"" + replace_all(field, "\"", "\"\"") + "\"";
}

std::vector<std::string> fields_of(const StockRow& r) {
  return {r.kernel_name,       r.kernel_provider,   r.kernel_operation_mode,
          r.metric_name,       r.metric_unit,       r.x_name,
          r.x_label,           r.x_value,           number_text(r.y_50),
          number_text(r.y_20), number_text(r.y_80), r.extra_benchmark_config,
          r.gpu_name,          r.timestamp,         r.liger_version};
}

std::string line_of(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + quoted(field);
  return line + "\r\n";
}

}  // namespace

std::string StockRow::key() const {
  return join({kernel_name, kernel_provider, kernel_operation_mode, metric_name, metric_unit,
               x_name, x_label, x_value, extra_benchmark_config, gpu_name},
              "\x1f");
}

Result<StockTable> parse_stock_csv(std::string_view text, std::string_view what) {
  auto records = split_records(text, what);
  if (!records) return tl::unexpected(records.error());
  if (records->empty()) {
    return fail(ErrorKind::kInternal, fmt::format("{} is empty: it has no header line.", what));
  }
  std::map<std::string, std::size_t> position;
  const Record& header = records->front();
  for (std::size_t i = 0; i < header.fields.size(); ++i) position[header.fields[i]] = i;
  for (const std::string& name : columns()) {
    if (position.count(name) == 0) {
      return fail(ErrorKind::kInternal,
                  fmt::format("{} has no column \"{}\" in its header line.", what, name));
    }
  }
  StockTable table;
  for (std::size_t i = 1; i < records->size(); ++i) {
    const Record& record = (*records)[i];
    if (record.fields.size() != header.fields.size()) {
      return fail(ErrorKind::kInternal,
                  fmt::format("{} has {} fields at line {}, where its header has {}.", what,
                              record.fields.size(), record.line, header.fields.size()));
    }
    const auto at = [&](const char* name) { return record.fields[position[name]]; };
    StockRow row{at("kernel_name"),
                 at("kernel_provider"),
                 at("kernel_operation_mode"),
                 at("metric_name"),
                 at("metric_unit"),
                 at("x_name"),
                 at("x_label"),
                 at("x_value"),
                 0,
                 0,
                 0,
                 at("extra_benchmark_config_str"),
                 at("gpu_name"),
                 at("timestamp"),
                 at("liger_version")};
    for (auto [name, value] :
         {std::pair{"y_value_50", &row.y_50}, std::pair{"y_value_20", &row.y_20},
          std::pair{"y_value_80", &row.y_80}}) {
      if (!parse_number(at(name), *value)) {
        return fail(ErrorKind::kInternal,
                    fmt::format("{} has \"{}\" for {} at line {}, which is no "
                                "number.",
                                what, at(name), name, record.line));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Result<StockTable> read_stock_csv(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_stock_csv(*text, "The benchmark CSV " + file.string());
}

std::string write_stock_csv(const StockTable& table) {
  std::string text = line_of(columns());
  for (const StockRow& row : table.rows) text += line_of(fields_of(row));
  return text;
}

Result<std::string> merge_stock_rows(const std::string& text, const StockTable& rows,
                                     std::string_view what) {
  auto table = parse_stock_csv(text, what);
  if (!table) return tl::unexpected(table.error());
  std::vector<std::string> lines = split_lines(text);
  std::erase_if(lines, [](const std::string& line) { return line.empty(); });
  if (lines.size() != table->rows.size() + 1) {
    return fail(ErrorKind::kInternal,
                fmt::format("{} has rows of several lines; rows were not added to it.", what));
  }
  for (const StockRow& row : rows.rows) {
    // The last line that is written is the row, without its line end.
    std::string line = split_lines(write_stock_csv({{row}})).back();
    const auto known = std::find_if(table->rows.begin(), table->rows.end(),
                                    [&](const auto& other) { return other.key() == row.key(); });
    if (known == table->rows.end()) {
      lines.push_back(std::move(line));
    } else {
      lines[static_cast<std::size_t>(known - table->rows.begin()) + 1] = std::move(line);
    }
  }
  const std::string newline = text.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  return join(lines, newline) + newline;
}

StockTable fresh_rows(const StockTable& before, const StockTable& after) {
  std::multiset<std::string> old;
  for (const StockRow& row : before.rows) old.insert(line_of(fields_of(row)));
  StockTable fresh;
  for (const StockRow& row : after.rows) {
    const auto found = old.find(line_of(fields_of(row)));
    if (found == old.end()) {
      fresh.rows.push_back(row);
    } else {
      old.erase(found);
    }
  }
  return fresh;
}

}  // namespace lwb
