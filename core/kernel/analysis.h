// What the source model tells a person and the profile: tier, configuration, memory and compute
// patterns (spec section 4). Facts about structure; no times here.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/source_model.h"

namespace lwb {

enum class Tier { kElementwise = 1, kReduction = 2, kFusedOrMultiPass = 3 };
std::string to_string(Tier);

// How one launch gets its settings.
struct LaunchConfiguration {
  std::string kernel;
  std::string host_function;
  int line = 0;
  std::string grid;          // as written
  std::string block_source;  // "calculate_settings(n_cols)", "constant 16", "autotune", "argument
                             // default 4096"
  std::string warps_source;
  std::string stages_source;     // "Triton's default (3)"; "moot: no loop" when it cannot matter
  bool persistent_grid = false;  // grid counts multiprocessors
};

struct Finding {
  std::string category;  // "memory", "compute", "parallelism", "host"
  std::string message;
  std::string file;
  int line = 0;
};

struct KernelAnalysis {
  std::string kernel;
  Tier tier = Tier::kElementwise;
  int loops = 0, reductions = 0, dots = 0, atomics = 0, loads = 0, stores = 0;
};

struct SourceAnalysis {
  Tier tier = Tier::kElementwise;  // the highest of its kernels
  std::vector<KernelAnalysis> kernels;
  std::vector<LaunchConfiguration> launches;
  std::vector<Finding> patterns;  // what it does: in place, saved, recomputed, casts, modifiers
  std::vector<Finding> opportunities;  // where something may be gained
  std::vector<Finding>
      warnings;  // program_id times stride without int64, autotune without reset, …
};

SourceAnalysis analyse(const SourceModel& model);

}  // namespace lwb
