// The cells of a run, before anything of it is written: captured, or taken from the journal that
// the run goes on with. A scope or target that no cell meets stops here and leaves no trace.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/measure/capture.h"
#include "core/optimize/guardrails.h"
#include "core/pipeline/workbench.h"
#include "core/run/session.h"

namespace lwb {

struct Cells {
  CaptureResult captured;
  std::vector<CapturedCall> calls;    // those that can be replayed
  ScopedCalls scope;                  // empty: all of them
  std::chrono::milliseconds wall{0};  // that capturing took; 0 where it was taken from a journal
};

struct CellInputs {
  Workbench& bench;
  const Sandbox& sandbox;
  const Side& original;
  const KernelEntry& kernel;
  const Request& request;
  std::string environment_key;
  Result<CallsFile> by_hand;  // an error counts where the cells have to be captured
};

// The key of a step of the profile.
Step profile_step(const std::string& name, std::vector<std::string> parts,
                  const std::string& environment_key, const std::string& original_sha256,
                  const Request& request);
Step capture_step(const std::string& environment_key, const std::string& original_sha256,
                  const Request& request);

// `earlier`: the events of the run that is gone on with, if any. kUsage with the available values
// when the scope or the target names no cell, kPreflight when no call can be replayed.
Result<Cells> find_cells(const CellInputs& inputs, const std::vector<Event>& earlier);

}  // namespace lwb
