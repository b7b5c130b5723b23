#include "core/run/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/base/files.h"

namespace lwb {

Result<void> create_workspace(const Workspace& workspace) {
  for (const fs::path& folder : {workspace.root, workspace.benchmarks(), workspace.inbox()}) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("The workspace folder {} cannot be created ({}); make the checkout "
                              "writable or free disk space.",
                              folder.string(), error.message()));
    }
  }
  // A folder that exists may still refuse files: find out now, not in the middle of the run.
  const fs::path probe = workspace.root / ".write-probe";
  if (auto written = write_file_atomically(probe, "probe\n"); !written) {
    return fail(ErrorKind::kPreflight,
                fmt::format("Nothing can be written into {}; make it writable or free disk space.",
                            workspace.root.string()),
                written.error().sentence);
  }
  std::error_code ignored;
  fs::remove(probe, ignored);
  return {};
}

std::vector<fs::path> archived_runs(const Workspace& workspace) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(workspace.runs(), error)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Result<fs::path> archive_run(const Workspace& workspace) {
  int number = 1;
  for (const fs::path& folder : archived_runs(workspace)) {
    number = std::max(number, std::atoi(folder.filename().c_str()) + 1);
  }
  const fs::path target = workspace.runs() / fmt::format("{:03}", number);
  std::error_code error;
  fs::create_directories(target, error);
  // The journal goes last: as long as it stands in its place the run is still this one.
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(workspace.root, error)) {
    if (entry.path() != workspace.runs() && entry.path() != workspace.journal()) {
      entries.push_back(entry.path());
    }
  }
  if (fs::exists(workspace.journal())) entries.push_back(workspace.journal());
  for (const fs::path& entry : entries) {
    fs::rename(entry, target / entry.filename(), error);
    if (error) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("The earlier run in {} cannot be archived to {} ({}); move it away "
                              "by hand and start again.",
                              workspace.root.string(), target.string(), error.message()));
    }
  }
  return target;
}

}  // namespace lwb
