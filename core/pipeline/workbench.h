// What every command needs before it can do anything: the checkout, its parsed package, Python, the
// process seam (real, recording or replaying) and a sandbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/checkout/checkout.h"
#include "core/checkout/sandbox.h"
#include "core/kernel/parse.h"
#include "core/measure/capture.h"
#include "core/pipeline/listener.h"
#include "core/pipeline/run_options.h"
#include "core/process/process.h"
#include "core/run/journaling_runner.h"
#include "core/run/lock.h"

namespace lwb {

struct Workbench {
  Checkout checkout;
  PackageModel model;
  std::vector<KernelEntry> kernels;
  PythonTools tools;
  std::filesystem::path area;  // where sandboxes are made
  std::unique_ptr<SystemRunner> system;
  std::unique_ptr<ProcessRunner> recorded;   // recorder or replay, when asked for
  std::unique_ptr<JournalingRunner> runner;  // what everything is started by
  bool real_programs = true;                 // neither a replay nor a test's seam
  std::vector<Lock> locks;                   // held until the command ends

  std::vector<std::string> kernel_names() const;
};

// Opens the checkout and parses its package (one child). Nothing is written into the checkout.
Result<std::unique_ptr<Workbench>> open_workbench(const RunOptions& options,
                                                  const CancelToken& cancel);

// One run at a time on one checkout, whatever its kernel and work area (spec section 9): waits
// until nobody else runs there. Held by `bench`; `listener` is told for whom it waits. When the
// kernel file is no longer what was parsed (the run that was waited for has written its winner),
// the package is parsed again.
Result<void> lock_checkout(Workbench& bench, const std::string& kernel, const CancelToken& cancel,
                           const Listener& listener);

// A sandbox for `purpose` ("rms_norm", "measure-rms_norm"): a name, not a date, so that recordings
// match. From then on the children import from it. A second command that wants the same one waits:
// the lock is held by `bench`, and `listener` is told for whom.
Result<Sandbox> make_sandbox(Workbench& bench, const std::string& purpose,
                             const CancelToken& cancel, const Listener& listener);

// Removes the sandbox when a command ends, however it ends. A killed one is replaced by the next.
struct SandboxRemover {
  const Sandbox& sandbox;
  ~SandboxRemover() { sandbox.remove(); }
};

// Waits until nobody else measures on the GPU that the children will see (spec section 9). Nothing
// to wait for in a replay, or where no driver answers: what needs a GPU will say so.
Result<void> lock_gpu(Workbench& bench, const std::string& kernel, const CancelToken& cancel,
                      const Listener& listener);

// From now on our scripts are run by a Python that has `modules` imported already (what the import
// of the package brings with it); nothing in a replay.
void keep_python_warm(Workbench& bench, const std::vector<std::string>& modules);

Side side_of(const PackageSide& side);

// The request's calls file; an empty one without. kUsage when it is malformed or written for
// another kernel, so read it before anything costly is started.
Result<CallsFile> calls_by_hand(const Request& request, const Checkout& checkout,
                                const KernelEntry& kernel);

// The cells: captured from the stock script by `original`, then those by hand. kUsage when one of
// these has the id of a captured call and is another call.
Result<CaptureResult> capture_cells(Workbench& bench, const Sandbox& sandbox, const Side& original,
                                    const KernelEntry& kernel, const Request& request,
                                    std::vector<CapturedCall> by_hand);

}  // namespace lwb
