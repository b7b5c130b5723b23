// Stage 2, the loop (spec section 5): variants from the sweep and the catalog, each built, smoke
// tested, benchmarked, measured and decided, until a stop rule holds; then the best are measured
// once more beside the original, and a winner is declared or not.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device/gpu.h"
#include "core/kernel/source_model.h"
#include "core/measure/op_time.h"
#include "core/optimize/guardrails.h"
#include "core/optimize/variant_record.h"
#include "core/profile/launch_trace.h"
#include "core/run/session.h"
#include "core/variants/builder.h"
#include "core/variants/sweep.h"

namespace lwb {

// One technique in the order in which the profile wants it tried.
struct StrategyItem {
  std::string technique;
  std::string hypothesis;
  double expected_gain = 1;
  Pass pass = Pass::kBackward;
};

struct CheckReport {
  bool passed = true;
  std::vector<std::string> failures;  // one sentence each, naming the check
  std::vector<std::string> remarks;
};

struct OptimizeInputs {
  Request request;
  std::string original_text;
  SourceModel model;
  LaunchTrace trace;
  std::vector<CapturedCall> calls;
  ScopedCalls scope;
  Gpu gpu;
  std::vector<StrategyItem> order;
  std::string diagnosis;
  std::string environment_key;  // digest of GPU, driver, torch, triton: part of every step's key
  PythonTools tools;
  Side original;
  int rounds = 3, samples = 20;

  // A sandbox copy of the package with `text` in place of the kernel file.
  std::function<Result<Side>(const std::string& name, const std::string& text)> make_side;
  // Correctness, and what other architectures' compilers say (the latter as remarks or failures).
  std::function<Result<CheckReport>(const Side& variant)> smoke;
  // The full stock benchmark with `text` in place; remarks (a failing script is a remark).
  std::function<Result<CheckReport>(int number, const std::string& text)> stock;
  // Peak memory of the stock rows of variant `number` (0: baseline), as peaks of "v0" or "vN".
  std::function<std::vector<MemoryPeak>(int number)> stock_memory;
};

struct OptimizeResult {
  std::vector<VariantRecord> records;
  int winner = 0;  // 0: none
  std::string winner_reason;
  std::string stop_reason;
  std::vector<CellVerdict> final_verdicts;
  Gain final_score;
  double gpu_seconds = 0;
};

Result<OptimizeResult> optimize(Session& session, const OptimizeInputs& inputs);

// The repair for a winner that failed a gate: the same without the technique added last, tuned,
// tested and measured like any variant. Nothing when it had one technique or none, or is not
// accepted.
Result<std::optional<VariantRecord>> try_without_last(Session& session,
                                                      const OptimizeInputs& inputs,
                                                      const std::vector<VariantRecord>& records,
                                                      const VariantRecord& failed);

}  // namespace lwb
