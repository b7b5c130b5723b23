// Three-way plots (spec section 6): original, optimized and the script's own reference providers,
// by the checkout's benchmark/benchmarks_visualizer.py on a CSV of this run's rows alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/kernel/parse.h"
#include "core/measure/stock_table.h"
#include "core/process/process.h"

namespace lwb {

struct PlotJob {
  std::filesystem::path tree;          // sandbox of the checkout: holds the visualizer
  StockTable original, winner;         // this run's stock rows: v0's and the winner's
  std::vector<std::string> reference;  // providers that are not the op under test
  std::filesystem::path csv;           // where the joined table is written
  std::filesystem::path folder;        // where the pictures go
};

struct PlotResult {
  std::vector<std::filesystem::path> pictures;
  std::vector<std::string> notes;  // what could not be drawn and why (field-notes C45 and others)
};
Json to_json(const PlotResult&);
PlotResult plot_result_from_json(const Json&);

// One table: the original's rows of the op under test as provider "original", the winner's as
// "optimized", the reference providers' (of the original's run) under their own names. Providers of
// the op under test are those that are not in `reference`; where there are several, the name keeps
// the provider ("original liger_triton").
StockTable three_way_table(const StockTable& original, const StockTable& winner,
                           const std::vector<std::string>& reference);

// Writes the table and calls the visualizer once per kernel_name × metric × mode × sweep ×
// configuration of the table (exact filters, as far as this checkout's visualizer has them;
// MPLBACKEND=Agg,
// --overwrite), and moves what it saved to `folder` as KERNEL_METRIC_MODE.png, "_model_config"
// behind it for the model sweep and then, where there are several configurations, what sets this
// one apart
// ("_hidden_size-8192"). A visualizer that knows no --data-file finds the rows of each picture in
// place of the tree's benchmark/data/all_benchmark_data.csv meanwhile. A visualizer that fails or
// is missing is a note, not an Error; a file that cannot be written, and a stopped run, are Errors.
Result<PlotResult> draw_three_way(ProcessRunner& runner, const PythonTools& tools,
                                  const PlotJob& job);

}  // namespace lwb
