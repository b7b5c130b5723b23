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

Result<SourceModel> parse_source(ProcessRunner& runner, const PythonTools& tools,
                                 const std::filesystem::path& file, const std::string& module);

// Every .py file below src/<package>, and the benchmark scripts and tests as far as they import it.
Result<PackageModel> parse_package(ProcessRunner& runner, const PythonTools& tools,
                                   const std::filesystem::path& checkout_root,
                                   const std::string& package);

Result<SourceModel> source_model_from_json(const Json& model, std::string text);

}  // namespace lwb
