// What the compiler makes of a side's kernels for architectures that are not in the machine
// (lwb_compile.py; no GPU needed).
#pragma once

#include <string>
#include <vector>

#include "core/kernel/parse.h"
#include "core/measure/op_time.h"
#include "core/profile/launch_trace.h"

namespace lwb {

struct CompiledLaunch {
  std::string kernel, call;
  Pass pass = Pass::kForward;
  int capability = 0;  // 80: SM 8.0
  bool ok = false;
  int registers = -1, spills = -1;  // -1: not known (no cuobjdump)
  long long shared_bytes = -1;
  std::string message;  // why it does not compile
};

// One entry for each distinct launch of the trace and each capability, with the settings that the
// launch had (a settings function gives none for an architecture that it was not measured on).
Result<std::vector<CompiledLaunch>> compile_for(ProcessRunner& runner, const PythonTools& tools,
                                                const Side& side, const LaunchTrace& trace,
                                                const std::vector<int>& capabilities);

// "sm_80: _k (backward of T=2048): 113 registers, 0 spills, 8.19 kB shared memory"
std::string describe(const CompiledLaunch& launch);

}  // namespace lwb
