// Capturing the calls that a benchmark script's cells make (lwb_capture.py).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/kernel/parse.h"
#include "core/measure/calls.h"
#include "core/measure/op_time.h"
#include "core/process/process.h"

namespace lwb {

struct CaptureJob {
  Side side;
  std::string kernel;
  std::filesystem::path script, root;  // in the sandbox tree
  std::vector<std::string> models;     // empty: the smallest and the largest width
  std::vector<double> x_values;        // empty: the script's own sweep
  std::vector<double> default_extra_x{2048, 8192};
  std::vector<std::string> sweep_modes{"token_length"};
  int seed = 1;
};

// What the script would run, from its own call of run_benchmarks.
struct BenchmarkPlan {
  std::string kernel_name, metric, x_name, x_label, model;
  std::vector<std::string> providers, modes;
  Json x_values;  // array
  Json configs;   // array
};

struct CellFailure {
  std::string cell;  // id, or what the cell is
  std::string kind, message, traceback;
};

struct CaptureResult {
  CallsFile calls;
  std::vector<BenchmarkPlan> plans;
  Json models;            // name → numbers, as the checkout's registry has them
  std::string width_key;  // "hidden_size"; empty when the script uses no width of the registry
  std::vector<std::string> under_test;  // providers that reach the op's kernels
  std::vector<std::string> reference;
  std::vector<CellFailure> failures;  // cells and sweeps that raised; the others are there
};

// kPreflight with the script's traceback when the script raises or plans nothing, and when no cell
// made a call of the op.
Result<CaptureResult> capture_calls(ProcessRunner& runner, const PythonTools& tools,
                                    const CaptureJob& job);

Json to_json(const CaptureResult& result);
Result<CaptureResult> capture_result_from_json(const Json& json);

}  // namespace lwb
