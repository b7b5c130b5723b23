// The test gate: what it starts and makes of each end, with a fake seam; and real pytest on small
// test files of our own.
#include "core/finalize/test_gate.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/base/text.h"
#include "core/process/recording.h"
#include "tests/finalize/gates_tree.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class TestGate : public GatesTree {
 protected:
  TestJob job() const {
    TestJob job;
    job.tree = tree_;
    job.files = {"test/test_op.py"};
    job.module = "pack.op";
    job.kernel_file = kernel_file();
    job.kernel_sha256 = *sha256_of_file(kernel_file());
    job.events = tree_.parent_path() / "events/tests.jsonl";
    job.label = "tests of v1";
    job.test_limit = std::chrono::seconds(20);
    return job;
  }
};

// --------------------------------------------------------------------------------- a fake seam

class FakeTestGate : public TestGate {
 protected:
  // A process that appends `lines` to the events file.
  static CannedProcess process(std::vector<std::string> lines, ProcessEnd end = ProcessEnd::kExited,
                               int code = 0) {
    CannedProcess canned;
    canned.end = end;
    (end == ProcessEnd::kSignaled ? canned.signal : canned.exit_code) = code;
    canned.effect = [lines](const ProcessSpec& spec) {
      std::ofstream file(spec.env.at("LWB_PYTEST_EVENTS"), std::ios::app);
      for (const std::string& line : lines) file << line << "\n";
    };
    return canned;
  }
  static std::string collected(int n) { return event_line({{"event", "collected"}, {"tests", n}}); }
  static std::string started(const std::string& id) {
    return event_line({{"event", "started"}, {"id", id}});
  }
  static std::string ended(const std::string& id, const std::string& outcome = "passed") {
    return event_line({{"event", "test"}, {"id", id}, {"outcome", outcome}, {"seconds", 0.5}});
  }
  static std::string finished(int code) {
    return event_line({{"event", "finished"}, {"exit_code", code}});
  }
  std::string imported(const std::string& hash = {}) const {
    return event_line({{"event", "imported"},
                       {"module", "pack.op"},
                       {"file", kernel_file().string()},
                       {"sha256", hash.empty() ? *sha256_of_file(kernel_file()) : hash}});
  }
  Result<TestRun> run() { return run_tests(runner_, tools_, job()); }

  FakeRunner runner_;
};

TEST_F(FakeTestGate, SaysAllThatDecidesTheResult) {
  tools_.environment = {{"HOME", "/home/me"}, {"PYTHONPATH", "/elsewhere"}};
  runner_.answers = {process({collected(1), started("a"), ended("a"), imported(), finished(0)})};
  TestJob with_absolute = job();
  with_absolute.files = {tree_ / "test/test_op.py", "test/test_more.py"};
  const auto run = run_tests(runner_, tools_, with_absolute);
  ASSERT_TRUE(run) << run.error().sentence;
  ASSERT_EQ(runner_.asked.size(), 1U);
  const ProcessSpec& spec = runner_.asked[0];
  EXPECT_THAT(spec.argv,
              ElementsAre("python", "-m", "pytest", "test/test_op.py", "test/test_more.py", "-v",
                          "-p", "lwb_pytest", "-p", "no:cacheprovider", "--maxfail=0",
                          "--continue-on-collection-errors"));
  EXPECT_EQ(run->command, "python -m pytest test/test_op.py test/test_more.py -v");
  EXPECT_THAT(spec.inputs,
              ElementsAre(tree_ / "test/test_op.py", tree_ / "test/test_more.py", kernel_file()));
  EXPECT_THAT(spec.outputs, ElementsAre(with_absolute.events));
  EXPECT_EQ(spec.cwd, tree_);
  EXPECT_EQ(spec.env.at("HOME"), "/home/me");
  EXPECT_EQ(spec.env.at("PYTHONPATH"), (tree_ / "src").string() + ":" + tools_.scripts.string());
  EXPECT_EQ(spec.env.at("LWB_PYTEST_MODULE"), "pack.op");
  EXPECT_EQ(spec.env.at("LWB_PYTEST_TIMEOUT_S"), "20");
  EXPECT_FALSE(spec.env.contains("LWB_PYTEST_RESUME"));
  EXPECT_GT(spec.silence_limit, with_absolute.test_limit);
  EXPECT_DOUBLE_EQ(run->seconds, 1.5);
}

TEST_F(FakeTestGate, PathsRelativeToOurFolderAreMadeAbsolute) {
  runner_.answers = {process({collected(1), started("a"), ended("a"), imported(), finished(0)})};
  TestJob relative = job();
  for (fs::path* path : {&relative.tree, &relative.kernel_file, &relative.events}) {
    *path = fs::relative(*path);
  }
  const auto run = run_tests(runner_, tools_, relative);
  ASSERT_TRUE(run) << run.error().sentence;
  const ProcessSpec& spec = runner_.asked.at(0);
  EXPECT_TRUE(fs::path(spec.env.at("LWB_PYTEST_EVENTS")).is_absolute());
  EXPECT_EQ(spec.env.at("PYTHONPATH").front(), '/');
  EXPECT_THAT(spec.argv, ::testing::Contains("test/test_op.py"));
}

TEST_F(FakeTestGate, EventsOfAnEarlierRunAreNotReadAgain) {
  ASSERT_TRUE(write_file_atomically(job().events, ended("old") + "\n" + finished(0) + "\n"));
  runner_.answers = {process({collected(1), started("a"), ended("a"), imported(), finished(0)})};
  const auto run = this->run();
  ASSERT_TRUE(run);
  ASSERT_EQ(run->tests.size(), 1U);
  EXPECT_EQ(run->tests[0].id, "a");
}

TEST_F(FakeTestGate, AKillingTestIsBlamedOnceAndTheRestResumes) {
  runner_.answers = {
      process({collected(3), started("a"), ended("a"), imported(), started("b"), R"({"event":"te)"},
              ProcessEnd::kSignaled, 11),
      process({collected(1), started("c"), ended("c"), finished(0)})};
  const auto run = this->run();
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_EQ(run->count("passed"), 2);
  EXPECT_THAT(run->failures(), ElementsAre("b"));
  EXPECT_THAT(run->tests.back().message, HasSubstr("signal 11"));
  EXPECT_EQ(runner_.asked.at(1).env.at("LWB_PYTEST_RESUME"), "1");
  EXPECT_EQ(runner_.asked[1].argv, runner_.asked[0].argv);  // no list of what ran
  EXPECT_THAT(run->notes, ElementsAre(HasSubstr("the rest ran without it")));
  EXPECT_DOUBLE_EQ(run->seconds, 3.0);
}

TEST_F(FakeTestGate, ADeathWhileCollectingIsNotBlamedOnTheTestBefore) {
  runner_.answers = {process({collected(2), started("a")}, ProcessEnd::kSignaled, 9),
                     process({}, ProcessEnd::kSignaled, 9)};
  const auto run = this->run();
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_EQ(runner_.asked.size(), 2U);
  EXPECT_THAT(run->failures(), ElementsAre("a", "(collection of the tests)"));
}

TEST_F(FakeTestGate, ACrashAfterTheLastTestIsAFailureOfItsOwn) {
  const std::vector<std::string> events = {collected(1), started("a"), ended("a"), imported(),
                                           finished(0)};
  runner_.answers = {process(events, ProcessEnd::kSignaled, 6)};
  const auto crashed = run();
  ASSERT_TRUE(crashed) << crashed.error().sentence;
  EXPECT_THAT(crashed->failures(), ElementsAre("(end of the tests)"));
  runner_.answers = {process(events)};
  const auto whole = run();
  ASSERT_TRUE(whole);
  EXPECT_THAT(whole->failures(), IsEmpty());
  EXPECT_FALSE(judge_tests(*whole, *crashed).passed);
  EXPECT_TRUE(judge_tests(*crashed, *crashed).passed);  // this machine's, not the winner's
}

TEST_F(FakeTestGate, AfterTheWallLimitNothingIsStartedAgain) {
  runner_.answers = {process({collected(5), started("a"), ended("a"), imported(), started("b")},
                             ProcessEnd::kWallLimit)};
  const auto run = this->run();
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_EQ(runner_.asked.size(), 1U);
  EXPECT_THAT(run->failures(), ElementsAre("(tests that did not run)"));
  EXPECT_THAT(run->tests.back().message, HasSubstr("4 tests"));
}

TEST_F(FakeTestGate, TooManyEndsAreEnough) {
  int n = 0;
  runner_.answer = [&](const ProcessSpec&) {
    ++n;
    return process({collected(100 - n), started("t" + std::to_string(n))}, ProcessEnd::kSignaled,
                   9);
  };
  TestJob few = job();
  few.max_restarts = 2;
  const auto run = run_tests(runner_, tools_, few);
  ASSERT_TRUE(run);
  EXPECT_EQ(n, 3);
  EXPECT_THAT(run->failures(), ElementsAre("t1", "t2", "t3", "(tests that did not run)"));
}

TEST_F(FakeTestGate, APythonWithoutPytestAndABrokenPytestAreSaid) {
  CannedProcess none = process({}, ProcessEnd::kExited, 1);
  none.err = "python: No module named pytest\n";
  runner_.answers = {none};
  const auto without = run();
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().kind, ErrorKind::kPreflight);
  EXPECT_EQ(without.error().sentence, "The Python python has no pytest; install it there.");
  CannedProcess usage = process({finished(4)}, ProcessEnd::kExited, 4);
  usage.err = "ERROR: file or directory not found: test/test_op.py\n";
  runner_.answers = {usage};
  const auto wrong = run();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kPreflight);
  EXPECT_THAT(wrong.error().sentence, HasSubstr("test/test_op.py"));
  EXPECT_THAT(wrong.error().details, HasSubstr("not found"));
}

TEST_F(FakeTestGate, StoppedAndNotStartedAreErrors) {
  runner_.answers = {process({}, ProcessEnd::kCancelled)};
  const auto stopped = run();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::kStopped);
  runner_.answers = {process({}, ProcessEnd::kFailedToStart)};
  const auto absent = run();
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::kPreflight);
}

TEST_F(FakeTestGate, EveryProcessHasToImportTheFileThatWasMeant) {
  runner_.answers = {
      process({collected(2), started("a"), ended("a"), imported("another hash"), started("b")},
              ProcessEnd::kSignaled, 9),
      process({collected(0), imported(), finished(5)}, ProcessEnd::kExited, 5)};
  const auto run = this->run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::kInternal);
  EXPECT_THAT(run.error().sentence, HasSubstr("another hash"));
}

TEST_F(FakeTestGate, WithoutTestFilesNothingIsStarted) {
  TestJob none = job();
  none.files.clear();
  const auto run = run_tests(runner_, tools_, none);
  ASSERT_TRUE(run);
  EXPECT_THAT(runner_.asked, IsEmpty());
  EXPECT_FALSE(judge_tests({}, *run).passed);
}

// --------------------------------------------------------------------------------- real pytest

class RealTestGate : public TestGate {
 protected:
  void SetUp() override {
    TestGate::SetUp();
    use_real_python();
  }
  Result<TestRun> tests(const std::string& text, int limit_s = 20) {
    put("test/test_op.py", text);
    TestJob job = this->job();
    job.test_limit = std::chrono::seconds(limit_s);
    return run_tests(runner_, tools_, job);
  }
  SystemRunner runner_;
};

TEST_F(RealTestGate, OnlyTheNamedTestsRun) {
  put("test/test_op.py",
      "import pytest, pack.op\n"
      "@pytest.mark.parametrize('n', [1, 2])\ndef test_passes(n): pass\n"
      "def test_fails(): assert False\n");
  TestJob job = this->job();
  job.only = {"test/test_op.py::test_passes[2]"};
  const auto run = run_tests(runner_, tools_, job);
  ASSERT_TRUE(run) << run.error().sentence << run.error().details;
  ASSERT_EQ(run->tests.size(), 1U);
  EXPECT_EQ(run->tests[0].id, "test/test_op.py::test_passes[2]");
  EXPECT_EQ(run->tests[0].outcome, "passed");
}

TEST_F(RealTestGate, EachOutcomeIsCounted) {
  const auto run = tests(
      "import pytest, pack.op\n"
      "def test_passes(): assert pack.op.VALUE == 1\n"
      "def test_fails(): assert False, 'for a reason'\n"
      "@pytest.mark.xfail\ndef test_known(): assert False\n"
      "@pytest.mark.xfail\ndef test_better(): pass\n"
      "@pytest.mark.skip\ndef test_skipped(): pass\n"
      "@pytest.fixture\ndef broken(): raise ValueError()\n"
      "def test_setup(broken): pass\n");
  ASSERT_TRUE(run) << run.error().sentence << run.error().details;
  for (const char* outcome : {"passed", "failed", "xfailed", "xpassed", "skipped", "error"}) {
    EXPECT_EQ(run->count(outcome), 1) << outcome;
  }
  EXPECT_THAT(run->failures(),
              UnorderedElementsAre("test/test_op.py::test_fails", "test/test_op.py::test_setup"));
  EXPECT_TRUE(run->kernel_imported);
  EXPECT_THAT(run->notes, IsEmpty());
  const TestRun back = test_run_from_json(to_json(*run));
  EXPECT_EQ(print_json(to_json(back)), print_json(to_json(*run)));
}

constexpr const char* kKillsAndHangs =
    "import os, time, pack.op\n"
    "def test_first(): pass\n"
    "def test_kills(): os.kill(os.getpid(), 9)\n"
    "def test_between(): pass\n"
    "def test_hangs(): time.sleep(100)\n"
    "def test_leaves(): os._exit(0)\n"
    "def test_last(): pass\n";

TEST_F(RealTestGate, TestsThatKillOrHangAreFailuresAndTheRestRunsOnce) {
  const auto run = tests(kKillsAndHangs, 2);
  ASSERT_TRUE(run) << run.error().sentence << run.error().details;
  EXPECT_EQ(run->count("passed"), 3);
  EXPECT_THAT(run->failures(),
              UnorderedElementsAre("test/test_op.py::test_kills", "test/test_op.py::test_hangs",
                                   "test/test_op.py::test_leaves"));
  for (const TestCase& test : run->tests) {
    EXPECT_EQ(test.timeout, test.id == "test/test_op.py::test_hangs") << test.id;
  }
  EXPECT_EQ(run->notes.size(), 3U);
  const std::string events = *read_file(job().events);
  const auto lines = split_lines(events);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return line.find("\"started\"") != std::string::npos;
                          }),
            6);
}

TEST_F(RealTestGate, ARecordingReplaysRestartsAndAll) {
  put("test/test_op.py", kKillsAndHangs);
  TestJob job = this->job();
  job.test_limit = std::chrono::seconds(2);
  const fs::path file = tree_.parent_path() / "recording.jsonl";
  const PathTokens tokens{{{tree_.parent_path().string(), "@AREA@"}}};
  Result<TestRun> seen;
  {
    const auto recorder = make_recorder(runner_, file, {}, tokens);
    seen = run_tests(*recorder, tools_, job);
  }
  ASSERT_TRUE(seen) << seen.error().sentence;
  ASSERT_EQ(seen->tests.size(), 6U);
  fs::remove_all(job.events.parent_path());
  auto replay = make_replay(file, tokens);
  ASSERT_TRUE(replay) << replay.error().sentence;
  const auto again = run_tests(**replay, tools_, job);
  ASSERT_TRUE(again) << again.error().sentence << again.error().details;
  EXPECT_EQ(print_json(to_json(*again)), print_json(to_json(*seen)));
  put("src/pack/op.py", "VALUE = 2\n");  // another kernel was not recorded
  EXPECT_FALSE(run_tests(**replay, tools_, job));
}

TEST_F(RealTestGate, AFileThatCannotBeImportedFailsAndHidesNothing) {
  put("test/test_broken.py", "import no_such_module\n");
  put("test/test_op.py", "import pack.op\ndef test_it(): pass\n");
  put("pytest.ini", "[pytest]\naddopts = -x\n");  // a checkout's own wish to stop early
  TestJob both = job();
  both.files = {"test/test_broken.py", "test/test_op.py"};
  const auto run = run_tests(runner_, tools_, both);
  ASSERT_TRUE(run) << run.error().sentence << run.error().details;
  EXPECT_THAT(run->failures(), ElementsAre("test/test_broken.py"));
  EXPECT_THAT(run->tests.front().message, HasSubstr("no_such_module"));
  EXPECT_EQ(run->count("passed"), 1);
  EXPECT_FALSE(judge_tests({}, *run).passed);
  const TestVerdict known = judge_tests(*run, *run);
  EXPECT_TRUE(known.passed);
  EXPECT_THAT(known.sentence,
              HasSubstr("1 fails on the unchanged kernel too: test/test_broken.py"));
}

TEST_F(RealTestGate, AFileThatKillsItsImporterFails) {
  const auto run = tests("import os\nos.kill(os.getpid(), 9)\n");
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_THAT(run->failures(), ElementsAre("(collection of the tests)"));
  EXPECT_THAT(run->tests[0].message, HasSubstr("signal 9"));
}

TEST_F(RealTestGate, NothingCollectedDoesNotPass) {
  const auto run = tests("import pack.op\n");
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_THAT(run->notes, ElementsAre("pytest collected no test."));
  const TestVerdict verdict = judge_tests({}, *run);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.sentence, "No test passed (no test ran).");
}

TEST_F(RealTestGate, ATestFileThatIsNotThereIsAnError) {
  const auto run = run_tests(runner_, tools_, job());
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::kPreflight);
  EXPECT_THAT(run.error().sentence, HasSubstr("test/test_op.py"));
}

TEST_F(RealTestGate, AnotherCopyOfTheModuleIsAnError) {
  put("test/other/pack/__init__.py", "");
  put("test/other/pack/op.py", "VALUE = 2\n");
  const auto run = tests(
      "import sys, os\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'other'))\n"
      "import pack.op\ndef test_it(): pass\n");
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::kInternal);
  EXPECT_THAT(run.error().sentence, HasSubstr("other/pack/op.py"));
}

TEST_F(RealTestGate, TestsThatNeverImportTheKernelProveNothing) {
  const auto run = tests("def test_it(): pass\n");
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_FALSE(run->kernel_imported);
  EXPECT_FALSE(test_run_from_json(to_json(*run)).kernel_imported);
  const TestVerdict verdict = judge_tests(*run, *run);
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.sentence, HasSubstr("no test imported its module"));
}

TEST_F(RealTestGate, ATestThatInterruptsPytestFailsAndTheRestIsMissed) {
  const auto run = tests(
      "import pack.op\n"
      "def test_first(): pass\n"
      "def test_interrupts(): raise KeyboardInterrupt()\n"
      "def test_last(): pass\n");
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_THAT(run->failures(),
              ElementsAre("test/test_op.py::test_interrupts", "(tests that did not run)"));
  EXPECT_THAT(run->tests.back().message, HasSubstr("1 tests"));
}

TEST_F(RealTestGate, ACrashAtTheEndOfPythonIsSeen) {
  const auto run = tests(
      "import atexit, os, pack.op\n"
      "atexit.register(lambda: os.kill(os.getpid(), 11))\n"
      "def test_it(): pass\n");
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_EQ(run->count("passed"), 1);
  EXPECT_THAT(run->failures(), ElementsAre("(end of the tests)"));
}

TEST_F(RealTestGate, AMessageOfBrokenTextLosesNoFailure) {
  const auto run = tests("import pack.op\ndef test_it(): assert False, 'bad \\udc80 byte'\n");
  ASSERT_TRUE(run) << run.error().sentence;
  EXPECT_THAT(run->failures(), ElementsAre("test/test_op.py::test_it"));
}

// ------------------------------------------------------------------------------------- verdict

TestRun run_of(const std::vector<std::pair<std::string, std::string>>& outcomes) {
  TestRun run;
  for (const auto& [id, outcome] : outcomes) run.tests.push_back({id, outcome, "", 0, false});
  return run;
}

TEST(JudgeTests, AFailureOnTheUnchangedKernelIsKnownAndANewOneCounts) {
  const TestRun original =
      run_of({{"a", "failed"}, {"b", "passed"}, {"c", "failed"}, {"d", "passed"}});
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
  EXPECT_THAT(worse.sentence,
              HasSubstr("2 of 4 tests fail with the winner and not without it: b, d"));
}

TEST(JudgeTests, WhatPassedMayNotBeSkippedOrExpectedToFailNow) {
  const TestRun original = run_of({{"a", "passed"}, {"b", "passed"}, {"c", "passed"}});
  const TestVerdict verdict =
      judge_tests(original, run_of({{"a", "passed"}, {"b", "skipped"}, {"c", "xfailed"}}));
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.lost, ElementsAre("b", "c"));
}

TEST(JudgeTests, AllSkippedDoesNotPass) {
  const TestVerdict verdict = judge_tests({}, run_of({{"a", "skipped"}, {"b", "xfailed"}}));
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.sentence, "No test passed (1 skipped, 1 xfailed).");
}

TEST(JudgeTests, ALongListIsCut) {
  TestRun winner;
  for (int i = 0; i < 9; ++i)
    winner.tests.push_back({"t" + std::to_string(i), "failed", "", 0, false});
  const TestVerdict verdict = judge_tests({}, winner);
  EXPECT_EQ(verdict.new_failures.size(), 9U);
  EXPECT_THAT(verdict.sentence, HasSubstr("t4 and 4 more (9 failed)"));
  EXPECT_THAT(verdict.sentence, Not(HasSubstr("t5")));
}

TEST(JudgeTests, APassIsCountedAndTimed) {
  TestRun winner = run_of({{"a", "passed"}, {"b", "xfailed"}});
  winner.seconds = 122;
  EXPECT_EQ(judge_tests({}, winner).sentence, "1 passed, 1 xfailed in 2 min 02 s.");
}

}  // namespace
}  // namespace lwb
