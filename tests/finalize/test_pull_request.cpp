// Branches by real git. What the user has (index, working tree, HEAD, stash, configuration) is
// compared byte for byte by GitCheckout::branch().

#include "tests/finalize/git_checkout.h"

namespace lwb {
namespace {

using test::kernel_text;
using test::kKernel;
using testing::HasSubstr;
using testing::Not;

class MakeBranch : public test::GitCheckout {
 protected:
  const std::string original_ = kernel_text();
  const std::string winner_ = kernel_text({{3, "faster 3"}});
};

TEST_F(MakeBranch, OfACleanTree) {
  const auto result = branch(job(original_, winner_));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(result.branch, "liger-workbench/scaled-v2");
  EXPECT_EQ(result.base, trim(must({"rev-parse", "HEAD"})));
  EXPECT_EQ(result.commit, trim(must({"rev-parse", result.branch})));
  EXPECT_EQ(trim(must({"rev-parse", result.branch + "^"})), result.base);
  EXPECT_EQ(committed(result.branch), winner_);
  EXPECT_EQ(must({"diff", "--name-status", result.base, result.commit}),
            std::string("M\t") + kKernel + "\n");
  EXPECT_EQ(must({"log", "-1", "--format=%an <%ae> %cn <%ce>%n%B", result.commit}),
            "A Person <person@example.org> A Person <person@example.org>\nMake scaled "
            "faster\n\nMeasured on one machine: ümlaut.\n\n");
  EXPECT_THAT(result.sentence, HasSubstr("Branch liger-workbench/scaled-v2 holds one commit on " +
                                         result.base.substr(0, 10)));
  EXPECT_THAT(result.sentence, Not(HasSubstr("your own")));
  EXPECT_TRUE(git({"fsck", "--strict", "--no-dangling"}, root_).ok());
}

TEST_F(MakeBranch, ThePatchIsWhatGitAmTakesWhateverDiffIsSetTo) {
  for (const char* setting : {"diff.noprefix=true", "color.ui=always", "format.attach=true",
                              "format.coverLetter=true", "diff.mnemonicPrefix=true"}) {
    const auto pair = split(setting, '=');
    must({"config", pair[0], pair[1]});
  }
  const auto result = branch(job(original_, winner_));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_THAT(result.patch, HasSubstr("Subject: [PATCH] Make scaled faster"));
  EXPECT_THAT(result.patch, HasSubstr(std::string("--- a/") + kKernel));
  must({"clone", "-q", root_.string(), (top_ / "other").string()}, top_);
  const fs::path other = top_ / "other";
  must({"config", "user.name", "B"}, other);
  must({"config", "user.email", "b@example.org"}, other);
  must({"am"}, other, result.patch);
  EXPECT_EQ(*read_file(other / kKernel), winner_);
}

TEST_F(MakeBranch, LeavesOutEditsElsewhereInTheSameFile) {
  const std::string mine = kernel_text({{10, "my own 10"}});
  write(kKernel, mine);
  const auto result = branch(job(mine, kernel_text({{3, "faster 3"}, {10, "my own 10"}})));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(committed(result.branch), winner_);
  EXPECT_EQ(*read_file(root_ / kKernel), mine);
  EXPECT_THAT(result.patch, Not(HasSubstr("my own")));
  EXPECT_THAT(result.sentence,
              HasSubstr("leaves out your own uncommitted edits of " + std::string(kKernel)));
}

TEST_F(MakeBranch, ShowsBothWhereEditsOverlap) {
  const std::string mine = kernel_text({{3, "my own 3"}});
  write(kKernel, mine);
  const std::string refs = must({"for-each-ref"});
  const auto result = branch(job(mine, kernel_text({{3, "faster 3"}})));
  EXPECT_FALSE(result.made);
  EXPECT_EQ(must({"for-each-ref"}), refs);
  EXPECT_THAT(result.own_edits, HasSubstr("-line 3\n+my own 3\n"));
  EXPECT_THAT(result.winner_edits, HasSubstr("-my own 3\n+faster 3\n"));
  EXPECT_THAT(result.sentence, HasSubstr("overlap the winner's changes"));
  must({"apply", "--check"}, {}, result.patch);  // stands on the user's edits
}

TEST_F(MakeBranch, StagedChangesOfTheUserStayStagedAndOut) {
  write("README.md", "staged\n");
  write("other.txt", "new\n");
  must({"add", "README.md", "other.txt"});
  write("README.md", "staged and edited\n");
  must({"config", "stash.showPatch", "true"});
  write(kKernel, kernel_text({{1, "stashed"}}));
  must({"stash", "push", "-q", "--", kKernel});
  const auto result = branch(job(original_, winner_));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(must({"diff", "--name-only", result.base, result.commit}), kKernel + std::string("\n"));
}

TEST_F(MakeBranch, OfADetachedHead) {
  write("README.md", "second\n");
  must({"commit", "-q", "-a", "-m", "second"});
  must({"checkout", "-q", "--detach", "HEAD^"});
  const auto result = branch(job(original_, winner_));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(result.base, trim(must({"rev-parse", "main^"})));
  EXPECT_EQ(committed(result.branch, "README.md"), "read me\n");
}

TEST_F(MakeBranch, CountsOnWhereTheNameIsTaken) {
  must({"branch", "liger-workbench/scaled-v2"});
  must({"update-ref", "refs/remotes/origin/liger-workbench/scaled-v2-2", "HEAD"});
  must({"pack-refs", "--all"});
  const std::string taken = must({"rev-parse", "liger-workbench/scaled-v2"});
  EXPECT_EQ(branch(job(original_, winner_)).branch, "liger-workbench/scaled-v2-3");
  EXPECT_EQ(branch(job(original_, winner_)).branch, "liger-workbench/scaled-v2-4");
  EXPECT_EQ(must({"rev-parse", "liger-workbench/scaled-v2"}), taken);
}

TEST_F(MakeBranch, GivesAFlatNameWhereABranchHasTheFoldersName) {
  must({"branch", "liger-workbench"});
  EXPECT_EQ(branch(job(original_, winner_)).branch, "liger-workbench-scaled-v2");
  auto bad = job(original_, winner_);
  bad.branch = "no branch..name";
  const auto result = branch(bad);
  EXPECT_FALSE(result.made);
  EXPECT_THAT(result.sentence, HasSubstr("git takes neither no branch..name"));
}

TEST_F(MakeBranch, WithoutARepositoryLeavesAPatch) {
  fs::remove_all(root_ / ".git");
  const auto result = branch(job(original_, winner_));
  EXPECT_FALSE(result.made);
  EXPECT_THAT(result.sentence, HasSubstr("is no git repository of its own"));
  EXPECT_THAT(result.patch, HasSubstr("-line 3\n+faster 3\n"));
  must({"apply", "--check"}, {}, result.patch);
}

TEST_F(MakeBranch, ARepositoryAroundTheCheckoutIsNotTouched) {
  fs::remove_all(root_ / ".git");
  must({"init", "-q"}, top_);
  must({"-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"},
       top_);
  EXPECT_FALSE(branch(job(original_, winner_)).made);
  fs::create_directories(root_ / ".git");  // git passes over it
  const auto result = branch(job(original_, winner_));
  EXPECT_FALSE(result.made);
  EXPECT_THAT(result.sentence, HasSubstr("is no git repository of its own"));
  EXPECT_EQ(must({"branch", "--list", "liger*"}, top_), "");
}

TEST_F(MakeBranch, WithoutGitLeavesAPatch) {
  auto without = job(original_, winner_);
  without.environment["PATH"] = (top_ / "bin").string();
  const auto result = make_branch(runner_, without);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->made);
  EXPECT_THAT(result->sentence, HasSubstr("did not start"));
  EXPECT_THAT(result->patch, HasSubstr("+faster 3"));
}

TEST_F(MakeBranch, InAWorktree) {
  const fs::path tree = top_ / "worktree";
  must({"worktree", "add", "-q", "-b", "side", tree.string()});
  const std::string main_before = user_state(root_);
  auto in_tree = job(original_, winner_);
  in_tree.checkout = tree;
  const auto result = branch(in_tree);
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(committed(result.branch), winner_);
  EXPECT_EQ(user_state(root_), main_before);
}

TEST_F(MakeBranch, NeitherHooksNorSigningRun) {
  const fs::path ran = top_ / "a hook ran";
  for (const char* hook : {"pre-commit", "commit-msg", "prepare-commit-msg", "post-commit",
                           "reference-transaction", "post-index-change", "post-checkout"}) {
    script(root_ / ".git/hooks" / hook, "touch '" + ran.string() + "'\nexit 1\n");
  }
  must({"config", "commit.gpgSign", "true"});
  must({"config", "gpg.program", "/bin/false"});
  must({"config", "core.splitIndex", "true"});
  ASSERT_TRUE(branch(job(original_, winner_)).made);
  EXPECT_FALSE(fs::exists(ran));
}

TEST_F(MakeBranch, VariablesThatPointElsewhereAreNotFollowed) {
  auto led = job(original_, winner_);
  led.environment["GIT_DIR"] = (top_ / "nowhere").string();
  led.environment["GIT_INDEX_FILE"] = (root_ / ".git/index").string();
  EXPECT_TRUE(branch(led).made);
}

TEST_F(MakeBranch, SaysWhenGitKnowsNoName) {
  must({"config", "--unset", "user.name"});
  must({"config", "--unset", "user.email"});
  const auto result = branch(job(original_, winner_));
  EXPECT_FALSE(result.made);
  EXPECT_THAT(result.sentence, HasSubstr("git does not know your name"));
  EXPECT_THAT(result.sentence, HasSubstr("git config --global user.name"));
  EXPECT_EQ(must({"branch", "--list", "liger*"}), "");
  must({"apply", "--check"}, {}, result.patch);
  must({"config", "user.email", "person@example.org"});
  EXPECT_THAT(branch(job(original_, winner_)).sentence, HasSubstr("git does not know your name"));
  environment_["GIT_AUTHOR_NAME"] = environment_["GIT_COMMITTER_NAME"] = "From Environment";
  EXPECT_TRUE(branch(job(original_, winner_)).made);
}

TEST_F(MakeBranch, InASparseCheckout) {
  write("docs/guide.md", "guide\n");
  must({"add", "."});
  must({"commit", "-q", "-m", "docs"});
  must({"sparse-checkout", "set", "--cone", "--sparse-index", "src"});
  ASSERT_FALSE(fs::exists(root_ / "docs"));
  const auto result = branch(job(original_, winner_));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(committed(result.branch, "docs/guide.md"), "guide\n");
  EXPECT_EQ(must({"diff", "--name-only", result.base, result.commit}), kKernel + std::string("\n"));
}

TEST_F(MakeBranch, InAPartialCloneNothingIsFetched) {
  write("src/pack/ops/beside.py", "beside\n");
  must({"add", "."});
  must({"commit", "-q", "-m", "beside"});
  must({"config", "uploadpack.allowFilter", "true"});
  const fs::path clone = top_ / "clone";
  must(
      {"clone", "-q", "--filter=blob:none", "--sparse", "file://" + root_.string(), clone.string()},
      top_);
  must({"sparse-checkout", "set", "--no-cone", std::string("/") + kKernel}, clone);
  fs::rename(root_, top_ / "gone");  // a fetch would fail
  root_ = clone;
  must({"config", "user.name", "A"});
  must({"config", "user.email", "a@example.org"});
  const auto result = make_branch(runner_, job(original_, winner_));
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->made) << result->sentence;
  EXPECT_EQ(committed(result->branch), winner_);
}

TEST_F(MakeBranch, AFileThatHeadDoesNotHaveGoesInWhole) {
  write("src/pack/ops/fresh.py", "mine\n");
  auto with_new = job(original_, winner_);
  with_new.files.push_back({"src/pack/ops/fresh.py", "mine\n", "mine, faster\n"});
  with_new.files.push_back({"benchmark/data/rows.csv", "", "a,b\n"});
  const auto result = branch(with_new);
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(committed(result.branch, "src/pack/ops/fresh.py"), "mine, faster\n");
  EXPECT_EQ(committed(result.branch, "benchmark/data/rows.csv"), "a,b\n");
  EXPECT_THAT(result.sentence, HasSubstr("HEAD did not have src/pack/ops/fresh.py, benchmark"));
  EXPECT_EQ(*read_file(root_ / "src/pack/ops/fresh.py"), "mine\n");
}

TEST_F(MakeBranch, KeepsTheMode) {
  fs::permissions(root_ / kKernel, fs::perms::owner_all);
  must({"commit", "-q", "-a", "-m", "mode"});
  fs::permissions(root_ / kKernel, fs::perms::owner_read | fs::perms::owner_write);
  const auto result = branch(job(original_, winner_));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_THAT(must({"ls-tree", result.commit, kKernel}), HasSubstr("100755 blob"));
}

std::string crlf(const std::string& text) {
  return replace_all(text, "\n", "\r\n");
}

TEST_F(MakeBranch, StoresLineEndsAsGitWould) {
  must({"config", "core.autocrlf", "true"});
  must({"config", "core.safecrlf", "true"});  // git add would refuse the mixed line ends below
  const std::string mine = crlf(kernel_text({{10, "my own 10"}}));
  write(kKernel, mine);
  const std::string after = crlf(kernel_text({{3, "faster 3"}, {10, "my own 10"}}));
  const auto result = branch(job(mine, replace_all(after, "faster 3\r\n", "faster 3\n")));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(committed(result.branch), winner_);
}

TEST_F(MakeBranch, LeavesLineEndsThatAreInHeadAlready) {
  write(kKernel, crlf(original_));
  must({"commit", "-q", "-a", "-m", "crlf"});
  must({"config", "core.autocrlf", "true"});
  const auto result = branch(job(crlf(original_), crlf(winner_)));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(committed(result.branch), crlf(winner_));
  // What git itself stores for the same text.
  write(kKernel, crlf(winner_));
  must({"add", kKernel});
  EXPECT_EQ(trim(must({"rev-parse", std::string(":") + kKernel})),
            trim(must({"rev-parse", result.branch + ":" + kKernel})));
}

TEST_F(MakeBranch, RunsTheFiltersOfTheFile) {
  write(".gitattributes", "*.py filter=upper\n");
  must({"add", "."});
  must({"commit", "-q", "-m", "attributes"});
  must({"config", "filter.upper.clean", "sed s/secret/REDACTED/"});
  const auto result = branch(job(original_, kernel_text({{3, "secret 3"}})));
  ASSERT_TRUE(result.made) << result.sentence;
  EXPECT_EQ(committed(result.branch), kernel_text({{3, "REDACTED 3"}}));
}

TEST_F(MakeBranch, RefusesInTheMiddleOfAMergeOrRebase) {
  must({"checkout", "-q", "-b", "side"});
  write("README.md", "side\n");
  must({"commit", "-q", "-a", "-m", "side"});
  must({"checkout", "-q", "main"});
  write("README.md", "main\n");
  must({"commit", "-q", "-a", "-m", "main"});
  EXPECT_FALSE(git({"merge", "side"}, root_).ok());
  EXPECT_THAT(branch(job(original_, winner_)).sentence, HasSubstr("in the middle of a merge"));
  must({"merge", "--abort"});
  EXPECT_FALSE(git({"rebase", "side"}, root_).ok());
  const auto result = branch(job(original_, winner_));
  EXPECT_FALSE(result.made);
  EXPECT_THAT(result.sentence, HasSubstr("in the middle of a rebase"));
  EXPECT_THAT(result.patch, HasSubstr("+faster 3"));
}

TEST_F(MakeBranch, RefusesWhatCannotBeACommit) {
  EXPECT_THAT(branch(job(original_, original_)).sentence, HasSubstr("holds the winner's changes"));
  auto outside = job(original_, winner_);
  outside.files[0].path = "../outside.py";
  EXPECT_THAT(branch(outside).sentence, HasSubstr("no path below the checkout"));
  fs::create_symlink("README.md", root_ / "link.py");
  must({"add", "link.py"});
  must({"commit", "-q", "-m", "link"});
  outside.files[0].path = "link.py";
  EXPECT_THAT(branch(outside).sentence, HasSubstr("no ordinary file in HEAD"));
  fs::remove_all(root_ / ".git");
  must({"init", "-q"});
  EXPECT_THAT(branch(job(original_, winner_)).sentence, HasSubstr("has no commit yet"));
}

TEST_F(MakeBranch, AStoppedRunIsAnError) {
  CancelToken cancel;
  cancel.cancel();
  SystemRunner stopped(&cancel);
  const auto result = make_branch(stopped, job(original_, winner_));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kStopped);
}

TEST(BranchResult, TravelsThroughJson) {
  const BranchResult result{true, "b", "c", "d", "patch\n", "Sentence.", "own", "winner"};
  EXPECT_EQ(to_json(branch_result_from_json(to_json(result))), to_json(result));
  EXPECT_TRUE(branch_result_from_json(to_json(result)).made);
}

}  // namespace
}  // namespace lwb
