// Sending, with a bare repository as the remote and a gh of our own on PATH.

#include "tests/finalize/git_checkout.h"

namespace lwb {
namespace {

using test::kernel_text;
using testing::HasSubstr;
using testing::Not;

class Send : public test::GitCheckout {
 protected:
  void SetUp() override {
    GitCheckout::SetUp();
    must({"init", "-q", "--bare", (top_ / "remote.git").string()}, top_);
    must({"remote", "add", "origin", "https://github.com/person/pack.git"});
    must({"config", "url." + (top_ / "remote.git").string() + ".insteadOf",
          "https://github.com/person/pack.git"});
    made_ = branch(job(kernel_text(), kernel_text({{3, "faster 3"}})));
    ASSERT_TRUE(made_.made) << made_.sentence;
    text_ = top_ / "request's text.md";
    ASSERT_TRUE(write_file_atomically(text_, "## Summary\n"));
    gh("echo https://github.com/upstream/pack/pull/7\n");
  }

  // A gh that is logged in, knows a parent, keeps what it was asked and creates as `create` does.
  void gh(const std::string& create, const std::string& login = "exit 0") {
    script(top_ / "bin/gh",
           "for a in \"$@\"; do printf '%s\\n' \"$a\"; done >> '" + asked().string() +
               "'\nread line && exit 9\ncase \"$1 $2\" in\n"
               "'auth status') " +
               login +
               ";;\n'repo view') echo '{\"parent\": {\"name\": \"pack\", \"owner\": "
               "{\"login\": \"upstream\"}}}';;\n'pr create') " +
               create + ";;\nesac\n");
  }
  fs::path asked() const { return top_ / "asked of gh"; }
  std::string asked_of_gh() const { return read_file(asked()).value_or(""); }

  SendResult send() {
    const auto result =
        send_pull_request(runner_, environment_, root_, made_, "Make it 'faster'", text_);
    EXPECT_TRUE(result) << (result ? "" : result.error().sentence);
    return result ? *result : SendResult{};
  }
  std::string on_remote() {
    return must({"for-each-ref", "--format=%(refname)"}, top_ / "remote.git");
  }

  BranchResult made_;
  fs::path text_;
};

TEST_F(Send, PushesAndOpensInTheParentRepository) {
  const std::string before = user_state(root_);
  const auto result = send();
  ASSERT_TRUE(result.sent) << result.sentence;
  EXPECT_EQ(result.url, "https://github.com/upstream/pack/pull/7");
  EXPECT_THAT(result.sentence, HasSubstr(result.url));
  EXPECT_TRUE(result.left.empty());
  EXPECT_EQ(on_remote(), "refs/heads/liger-workbench/scaled-v2\n");
  EXPECT_THAT(
      asked_of_gh(),
      HasSubstr("pr\ncreate\n--repo\nupstream/pack\n--head\nperson:liger-workbench/scaled-v2"
                "\n--title\nMake it 'faster'\n--body-file\n" +
                text_.string() + "\n"));
  EXPECT_EQ(user_state(root_), before);
}

TEST_F(Send, WhatTheUserSetAsDefaultRepositoryStays) {
  must({"config", "remote.origin.gh-resolved", "base"});
  ASSERT_TRUE(send().sent);
  EXPECT_THAT(asked_of_gh(), Not(HasSubstr("--repo")));
}

TEST_F(Send, WithoutGhNothingIsPushed) {
  fs::remove(top_ / "bin/gh");
  if (fs::exists("/usr/bin/gh") || fs::exists("/bin/gh")) GTEST_SKIP() << "gh is installed";
  const auto result = send();
  EXPECT_FALSE(result.sent);
  EXPECT_THAT(result.sentence, HasSubstr("gh is not installed"));
  ASSERT_EQ(result.left.size(), 2u);
  EXPECT_THAT(result.sentence, HasSubstr(result.left[0]));
  EXPECT_EQ(on_remote(), "");
}

TEST_F(Send, LoggedOutNothingIsPushed) {
  gh("exit 1", "echo 'You are not logged into any GitHub hosts.' >&2; exit 1");
  const auto result = send();
  EXPECT_FALSE(result.sent);
  EXPECT_THAT(result.sentence,
              HasSubstr("not logged in (You are not logged into any GitHub hosts)"));
  EXPECT_EQ(result.left.size(), 2u);
  EXPECT_EQ(on_remote(), "");
}

TEST_F(Send, ARefusedPushIsSaid) {
  script(top_ / "remote.git/hooks/pre-receive", "echo 'not here' >&2; exit 1\n");
  auto result = send();
  EXPECT_FALSE(result.sent);
  EXPECT_THAT(result.sentence, HasSubstr("refused: [remote rejected] (pre-receive hook declined)"));
  EXPECT_EQ(result.left.size(), 2u);
  EXPECT_THAT(asked_of_gh(), Not(HasSubstr("create")));
}

TEST_F(Send, IsNeverForced) {
  must({"push", "-q", "origin", "main:refs/heads/liger-workbench/scaled-v2"});
  write("README.md", "theirs\n");
  must({"commit", "-q", "-a", "-m", "theirs"});
  must({"push", "-q", "-f", "origin", "main:refs/heads/liger-workbench/scaled-v2"});
  must({"config", "remote.origin.push", "+refs/heads/*:refs/heads/*"});
  const auto result = send();
  EXPECT_FALSE(result.sent);
  EXPECT_THAT(result.sentence, HasSubstr("[rejected]"));
  EXPECT_EQ(must({"rev-parse", "liger-workbench/scaled-v2"}, top_ / "remote.git"),
            must({"rev-parse", "main"}));
}

TEST_F(Send, WhatIsLeftAfterThePushIsTheRequest) {
  gh("echo 'pull request create failed: no permission' >&2; exit 1");
  const auto result = send();
  EXPECT_FALSE(result.sent);
  EXPECT_THAT(result.sentence,
              HasSubstr("was pushed to origin, but gh opened no pull request: pull "
                        "request create failed: no permission"));
  ASSERT_EQ(result.left.size(), 1u);
  EXPECT_THAT(result.left[0], HasSubstr("gh pr create"));
}

TEST_F(Send, TheCommandsThatAreLeftWorkInAShell) {
  gh("exit 1", "exit 1");
  const auto result = send();
  gh("echo https://github.com/upstream/pack/pull/8\n");
  fs::remove(asked());
  for (const std::string& command : result.left) {
    ProcessSpec spec;
    spec.label = "shell";
    spec.argv = {"/bin/sh", "-c", command};
    spec.env = environment_;
    spec.cwd = top_;
    const auto outcome = runner_.run(spec);
    EXPECT_TRUE(outcome->ok()) << command << "\n" << outcome->err;
  }
  EXPECT_EQ(on_remote(), "refs/heads/liger-workbench/scaled-v2\n");
  EXPECT_EQ(asked_of_gh(),
            "pr\ncreate\n--head\nperson:liger-workbench/scaled-v2\n--title\nMake it "
            "'faster'\n--body-file\n" +
                text_.string() + "\n");
}

TEST_F(Send, TheRemoteIsTheUsersOwnChoiceThenTheOnlyOneThenOrigin) {
  const auto remote = [&] { return find_send_target(runner_, environment_, root_)->remote; };
  EXPECT_EQ(find_send_target(runner_, environment_, root_)->repository, "person/pack");
  must({"remote", "add", "alpha", "git@github.com:alpha/pack.git"});
  must({"remote", "add", "upstream", "git@github.com:upstream/pack.git"});
  EXPECT_EQ(remote(), "origin");
  must({"config", "remote.pushDefault", "alpha"});
  EXPECT_EQ(remote(), "alpha");
  EXPECT_EQ(find_send_target(runner_, environment_, root_)->owner, "alpha");
  must({"remote", "remove", "origin"});
  must({"config", "--unset-all", "remote.pushDefault"});
  EXPECT_EQ(remote(), "");
  EXPECT_THAT(send().sentence, HasSubstr("has no remote that is the only one"));
  must({"remote", "remove", "upstream"});
  EXPECT_EQ(remote(), "alpha");
}

TEST_F(Send, NothingIsSentWithoutABranchOrAText) {
  made_.made = false;
  EXPECT_THAT(send().sentence, HasSubstr("no branch to send"));
  made_.made = true;
  fs::remove(text_);
  EXPECT_THAT(send().sentence, HasSubstr("is not there"));
  EXPECT_EQ(on_remote(), "");
}

TEST(RepositoryOfAddress, OfWhatGitTakes) {
  for (const char* address : {"https://github.com/me/pack.git", "https://github.com/me/pack/",
                              "https://me@github.com/me/pack", "git@github.com:me/pack.git",
                              "ssh://git@github.com:22/me/pack.git", "gh:me/pack"}) {
    EXPECT_EQ(repository_of_address(address), "me/pack") << address;
  }
  for (const char* address :
       {"", "/srv/git/pack.git", "../pack", "file:///srv/me/pack", "./a:b/c"}) {
    EXPECT_EQ(repository_of_address(address), "") << address;
  }
}

}  // namespace
}  // namespace lwb
