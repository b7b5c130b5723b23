// The style gate: real ruff and make on small trees of our own; ends that they do not show come
// from a fake seam.
#include "core/finalize/style_gate.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/finalize/gates_tree.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using State = StyleResult::State;

constexpr const char* kMakefile =
    "checkstyle:\n"
    "\truff check --output-format=concise .; check=$$?; \\\n"
    "\truff format --check --diff .; format=$$?; \\\n"
    "\truff check . --fix; \\\n"
    "\truff format .; \\\n"
    "\tif [ $$check -ne 0 ] || [ $$format -ne 0 ]; then exit 1; fi\n";

class StyleGate : public GatesTree {
 protected:
  void SetUp() override {
    GatesTree::SetUp();
    put("Makefile", kMakefile);
    put("pyproject.toml", "[tool.ruff]\nline-length = 100\n");
    use_real_python();
  }
  StyleResult style(const std::string& text) {
    put("src/pack/op.py", text);
    auto result = run_style_gate(runner_, {tree_, kernel_file(), tools_.environment});
    EXPECT_TRUE(result) << result.error().sentence;
    EXPECT_EQ(text_of("src/pack/op.py"), result ? result->text : "");
    return result.value_or(StyleResult{});
  }
  SystemRunner runner_;
};

TEST_F(StyleGate, ACleanFilePassesUnchanged) {
  const StyleResult result = style("VALUE = 1\n");
  EXPECT_EQ(result.state, State::kPassed) << result.sentence;
  EXPECT_FALSE(result.rewritten);
  EXPECT_FALSE(result.ruff_version.empty());
  EXPECT_EQ(result.sentence, "Nothing to mend in src/pack/op.py.");
  const StyleResult back = style_result_from_json(to_json(result));
  EXPECT_EQ(print_json(to_json(back)), print_json(to_json(result)));
}

TEST_F(StyleGate, WhatRuffCanMendIsMendedAndTakenOver) {
  const StyleResult result = style("import os\nVALUE=1\n");
  EXPECT_EQ(result.state, State::kPassed) << result.sentence;
  EXPECT_TRUE(result.rewritten);
  EXPECT_EQ(result.text, "VALUE = 1\n");
  EXPECT_EQ(result.sentence, "Formatted, nothing else to mend in src/pack/op.py.");
}

TEST_F(StyleGate, WhatIsLeftIsListed) {
  const StyleResult result = style("VALUE = missing_name\n");
  EXPECT_EQ(result.state, State::kFindings);
  EXPECT_THAT(result.findings, ElementsAre(StartsWith("src/pack/op.py:1:9: F821")));
  EXPECT_THAT(result.sentence, StartsWith("1 finding in src/pack/op.py left: src/pack/op.py:1:9:"));
}

TEST_F(StyleGate, ASyntaxErrorIsAFinding) {
  const StyleResult result = style("VALUE = (\n");
  EXPECT_EQ(result.state, State::kFindings) << result.sentence;
  EXPECT_THAT(result.findings, Each(StartsWith("src/pack/op.py:")));
}

TEST_F(StyleGate, OtherFilesAreCountedAndPutBack) {
  const std::string other = "import os\nVALUE = missing_name\n";
  const std::string loose = "VALUE=2\n";
  put("src/pack/other.py", other);
  put("src/pack/loose.py", loose);
  const StyleResult result = style("VALUE=1\n");
  EXPECT_EQ(result.state, State::kPassed) << result.sentence;
  EXPECT_EQ(result.text, "VALUE = 1\n");
  EXPECT_THAT(result.findings, IsEmpty());
  // F401, F821 and the missing empty line in one, the blanks in the other.
  EXPECT_THAT(result.sentence, HasSubstr(" in 2 other files are not the winner's."));
  EXPECT_THAT(result.sentence, HasSubstr("4 findings"));
  EXPECT_EQ(text_of("src/pack/other.py"), other);
  EXPECT_EQ(text_of("src/pack/loose.py"), loose);
  EXPECT_FALSE(fs::exists(tree_ / ".ruff_cache"));
}

TEST_F(StyleGate, FilesThatCheckstyleMakesOrRemovesAreUndone) {
  put("src/pack/other.py", "VALUE = 2\n");
  put("Makefile", "checkstyle:\n\trm src/pack/other.py; echo 'X = 1' > src/pack/made.py\n");
  EXPECT_EQ(style("VALUE = 1\n").state, State::kPassed);
  EXPECT_EQ(text_of("src/pack/other.py"), "VALUE = 2\n");
  EXPECT_FALSE(fs::exists(tree_ / "src/pack/made.py"));
}

TEST_F(StyleGate, AFileThatMakeDoesNotSeeIsMendedAllTheSame) {
  put(".gitignore", "src\n");
  put(".git/HEAD", "ref: refs/heads/main\n");  // ruff heeds .gitignore in a repository
  const StyleResult result = style("import os\nVALUE=1\n");
  EXPECT_EQ(result.state, State::kPassed) << result.sentence;
  EXPECT_EQ(result.text, "VALUE = 1\n");
}

TEST_F(StyleGate, AFileThatTheCheckoutExcludesIsLeftAlone) {
  put("pyproject.toml", "[tool.ruff]\nextend-exclude = ['src/pack/op.py']\n");
  const StyleResult result = style("import os\nVALUE=1\n");
  EXPECT_EQ(result.state, State::kPassed) << result.sentence;
  EXPECT_FALSE(result.rewritten);
}

TEST_F(StyleGate, WhatAnotherToolOfCheckstyleSaysOfTheKernelCounts) {
  put("Makefile", "checkstyle:\n\t@echo 'src/pack/op.py:1:1: X100 no licence line'; exit 1\n");
  const StyleResult result = style("VALUE = 1\n");
  EXPECT_EQ(result.state, State::kFindings) << result.sentence;
  EXPECT_THAT(result.findings, ElementsAre("src/pack/op.py:1:1: X100 no licence line"));
}

TEST_F(StyleGate, ACheckstyleThatFailsWithoutAFindingIsSaid) {
  put("Makefile", "checkstyle:\n\t@echo 'no licence server' >&2; exit 3\n");
  const StyleResult result = style("VALUE = 1\n");
  EXPECT_EQ(result.state, State::kPassed);
  EXPECT_THAT(result.sentence, HasSubstr("make checkstyle exited with code 2"));
}

TEST_F(StyleGate, WithoutCheckstyleRuffAloneChecksAndThatIsSaid) {
  put("Makefile", "test:\n\ttrue\n");
  const StyleResult result = style("VALUE=missing_name\n");
  EXPECT_EQ(result.state, State::kFindings);
  EXPECT_EQ(result.text, "VALUE = missing_name\n");
  EXPECT_THAT(result.sentence, HasSubstr("by ruff alone"));
}

TEST_F(StyleGate, ARuffThatRefusesTheConfigurationHasNotChecked) {
  put("pyproject.toml", "[tool.ruff]\nrequired-version = '==0.0.1'\n");
  const StyleResult result = style("import os\nVALUE=1\n");
  EXPECT_EQ(result.state, State::kNotChecked);
  EXPECT_THAT(result.sentence, HasSubstr("0.0.1"));
  EXPECT_FALSE(result.rewritten);
}

TEST_F(StyleGate, AnotherVersionThanTheCheckoutStatesIsSaid) {
  const auto sentence = [&] { return style("VALUE = 1\n").sentence; };
  put(".pre-commit-config.yaml",
      "repos:\n- repo: https://github.com/astral-sh/ruff-pre-commit\n  # Ruff version.\n"
      "  rev: v0.0.1\n");
  EXPECT_THAT(sentence(), HasSubstr("the checkout asks for ruff 0.0.1, "));
  put("setup.py", "extras = {'dev': ['pytest', 'ruff>=0.0.1,<0.0.2']}\n");
  EXPECT_THAT(sentence(), HasSubstr("the checkout asks for ruff>=0.0.1,<0.0.2, "));
  put("setup.py", "extras = {'dev': ['pytest', 'ruff>=0.0.1,<99']}\n");
  EXPECT_THAT(sentence(), Not(HasSubstr("asks for")));  // the hook's version is not checkstyle's
}

TEST_F(StyleGate, AMissingRuffIsSaid) {
  tools_.environment["PATH"] = "/nowhere";
  const StyleResult none = style("VALUE=1\n");
  EXPECT_EQ(none.state, State::kNotChecked);
  EXPECT_EQ(none.sentence, "The style was not checked: ruff is not there.");
  EXPECT_FALSE(none.rewritten);
}

// --------------------------------------------------------------------------------- a fake seam

class FakeStyleGate : public GatesTree {
 protected:
  // Answers by "ruff --version", "make checkstyle", "ruff check --fix" …: the longest beginning.
  Result<StyleResult> run(const std::map<std::string, CannedProcess>& answers) {
    runner_.answer = [answers](const ProcessSpec& spec) {
      std::string all;
      for (const std::string& word : spec.argv) all += word + " ";
      CannedProcess found;
      std::size_t longest = 0;
      for (const auto& [beginning, canned] : answers) {
        if (all.starts_with(beginning) && beginning.size() >= longest) {
          longest = beginning.size();
          found = canned;
        }
      }
      return found;
    };
    return run_style_gate(runner_, {tree_, kernel_file(), {{"PATH", "/bin"}}});
  }
  static CannedProcess says(std::vector<std::string> lines, int code = 0) {
    return {std::move(lines), code};
  }
  std::size_t times(const std::string& label) const {
    return static_cast<std::size_t>(
        std::count_if(runner_.asked.begin(), runner_.asked.end(),
                      [&](const ProcessSpec& spec) { return spec.label == label; }));
  }
  FakeRunner runner_;
};

TEST_F(FakeStyleGate, ACleanRunAsksOnceAndNamesWhatDecides) {
  put("Makefile", "");
  put("pyproject.toml", "");
  const auto result = run({{"ruff --version", says({"ruff 0.12.3"})}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->state, State::kPassed);
  EXPECT_EQ(result->ruff_version, "0.12.3");
  EXPECT_EQ(times("make checkstyle"), 1U);
  EXPECT_EQ(times("ruff on the kernel file"), 0U);
  for (const ProcessSpec& spec : runner_.asked) {
    EXPECT_THAT(spec.inputs,
                ElementsAre(kernel_file(), tree_ / "Makefile", tree_ / "pyproject.toml"));
    EXPECT_THAT(spec.outputs, ElementsAre(kernel_file()));
    EXPECT_EQ(spec.cwd, tree_);
    EXPECT_EQ(spec.env.at("PATH"), "/bin");
  }
}

TEST_F(FakeStyleGate, AFailedCheckstyleIsTriedOnceMoreAfterTheRepair) {
  const auto result = run({{"ruff --version", says({"ruff 0.12.3"})},
                           {"make", says({"src/pack/other.py:3:1: F821 Undefined name `x`"}, 2)}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->state, State::kPassed) << result->sentence;
  EXPECT_EQ(times("make checkstyle"), 2U);
  EXPECT_EQ(times("ruff on the kernel file"), 2U);
  EXPECT_THAT(result->sentence, HasSubstr("1 finding in 1 other file is not the winner's"));
}

TEST_F(FakeStyleGate, EachRequirementIsHeldAgainstTheVersion) {
  const auto remark_of = [&](const std::string& requirement) {
    put("pyproject.toml", "dev = [\"ruff" + requirement + "\"]\n");
    const auto result = run({{"ruff --version", says({"ruff 0.12.3 (abc 2025-07-11)"})}});
    return result ? result->sentence.find("asks for") != std::string::npos : false;
  };
  for (const char* met : {"==0.12.3", "==0.12.*", ">=0.12", "<0.13", "<=0.12.3", "~=0.12.1",
                          "~=0.5", "!=0.12.4", ">=0.9,<0.16.0", "> 0.9 , < 1"}) {
    EXPECT_FALSE(remark_of(met)) << met;
  }
  for (const char* missed : {"==0.12.4", "==0.11.*", ">=0.12.4", "<0.12.3", "<=0.12", "~=0.11.1",
                             "!=0.12.3", ">=0.9,<0.12.0", ">0.12.3"}) {
    EXPECT_TRUE(remark_of(missed)) << missed;
  }
}

TEST_F(FakeStyleGate, AStopPutsTheOtherFilesBack) {
  put("src/pack/other.py", "VALUE=2\n");
  CannedProcess stopped;
  stopped.end = ProcessEnd::kCancelled;
  stopped.effect = [this](const ProcessSpec&) { put("src/pack/other.py", "VALUE = 2\n"); };
  const auto result = run({{"ruff --version", says({"ruff 0.12.3"})}, {"make", stopped}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kStopped);
  EXPECT_EQ(text_of("src/pack/other.py"), "VALUE=2\n");
}

TEST_F(FakeStyleGate, AKernelFileThatIsNotThereIsAnError) {
  fs::remove(kernel_file());
  const auto result = run({});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().sentence, HasSubstr("op.py"));
  EXPECT_THAT(runner_.asked, IsEmpty());
}

}  // namespace
}  // namespace lwb
