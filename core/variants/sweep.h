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
  std::vector<SweepPoint> points;
  std::vector<std::string> notes;  // restarts, dropped points by kind
  double gpu_seconds = 0;
};

struct SweepOptions {
  int samples = 5;
  double budget_s = 0;
  std::filesystem::path cache_file;  // T4 results, appended to
  std::uint64_t seed = 1;
  int max_restarts = 5;  // after a point that killed the process, which is then skipped
};

Result<SweepResult> sweep(ProcessRunner& runner, const PythonTools& tools, const Side& side,
                          const std::vector<CapturedCall>& calls, const std::vector<Hook>& hooks,
                          const SweepOptions& options,
                          const std::function<void(int done, int total)>& on_progress = {});

// The shapes at which a hook's launch ran, with the features that the trace saw there.
std::vector<ShapePoint> shape_points(const Hook& hook, const LaunchTrace& trace);

}  // namespace lwb
