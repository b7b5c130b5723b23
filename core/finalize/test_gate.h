// The test gate (spec section 6): upstream's tests of the op and of what imports from it, run in
// the sandbox with the winner in place of the kernel file, held against what the unchanged kernel
// does.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/kernel/parse.h"
#include "core/process/process.h"

namespace lwb {

struct TestJob {
  std::filesystem::path tree;                // the sandbox: root of a copy of the checkout
  std::vector<std::filesystem::path> files;  // test files, absolute or relative to `tree`
  std::vector<std::string> only;             // ids of the tests to run; empty: all of them
  std::string module;                        // module of the kernel file: "pkg.ops.scaled_add"
  std::filesystem::path kernel_file;         // the file that the tests have to import, below `tree`
  std::string kernel_sha256;                 // of that file
  std::filesystem::path events;              // where lwb_pytest.py writes; replaced
  std::string label;                         // "tests of v2"
  // A test that takes longer is ended and fails; the rest goes on without it.
  std::chrono::seconds test_limit{180};
  std::chrono::minutes wall_limit{60};
  int max_restarts = 20;  // after tests that hung or killed the process
};

struct TestCase {
  std::string id;       // as pytest names it; in parentheses what is no test: "(end of the tests)"
  std::string outcome;  // passed, failed, skipped, xfailed, xpassed, error
  std::string message;  // why it failed
  double seconds = 0;
  bool timeout = false;
  // An unexpected end counts as a failure: "failed", "error".
  bool failed() const { return outcome == "failed" || outcome == "error"; }
};

struct TestRun {
  std::vector<TestCase> tests;
  std::vector<std::string> notes;  // restarts, tests left out, "no tests collected"
  double seconds = 0;
  std::string command;          // as a person would type it, from the root of the checkout
  bool kernel_imported = true;  // false: tests passed, yet none imported the kernel's module
  int count(const std::string& outcome) const;
  std::vector<std::string> failures() const;  // ids
  // Ids of tests that neither passed nor failed: skipped or failing as expected.
  std::vector<std::string> passed_over() const;
};
Json to_json(const TestRun&);
TestRun test_run_from_json(const Json&);

// `python -m pytest FILES -v -p lwb_pytest` with the tree's src first on PYTHONPATH. A test that
// hangs or kills the process is recorded as failed and the rest is run in another process without
// it; the events file tells that process what ran already (LWB_PYTEST_RESUME), so that no list of
// --deselect is needed. A process that dies while it collects or after its last test, and tests
// that did not run, are cases of outcome "error" with the same ids in every run, so that
// judge_tests can tell what the winner does from what this machine does. An Error when pytest
// cannot start or ends by itself before it collects (kPreflight), when the module imported is not
// `kernel_file` with `kernel_sha256` (kInternal), or when the run was stopped.
Result<TestRun> run_tests(ProcessRunner& runner, const PythonTools& tools, const TestJob& job);

// What the winner's run means beside the unchanged kernel's.
struct TestVerdict {
  bool passed = false;  // no new failure, nothing lost, a test passed, and the kernel was imported
  std::vector<std::string> new_failures;    // fail with the winner, did not with the original
  std::vector<std::string> known_failures;  // fail with both
  std::vector<std::string> mended;          // fail with the original alone
  // Passed with the original; not run, skipped or an expected failure now: failures too.
  std::vector<std::string> lost;
  std::string sentence;  // "66 passed, 8 xfailed in 2 min 02 s." / "2 of 66 tests fail …"
};
TestVerdict judge_tests(const TestRun& original, const TestRun& winner);

}  // namespace lwb
