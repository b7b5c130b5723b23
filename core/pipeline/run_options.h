// How a run was asked for: the request's fields as given, and where to run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/process/process.h"
#include "core/request/request.h"

namespace lwb {

struct RunOptions {
  std::string checkout;
  std::string kernel;
  std::string sentence;  // the request in words; the other fields win over it
  std::string goal, scope, gpu, target;
  bool autonomous = false;
  int max_variants = 0;        // 0: not given
  std::vector<std::string> models;
  std::vector<double> x_values;
  std::string calls_file;
  double budget_s = 0;
  bool no_pull_request = false;
  std::string record_file, replay_file;
  bool import_from_source = false;
  bool accept_known_failures = false;
  bool update_benchmark_csv = false;
  bool skip_stock_variants = false;
  std::string python;          // the Python of the children; "" : LWB_PYTHON, else python3
  std::string work_area;       // sandboxes; "": the cache folder
  ProcessRunner* seam = nullptr;  // starts every program instead of the system's runner; not owned
};

// The request of these options; kUsage with one exact sentence. `kernels`: the names of the checkout's
// op files, for the sentence. `say` is told how the sentence was understood.
Result<Request> build_request(const RunOptions& options, const std::vector<std::string>& kernels,
                              const std::function<void(const std::string&)>& say);

}  // namespace lwb
