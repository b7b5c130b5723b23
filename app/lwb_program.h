// The terminal program: everything of `lwb` but main().
#pragma once

#include "core/process/process.h"

namespace lwb {

// Cancelled by Ctrl-C and SIGTERM.
CancelToken& interrupts();

// What `lwb` does with this command line, and its exit code. `seam` (tests) starts every program
// instead of the system's runner; not owned.
int run_lwb(int argc, char** argv, ProcessRunner* seam = nullptr);

}  // namespace lwb
