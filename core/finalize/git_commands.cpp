#include "core/finalize/git_commands.h"

#include <fmt/format.h>

#include <array>

#include "core/base/text.h"

namespace lwb {

tl::unexpected<StepEnd> refuse(std::string sentence) {
  return tl::unexpected<StepEnd>(
      StepEnd{Error{ErrorKind::kPreflight, std::move(sentence), {}}, true});
}

Environment git_environment(Environment environment) {
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
                           "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE",
                           "GIT_PREFIX", "GIT_EXTERNAL_DIFF"}) {
    environment.erase(name);
  }
  environment["GIT_TERMINAL_PROMPT"] = "0";
  environment["GIT_OPTIONAL_LOCKS"] = "0";
  environment["GH_PROMPT_DISABLED"] = "1";
  environment["LC_ALL"] = "C.UTF-8";  // reasons in one language, as the sentences around them
  return environment;
}

Step<ProcessOutcome> call(ProcessRunner& runner, const ProcessSpec& spec) {
  auto outcome = runner.run(spec);
  if (!outcome) return tl::unexpected<StepEnd>(StepEnd{outcome.error(), false});
  if (outcome->end == ProcessEnd::kCancelled) {
    return tl::unexpected<StepEnd>(StepEnd{
        Error{ErrorKind::kStopped,
              fmt::format("Stopped during \"{}\"; start the run again to go on.", spec.label),
              {}},
        false});
  }
  return std::move(*outcome);
}

std::string reason_of(const ProcessOutcome& outcome) {
  const auto without_stop = [](std::string line) {
    while (!line.empty() && line.back() == '.') line.pop_back();
    return line;
  };
  if (outcome.end == ProcessEnd::kFailedToStart) return without_stop(describe_end(outcome));
  std::string last;
  for (const std::string& line : split_lines(outcome.err)) {
    for (const std::string_view mark : {"fatal: ", "error: "}) {
      if (line.starts_with(mark)) return without_stop(trim(line.substr(mark.size())));
    }
    if (!trim(line).empty()) last = trim(line);
  }
  return last.empty() ? describe_end(outcome) : without_stop(last);
}

Plumbing::Plumbing(ProcessRunner& runner, const Environment& environment,
                   std::filesystem::path folder)
    : runner_(runner), environment_(git_environment(environment)), folder_(std::move(folder)) {}

void Plumbing::use_index(const std::filesystem::path& file) {
  environment_["GIT_INDEX_FILE"] = file.string();
}

ProcessSpec Plumbing::spec(const std::string& label, std::vector<std::string> arguments) const {
  static constexpr std::array kSettings = {
      "core.hooksPath=/dev/null",  "core.fsmonitor=false",      "core.splitIndex=false",
      "core.sparseCheckout=false", "index.sparse=false",        "core.safecrlf=false",
      "commit.gpgSign=false",      "i18n.commitEncoding=UTF-8", "user.useConfigOnly=true"};
  ProcessSpec made;
  made.label = label;
  made.argv = {"git", "--no-pager", "--no-replace-objects", "--literal-pathspecs"};
  for (const char* setting : kSettings) {
    made.argv.emplace_back("-c");
    made.argv.emplace_back(setting);
  }
  for (std::string& argument : arguments) made.argv.push_back(std::move(argument));
  made.env = environment_;
  made.cwd = folder_;
  return made;
}

Step<ProcessOutcome> Plumbing::run(const std::string& label, std::vector<std::string> arguments,
                                   const std::string& input) const {
  ProcessSpec made = spec(label, std::move(arguments));
  made.stdin_text = input;
  return call(runner_, made);
}

Step<ProcessOutcome> Plumbing::run_on_files(const std::string& label,
                                            std::vector<std::string> arguments,
                                            const std::filesystem::path& folder,
                                            const std::vector<std::string>& files) const {
  ProcessSpec made = spec(label, std::move(arguments));
  made.cwd = folder;
  for (const std::string& file : files) {
    made.argv.push_back(file);
    made.inputs.push_back(folder / file);
  }
  return call(runner_, made);
}

Step<std::string> Plumbing::text(const std::string& label, std::vector<std::string> arguments,
                                 const std::string& input) const {
  auto outcome = run(label, std::move(arguments), input);
  if (!outcome) return tl::unexpected(outcome.error());
  if (!outcome->ok()) {
    return refuse(
        fmt::format("No branch was made, as git cannot {}: {}.", label, reason_of(*outcome)));
  }
  return std::move(outcome->out);
}

Step<std::string> Plumbing::word(const std::string& label, std::vector<std::string> arguments,
                                 const std::string& input) const {
  auto out = text(label, std::move(arguments), input);
  if (!out) return out;
  return trim(*out);
}

}  // namespace lwb
