// Stock benchmark rows: the upstream CSV of 15 columns (field-notes part 1c).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace lwb {

struct StockRow {
  std::string kernel_name, kernel_provider, kernel_operation_mode, metric_name, metric_unit, x_name,
      x_label, x_value;
  double y_50 = 0, y_20 = 0, y_80 = 0;
  std::string extra_benchmark_config, gpu_name, timestamp, liger_version;
  bool single_sample() const { return y_20 == y_50 && y_50 == y_80; }
  // Identity: everything but values, date and version.
  std::string key() const;
};

struct StockTable {
  std::vector<StockRow> rows;
};

// RFC 4180. kInternal with the line when ragged or without the header.
Result<StockTable> read_stock_csv(const std::filesystem::path& file);
Result<StockTable> parse_stock_csv(std::string_view text, std::string_view what);
std::string write_stock_csv(const StockTable& table);  // CRLF, the 15 columns, upstream's order
// `text` (a CSV) with `rows` in it: a row of the same key is replaced where it stands, the others
// are appended; every other line stays byte for byte. An Error as parse_stock_csv's, and where a
// row spans lines.
Result<std::string> merge_stock_rows(const std::string& text, const StockTable& rows,
                                     std::string_view what);
// Rows of `after` that are not in `before` or differ from it: this run's rows.
StockTable fresh_rows(const StockTable& before, const StockTable& after);

}  // namespace lwb
