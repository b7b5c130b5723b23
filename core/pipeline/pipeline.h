// A run, from options to outcome: opens the checkout, takes the locks, walks through the stages and
// journals everything. The only room that knows all the others.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/checkout/checkout.h"
#include "core/checkout/preflight.h"
#include "core/measure/op_time.h"
#include "core/pipeline/earlier_run.h"
#include "core/pipeline/listener.h"
#include "core/pipeline/run_options.h"
#include "core/process/process.h"
#include "core/run/lock.h"
#include "core/run/session.h"

namespace lwb {

struct RunOutcome {
  // PROFILED, NO_HEADROOM, NO_WINNER, WINNER, DECLINED, APPLIED, NOT_APPLIED, REVERTED
  std::string outcome;
  std::string sentence;
  int exit_code = 0;
  Json state;                     // the fold of the journal
  Json summary = Json::object();  // before and after, where a winner went through the gates
};

Result<RunOutcome> run_pipeline(const RunOptions& options, LastStage last,
                                const CancelToken& cancel, const Listener& listener);

// Lays `file` into the inbox of the kernel's run, which makes it its next variant. kUsage where the
// run takes none (offer_problem()) or `based_on` is no variant of it.
Result<void> offer_file(const RunOptions& options, const std::string& file,
                        const std::string& title, const std::string& based_on);

// The living process that runs, or waits to run, this kernel of the checkout; nothing when there is
// none. `work_area` as in RunOptions.
std::optional<LockOwner> run_in_progress(const std::filesystem::path& checkout,
                                         const std::string& kernel,
                                         const std::string& work_area = {});

// `lwb kernels`, `lwb doctor`.
Result<std::vector<KernelEntry>> kernels_of(const RunOptions& options, const CancelToken& cancel);
Result<Preflight> doctor(const RunOptions& options, const CancelToken& cancel,
                         const Listener& listener);

// `lwb measure`: A/B of two kernel files at the cells of the request.
struct FileComparison {
  std::vector<CellVerdict> verdicts;
  Measurement measurement;
  Json json() const;
};
// One comparison for each of `repeat` measurements, each in fresh processes with data of its own:
// how well verdicts repeat.
Result<std::vector<FileComparison>> measure_files(const RunOptions& options,
                                                  const std::string& variant_file,
                                                  const std::string& against_file, int repeat,
                                                  const CancelToken& cancel,
                                                  const Listener& listener);

}  // namespace lwb
