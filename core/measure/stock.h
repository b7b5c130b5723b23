// The stock benchmark: the checkout's own script, unmodified, in a sandbox tree (spec section 7).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/parse.h"
#include "core/measure/calls.h"
#include "core/measure/op_time.h"
#include "core/measure/stock_table.h"
#include "core/process/process.h"

namespace lwb {

struct StockJob {
  std::filesystem::path tree;          // the sandbox: the root of a copy of the checkout
  std::filesystem::path script;        // inside the tree
  std::vector<std::string> arguments;  // beside --overwrite: "--sweep-mode", "model_config", …
  std::string label;                   // "stock benchmark v2"
  std::filesystem::path csv;  // where this run's rows go: benchmarks/v2_results.csv; may be empty
  std::chrono::milliseconds wall_limit{std::chrono::minutes(30)};
};

// Why not everything that the script plans was written.
struct StockFailure {
  enum class Kind { kScriptRaised, kOutOfMemory, kKilled, kTimeLimit } kind = Kind::kScriptRaised;
  std::string sentence;
  std::string traceback;
};

struct StockResult {
  StockTable table;  // rows of this run only
  // Metrics that the script began and of which no row was written: "memory" after an
  // out-of-memory error in its sweep; the rows of the others are kept (field-notes C51).
  std::vector<std::string> missing_metrics;
  std::optional<StockFailure> failure;
  std::vector<std::string> notes;  // what standard output and the CSV do not agree in, …
  double wall_seconds = 0;
  std::string recorded_on;
};

// An Error only when the seam cannot answer, a file cannot be written or the run was stopped; a
// script that fails is in the result. The tree's shared CSV is left as it was.
Result<StockResult> run_stock(ProcessRunner& runner, const PythonTools& tools, const StockJob& job);

// The rows that the script printed as JSON on standard output.
StockTable stock_rows_on_stdout(std::string_view out);

// Rows of a cell: same kernel_name, provider, x and configuration.
std::vector<StockRow> rows_of_cell(const StockTable& table, const Cell& cell,
                                   const std::string& metric);

// Peak memory of each call's cell from its stock rows (unit MB = 2^20 bytes; mode full where there
// is one, else the largest of its modes), under the name `side`. Cells without rows are left out.
std::vector<MemoryPeak> stock_memory_peaks(const StockTable& table,
                                           const std::vector<CapturedCall>& calls,
                                           const std::string& side);

// `measured` with each peak of a call that has stock rows replaced by them: the goal memory is
// judged on the script's own peak (spec section 1) where the script has the cell. A call keeps one
// source for both sides, since a layer's peak and a call's do not compare.
std::vector<MemoryPeak> merge_memory(const std::vector<MemoryPeak>& measured,
                                     const std::vector<MemoryPeak>& stock);

}  // namespace lwb
