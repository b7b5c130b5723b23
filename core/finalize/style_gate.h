// The style gate (spec section 6): `make checkstyle` in the sandbox with the winner in place. It
// rewrites files; only the kernel file's result is taken over, the others are put back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/process/process.h"

namespace lwb {

struct StyleJob {
  std::filesystem::path tree;         // the sandbox with the winner in place of the kernel file
  std::filesystem::path kernel_file;  // below `tree`
  Environment environment;            // must find ruff and make in its PATH
};

struct StyleResult {
  enum class State {
    kPassed,      // nothing to say of the kernel file, perhaps after formatting
    kFindings,    // findings in the kernel file that no fix mends
    kNotChecked,  // ruff is missing or refuses the checkout's configuration
  } state = State::kNotChecked;
  bool rewritten = false;             // the text differs from the one that came in
  std::string text;                   // of the kernel file after the gate
  std::vector<std::string> findings;  // of the kernel file: "src/pkg/ops/x.py:12:1: E501 …"
  std::string ruff_version;           // "0.12.0"; empty: no ruff
  std::string sentence;               // for the summary
};
Json to_json(const StyleResult&);
StyleResult style_result_from_json(const Json&);

// Runs `make checkstyle`; where that fails or leaves findings in the kernel file, `ruff check
// --fix` and `ruff format` on it and once more. The verdict is that of ruff on the kernel file, and
// of what else checkstyle says of it. Findings in other files are not the winner's and are only
// counted in the sentence; so is a ruff of another version than the checkout states (it checks all
// the same), and a checkout without a checkstyle that can run (ruff alone then). An Error when the
// seam cannot answer, a file cannot be read or put back, or the run was stopped.
Result<StyleResult> run_style_gate(ProcessRunner& runner, const StyleJob& job);

}  // namespace lwb
