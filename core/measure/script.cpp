#include "core/measure/script.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"

namespace lwb {
namespace {

// Takes lines in, one event each.
class EventReader {
 public:
  EventReader(ScriptRun& run, const std::function<void(const Json&)>& on_event)
      : run_(run), on_event_(on_event) {}

  void line(std::string_view text) {
    ++lines_;
    if (trim(text).empty()) return;
    auto event = parse_json(text, "event");
    if (!event || !event->is_object()) {
      ++run_.unreadable_lines;
      return;
    }
    const std::string name = get_string(*event, "event");
    run_.done = name == "done";
    if (name == "fatal") {
      run_.fatal = ScriptFatal{get_string(*event, "kind", "internal"),
                               get_string(*event, "message"), get_string(*event, "traceback")};
    }
    run_.events.push_back(std::move(*event));
    if (on_event_) on_event_(run_.events.back());
  }

  std::size_t lines() const { return lines_; }

 private:
  ScriptRun& run_;
  const std::function<void(const Json&)>& on_event_;
  std::size_t lines_ = 0;
};

// The end of a long text, from a line start on.
std::string tail(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const std::size_t start = text.find('\n', text.size() - limit);
  return "…" + text.substr(start == std::string::npos ? text.size() - limit : start);
}

std::string first_line(const std::string& text) {
  const auto lines = split_lines(text);
  return lines.empty() ? std::string() : trim(lines.front());
}

}  // namespace

Result<ScriptRun> run_script(ProcessRunner& runner, const PythonTools& tools, const ScriptJob& job,
                             const std::function<void(const Json&)>& on_event) {
  ProcessSpec spec;
  spec.label = job.label;
  spec.argv = {tools.python, "-u", (tools.scripts / job.script).string()};
  spec.env = tools.environment;
  spec.cwd = tools.cwd;
  spec.stdin_text = print_json(job.job);
  spec.inputs = job.inputs;
  spec.wall_limit = job.wall_limit;
  spec.silence_limit = job.silence_limit;

  ScriptRun run;
  EventReader reader(run, on_event);
  auto outcome = runner.run(spec, [&](Stream stream, std::string_view line) {
    if (stream == Stream::kOut) reader.line(line);
  });
  if (!outcome) return tl::unexpected(outcome.error());
  run.outcome = std::move(*outcome);
  // What the sink did not get: a seam that does not stream, or a last line without its end.
  const auto lines = split_lines(run.outcome.out);
  for (std::size_t i = reader.lines(); i < lines.size(); ++i) reader.line(lines[i]);

  if (run.outcome.end == ProcessEnd::kCancelled) {
    return fail(ErrorKind::kStopped,
                fmt::format("Stopped during \"{}\"; start the run again to go on.", job.label));
  }
  if (run.outcome.end == ProcessEnd::kFailedToStart) {
    return fail(ErrorKind::kPreflight,
                fmt::format("The Python interpreter {} cannot be started for {}; name one that can "
                            "with --python.",
                            tools.python, job.script),
                run.outcome.err);
  }
  return run;
}

Error script_error(const ScriptRun& run, const std::string& what, ErrorKind kind) {
  constexpr std::size_t kTail = 4000;
  if (run.fatal) {
    std::string message = first_line(run.fatal->message);
    while (!message.empty() && message.back() == '.') message.pop_back();
    return {kind, fmt::format("{} failed ({}): {}.", what, run.fatal->kind, message),
            run.fatal->traceback};
  }
  if (!run.outcome.ok()) {
    return {kind, fmt::format("{} failed: the Python process {}.", what, describe_end(run.outcome)),
            tail(run.outcome.err, kTail)};
  }
  return {kind,
          fmt::format("{} failed: the Python process ended without saying that it was done.", what),
          tail(run.outcome.err, kTail)};
}

Result<void> check_identities(const std::vector<Json>& events, const std::vector<Json>& sides) {
  for (const Json& side : sides) {
    const std::string name = get_string(side, "name");
    const auto is_it = [&](const Json& e) {
      return get_string(e, "event") == "identity" && get_string(e, "side") == name;
    };
    const auto found = std::find_if(events.begin(), events.end(), is_it);
    if (found == events.end()) {
      return fail(ErrorKind::kInternal,
                  fmt::format("Side {} did not report which file Python imported as {}, so nothing "
                              "measured with it counts.",
                              name, get_string(side, "module")));
    }
    if (!get_bool(*found, "matches")) {
      return fail(ErrorKind::kInternal,
                  fmt::format("For side {} Python imported {} (SHA-256 {}) instead of {} (SHA-256 "
                              "{}); remove the other copy of the package from Python's path.",
                              name, get_string(*found, "file", "nothing"),
                              get_string(*found, "sha256", "unknown"), get_string(side, "file"),
                              get_string(side, "sha256", "unknown")));
    }
  }
  return {};
}

}  // namespace lwb
