#include "core/finalize/pull_request.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <set>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/diff/diff.h"
#include "core/finalize/git_commands.h"

namespace lwb {
namespace {

constexpr int kMostNumbers = 99;  // of branches with one name
constexpr std::size_t kShortCommit = 10;

// Removed with it; in the children's TMPDIR, where they may write.
class ScratchFolder {
 public:
  explicit ScratchFolder(const Environment& environment) {
    std::error_code error;
    const auto tmp = environment.find("TMPDIR");
    const fs::path parent = tmp != environment.end() && !tmp->second.empty()
                                ? fs::path(tmp->second)
                                : fs::temp_directory_path(error);
    std::string name = (parent / "lwb-branch-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }  // empty: it could not be made

 private:
  fs::path path_;
};

std::string file_diff(const std::string& path, const std::string& before, const std::string& after,
                      bool is_new) {
  return unified_diff(before, after, is_new ? "/dev/null" : "a/" + path, "b/" + path);
}

bool is_plain_path(const fs::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  return std::none_of(path.begin(), path.end(),
                      [](const fs::path& part) { return part == ".." || part == "."; });
}

// One file on its way into the commit, in the form in which git stores texts.
struct StoredFile {
  std::string path;
  std::string mode = "100644";
  std::string head_id;  // empty: not in HEAD
  std::string head_text;
  std::string id, text;  // of the commit
  bool own_edits = false;
  std::string own_diff, winner_diff;  // set when they overlap
};

class BranchMaker {
 public:
  BranchMaker(ProcessRunner& runner, const BranchJob& job)
      : job_(job), scratch_(job.environment), git_(runner, job.environment, job.checkout) {}

  Result<BranchResult> run() {
    for (const CommitFile& file : job_.files) {
      result_.patch +=
          file_diff(file.path.generic_string(), file.before, file.after, file.before.empty());
    }
    auto done = make();
    if (!done && !done.error().refused) return tl::unexpected(done.error().error);
    if (!done) result_.sentence = done.error().error.sentence;
    return result_;
  }

 private:
  Step<void> make() {
    using Part = Step<void> (BranchMaker::*)();
    for (const Part part : {&BranchMaker::find_repository, &BranchMaker::find_base,
                            &BranchMaker::merge_files, &BranchMaker::find_identity,
                            &BranchMaker::commit, &BranchMaker::name_it, &BranchMaker::describe}) {
      if (auto done = (this->*part)(); !done) return done;
    }
    return {};
  }

  Step<void> find_repository() {
    if (scratch_.path().empty()) {
      return refuse(
          "No branch was made, as no temporary folder can be made; free disk space or set "
          "TMPDIR.");
    }
    const std::string none = fmt::format(
        "{} is no git repository of its own, so no branch was made; \"git apply\" or \"patch -p1\" "
        "takes the patch.",
        job_.checkout.string());
    std::error_code error;
    if (!fs::exists(job_.checkout / ".git", error)) return refuse(none);
    auto answer =
        git_.text("read the repository", {"rev-parse", "--show-prefix", "--absolute-git-dir"});
    if (!answer) return tl::unexpected(answer.error());
    const auto lines = split_lines(*answer);
    // A prefix: git passed over this .git and found a repository further up.
    if (lines.size() != 2 || !lines[0].empty()) return refuse(none);
    for (const auto& [name, what] :
         {std::pair{"rebase-merge", "a rebase"}, std::pair{"rebase-apply", "a rebase"},
          std::pair{"MERGE_HEAD", "a merge"}, std::pair{"CHERRY_PICK_HEAD", "a cherry-pick"},
          std::pair{"REVERT_HEAD", "a revert"}, std::pair{"BISECT_LOG", "a bisection"}}) {
      if (!fs::exists(fs::path(lines[1]) / name, error)) continue;
      return refuse(
          fmt::format("No branch was made, as {} is in the middle of {}; finish it and "
                      "start again, or apply the patch.",
                      job_.checkout.string(), what));
    }
    return {};
  }

  Step<void> find_base() {
    auto head = git_.run("find HEAD", {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"});
    if (!head) return tl::unexpected(head.error());
    if (!head->ok()) {
      return refuse(fmt::format("No branch was made, as the repository {} has no commit yet.",
                                job_.checkout.string()));
    }
    result_.base = trim(head->out);
    return {};
  }

  Step<void> merge_files() {
    std::string patch;
    std::vector<std::string> overlapping;
    for (const CommitFile& file : job_.files) {
      auto stored = merge(file);
      if (!stored) return tl::unexpected(stored.error());
      if (!stored->winner_diff.empty()) overlapping.push_back(stored->path);
      result_.own_edits += stored->own_diff;
      result_.winner_edits += stored->winner_diff;
      patch += file_diff(stored->path, stored->head_text, stored->text, stored->head_id.empty());
      files_.push_back(std::move(*stored));
    }
    if (!overlapping.empty()) {
      return refuse(
          fmt::format("No branch was made, as your own uncommitted edits of {} overlap the "
                      "winner's changes; commit or undo yours and start again, or take the "
                      "patch, which stands on them.",
                      join(overlapping, ", ")));
    }
    const bool changed = std::any_of(files_.begin(), files_.end(), [](const StoredFile& file) {
      return file.id != file.head_id;
    });
    if (!changed) {
      return refuse("No branch was made, as HEAD holds the winner's changes already.");
    }
    result_.patch = std::move(patch);
    return {};
  }

  Step<StoredFile> merge(const CommitFile& file) {
    StoredFile stored;
    stored.path = file.path.generic_string();
    if (!is_plain_path(file.path)) {
      return refuse(
          fmt::format("No branch was made, as {} is no path below the checkout.", stored.path));
    }
    if (auto found = read_head(stored); !found) return tl::unexpected(found.error());
    auto as_is = stores_as_is(stored);
    if (!as_is) return tl::unexpected(as_is.error());
    auto after = store(file.after, stored.path, *as_is);
    if (!after) return tl::unexpected(after.error());
    if (stored.head_id.empty()) {
      stored.id = *after;
      return with_text(std::move(stored));
    }
    auto before = store(file.before, stored.path, *as_is);
    if (!before) return tl::unexpected(before.error());
    if (*before == stored.head_id) {
      stored.id = *after;
      return with_text(std::move(stored));
    }
    return merge_texts(std::move(stored), *before, *after);
  }

  // Mode, blob and text in HEAD, where it has the file.
  Step<void> read_head(StoredFile& stored) const {
    auto listed = git_.text("read the tree of HEAD",
                            {"ls-tree", "-z", "--full-tree", result_.base, "--", stored.path});
    if (!listed) return tl::unexpected(listed.error());
    if (listed->empty()) {
      std::error_code error;
      const auto permissions = fs::status(job_.checkout / stored.path, error).permissions();
      const bool program = !error && permissions != fs::perms::unknown &&
                           (permissions & fs::perms::owner_exec) != fs::perms::none;
      if (program) stored.mode = "100755";
      return {};
    }
    // "100644 blob ID\tPATH\0"
    const auto words = split(listed->substr(0, listed->find('\t')), ' ');
    if (words.size() != 3 || words[1] != "blob" || !words[0].starts_with("100")) {
      return refuse(
          fmt::format("No branch was made, as {} is no ordinary file in HEAD.", stored.path));
    }
    stored.mode = words[0];
    stored.head_id = words[2];
    auto text = git_.text("read HEAD's " + stored.path, {"cat-file", "blob", stored.head_id});
    if (!text) return tl::unexpected(text.error());
    stored.head_text = std::move(*text);
    return {};
  }

  // Whether git keeps the file's line ends although a setting would convert them: CRLF that is in
  // HEAD already and is checked out as it is (git's own rule; hash-object does not know it).
  Step<bool> stores_as_is(const StoredFile& stored) const {
    if (stored.head_text.find("\r\n") == std::string::npos) return false;
    auto checked_out = git_.text("read HEAD's " + stored.path,
                                 {"cat-file", "--filters", result_.base + ":" + stored.path});
    if (!checked_out) return tl::unexpected(checked_out.error());
    return *checked_out == stored.head_text;
  }

  Step<std::string> store(const std::string& text, const std::string& path, bool as_is) const {
    return git_.word("store " + path,
                     {"hash-object", "-w", "--stdin", as_is ? "--no-filters" : "--path=" + path},
                     text);
  }

  Step<std::string> blob(const std::string& id, const std::string& path) const {
    return git_.text("read back " + path, {"cat-file", "blob", id});
  }

  Step<StoredFile> with_text(StoredFile stored) const {
    auto text = blob(stored.id, stored.path);
    if (!text) return tl::unexpected(text.error());
    stored.text = std::move(*text);
    return stored;
  }

  // HEAD's text with what lies between `before` and `after`.
  Step<StoredFile> merge_texts(StoredFile stored, const std::string& before_id,
                               const std::string& after_id) const {
    auto before = blob(before_id, stored.path);
    if (!before) return tl::unexpected(before.error());
    auto after = blob(after_id, stored.path);
    if (!after) return tl::unexpected(after.error());
    for (const auto& [name, text] : {std::pair{"head", &stored.head_text},
                                     std::pair{"before", &*before}, std::pair{"after", &*after}}) {
      if (auto written = write_file_atomically(scratch_.path() / name, *text); !written) {
        return tl::unexpected<StepEnd>(StepEnd{written.error(), false});
      }
    }
    auto merged = git_.run_on_files("merge " + stored.path, {"merge-file", "-p"}, scratch_.path(),
                                    {"head", "before", "after"});
    if (!merged) return tl::unexpected(merged.error());
    stored.own_edits = true;
    if (merged->end == ProcessEnd::kExited && merged->exit_code > 0 && merged->exit_code < 128) {
      stored.own_diff = file_diff(stored.path, stored.head_text, *before, false);
      stored.winner_diff = file_diff(stored.path, *before, *after, false);
      return stored;
    }
    if (!merged->ok()) {
      return refuse(
          fmt::format("No branch was made, as git cannot merge the winner's changes into "
                      "HEAD's {}: {}.",
                      stored.path, reason_of(*merged)));
    }
    auto id = store(merged->out, stored.path, true);
    if (!id) return tl::unexpected(id.error());
    stored.id = *id;
    stored.text = std::move(merged->out);
    return stored;
  }

  Step<void> find_identity() {
    for (const char* who : {"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"}) {
      auto identity = git_.run("find your name", {"var", who});
      if (!identity) return tl::unexpected(identity.error());
      if (identity->ok()) continue;
      return refuse(
          fmt::format("No branch was made, as git does not know your name and e-mail "
                      "address ({}); set them by \"git config --global user.name\" and "
                      "\"git config --global user.email\" and start again, or apply the "
                      "patch.",
                      reason_of(*identity)));
    }
    return {};
  }

  Step<void> commit() {
    git_.use_index(scratch_.path() / "index");
    if (auto read = git_.text("read HEAD into an index of our own", {"read-tree", result_.base});
        !read) {
      return tl::unexpected(read.error());
    }
    std::vector<std::string> arguments = {"update-index", "--add"};
    for (const StoredFile& file : files_) {
      arguments.insert(arguments.end(),
                       {"--cacheinfo", fmt::format("{},{},{}", file.mode, file.id, file.path)});
    }
    auto added = git_.text("add the winner to an index of our own", std::move(arguments));
    if (!added) return tl::unexpected(added.error());
    // In a partial clone the files beside it may not be there: they are HEAD's, no need to fetch.
    auto tree = git_.word("write the tree", {"write-tree", "--missing-ok"});
    if (!tree) return tl::unexpected(tree.error());
    std::string message = trim(job_.subject) + "\n";
    if (!trim(job_.body).empty()) message += "\n" + trim(job_.body) + "\n";
    auto made = git_.word("write the commit", {"commit-tree", *tree, "-p", result_.base, "-F", "-"},
                          message);
    if (!made) return tl::unexpected(made.error());
    result_.commit = *made;
    return {};
  }

  // The name asked for, with a number where a branch of that name is here or on a remote; flat,
  // where a branch is called as the part before a slash.
  Step<void> name_it() {
    std::string flat = replace_all(job_.branch, "/", "-");
    std::string said;
    for (const std::string& name : {job_.branch, flat}) {
      auto taken = names_like(name);
      if (!taken) return tl::unexpected(taken.error());
      for (int number = 1, failures = 0; number <= kMostNumbers && failures < 2; ++number) {
        const std::string candidate = number == 1 ? name : fmt::format("{}-{}", name, number);
        if (taken->contains(candidate)) continue;
        // The empty old value: only where there is none.
        auto made = git_.run("make the branch", {"update-ref", "-m", "Made by Liger Workbench",
                                                 "refs/heads/" + candidate, result_.commit, ""});
        if (!made) return tl::unexpected(made.error());
        if (made->ok()) {
          result_.branch = candidate;
          result_.made = true;
          return {};
        }
        said = reason_of(*made);
        ++failures;
      }
    }
    return refuse(fmt::format("No branch was made, as git takes neither {} nor {} as its name: {}.",
                              job_.branch, flat, said.empty() ? "all numbers are taken" : said));
  }

  Step<std::set<std::string>> names_like(const std::string& name) const {
    auto refs = git_.text("list the branches",
                          {"for-each-ref", "--format=%(refname)", "refs/heads/" + name + "*",
                           "refs/remotes/*/" + name + "*"});
    if (!refs) return tl::unexpected(refs.error());
    std::set<std::string> names;
    for (const std::string& ref : split_lines(*refs)) {
      const std::size_t at = ref.rfind(name);
      if (at != std::string::npos) names.insert(ref.substr(at));
    }
    return names;
  }

  Step<void> describe() {
    std::vector<std::string> paths, edited, added;
    for (const StoredFile& file : files_) {
      paths.push_back(file.path);
      if (file.own_edits) edited.push_back(file.path);
      if (file.head_id.empty()) added.push_back(file.path);
    }
    result_.sentence = fmt::format(
        "Branch {} holds one commit on {} that changes {}; your index and working tree are as they "
        "were.",
        result_.branch, result_.base.substr(0, kShortCommit), join(paths, ", "));
    if (!edited.empty()) {
      result_.sentence += fmt::format(
          " It leaves out your own uncommitted edits of {}, with which the winner was measured and "
          "tested.",
          join(edited, ", "));
    }
    if (!added.empty()) {
      result_.sentence +=
          fmt::format(" HEAD did not have {}: all of it is in the commit.", join(added, ", "));
    }
    auto patch = git_.run("write the patch", {"-c",
                                              "diff.noprefix=false",
                                              "-c",
                                              "diff.mnemonicPrefix=false",
                                              "format-patch",
                                              "--stdout",
                                              "-1",
                                              "--no-signature",
                                              "--no-attach",
                                              "--no-cover-letter",
                                              "--no-base",
                                              "--no-thread",
                                              "--no-notes",
                                              "--no-color",
                                              "--no-ext-diff",
                                              "--no-textconv",
                                              "--no-renames",
                                              "--binary",
                                              "--src-prefix=a/",
                                              "--dst-prefix=b/",
                                              result_.commit});
    if (!patch) return tl::unexpected(patch.error());
    if (patch->ok() && !patch->out.empty()) result_.patch = std::move(patch->out);
    return {};
  }

  const BranchJob& job_;
  ScratchFolder scratch_;
  Plumbing git_;
  BranchResult result_;
  std::vector<StoredFile> files_;
};

}  // namespace

Json to_json(const BranchResult& result) {
  return {{"made", result.made},           {"branch", result.branch},
          {"commit", result.commit},       {"base", result.base},
          {"patch", result.patch},         {"sentence", result.sentence},
          {"own_edits", result.own_edits}, {"winner_edits", result.winner_edits}};
}

BranchResult branch_result_from_json(const Json& json) {
  BranchResult result;
  result.made = get_bool(json, "made");
  result.branch = get_string(json, "branch");
  result.commit = get_string(json, "commit");
  result.base = get_string(json, "base");
  result.patch = get_string(json, "patch");
  result.sentence = get_string(json, "sentence");
  result.own_edits = get_string(json, "own_edits");
  result.winner_edits = get_string(json, "winner_edits");
  return result;
}

Result<BranchResult> make_branch(ProcessRunner& runner, const BranchJob& job) {
  return BranchMaker(runner, job).run();
}

}  // namespace lwb
