// What each captured call really launches (lwb_trace.py).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/kernel/parse.h"
#include "core/measure/calls.h"
#include "core/measure/op_time.h"
#include "core/process/process.h"

namespace lwb {

struct LaunchRecord {
  std::string call;
  Pass pass = Pass::kForward;
  int index = 0;
  std::string kernel;
  std::string file;
  std::string host_function;  // plain name of the function that launches
  int line = 0;
  std::vector<long long> grid;
  int num_warps = 0, num_stages = 0;
  int registers = 0, spills = 0;
  long long shared_bytes = 0;
  Json args;        // parameter → value or {"tensor":…}
  Json constexprs;  // parameter → value
  std::map<std::string, long long> locals;  // integers of the launching frame
  std::string dtype;  // of the first floating tensor argument
  Json event;         // as lwb_trace.py told it: what lwb_compile.py takes
};

struct PassBytes {
  std::string call;
  Pass pass = Pass::kForward;
  double read = 0, written = 0, working_set = 0;  // bytes
  bool forward_computes_gradients = false;
};

// A buffer that host code asked for filled with a value ("zeros_like"): a write of all its bytes.
struct FillRecord {
  std::string call;
  Pass pass = Pass::kForward;
  std::string host_function;  // plain name
  int line = 0;
  double bytes = 0;
};

struct LaunchTrace {
  std::vector<LaunchRecord> launches;
  std::vector<FillRecord> fills;
  std::vector<PassBytes> bytes;
  std::vector<std::string> failures;
  const PassBytes* bytes_of(const std::string& call, Pass pass) const;
};

Result<LaunchTrace> trace_launches(ProcessRunner& runner, const PythonTools& tools, const Side& side,
                                   const std::vector<CapturedCall>& calls);
Json to_json(const LaunchTrace&);
Result<LaunchTrace> launch_trace_from_json(const Json&);

}  // namespace lwb
