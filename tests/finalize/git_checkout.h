// A checkout under git in a temporary folder, with a bare repository as its remote, made by real
// git with a configuration of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/finalize/pull_request.h"
#include "core/process/child_environment.h"

namespace lwb::test {

inline const char* kKernel = "src/pack/ops/scaled.py";

// Twelve lines; `edit` changes single ones.
inline std::string kernel_text(const std::map<int, std::string>& edit = {}) {
  std::string text;
  for (int line = 1; line <= 12; ++line) {
    const auto changed = edit.find(line);
    text += (changed == edit.end() ? "line " + std::to_string(line) : changed->second) + "\n";
  }
  return text;
}

class GitCheckout : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lwb-git-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    top_ = fs::canonical(name);
    root_ = top_ / "a checkout";
    fs::create_directories(top_ / "home");
    fs::create_directories(top_ / "tmp");
    fs::create_directories(top_ / "bin");
    environment_ = child_environment({}, own_environment());
    environment_["HOME"] = (top_ / "home").string();
    environment_["TMPDIR"] = (top_ / "tmp").string();
    environment_["PATH"] = (top_ / "bin").string() + ":/usr/bin:/bin";
    environment_["GIT_CONFIG_NOSYSTEM"] = "1";
    for (const char* variable :
         {"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
          "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GH_TOKEN", "GITHUB_TOKEN"}) {
      environment_.erase(variable);
    }
    if (!git({"--version"}, top_).ok()) GTEST_SKIP() << "git is not installed";
    write(kKernel, kernel_text());
    write("README.md", "read me\n");
    must({"init", "-q", "-b", "main", root_.string()}, top_);
    must({"config", "user.name", "A Person"});
    must({"config", "user.email", "person@example.org"});
    must({"add", "."});
    must({"commit", "-q", "-m", "first"});
  }
  void TearDown() override {
    // Nothing of ours is left in the temporary folder.
    EXPECT_TRUE(top_.empty() || fs::is_empty(top_ / "tmp"));
    std::error_code ignored;
    if (!top_.empty()) fs::remove_all(top_, ignored);
  }

  ProcessOutcome git(std::vector<std::string> arguments, const fs::path& folder,
                     const std::string& input = {}) {
    ProcessSpec spec;
    spec.label = "git of the test";
    spec.argv = {"git"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    spec.env = environment_;
    spec.cwd = folder;
    spec.stdin_text = input;
    return *runner_.run(spec);
  }
  std::string must(std::vector<std::string> arguments, const fs::path& folder = {},
                   const std::string& input = {}) {
    const auto outcome = git(arguments, folder.empty() ? root_ : folder, input);
    EXPECT_TRUE(outcome.ok()) << join(arguments, " ") << "\n" << outcome.err;
    return outcome.out;
  }

  void write(const fs::path& file, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(root_ / file, text));
  }
  void script(const fs::path& file, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(file, "#!/bin/sh\n" + text));
    fs::permissions(file, fs::perms::owner_all);
  }

  // Whatever a person could notice, byte for byte.
  std::string user_state(const fs::path& root) {
    std::string state;
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"status", "--porcelain=v2", "--branch"},
                                               {"stash", "list"},
                                               {"rev-parse", "HEAD"},
                                               {"diff", "--cached"},
                                               {"diff"},
                                               {"ls-files", "-s", "-v"},
                                               {"worktree", "list"}}) {
      // Without the refresh of the index that status may write.
      std::vector<std::string> all = {"--no-optional-locks"};
      all.insert(all.end(), arguments.begin(), arguments.end());
      state += join(arguments, " ") + ":\n" + must(all, root);
    }
    const fs::path folder = trim(must({"rev-parse", "--absolute-git-dir"}, root));
    const fs::path common = root / fs::path(trim(must({"rev-parse", "--git-common-dir"}, root)));
    for (const fs::path& file : {folder / "HEAD", folder / "index", common / "config",
                                 folder / "logs/HEAD", common / "packed-refs"}) {
      state += file.string() + ": " + sha256_hex(read_file(file).value_or("none")) + "\n";
    }
    for (const auto& entry : fs::directory_iterator(folder)) {  // no lock, no shared index
      names_.push_back(entry.path().filename().string());
    }
    std::sort(names_.begin(), names_.end());
    state += join(names_, " ");
    names_.clear();
    return state;
  }

  BranchJob job(const std::string& before, const std::string& after) {
    BranchJob job;
    job.checkout = root_;
    job.environment = environment_;
    job.branch = "liger-workbench/scaled-v2";
    job.subject = "Make scaled faster";
    job.body = "Measured on one machine: ümlaut.";
    job.files = {{kKernel, before, after}};
    return job;
  }

  // Makes the branch and checks that nothing of the user's moved.
  BranchResult branch(const BranchJob& job) {
    const bool is_repository = git({"rev-parse", "HEAD"}, job.checkout).ok();
    const std::string before = is_repository ? user_state(job.checkout) : "";
    const auto result = make_branch(runner_, job);
    EXPECT_TRUE(result) << (result ? "" : result.error().sentence);
    EXPECT_EQ(is_repository ? user_state(job.checkout) : "", before);
    return result ? *result : BranchResult{};
  }

  std::string committed(const std::string& ref, const std::string& file = kKernel) {
    return must({"cat-file", "blob", ref + ":" + file});
  }

  fs::path top_, root_;
  Environment environment_;
  SystemRunner runner_;

 private:
  std::vector<std::string> names_;
};

}  // namespace lwb::test
