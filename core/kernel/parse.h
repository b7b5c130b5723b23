// Parsing: runs lwb_parse.py through the process seam and reads its JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/kernel/source_model.h"
#include "core/process/process.h"

namespace lwb {

// How our scripts are started: the user's Python and where resources/python is.
struct PythonTools {
  std::string python = "python3";
  std::filesystem::path scripts;  // resources/python
  Environment environment;
  std::filesystem::path cwd;
};

// One file with its full model. Kernels of other files that it launches, and launches of its
// kernels in other files, are found in the package: the one that `file` lies in as `module` says,
// or that of the checkout around it (a variant in the workspace). kPreflight when it does not parse
// (with the line) or Python cannot be started; kStopped when cancelled; kInternal when the script
// broke its contract.
Result<SourceModel> parse_source(ProcessRunner& runner, const PythonTools& tools,
                                 const std::filesystem::path& file, const std::string& module);

// Every .py file below src/<package> (a full model where there is Triton code, see
// SourceModel::outline), and the scripts and tests below benchmark/ and test/ as outlines, in one
// child process. Files that do not parse are in `unparsable`. kUsage when there is no such package.
Result<PackageModel> parse_package(ProcessRunner& runner, const PythonTools& tools,
                                   const std::filesystem::path& checkout_root,
                                   const std::string& package);

// The "model" of one event of lwb_parse.py with the file's text; kInternal when they do not fit.
Result<SourceModel> source_model_from_json(const Json& model, std::string text);

}  // namespace lwb
