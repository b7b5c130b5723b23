#include "core/run/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/base/files.h"

namespace lwb {

namespace {

// Makes the folder and what is missing above it; adds those to `made`, innermost last.
std::error_code make_folders(const fs::path& folder, std::vector<fs::path>& made) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return {};
  if (folder.has_parent_path() && folder.parent_path() != folder) {
    if (const auto failed = make_folders(folder.parent_path(), made)) return failed;
  }
  if (fs::create_directory(folder, error)) made.push_back(folder);
  return error;
}

Result<void> make_and_probe(const Workspace& workspace, std::vector<fs::path>& made) {
  for (const fs::path& folder : {workspace.root, workspace.benchmarks(), workspace.inbox()}) {
    if (const auto error = make_folders(folder, made)) {
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

}  // namespace

Result<void> create_workspace(const Workspace& workspace) {
  std::vector<fs::path> made;
  auto done = make_and_probe(workspace, made);
  if (done) return done;
  std::error_code ignored;  // nothing of a workspace that cannot be used stays in the checkout
  for (auto folder = made.rbegin(); folder != made.rend(); ++folder) fs::remove(*folder, ignored);
  return done;
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
