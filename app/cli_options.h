// The command line of `lwb`.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/pipeline/run_options.h"

namespace lwb {

enum class Command { kDoctor, kKernels, kRun, kProfile, kOptimize, kFinalize, kMeasure, kOffer, kShow };

struct CommandLine {
  Command command = Command::kKernels;
  RunOptions run;
  std::string variant_file, against_file;  // measure; the first also offer
  std::string title, based_on;             // offer
  int repeat = 1;  // measure
  bool json = false;
};

// What the command line asks for. `exit_now`: help or version was printed, or it is malformed: leave
// with `exit_code` (0 or 2); everything to print was printed.
struct ParsedCommandLine {
  CommandLine line;
  bool exit_now = false;
  int exit_code = 0;
};
ParsedCommandLine parse_command_line(int argc, char** argv);

}  // namespace lwb
