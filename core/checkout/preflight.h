// Pre-flight (spec section 2): all checks run, all results are shown, a failed one stops the run.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/checkout/checkout.h"
#include "core/checkout/sandbox.h"
#include "core/device/gpu.h"
#include "core/kernel/parse.h"
#include "core/process/process.h"
#include "core/request/request.h"

namespace lwb {

struct Check {
  enum State { kOk, kFailed, kWarning, kInfo };
  std::string id, title;
  State state = kInfo;
  std::string sentence;  // what was found
  std::string fix;       // what to do, for a check that is not ok
  std::string details;   // a traceback or an excerpt
};

struct Preflight {
  std::vector<Check> checks;
  Gpu gpu;
  // Modules that the import of the op brings with it, without the package's own (not in json()).
  std::vector<std::string> imports;
  bool passed() const;
  Json json() const;
};

// `kernel` may be null (doctor): then the checks that need one are left out. Children run in the
// sandbox's tree. An Error only when the seam cannot answer or the run was stopped.
Result<Preflight> run_preflight(ProcessRunner& runner, const PythonTools& tools,
                                const Checkout& checkout, const KernelEntry* kernel,
                                const Request& request, const Sandbox& sandbox);

}  // namespace lwb
