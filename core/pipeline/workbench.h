// What every command needs before it can do anything: the checkout, its parsed package, Python, the
// process seam (real, recording or replaying) and a sandbox.
#pragma once

#include <memory>
#include <string>

#include "core/checkout/checkout.h"
#include "core/checkout/sandbox.h"
#include "core/kernel/parse.h"
#include "core/measure/capture.h"
#include "core/pipeline/run_options.h"
#include "core/process/process.h"
#include "core/run/journaling_runner.h"

namespace lwb {

struct Workbench {
  Checkout checkout;
  PackageModel model;
  std::vector<KernelEntry> kernels;
  PythonTools tools;
  std::filesystem::path area;  // where sandboxes are made
  std::unique_ptr<SystemRunner> system;
  std::unique_ptr<ProcessRunner> recorded;  // recorder or replay, when asked for
  std::unique_ptr<JournalingRunner> runner;  // what everything is started by

  std::vector<std::string> kernel_names() const;
};

// Opens the checkout and parses its package (one child). Nothing is written into the checkout.
Result<std::unique_ptr<Workbench>> open_workbench(const RunOptions& options,
                                                  const CancelToken& cancel);

// A sandbox for `purpose` ("rms_norm", "measure-rms_norm"): a name, not a date, so that recordings match.
// From then on the children import from the sandbox.
Result<Sandbox> make_sandbox(Workbench& bench, const std::string& purpose);

Side side_of(const PackageSide& side);

// The cells: captured from the stock script by `original`, plus those of the request's calls file.
Result<CaptureResult> capture_cells(Workbench& bench, const Sandbox& sandbox, const Side& original,
                                    const KernelEntry& kernel, const Request& request);

}  // namespace lwb
