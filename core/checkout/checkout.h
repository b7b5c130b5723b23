// The Liger checkout: where things are in it, and which of its op files can be optimized.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/kernel/source_model.h"

namespace lwb {

// Paths in one checkout. Found, not assumed: the package is the folder below src/ that has ops/.
struct Checkout {
  std::filesystem::path root;
  std::string package = "liger_kernel";
  std::string version;  // from pyproject.toml, "" when not stated

  std::filesystem::path src() const { return root / "src"; }
  std::filesystem::path ops() const { return src() / package / "ops"; }
  std::filesystem::path op_file(const std::string& kernel) const { return ops() / (kernel + ".py"); }
  // Relative to the root: "src/liger_kernel/ops/rms_norm.py".
  std::filesystem::path op_relative(const std::string& kernel) const;
  std::string op_module(const std::string& kernel) const { return package + ".ops." + kernel; }
  std::filesystem::path workspace(const std::string& kernel) const {
    return root / "optimization" / kernel;
  }
};

// kUsage when `root` is not a checkout; the sentence says what is missing.
Result<Checkout> open_checkout(const std::filesystem::path& root);

// One row of `lwb kernels`.
struct KernelEntry {
  std::string name;
  bool ready = false;
  std::string reason;  // why not, and which file holds the kernel; empty when ready
  std::vector<std::string> jit_kernels;
  std::vector<std::string> autograd_functions;
  std::filesystem::path script;             // the script that measures this op; empty: none
  std::vector<std::filesystem::path> tests;  // that test it, test/transformers first
  std::vector<std::string> dependants;      // ops that import from this file (field-notes I13)
  std::vector<std::string> foreign_launches;  // "file:line" of launches in other files (R3b)
  bool autotuned = false;
};

// Every op file. `model` is the parsed package (see core/kernel/parse.h). Scripts and tests are
// found by what they import and name, not by the file name alone (field-notes I1).
std::vector<KernelEntry> list_kernels(const Checkout& checkout, const PackageModel& model);

// The entry for `kernel`; kUsage with the nearest names when there is no such op file.
Result<KernelEntry> find_kernel(const std::vector<KernelEntry>& kernels, const std::string& kernel);

}  // namespace lwb
