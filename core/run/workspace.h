// The workspace of one kernel, `optimization/<kernel>/` in the checkout (spec section 3): where each
// file of a run is, and keeping an earlier run when a new one starts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lwb {

struct Workspace {
  std::filesystem::path root;  // …/optimization/<kernel>
  std::string kernel;

  std::filesystem::path journal() const { return root / "journal.jsonl"; }
  std::filesystem::path original() const { return root / ("original_" + kernel + ".py"); }
  std::filesystem::path calls() const { return root / "calls.json"; }
  std::filesystem::path variant(int number) const {
    return root / (kernel + "_v" + std::to_string(number) + ".py");
  }
  std::filesystem::path notes(int number) const {
    return root / (kernel + "_v" + std::to_string(number) + "_notes.md");
  }
  std::filesystem::path benchmarks() const { return root / "benchmarks"; }
  // v0_baseline.csv, vN_results.csv
  std::filesystem::path stock_csv(int number) const {
    return benchmarks() / (number == 0 ? std::string("v0_baseline.csv")
                                       : "v" + std::to_string(number) + "_results.csv");
  }
  std::filesystem::path inbox() const { return root / "inbox"; }
  std::filesystem::path runs() const { return root / "runs"; }
};

// Makes the folders. kPreflight when the place cannot be written (read-only or full disk); the
// folders that were made for it are gone again then.
Result<void> create_workspace(const Workspace& workspace);

// Moves everything of the earlier run into runs/NNN (the next free number) and returns that folder.
Result<std::filesystem::path> archive_run(const Workspace& workspace);

// Folders of archived runs, oldest first.
std::vector<std::filesystem::path> archived_runs(const Workspace& workspace);

}  // namespace lwb
