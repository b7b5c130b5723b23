// Pull request (spec section 6): a branch and a commit made by plumbing, without touching the user's
// index, working tree, HEAD or stash; text from the checkout's own template; pushed and opened with
// gh only after approval.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/process/process.h"

namespace lwb {

struct CommitFile {
  std::filesystem::path path;  // relative to the root of the checkout
  std::string before;          // the text that the run started from (with the user's own edits, if any)
  std::string after;           // the winner's
};

struct BranchJob {
  std::filesystem::path checkout;
  Environment environment;  // of git
  std::string branch;       // "liger-workbench/rms_norm-v2"; a number is added where it exists
  std::string subject, body;  // of the commit
  std::vector<CommitFile> files;
};

struct BranchResult {
  bool made = false;
  std::string branch, commit, base;  // base: the commit it stands on
  std::string patch;                 // `git format-patch` text; without git a unified diff
  std::string sentence;              // what was made, or why not and what to do
  // The user's own uncommitted edits overlap the winner's changes: both, for the dialog.
  std::string own_edits, winner_edits;
};
Json to_json(const BranchResult&);
BranchResult branch_result_from_json(const Json&);

// The commit holds HEAD's text with the winner's changes alone: `after` - `before` merged onto
// HEAD's text (git merge-file); an overlap with the user's own edits makes no branch and fills
// own_edits and winner_edits. Works with a detached HEAD, in a worktree, with a sparse index and
// with hooks and signing switched on (neither is run); without a repository (or one that is not the
// checkout's own, see exclude_workspace) `made` is false and `patch` is the diff. Author and
// committer are the user's own as git knows them; where git knows none, the sentence says so and
// `made` is false. The index, working tree, HEAD, stash and configuration are as before.
Result<BranchResult> make_branch(ProcessRunner& runner, const BranchJob& job);

// The text from .github/pull_request_template.md (any of the places where GitHub looks for it) with
// `summary` under its Summary heading, `testing` under Testing Done, the hardware line filled, and
// just those boxes ticked whose command is in `really_run` ("make checkstyle"). Comments of the
// template are dropped. Without a template: the same sections.
std::string pull_request_text(const std::string& template_text, const std::string& summary,
                              const std::string& details, const std::string& testing,
                              const std::string& hardware,
                              const std::vector<std::string>& really_run);
// "" when the checkout has none.
std::string find_pull_request_template(const std::filesystem::path& checkout);

// The commands that send the branch and open the request, for a person to run (quoted for a shell).
std::vector<std::string> send_commands(const std::filesystem::path& checkout, const std::string& branch,
                                       const std::string& title, const std::filesystem::path& text_file);

struct SendResult {
  bool sent = false;
  std::string url;
  std::string sentence;  // what happened; when not sent: why and the commands that are left to run
};
Json to_json(const SendResult&);

// Pushes the branch (never with --force) to the remote that `gh` would use (the branch's fork: the
// only remote, else "origin") and opens the request. A missing or logged-out gh, a refused push and
// no remote are sentences.
Result<SendResult> send_pull_request(ProcessRunner& runner, const Environment& environment,
                                     const std::filesystem::path& checkout,
                                     const BranchResult& branch, const std::string& title,
                                     const std::filesystem::path& text_file);

}  // namespace lwb
