// The settings sweep: runs lwb_sweep.py, survives what a configuration may do to the process.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/kernel/parse.h"
#include "core/measure/op_time.h"
#include "core/variants/builder.h"

namespace lwb {

struct SweepResult {
  std::vector<SweepPoint> points;  // a point that killed the process has the status "runtime"
  std::vector<std::string> notes;  // one sentence each: restarts, what was not measured and why
  double gpu_seconds = 0;          // wall time of the processes that held the GPU
};

struct SweepOptions {
  int samples = 5;
  double budget_s = 0;               // of all processes together; 0: no bound
  std::filesystem::path cache_file;  // T4 results, appended to
  std::uint64_t seed = 1;
  int max_restarts = 5;  // after a point that killed the process, which is then skipped
};

// Times every candidate of every hook at the calls that reach it (Hook::shapes) and that are in
// `calls`. An Error when the script cannot run at all or the run was cancelled (kStopped).
Result<SweepResult> sweep(ProcessRunner& runner, const PythonTools& tools, const Side& side,
                          const std::vector<CapturedCall>& calls, const std::vector<Hook>& hooks,
                          const SweepOptions& options,
                          const std::function<void(int done, int total)>& on_progress = {});

}  // namespace lwb
