#include "core/finalize/test_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

constexpr int kTimedOut = 124;        // lwb_pytest's exit code after a test that took too long
constexpr int kInterrupted = 2;       // pytest: a test or a signal asked it to end
constexpr int kInternalError = 3;     // pytest: a defect of it or of a plugin
constexpr int kUsageError = 4;        // pytest: an option or a file that is not there
constexpr int kNothingCollected = 5;  // the last of pytest's own exit codes
constexpr std::size_t kNamesShown = 5;

// Failures that are no test's own. They have the same names in every run.
constexpr const char* kCollection = "(collection of the tests)";
constexpr const char* kEnd = "(end of the tests)";
constexpr const char* kLeftOut = "(tests that did not run)";

TestCase test_from(const Json& event) {
  return {get_string(event, "id"), get_string(event, "outcome"), get_string(event, "message"),
          get_number(event, "seconds"), get_bool(event, "timeout")};
}

// What the events of all processes so far say.
struct Told {
  std::vector<TestCase> tests;  // in the order of their ends
  std::vector<Json> imported;
  int collections = 0;          // processes that came to their tests
  long long chosen = 0;         // tests that the last of those was to run
  std::set<std::string> begun;  // those of them that it began or ended
  std::string running;          // the test that was begun last and has no outcome
  bool finished = false;
  long long left_out() const { return chosen - static_cast<long long>(begun.size()); }
};

Told read_events(const fs::path& file) {
  Told told;
  std::set<std::string> seen;
  auto text = read_file(file);
  if (!text) return told;
  for (const std::string& line : split_lines(*text)) {
    auto event = parse_json(line, "event of lwb_pytest.py");
    if (!event) continue;  // a killed process may leave half a line
    const std::string name = get_string(*event, "event");
    if (name == "collected") {
      ++told.collections;
      told.chosen = get_integer(*event, "tests");
      told.begun.clear();
      told.running.clear();
    } else if (name == "started") {
      told.running = get_string(*event, "id");
      told.begun.insert(told.running);
    } else if (name == "imported") {
      told.imported.push_back(std::move(*event));
    } else if (name == "finished") {
      told.finished = true;
    } else if (name == "test") {
      TestCase test = test_from(*event);
      if (test.id == told.running) told.running.clear();
      told.begun.insert(test.id);  // of a file that cannot be imported: before "collected"
      // A file that cannot be imported is told again by each process.
      if (seen.insert(test.id).second) told.tests.push_back(std::move(test));
    }
  }
  return told;
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return a == b || fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

class GateRun {
 public:
  GateRun(ProcessRunner& runner, const PythonTools& tools, const TestJob& job)
      : runner_(runner), tools_(tools), job_(job) {
    // The tests run in the tree, where a path relative to our own folder leads elsewhere.
    std::error_code error;
    for (fs::path* path : {&job_.tree, &job_.kernel_file, &job_.events}) {
      *path = fs::absolute(*path, error);
    }
  }

  Result<TestRun> go() {
    if (job_.files.empty()) {  // pytest without files would run whatever it finds
      run_.notes.push_back("There is no test file for " + job_.module + ".");
      return run_;
    }
    std::error_code error;
    fs::create_directories(job_.events.parent_path(), error);
    fs::remove(job_.events, error);
    if (!job_.only.empty()) {
      auto named = write_file_atomically(only_file(), print_json(Json(job_.only)));
      if (!named) return tl::unexpected(named.error());
    }
    for (bool again = true; again;) {
      auto outcome = start();
      if (!outcome) return tl::unexpected(outcome.error());
      told_ = read_events(job_.events);
      if (auto right = check_module(); !right) return tl::unexpected(right.error());
      auto more = take_in(*outcome);
      if (!more) return tl::unexpected(more.error());
      again = *more;
      if (again && processes_ > job_.max_restarts) {
        add_left_out(fmt::format("{} processes were ended by tests", processes_));
        again = false;
      }
    }
    run_.tests = told_.tests;
    run_.tests.insert(run_.tests.end(), own_.begin(), own_.end());
    if (run_.tests.empty()) run_.notes.push_back("pytest collected no test.");
    if (told_.imported.empty() && run_.count("passed") > 0) {
      run_.kernel_imported = false;
      run_.notes.push_back("No test imported " + job_.module + ".");
    }
    return run_;
  }

 private:
  fs::path only_file() const { return fs::path(job_.events).replace_extension(".only.json"); }

  ProcessSpec spec() {
    ProcessSpec spec;
    spec.label = job_.label;
    spec.argv = {tools_.python, "-m", "pytest"};
    std::error_code error;
    for (const fs::path& file : job_.files) {
      const fs::path relative = file.is_absolute() ? fs::relative(file, job_.tree, error) : file;
      spec.argv.push_back(relative.string());
      spec.inputs.push_back(job_.tree / relative);
    }
    spec.argv.emplace_back("-v");
    run_.command = "python " + join({spec.argv.begin() + 1, spec.argv.end()}, " ");
    // One file that cannot be imported, or a checkout's own -x, must not hide what the rest does.
    spec.argv.insert(spec.argv.end(), {"-p", "lwb_pytest", "-p", "no:cacheprovider", "--maxfail=0",
                                       "--continue-on-collection-errors"});
    spec.inputs.push_back(job_.kernel_file);
    spec.outputs = {job_.events};
    spec.env = tools_.environment;
    spec.env["PYTHONPATH"] = (job_.tree / "src").string() + ":" + tools_.scripts.string();
    spec.env["LWB_PYTEST_EVENTS"] = job_.events.string();
    spec.env["LWB_PYTEST_MODULE"] = job_.module;
    spec.env["LWB_PYTEST_TIMEOUT_S"] = std::to_string(job_.test_limit.count());
    if (!job_.only.empty()) spec.env["LWB_PYTEST_ONLY"] = only_file().string();
    if (processes_ > 0) spec.env["LWB_PYTEST_RESUME"] = "1";
    spec.cwd = job_.tree;
    spec.wall_limit = job_.wall_limit;
    spec.silence_limit = job_.test_limit + std::chrono::minutes(2);
    return spec;
  }

  Result<ProcessOutcome> start() {
    auto outcome = runner_.run(spec());
    if (!outcome) return outcome;
    ++processes_;
    run_.seconds += static_cast<double>(outcome->wall.count()) / 1e3;
    if (outcome->end == ProcessEnd::kCancelled) {
      return fail(ErrorKind::kStopped, "Stopped during the tests; start the run again to go on.");
    }
    if (outcome->end == ProcessEnd::kFailedToStart) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("The Python {} cannot be started for the tests.", tools_.python),
                  outcome->err);
    }
    return outcome;
  }

  // Every process has to have tested the file that was meant.
  Result<void> check_module() const {
    for (const Json& event : told_.imported) {
      const std::string file = get_string(event, "file");
      const std::string hash = get_string(event, "sha256");
      if (same_file(file, job_.kernel_file) && hash == job_.kernel_sha256) continue;
      return fail(ErrorKind::kInternal,
                  fmt::format("The tests imported {} (SHA-256 {}) instead of {} (SHA-256 {}); "
                              "remove the other copy of the package from Python's path.",
                              file, hash, job_.kernel_file.string(), job_.kernel_sha256));
    }
    return {};
  }

  // Whether another process has to run what is left.
  Result<bool> take_in(const ProcessOutcome& outcome) {
    if (told_.finished) return take_in_finished(outcome);
    const std::string how = "the process " + describe_end(outcome);
    if (told_.collections < processes_) return take_in_uncollected(outcome, how);
    if (outcome.end ==
        ProcessEnd::kWallLimit) {  // nobody knows whether the running test is to blame
      add_left_out(how, told_.running.empty() ? 0 : 1);
      return false;
    }
    if (!told_.running.empty()) {
      const bool silent = outcome.end == ProcessEnd::kSilenceLimit;
      add(told_.running, "failed", how, silent || exited_with(outcome, kTimedOut));
      return true;
    }
    if (exited_with(outcome, kTimedOut) && !told_.tests.empty() && told_.tests.back().timeout) {
      note(told_.tests.back().id, "it took too long and its process was ended");
      return true;
    }
    add(kEnd, "error", how + " between two tests or after the last", false);
    return !told_.begun.empty() && told_.left_out() > 0;
  }

  Result<bool> take_in_finished(const ProcessOutcome& outcome) {
    if (exited_with(outcome, kInternalError) || exited_with(outcome, kUsageError)) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("pytest {} on {}.", describe_end(outcome), files()),
                  outcome.out + outcome.err);
    }
    if (outcome.end != ProcessEnd::kExited || outcome.exit_code > kNothingCollected) {
      add(kEnd, "error", "the process " + describe_end(outcome) + " after the last test", false);
    }
    if (told_.left_out() > 0) {
      add_left_out(exited_with(outcome, kInterrupted) ? "a test interrupted pytest"
                                                      : "pytest ended early");
    }
    return false;
  }

  // A process that did not come to its tests.
  Result<bool> take_in_uncollected(const ProcessOutcome& outcome, const std::string& how) {
    if (outcome.end != ProcessEnd::kExited) {
      add(kCollection, "error", how + " while it imported the tests", false);
      return false;
    }
    if (outcome.err.find("No module named pytest") != std::string::npos) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("The Python {} has no pytest; install it there.", tools_.python),
                  outcome.err);
    }
    return fail(
        ErrorKind::kPreflight,
        fmt::format("pytest {} before it ran a test of {}.", describe_end(outcome), files()),
        outcome.out + outcome.err);
  }

  static bool exited_with(const ProcessOutcome& outcome, int code) {
    return outcome.end == ProcessEnd::kExited && outcome.exit_code == code;
  }
  std::string files() const {
    std::vector<std::string> names;
    for (const fs::path& file : job_.files) names.push_back(file.string());
    return join(names, ", ");
  }
  void note(const std::string& id, const std::string& how) {
    run_.notes.push_back(fmt::format("{}: {}; the rest ran without it.", id, how));
  }
  void add(const std::string& id, const std::string& outcome, const std::string& how,
           bool timeout) {
    if (std::any_of(own_.begin(), own_.end(), [&](const TestCase& t) { return t.id == id; }))
      return;
    own_.push_back({id, outcome, how, 0, timeout});
    if (outcome == "failed") {
      note(id, how);
    } else {
      run_.notes.push_back(fmt::format("{}: {}.", id, how));
    }
  }
  void add_left_out(const std::string& why, long long more = 0) {
    add(kLeftOut, "error", fmt::format("{} tests, as {}", told_.left_out() + more, why), false);
  }

  ProcessRunner& runner_;
  const PythonTools& tools_;
  TestJob job_;
  TestRun run_;
  Told told_;
  int processes_ = 0;
  std::vector<TestCase> own_;  // what no process could tell of itself
};

// -------------------------------------------------------------------------------------- verdict

using Outcomes = std::map<std::string, std::string>;

Outcomes outcomes_of(const TestRun& run) {
  Outcomes outcomes;
  for (const TestCase& test : run.tests) outcomes.emplace(test.id, test.outcome);
  return outcomes;
}

std::string outcome_in(const Outcomes& outcomes, const std::string& id) {
  const auto found = outcomes.find(id);
  return found == outcomes.end() ? std::string() : found->second;
}

std::string counts_of(const TestRun& run) {
  std::vector<std::string> parts;
  for (const char* outcome : {"passed", "failed", "error", "skipped", "xfailed", "xpassed"}) {
    if (const int n = run.count(outcome)) parts.push_back(fmt::format("{} {}", n, outcome));
  }
  return parts.empty() ? "no test ran" : join(parts, ", ");
}

std::string some_of(std::vector<std::string> names) {
  const std::size_t all = names.size();
  if (all <= kNamesShown) return join(names, ", ");
  names.resize(kNamesShown);
  return fmt::format("{} and {} more", join(names, ", "), all - kNamesShown);
}

std::string sentence_of(const TestVerdict& verdict, const TestRun& original,
                        const TestRun& winner) {
  const std::string counts = counts_of(winner);
  const std::string known =
      verdict.known_failures.empty()
          ? std::string()
          : fmt::format("; {} on the unchanged kernel too: {}",
                        verdict.known_failures.size() == 1
                            ? "1 fails"
                            : fmt::format("{} fail", verdict.known_failures.size()),
                        some_of(verdict.known_failures));
  if (verdict.passed) {
    return fmt::format("{} in {}{}.", counts, format_duration(winner.seconds), known);
  }
  std::vector<std::string> worse = verdict.new_failures;
  worse.insert(worse.end(), verdict.lost.begin(), verdict.lost.end());
  if (worse.empty() && winner.count("passed") > 0) {
    return fmt::format("The kernel was not tested: no test imported its module ({}){}.", counts,
                       known);
  }
  if (worse.empty()) return fmt::format("No test passed ({}){}.", counts, known);
  Outcomes all = outcomes_of(winner);
  all.merge(outcomes_of(original));
  return fmt::format("{} of {} tests {} with the winner and not without it: {} ({}){}.",
                     worse.size(), all.size(), worse.size() == 1 ? "fails" : "fail", some_of(worse),
                     counts, known);
}

}  // namespace

int TestRun::count(const std::string& outcome) const {
  return static_cast<int>(std::count_if(
      tests.begin(), tests.end(), [&](const TestCase& test) { return test.outcome == outcome; }));
}

std::vector<std::string> TestRun::failures() const {
  std::vector<std::string> ids;
  for (const TestCase& test : tests) {
    if (test.failed()) ids.push_back(test.id);
  }
  return ids;
}

std::vector<std::string> TestRun::passed_over() const {
  std::vector<std::string> ids;
  for (const TestCase& test : tests) {
    if (test.outcome == "skipped" || test.outcome == "xfailed") ids.push_back(test.id);
  }
  return ids;
}

Json to_json(const TestRun& run) {
  Json tests = Json::array();
  for (const TestCase& t : run.tests) {
    tests.push_back({{"id", t.id},
                     {"outcome", t.outcome},
                     {"message", t.message},
                     {"seconds", t.seconds},
                     {"timeout", t.timeout}});
  }
  return {{"tests", tests},
          {"notes", run.notes},
          {"seconds", run.seconds},
          {"command", run.command},
          {"kernel_imported", run.kernel_imported}};
}

TestRun test_run_from_json(const Json& json) {
  TestRun run;
  for (const Json& item : get_array(json, "tests")) run.tests.push_back(test_from(item));
  for (const Json& note : get_array(json, "notes")) {
    if (note.is_string()) run.notes.push_back(note.get<std::string>());
  }
  run.seconds = get_number(json, "seconds");
  run.command = get_string(json, "command");
  run.kernel_imported = get_bool(json, "kernel_imported", true);
  return run;
}

Result<TestRun> run_tests(ProcessRunner& runner, const PythonTools& tools, const TestJob& job) {
  return GateRun(runner, tools, job).go();
}

TestVerdict judge_tests(const TestRun& original, const TestRun& winner) {
  TestVerdict verdict;
  const Outcomes before = outcomes_of(original), after = outcomes_of(winner);
  for (const TestCase& test : winner.tests) {
    if (!test.failed()) continue;
    const std::string was = outcome_in(before, test.id);
    const bool known = was == "failed" || was == "error";
    (known ? verdict.known_failures : verdict.new_failures).push_back(test.id);
  }
  for (const TestCase& test : original.tests) {
    const std::string now = outcome_in(after, test.id);
    if (test.failed() && (now == "passed" || now == "xfailed")) verdict.mended.push_back(test.id);
    const bool gone = now.empty() || now == "skipped" || now == "xfailed";
    if (test.outcome == "passed" && gone) verdict.lost.push_back(test.id);
  }
  verdict.passed = verdict.new_failures.empty() && verdict.lost.empty() &&
                   winner.count("passed") > 0 && winner.kernel_imported;
  verdict.sentence = sentence_of(verdict, original, winner);
  return verdict;
}

}  // namespace lwb
