// Pull request (spec section 6): a branch and a commit made by plumbing, without touching the
// user's index, working tree, HEAD or stash; text from the checkout's own template; pushed and
// opened with gh only after approval.
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
  std::string before;  // the text that the run started from (with the user's own edits, if any)
  std::string after;   // the winner's
};

struct BranchJob {
  std::filesystem::path checkout;
  Environment environment;    // of git
  std::string branch;         // "liger-workbench/rms_norm-v2"; a number is added where it exists
  std::string subject, body;  // of the commit
  std::vector<CommitFile> files;
};

struct BranchResult {
  bool made = false;
  std::string branch, commit, base;  // base: the commit it stands on
  std::string patch;                 // `git format-patch` text; without git a unified diff
  std::string sentence;              // what was made, or why not and what to do
  // The user's own uncommitted edits overlap the winner's changes: both as unified diffs, the one
  // on HEAD's text, the other on the text with those edits, for the dialog.
  std::string own_edits, winner_edits;
};
Json to_json(const BranchResult&);
BranchResult branch_result_from_json(const Json&);

// The commit holds HEAD's text with the winner's changes alone: `after` - `before` merged onto
// HEAD's text (git merge-file) in the form in which git stores them (line ends, filters); an
// overlap with the user's own edits makes no branch and fills own_edits and winner_edits. A file
// that HEAD does not have goes in as a whole. Works with a detached HEAD, in a worktree, with a
// sparse index and with hooks and signing switched on (neither is run); without a repository (or
// one that is not the checkout's own, see exclude_workspace) and in the middle of a merge, rebase,
// cherry-pick, revert or bisect `made` is false and `patch` is the diff. Author and committer are
// the user's own as git knows them, never guessed from the host's name; where git knows none, the
// sentence says so and `made` is false. The index, working tree, HEAD, stash and configuration are
// as before.
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

// Where a branch is pushed to and a request is opened.
struct SendTarget {
  std::string remote = "origin";  // "": there is none
  std::string owner;              // of the fork that the remote is; "": its address does not say
  std::string repository;         // "owner/name", likewise
};

// The repository's remote.pushDefault, else its only remote, else "origin".
Result<SendTarget> find_send_target(ProcessRunner& runner, const Environment& environment,
                                    const std::filesystem::path& checkout);
// Of an address as git takes it: https, ssh, git, or host:owner/name; "" for a path.
std::string repository_of_address(const std::string& address);

// The commands that send the branch and open the request, for a person to run (quoted for a shell).
std::vector<std::string> send_commands(const std::filesystem::path& checkout,
                                       const std::string& branch, const std::string& title,
                                       const std::filesystem::path& text_file,
                                       const SendTarget& target = {});

struct SendResult {
  bool sent = false;
  std::string url;
  std::string sentence;  // what happened; when not sent: why and the commands that are left to run
  std::vector<std::string> left;  // those commands, for copying
};
Json to_json(const SendResult&);

// Pushes the branch (never with --force) to the remote that find_send_target() names and opens the
// request, in the repository that this one is a fork of, or where `gh repo set-default` says. A
// missing or logged-out gh (nothing is pushed then), a refused push and no remote are sentences.
Result<SendResult> send_pull_request(ProcessRunner& runner, const Environment& environment,
                                     const std::filesystem::path& checkout,
                                     const BranchResult& branch, const std::string& title,
                                     const std::filesystem::path& text_file);

}  // namespace lwb
