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
  std::string gpu_uuid;                  // CUDA_VISIBLE_DEVICES; empty: the user's own, if any
};

// From the caller's own environment keeps PATH, HOME, LANG, LC_*, USER, LOGNAME, SHELL, TERM, TZ,
// proxies, certificates, CUDA_HOME, CUDA_PATH, LD_LIBRARY_PATH, HF_*, VIRTUAL_ENV, CONDA_*, CC,
// CXX, TRITON_INTERPRET, LWB_TEST_*, and what git and gh log in with; of PATH and LD_LIBRARY_PATH
// the parts inside an AppImage are left out. Drops everything else: PYTHONHOME, PYTHONSAFEPATH,
// QT_*, LIGER_KERNEL_IMPL*, CUDA_INJECTION64_PATH, profilers' variables (field-notes C15, C24, I6).
// Sets LIGER_KERNEL_BACKEND=nvidia-triton, which forces Triton (part 3, R2), PYTHONUNBUFFERED,
// PYTHONDONTWRITEBYTECODE, PYTHONIOENCODING=utf-8, PYTHONFAULTHANDLER, MPLBACKEND=Agg,
// CUDA_DEVICE_ORDER=PCI_BUS_ID, GH_PROMPT_DISABLED, GIT_TERMINAL_PROMPT=0, HF_HUB_OFFLINE=1, and
// from the facts PYTHONPATH, TRITON_CACHE_DIR, TMPDIR, CUDA_VISIBLE_DEVICES.
// TRITON_STORE_BINARY_ONLY is left unset: the compiled kernels' texts are read for registers.
Environment child_environment(const ChildEnvironmentFacts& facts, const Environment& own);

// This process's environment as a map.
Environment own_environment();

}  // namespace lwb
