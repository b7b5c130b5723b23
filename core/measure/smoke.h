// Correctness of a variant beside the original (spec section 8): runs lwb_smoke.py, which reports
// facts, and judges them.
//
// A variant's error against the float64 result may not exceed twice the original's, or 4 units in
// the last place of the dtype (at the result's scale) if that is larger; NaN only where the
// original has NaN; the same inputs modified in place; a second call gives the same within those
// limits; nothing suspicious in its source that the original does not have; its kernels must matter
// (a replay with the kernels doing nothing gives another result).
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/kernel/parse.h"
#include "core/measure/calls.h"
#include "core/measure/op_time.h"
#include "core/process/process.h"

namespace lwb {

// Calls that are compared in one dtype.
struct SmokePart {
  std::vector<CapturedCall> calls;
  std::string dtype = "float32";  // empty: each call's own
};

struct SmokeJob {
  Side original, variant;
  std::vector<SmokePart> parts;  // one after the other in one process
  std::vector<int> seeds{1, 2};
  std::string device;  // empty: the script's default
  bool poison = true;
  std::string label;  // "smoke v2"
};

struct SmokeLimits {
  double original_errors = 2;  // times the original's error
};

// One judged comparison, for reports and charts.
struct SmokeComparison {
  std::string call, pass, tensor, dtype;
  int seed = 0;
  double original_error = 0, variant_error = 0, limit = 0, scale = 0;
};

struct SmokeResult {
  bool passed = false;
  std::vector<std::string> failures;  // one exact sentence each, naming the check
  std::vector<std::string> remarks;  // what is said and does not fail: which reference was used, …
  std::vector<SmokeComparison> comparisons;
};

// Pure: what one part's events mean. Every call of `calls` must have been compared.
SmokeResult judge_smoke(const std::vector<Json>& events, const std::vector<CapturedCall>& calls,
                        const SmokeLimits& limits = {});

// A variant that cannot be imported, crashes or hangs has failed the test: that is a result. An
// Error when the file imported is not the variant's, or the original itself cannot be run at all.
Result<SmokeResult> run_smoke(ProcessRunner& runner, const PythonTools& tools, const SmokeJob& job,
                              const SmokeLimits& limits = {});

Json to_json(const SmokeResult& result);
SmokeResult smoke_result_from_json(const Json& json);

}  // namespace lwb
