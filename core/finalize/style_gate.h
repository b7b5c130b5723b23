// The style gate (spec section 6): `make checkstyle` in the sandbox with the winner in place. It
// rewrites files; only the kernel file's result is taken over.
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
    kNotChecked,  // ruff or make is missing, or ruff is not the version that the checkout asks for
  } state = State::kNotChecked;
  bool rewritten = false;             // the text differs from the one that came in
  std::string text;                   // of the kernel file after the gate
  std::vector<std::string> findings;  // of the kernel file: "rms_norm.py:12:1: E501 …"
  std::string ruff_version;           // "0.12.0"; empty: no ruff
  std::string sentence;               // for the summary
};
Json to_json(const StyleResult&);
StyleResult style_result_from_json(const Json&);

// Runs `make checkstyle`; where that fails because of the kernel file, `ruff check --fix` and `ruff
// format` on it and once more. Findings in other files are not the winner's and are only counted in
// the sentence. An Error when the seam cannot answer or a file cannot be read.
Result<StyleResult> run_style_gate(ProcessRunner& runner, const StyleJob& job);

}  // namespace lwb
