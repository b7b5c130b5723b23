#include "core/finalize/test_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

constexpr int kTimedOut = 124;  // lwb_pytest's exit code after a test that took too long
constexpr int kNothingCollected = 5;

std::vector<Json> read_events(const fs::path& file) {
  std::vector<Json> events;
  auto text = read_file(file);
  if (!text) return events;
  for (const std::string& line : split_lines(*text)) {
    // A killed process may leave half a line.
    if (auto event = parse_json(line, "event of lwb_pytest.py")) events.push_back(std::move(*event));
  }
  return events;
}

TestCase test_from(const Json& event) {
  return {get_string(event, "id"), get_string(event, "outcome"), get_string(event, "message"),
          get_number(event, "seconds"), get_bool(event, "timeout")};
}

class GateRun {
 public:
  GateRun(ProcessRunner& runner, const PythonTools& tools, const TestJob& job)
      : runner_(runner), tools_(tools), job_(job) {}

  Result<TestRun> go() {
    std::error_code error;
    fs::remove(job_.events, error);
    fs::create_directories(job_.events.parent_path(), error);
    for (int restarts = 0;; ++restarts) {
      auto outcome = runner_.run(spec(restarts > 0));
      if (!outcome) return tl::unexpected(outcome.error());
      if (outcome->end == ProcessEnd::kCancelled) {
        return fail(ErrorKind::kStopped,
                    "Stopped during the tests; start the run again to go on.");
      }
      if (outcome->end == ProcessEnd::kFailedToStart) {
        return fail(ErrorKind::kPreflight,
                    fmt::format("The Python {} cannot be started for the tests.", tools_.python),
                    outcome->err);
      }
      run_.seconds += static_cast<double>(outcome->wall.count()) / 1e3;
      const bool finished = read();
      if (finished) return ended(*outcome);
      if (auto next = blame(*outcome); !next) return tl::unexpected(next.error());
      if (restarts == job_.max_restarts) {
        run_.notes.push_back(fmt::format("The tests were ended after {} restarts.", restarts));
        return check_module();
      }
    }
  }

 private:
  ProcessSpec spec(bool resume) {
    ProcessSpec spec;
    spec.label = job_.label;
    spec.argv = {tools_.python, "-m", "pytest"};
    for (const fs::path& file : job_.files) {
      const fs::path relative = file.is_absolute() ? fs::relative(file, job_.tree) : file;
      spec.argv.push_back(relative.string());
      spec.inputs.push_back(job_.tree / relative);
    }
    spec.argv.insert(spec.argv.end(), {"-v"});
    run_.command = "python " + join({spec.argv.begin() + 1, spec.argv.end()}, " ");
    spec.argv.insert(spec.argv.end(), {"-p", "lwb_pytest", "-p", "no:cacheprovider"});
    spec.inputs.push_back(job_.kernel_file);
    spec.outputs = {job_.events};
    spec.env = tools_.environment;
    spec.env["PYTHONPATH"] = (job_.tree / "src").string() + ":" + tools_.scripts.string();
    spec.env["LWB_PYTEST_EVENTS"] = job_.events.string();
    spec.env["LWB_PYTEST_MODULE"] = job_.module;
    spec.env["LWB_PYTEST_TIMEOUT_S"] = std::to_string(job_.test_limit.count());
    if (resume) spec.env["LWB_PYTEST_RESUME"] = "1";
    spec.cwd = job_.tree;
    spec.wall_limit = job_.wall_limit;
    spec.silence_limit = job_.test_limit + std::chrono::minutes(2);
    return spec;
  }

  // Takes in all events; whether the last process ended by itself.
  bool read() {
    std::map<std::string, TestCase> tests;
    std::vector<std::string> order;
    bool finished = false;
    started_.clear();
    for (const Json& event : read_events(job_.events)) {
      const std::string name = get_string(event, "event");
      if (name == "collected") finished = false;  // another process began
      if (name == "finished") finished = true;
      if (name == "imported") imported_ = event;
      if (name == "started") started_ = get_string(event, "id");
      if (name != "test") continue;
      TestCase test = test_from(event);
      if (test.id == started_) started_.clear();
      if (tests.emplace(test.id, test).second) order.push_back(test.id);
    }
    run_.tests.clear();
    for (const std::string& id : order) run_.tests.push_back(tests.at(id));
    for (const TestCase& test : killers_) run_.tests.push_back(test);
    return finished;
  }

  // What to do after a process that did not end by itself: the test that it was in is a failure.
  Result<void> blame(const ProcessOutcome& outcome) {
    const bool timed_out = outcome.end == ProcessEnd::kExited && outcome.exit_code == kTimedOut;
    if (timed_out && started_.empty()) return {};  // its failure was written before it ended
    if (started_.empty()) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("pytest {} before any test ran.", describe_end(outcome)),
                  outcome.out + outcome.err);
    }
    const std::string how = "the process " + describe_end(outcome);
    killers_.push_back({started_, "failed", how, 0, timed_out});
    run_.tests.push_back(killers_.back());
    run_.notes.push_back(fmt::format("{}: {}; the rest ran without it.", started_, how));
    return {};
  }

  Result<TestRun> ended(const ProcessOutcome& outcome) {
    const bool usable = outcome.end == ProcessEnd::kExited &&
                        (outcome.exit_code <= 2 || outcome.exit_code == kNothingCollected);
    if (!usable) {
      return fail(ErrorKind::kPreflight, fmt::format("pytest {}.", describe_end(outcome)),
                  outcome.out + outcome.err);
    }
    if (run_.tests.empty()) run_.notes.push_back("pytest collected no test.");
    return check_module();
  }

  Result<TestRun> check_module() {
    if (imported_.is_object()) {
      std::error_code error;
      const fs::path wanted = fs::canonical(job_.kernel_file, error);
      if (get_string(imported_, "file") != wanted.string() ||
          get_string(imported_, "sha256") != job_.kernel_sha256) {
        return fail(ErrorKind::kInternal,
                    fmt::format("The tests imported {} (SHA-256 {}) instead of {} (SHA-256 {}); "
                                "remove the other copy of the package from Python's path.",
                                get_string(imported_, "file"), get_string(imported_, "sha256"),
                                wanted.string(), job_.kernel_sha256));
      }
    } else if (run_.count("passed") > 0) {
      run_.notes.push_back("No test imported " + job_.module + ".");
    }
    return run_;
  }

  ProcessRunner& runner_;
  const PythonTools& tools_;
  const TestJob& job_;
  TestRun run_;
  Json imported_;
  std::string started_;  // the test that was running when the events ended
  std::vector<TestCase> killers_;
};

std::string outcome_of(const TestRun& run, const std::string& id) {
  const auto found = std::find_if(run.tests.begin(), run.tests.end(),
                                  [&](const TestCase& test) { return test.id == id; });
  return found == run.tests.end() ? "" : found->outcome;
}

std::string counts_of(const TestRun& run) {
  std::vector<std::string> parts;
  for (const char* outcome : {"passed", "failed", "error", "skipped", "xfailed", "xpassed"}) {
    if (const int n = run.count(outcome)) parts.push_back(fmt::format("{} {}", n, outcome));
  }
  return parts.empty() ? "no test ran" : join(parts, ", ");
}

}  // namespace

int TestRun::count(const std::string& outcome) const {
  return static_cast<int>(std::count_if(tests.begin(), tests.end(), [&](const TestCase& test) {
    return test.outcome == outcome;
  }));
}

std::vector<std::string> TestRun::failures() const {
  std::vector<std::string> ids;
  for (const TestCase& test : tests) {
    if (test.failed()) ids.push_back(test.id);
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
  return {{"tests", tests}, {"notes", run.notes}, {"seconds", run.seconds}, {"command", run.command}};
}

TestRun test_run_from_json(const Json& json) {
  TestRun run;
  for (const Json& item : get_array(json, "tests")) run.tests.push_back(test_from(item));
  for (const Json& note : get_array(json, "notes")) {
    if (note.is_string()) run.notes.push_back(note.get<std::string>());
  }
  run.seconds = get_number(json, "seconds");
  run.command = get_string(json, "command");
  return run;
}

Result<TestRun> run_tests(ProcessRunner& runner, const PythonTools& tools, const TestJob& job) {
  return GateRun(runner, tools, job).go();
}

TestVerdict judge_tests(const TestRun& original, const TestRun& winner) {
  TestVerdict verdict;
  for (const TestCase& test : winner.tests) {
    if (!test.failed()) continue;
    const std::string before = outcome_of(original, test.id);
    const bool known = before == "failed" || before == "error";
    (known ? verdict.known_failures : verdict.new_failures).push_back(test.id);
  }
  for (const TestCase& test : original.tests) {
    const std::string now = outcome_of(winner, test.id);
    if (test.failed() && (now == "passed" || now == "xfailed")) verdict.mended.push_back(test.id);
    if (test.outcome == "passed" && (now.empty() || now == "skipped")) verdict.lost.push_back(test.id);
  }
  const std::size_t worse = verdict.new_failures.size() + verdict.lost.size();
  verdict.passed = worse == 0 && winner.count("passed") > 0;
  const std::string counts = counts_of(winner);
  const std::string known =
      verdict.known_failures.empty()
          ? std::string()
          : fmt::format("; {} fail on the unchanged kernel too: {}", verdict.known_failures.size(),
                        join(verdict.known_failures, ", "));
  if (verdict.passed) {
    verdict.sentence = fmt::format("{} in {}{}.", counts, format_duration(winner.seconds), known);
  } else if (worse == 0) {
    verdict.sentence = fmt::format("No test passed ({}){}.", counts, known);
  } else {
    std::vector<std::string> names = verdict.new_failures;
    names.insert(names.end(), verdict.lost.begin(), verdict.lost.end());
    verdict.sentence = fmt::format("{} of {} tests fail with the winner and not without it: {} ({}){}.",
                                   worse, winner.tests.size(), join(names, ", "), counts, known);
  }
  return verdict;
}

}  // namespace lwb
