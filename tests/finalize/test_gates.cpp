// The test gate and the style gate with a real pytest and a real ruff, on small trees of our own.
#include <gmock/gmock.h>

#include <cstdlib>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/finalize/style_gate.h"
#include "core/finalize/test_gate.h"
#include "core/process/child_environment.h"

namespace lwb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Gates : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("LWB_TEST_PYTHON");
    if (python == nullptr) GTEST_SKIP() << "LWB_TEST_PYTHON names no Python with pytest and ruff";
    tools_.python = python;
    tools_.scripts = fs::path(LWB_SOURCE_DIR) / "resources/python";
    tools_.environment = own_environment();
    tools_.environment["PATH"] =
        fs::path(python).parent_path().string() + ":" + tools_.environment["PATH"];
    tools_.environment["PYTHONDONTWRITEBYTECODE"] = "1";
    tree_ = fs::path(::testing::TempDir()) / "gates";
    fs::remove_all(tree_);
    put("src/pack/__init__.py", "");
    put("src/pack/op.py", "VALUE = 1\n");
  }
  void put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(tree_ / path, text));
  }
  Result<TestRun> tests(const std::string& text) {
    put("test/test_op.py", text);
    TestJob job;
    job.tree = tree_;
    job.files = {"test/test_op.py"};
    job.module = "pack.op";
    job.kernel_file = tree_ / "src/pack/op.py";
    job.kernel_sha256 = *sha256_of_file(job.kernel_file);
    job.events = tree_ / "events/tests.jsonl";
    job.test_limit = std::chrono::seconds(3);
    return run_tests(runner_, tools_, job);
  }
  SystemRunner runner_;
  PythonTools tools_;
  fs::path tree_;
};

TEST_F(Gates, EachOutcomeIsCounted) {
  const auto run = tests(
      "import pytest, pack.op\n"
      "def test_passes(): assert pack.op.VALUE == 1\n"
      "def test_fails(): assert False, 'for a reason'\n"
      "@pytest.mark.xfail\ndef test_known(): assert False\n"
      "@pytest.mark.skip\ndef test_skipped(): pass\n");
  ASSERT_TRUE(run) << run.error().sentence << run.error().details;
  EXPECT_EQ(run->count("passed"), 1);
  EXPECT_EQ(run->count("xfailed"), 1);
  EXPECT_EQ(run->count("skipped"), 1);
  EXPECT_THAT(run->failures(), ElementsAre("test/test_op.py::test_fails"));
  EXPECT_EQ(run->command, "python -m pytest test/test_op.py -v");
  const TestRun back = test_run_from_json(to_json(*run));
  EXPECT_EQ(to_json(back).dump(), to_json(*run).dump());
}

TEST_F(Gates, TestsThatKillOrHangAreFailuresAndTheRestRuns) {
  const auto run = tests(
      "import os, time, pack.op\n"
      "def test_first(): pass\n"
      "def test_kills(): os.kill(os.getpid(), 9)\n"
      "def test_between(): pass\n"
      "def test_hangs(): time.sleep(60)\n"
      "def test_last(): pass\n");
  ASSERT_TRUE(run) << run.error().sentence << run.error().details;
  EXPECT_EQ(run->count("passed"), 3);
  EXPECT_THAT(run->failures(), UnorderedElementsAre("test/test_op.py::test_kills",
                                                    "test/test_op.py::test_hangs"));
}

TEST_F(Gates, AFileThatCannotBeImportedFails) {
  const auto run = tests("import no_such_module\n");
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_THAT(run->failures(), ElementsAre(HasSubstr("test_op.py")));
  EXPECT_FALSE(judge_tests({}, *run).passed);
}

TEST_F(Gates, NothingCollectedDoesNotPass) {
  const auto run = tests("import pack.op\n");
  ASSERT_TRUE(run) << run.error().sentence;
  const TestVerdict verdict = judge_tests({}, *run);
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.sentence, HasSubstr("No test passed"));
}

TEST_F(Gates, AnotherCopyOfTheModuleIsAnError) {
  put("test/other/pack/__init__.py", "");
  put("test/other/pack/op.py", "VALUE = 2\n");
  const auto run = tests(
      "import sys, os\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'other'))\n"
      "import pack.op\ndef test_it(): pass\n");
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().sentence, HasSubstr("other/pack/op.py"));
}

TestRun run_of(std::vector<std::pair<std::string, std::string>> outcomes) {
  TestRun run;
  for (auto& [id, outcome] : outcomes) run.tests.push_back({id, outcome, "", 0, false});
  return run;
}

TEST(JudgeTests, AFailureOnTheUnchangedKernelIsKnownAndANewOneCounts) {
  const TestRun original = run_of({{"a", "failed"}, {"b", "passed"}, {"c", "failed"}, {"d", "passed"}});
  const TestVerdict known = judge_tests(
      original, run_of({{"a", "failed"}, {"b", "passed"}, {"c", "passed"}, {"d", "passed"}}));
  EXPECT_TRUE(known.passed);
  EXPECT_THAT(known.known_failures, ElementsAre("a"));
  EXPECT_THAT(known.mended, ElementsAre("c"));
  const TestVerdict worse =
      judge_tests(original, run_of({{"a", "failed"}, {"b", "error"}, {"c", "failed"}}));
  EXPECT_FALSE(worse.passed);
  EXPECT_THAT(worse.new_failures, ElementsAre("b"));
  EXPECT_THAT(worse.lost, ElementsAre("d"));
  EXPECT_THAT(worse.sentence, HasSubstr("2 of 3 tests fail"));
}

// ---------------------------------------------------------------------------------------- style

class Style : public Gates {
 protected:
  void SetUp() override {
    Gates::SetUp();
    if (IsSkipped()) return;
    put("Makefile",
        "checkstyle:\n\truff check --output-format=concise .; a=$$?; \\\n\truff format --check --diff .; "
        "b=$$?; \\\n\truff check . --fix; ruff format .; \\\n\tif [ $$a -ne 0 ] || [ $$b -ne 0 ]; then "
        "exit 1; fi\n");
  }
  StyleResult style(const std::string& text) {
    put("src/pack/op.py", text);
    auto result = run_style_gate(runner_, {tree_, tree_ / "src/pack/op.py", tools_.environment});
    EXPECT_TRUE(result) << result.error().sentence;
    return result.value_or(StyleResult{});
  }
};

TEST_F(Style, ACleanFilePassesUnchanged) {
  const StyleResult result = style("VALUE = 1\n");
  EXPECT_EQ(result.state, StyleResult::State::kPassed) << result.sentence;
  EXPECT_FALSE(result.rewritten);
  EXPECT_FALSE(result.ruff_version.empty());
}

TEST_F(Style, WhatRuffCanMendIsMendedAndTakenOver) {
  const StyleResult result = style("import os\nVALUE=1\n");
  EXPECT_EQ(result.state, StyleResult::State::kPassed) << result.sentence;
  EXPECT_TRUE(result.rewritten);
  EXPECT_EQ(result.text, "VALUE = 1\n");
}

TEST_F(Style, WhatIsLeftIsListed) {
  const StyleResult result = style("VALUE = missing_name\n");
  EXPECT_EQ(result.state, StyleResult::State::kFindings);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_THAT(result.findings[0], HasSubstr("src/pack/op.py:1:9: F821"));
}

TEST_F(Style, OtherFilesFindingsAreNotTheWinners) {
  put("src/pack/other.py", "VALUE = missing_name\n");
  EXPECT_EQ(style("VALUE = 1\n").state, StyleResult::State::kPassed);
}

TEST_F(Style, AMissingRuffAndAnotherVersionAreSaid) {
  put(".pre-commit-config.yaml",
      "repos:\n  - repo: https://github.com/astral-sh/ruff-pre-commit\n    rev: v0.0.1\n");
  EXPECT_THAT(style("VALUE = 1\n").sentence, HasSubstr("asks for ruff 0.0.1"));
  tools_.environment["PATH"] = "/nowhere";
  const StyleResult none = style("VALUE = 1\n");
  EXPECT_EQ(none.state, StyleResult::State::kNotChecked);
  EXPECT_THAT(none.sentence, HasSubstr("ruff is not there"));
  EXPECT_EQ(none.text, "VALUE = 1\n");
}

}  // namespace
}  // namespace lwb
