#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/finalize/pull_request.h"

namespace lwb {
namespace {

using testing::HasSubstr;
using testing::Not;

// Shaped as checkouts have it: comments, an optional section inside one, a blank to fill, boxes.
const char* const kTemplate =
    "## Summary\n<!--- required: describe it --->\n\n<!---\n## Details\nOptional.\n--->\n\n"
    "## Testing Done\n<!--- required --->\n\n<!-- \nReplace BLANK, `[ ]` with \n`[x]`. \n-->\n\n"
    "- Hardware Type: <BLANK>\n- [ ] run `make test` to be sure\n"
    "- [ ] run `make checkstyle` to be tidy\n- [ ] run `make test-convergence` to converge\n";

TEST(PullRequestText, FillsTheTemplate) {
  EXPECT_EQ(pull_request_text(kTemplate, "Faster.", "", "Ran the tests.\n", "NVIDIA H200",
                              {"make checkstyle"}),
            "## Summary\n\nFaster.\n\n## Testing Done\n\nRan the tests.\n\n- Hardware Type: NVIDIA "
            "H200\n- [ ] run `make test` to be sure\n- [x] run `make checkstyle` to be tidy\n- [ ] "
            "run `make test-convergence` to converge\n");
}

TEST(PullRequestText, TheOptionalSectionComesBackWithText) {
  const std::string text = pull_request_text(kTemplate, "S", "D", "T", "H", {"make test"});
  EXPECT_THAT(text,
              HasSubstr("## Summary\n\nS\n\n## Details\n\nD\n\n## Testing Done\n\nT\n\n- Hard"));
  EXPECT_THAT(text, HasSubstr("- [x] run `make test` to"));
  EXPECT_THAT(text, HasSubstr("- [ ] run `make test-convergence`"));
  EXPECT_THAT(text, Not(HasSubstr("<!-")));
}

TEST(PullRequestText, BoxesTellTheTruth) {
  const std::string boxes =
      "## Testing\n\n* [x] ran `make test`\n- [X] ran `make test` and `make checkstyle`\n"
      "- [ ] make test-convergence\n- [ ] make test\n- [x] I read the guide\n";
  const std::string text = pull_request_text(boxes, "S", "", "- [ ] of mine", "H", {"make test"});
  EXPECT_THAT(text, HasSubstr("* [x] ran `make test`\n- [ ] ran `make test` and"));
  EXPECT_THAT(text, HasSubstr("- [ ] make test-convergence\n- [x] make test\n- [ ] I read"));
  EXPECT_THAT(text, HasSubstr("\n- [ ] of mine\n"));
  EXPECT_THAT(pull_request_text(boxes, "S", "", "T", "H", {}), Not(HasSubstr("[x]")));
}

TEST(PullRequestText, WithoutATemplateTheSameSections) {
  EXPECT_EQ(
      pull_request_text("", "S", "D", "T", "H", {"make checkstyle"}),
      "## Summary\n\nS\n\n## Details\n\nD\n\n## Testing Done\n\nT\n\n- Hardware Type: H\n- [x] "
      "run `make checkstyle`\n");
  EXPECT_THAT(pull_request_text("", "S", "", "T", "", {}), HasSubstr("Hardware Type: not stated"));
}

TEST(PullRequestText, MissingSectionsAreAdded) {
  EXPECT_EQ(
      pull_request_text("Thanks for the change!\r\n", "S", "D", "T", "H", {}),
      "## Summary\n\nS\n\nThanks for the change!\n\n## Details\n\nD\n\n## Testing Done\n\nT\n\n- "
      "Hardware Type: H\n");
}

TEST(PullRequestText, OtherShapes) {
  const std::string text = pull_request_text(
      "### Description\n\n```sh\n# how to test\n```\n\n### Test plan\n**Hardware Type:** ?\n<!-- "
      "open",
      "S", "", "# not a heading of ours\nT", "H", {});
  EXPECT_EQ(
      text,
      "### Description\n\nS\n\n```sh\n# how to test\n```\n\n### Test plan\n\n# not a heading of "
      "ours\nT\n\n**Hardware Type:** H\n");
}

TEST(PullRequestText, TheReleasesOwnTemplate) {
  const char* root = std::getenv("LWB_TEST_LIGER");
  if (root == nullptr || *root == 0) {
    const char* reason = std::getenv("LWB_TEST_LIGER_REASON");
    GTEST_SKIP() << (reason != nullptr ? reason : "LWB_TEST_LIGER is not set");
  }
  const std::string found = find_pull_request_template(root);
  ASSERT_FALSE(found.empty());
  const std::string text =
      pull_request_text(found, "S", "D", "T", "NVIDIA Test", {"make checkstyle"});
  EXPECT_TRUE(text.starts_with("## Summary\n\nS\n\n## Details\n\nD\n\n## Testing Done\n\nT\n\n"))
      << text;
  EXPECT_THAT(text, HasSubstr("Hardware Type: NVIDIA Test\n"));
  EXPECT_THAT(text, HasSubstr("- [x] run `make checkstyle`"));
  EXPECT_THAT(text, HasSubstr("- [ ] run `make test`"));
  EXPECT_THAT(text, Not(HasSubstr("BLANK")));
}

TEST(FindTemplate, WhereGitHubLooks) {
  std::string name = (fs::temp_directory_path() / "lwb-template-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path root = name;
  EXPECT_EQ(find_pull_request_template(root), "");
  ASSERT_TRUE(write_file_atomically(root / "docs/Pull_Request_Template.md", "docs"));
  EXPECT_EQ(find_pull_request_template(root), "docs");
  ASSERT_TRUE(write_file_atomically(root / ".github/PULL_REQUEST_TEMPLATE/one.md", "one"));
  EXPECT_EQ(find_pull_request_template(root), "one");
  ASSERT_TRUE(write_file_atomically(root / ".github/PULL_REQUEST_TEMPLATE/two.md", "two"));
  EXPECT_EQ(find_pull_request_template(root), "docs");
  ASSERT_TRUE(write_file_atomically(root / "PULL_REQUEST_TEMPLATE.md", "root"));
  EXPECT_EQ(find_pull_request_template(root), "root");
  ASSERT_TRUE(write_file_atomically(root / ".github/pull_request_template.md", "github"));
  EXPECT_EQ(find_pull_request_template(root), "github");
  fs::remove_all(root);
}

TEST(SendCommands, AreQuotedForAShell) {
  const auto commands =
      send_commands("/my checkout", "a/b", "It's $HOME", "/t.md", {"fork", "me", ""});
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0], "git -C '/my checkout' push fork a/b");
  EXPECT_EQ(commands[1],
            "cd '/my checkout' && gh pr create --head me:a/b --title 'It'\\''s $HOME' --body-file "
            "/t.md");
}

}  // namespace
}  // namespace lwb
