// The environment of every child: built explicitly from what it needs, never inherited whole.
#pragma once

#include <string>
#include <vector>

#include "core/process/process.h"

namespace lwb {

// What the children of one run share.
struct ChildEnvironmentFacts {
  std::vector<std::string> python_path;  // first: the sandbox's src
  std::string triton_cache;              // a folder of ours, ASCII, removed at the end
  std::string tmp;                       // private TMPDIR
  std::string gpu_uuid;                  // CUDA_VISIBLE_DEVICES; empty: not set
};

// From the caller's own environment keeps PATH, HOME, LANG, LC_*, USER, LOGNAME, TERM, TZ, proxies,
// CUDA_HOME/CUDA_PATH, LD_LIBRARY_PATH (unless it is an AppImage's), HF_*, VIRTUAL_ENV, CONDA_*,
// CC/CXX, TRITON_INTERPRET, LWB_TEST_*. Drops PYTHONHOME, PYTHONSAFEPATH, QT_*, LIGER_KERNEL_IMPL*, CUDA_INJECTION64_PATH, profilers' variables
// (field-notes C15, C24, I6). Sets LIGER_KERNEL_BACKEND=nvidia-triton and what else forces Triton (part 3,
// R2), PYTHONUNBUFFERED, PYTHONDONTWRITEBYTECODE, MPLBACKEND=Agg, CUDA_DEVICE_ORDER=PCI_BUS_ID, GH_PROMPT_DISABLED,
// GIT_TERMINAL_PROMPT=0, HF_HUB_OFFLINE=1, TRITON_CACHE_DIR, TRITON_STORE_BINARY_ONLY is left unset.
Environment child_environment(const ChildEnvironmentFacts& facts, const Environment& own);

// This process's environment as a map.
Environment own_environment();

}  // namespace lwb
