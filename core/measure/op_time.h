// Op time: samples of one measurement round, and how a measurement is run (spec section 7).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/kernel/parse.h"
#include "core/measure/calls.h"
#include "core/measure/statistics.h"
#include "core/process/process.h"
#include "core/request/request.h"

namespace lwb {

// One copy of the package that takes part (resources/python/README.md "Side").
struct Side {
  std::string name;  // "v0", "v3"
  std::filesystem::path src;
  std::string module;
  std::filesystem::path file;
  std::string sha256;
};
Json to_json(const Side& side);
Side side_from_json(const Json& json);

// Samples of one call, pass and side in one round (one process).
struct SampleBatch {
  std::string call;
  Pass pass = Pass::kForward;
  std::string side;
  int round = 0;
  std::vector<double> us;
  std::vector<double> sm_mhz;
  std::vector<double> wall_us;
  bool held = true;  // launch cost was hidden
  std::string clock =
      "events";             // "events", "kernels" (summed kernel time), "host" (CPU, never judged)
  bool interleaved = true;  // false: the side had a process of its own
};

struct MemoryPeak {
  std::string call;
  std::string side;
  double peak_bytes = 0;
};

struct MeasureOptions {
  std::vector<Pass> passes{Pass::kForward, Pass::kBackward};
  int rounds = 3;    // fresh processes
  int samples = 20;  // per side, call, pass and round
  // GPU seconds, 0: no bound. Shared out evenly over rounds and extra rounds beforehand, so that
  // the jobs do not depend on how long earlier ones took (a recording is matched by content).
  double budget_s = 0;
  bool memory = true;
  std::vector<long long> copy_sizes;
  std::uint64_t seed = 1;
  // Cells that are UNCERTAIN between the first side and another get up to so many rounds more (just
  // those calls).
  int extra_rounds = 2;
};

// The rule that measure() decides by whether a cell needs another round, and the one to judge its
// result with: each look has its share of the error.
VerdictRule rule_for(const MeasureOptions& options, VerdictRule rule = {});

struct Measurement {
  std::vector<SampleBatch> batches;
  std::vector<MemoryPeak> memory;
  struct CopyRate {
    double bytes;
    std::vector<double> us;
  };
  std::vector<CopyRate> copy_rates;
  struct Failure {
    std::string call, pass, side, kind, message;
  };
  std::vector<Failure> failures;
  std::vector<std::string> not_measured;  // "call pass: reason"
  std::vector<std::string> notes;         // throttling, foreign processes, …
  double gpu_seconds = 0;                 // wall time of the measuring children
  std::string recorded_on;
  int looks = 1;  // how often cells were judged while rounds were added
};

// Runs the rounds; an Error when the sides do not import as they should (path or hash differs) or
// the machine cannot measure (no GPU, no torch). A call that fails or kills its process is listed
// and left out, the others go on. A round during which a foreign process came to the GPU is void
// and taken once more. Where two sides cannot live in one process, each gets its own (A, B, B, A,
// …). `on_batch` gets the batches of each round that counts, when it has ended (journal, live
// charts).
Result<Measurement> measure(ProcessRunner& runner, const PythonTools& tools,
                            const std::vector<Side>& sides, const std::vector<CapturedCall>& calls,
                            const MeasureOptions& options,
                            const std::function<void(const SampleBatch&)>& on_batch = {});

Json to_json(const SampleBatch& batch);
SampleBatch sample_batch_from_json(const Json&);

// One row of a comparison: old over new for one call and pass.
struct CellVerdict {
  std::string call;
  Pass pass = Pass::kForward;
  RatioEstimate ratio;  // old over new: above 1 is a gain
  Verdict verdict;
  double old_us = 0, new_us = 0;  // medians
  double old_wall_us = 0, new_wall_us = 0;
  std::string clock;
  bool launch_bound = false;  // GPU time under half of wall time
};

// Verdicts of `new_side` against `old_side` for every call and pass that both have, in the order in
// which they were measured. `rule.looks` is taken from the measurement where that had more. What
// was timed on the CPU ("host") or with a clock of its own for each side is UNCERTAIN.
std::vector<CellVerdict> compare_sides(const Measurement& measurement, const std::string& old_side,
                                       const std::string& new_side,
                                       const VerdictRule& rule = VerdictRule());
Json to_json(const CellVerdict& verdict);
CellVerdict cell_verdict_from_json(const Json&);

}  // namespace lwb
