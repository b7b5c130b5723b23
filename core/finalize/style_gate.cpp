#include "core/finalize/style_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

// "0.12.1" of "ruff 0.12.1 (…)"; empty when there is none.
std::string version_in(const std::string& text) {
  static const std::regex number(R"((\d+\.\d+(\.\d+)?))");
  std::smatch found;
  return std::regex_search(text, found, number) ? found[1].str() : std::string();
}

// The version of ruff that the checkout states: its pre-commit hook, else its development extras.
std::string wanted_version(const fs::path& tree) {
  static const std::regex hook(R"(ruff-pre-commit[^\n]*\n\s*(?:#[^\n]*\n\s*)*rev:\s*['"]?v?([0-9.]+))");
  static const std::regex pinned(R"(["']ruff\s*==\s*([0-9.]+))");
  std::smatch found;
  if (auto text = read_file(tree / ".pre-commit-config.yaml")) {
    if (std::regex_search(*text, found, hook)) return found[1].str();
  }
  for (const char* name : {"pyproject.toml", "setup.py"}) {
    auto text = read_file(tree / name);
    if (text && std::regex_search(*text, found, pinned)) return found[1].str();
  }
  return {};
}

std::string minor_of(const std::string& version) {
  const auto parts = split(version, '.');
  return parts.size() < 2 ? version : parts[0] + "." + parts[1];
}

class Gate {
 public:
  Gate(ProcessRunner& runner, const StyleJob& job)
      : runner_(runner), job_(job), relative_(fs::relative(job.kernel_file, job.tree).string()) {}

  Result<StyleResult> run() {
    auto before = read_file(job_.kernel_file);
    if (!before) return tl::unexpected(before.error());
    result_.text = *before;
    auto version = start("version of ruff", {"ruff", "--version"});
    if (!version) return tl::unexpected(version.error());
    if (!version->ok()) {
      result_.sentence = "The style was not checked: ruff is not there.";
      return result_;
    }
    result_.ruff_version = version_in(version->out);
    auto make = start("make checkstyle", {"make", "checkstyle"});
    if (!make) return tl::unexpected(make.error());
    const bool no_make = make->end == ProcessEnd::kFailedToStart ||
                         make->err.find("No rule to make target") != std::string::npos;
    if (no_make || !make->ok()) {
      // Once more, on the kernel file alone: other files' findings are not the winner's.
      for (const std::vector<std::string>& argv :
           {std::vector<std::string>{"ruff", "check", "--fix", relative_}, {"ruff", "format", relative_}}) {
        if (auto fixed = start("ruff on the kernel file", argv); !fixed) {
          return tl::unexpected(fixed.error());
        }
      }
    }
    if (auto judged = judge(no_make); !judged) return tl::unexpected(judged.error());
    result_.rewritten = result_.text != *before;
    return result_;
  }

 private:
  Result<ProcessOutcome> start(const std::string& label, std::vector<std::string> argv) {
    ProcessSpec spec;
    spec.label = label;
    spec.argv = std::move(argv);
    spec.env = job_.environment;
    spec.cwd = job_.tree;
    spec.inputs = {job_.kernel_file};
    spec.outputs = {job_.kernel_file};
    auto outcome = runner_.run(spec);
    if (outcome && outcome->end == ProcessEnd::kCancelled) {
      return fail(ErrorKind::kStopped, "Stopped during the style gate; start the run again to go on.");
    }
    return outcome;
  }

  Result<void> judge(bool no_make) {
    auto check = start("ruff check", {"ruff", "check", "--output-format=concise", relative_});
    if (!check) return tl::unexpected(check.error());
    auto format = start("ruff format --check", {"ruff", "format", "--check", relative_});
    if (!format) return tl::unexpected(format.error());
    auto text = read_file(job_.kernel_file);
    if (!text) return tl::unexpected(text.error());
    result_.text = std::move(*text);
    for (const std::string& line : split_lines(check->out)) {
      if (line.rfind(relative_ + ":", 0) == 0) result_.findings.push_back(line);
    }
    if (!check->ok() && result_.findings.empty()) result_.findings.push_back(trim(check->out + check->err));
    if (!format->ok()) result_.findings.push_back(trim(format->out + format->err));
    result_.state = result_.findings.empty() ? StyleResult::State::kPassed : StyleResult::State::kFindings;
    const std::string wanted = wanted_version(job_.tree);
    std::string remark = no_make ? " (by ruff alone: the checkout has no make checkstyle that runs)" : "";
    if (!wanted.empty() && minor_of(wanted) != minor_of(result_.ruff_version)) {
      remark += fmt::format(" (the checkout asks for ruff {}, {} is here)", wanted, result_.ruff_version);
    }
    result_.sentence =
        result_.findings.empty()
            ? fmt::format("Nothing to mend in {}{}.", relative_, remark)
            : fmt::format("{} findings in {} are left{}: {}", result_.findings.size(), relative_,
                          remark, join(result_.findings, "; "));
    return {};
  }

  ProcessRunner& runner_;
  const StyleJob& job_;
  std::string relative_;
  StyleResult result_;
};

const char* name_of(StyleResult::State state) {
  switch (state) {
    case StyleResult::State::kPassed: return "passed";
    case StyleResult::State::kFindings: return "findings";
    case StyleResult::State::kNotChecked: return "not checked";
  }
  return "not checked";
}

}  // namespace

Json to_json(const StyleResult& result) {
  return {{"state", name_of(result.state)},  {"rewritten", result.rewritten},
          {"text", result.text},             {"findings", result.findings},
          {"ruff_version", result.ruff_version}, {"sentence", result.sentence}};
}

StyleResult style_result_from_json(const Json& json) {
  StyleResult result;
  const std::string state = get_string(json, "state");
  result.state = state == "passed"     ? StyleResult::State::kPassed
                 : state == "findings" ? StyleResult::State::kFindings
                                       : StyleResult::State::kNotChecked;
  result.rewritten = get_bool(json, "rewritten");
  result.text = get_string(json, "text");
  for (const Json& item : get_array(json, "findings")) {
    if (item.is_string()) result.findings.push_back(item.get<std::string>());
  }
  result.ruff_version = get_string(json, "ruff_version");
  result.sentence = get_string(json, "sentence");
  return result;
}

Result<StyleResult> run_style_gate(ProcessRunner& runner, const StyleJob& job) {
  return Gate(runner, job).run();
}

}  // namespace lwb
