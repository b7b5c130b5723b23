#include "core/finalize/style_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

// ------------------------------------------------------------------------- the version of ruff

// "0.12.1" of "ruff 0.12.1 (…)"; empty when there is none.
std::string version_in(const std::string& text) {
  static const std::regex number(R"((\d+\.\d+(\.\d+)?))");
  std::smatch found;
  return std::regex_search(text, found, number) ? found[1].str() : std::string();
}

std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  for (const std::string& part : split(version, '.')) {
    int number = 0;
    for (const char c : part.substr(0, 8)) {
      if (c < '0' || c > '9') break;
      number = number * 10 + (c - '0');
    }
    numbers.push_back(number);
  }
  return numbers;
}

// Below, at or above zero; missing numbers count as zero.
int compare_versions(const std::string& a, const std::string& b) {
  std::vector<int> left = numbers_of(a), right = numbers_of(b);
  left.resize(std::max(left.size(), right.size()));
  right.resize(left.size());
  return left < right ? -1 : left > right ? 1 : 0;
}

bool begins_with_version(const std::string& version, const std::string& beginning) {
  const std::vector<int> all = numbers_of(version), first = numbers_of(beginning);
  return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
}

std::string without_last(const std::string& version) {
  return version.substr(0, std::min(version.rfind('.'), version.size()));
}

// One part of a requirement: ">=0.12.0", "==0.12.*", "~=0.12.1".
bool meets(const std::string& version, const std::string& part) {
  static const std::regex form(R"(\s*(===?|>=|<=|~=|!=|<|>)\s*([0-9.]*[0-9])(\.\*)?\s*)");
  std::smatch found;
  if (!std::regex_match(part, found, form)) return true;  // nothing that we can judge
  const std::string sign = found[1], wanted = found[2];
  const bool any_end = found[3].matched;
  const int order = compare_versions(version, wanted);
  const bool same = any_end ? begins_with_version(version, wanted) : order == 0;
  if (sign[0] == '=') return same;
  if (sign == "!=") return !same;
  if (sign == "~=") return order >= 0 && begins_with_version(version, without_last(wanted));
  if (sign == ">=") return order >= 0;
  if (sign == "<=") return order <= 0;
  return sign == "<" ? order < 0 : order > 0;
}

bool meets_all(const std::string& version, const std::string& requirement) {
  const auto parts = split(requirement, ',');
  return std::all_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return meets(version, part); });
}

// A remark when the ruff that is here is not the one that the checkout states, else "". Its
// development extras are what checkstyle runs with; where they say nothing, its pre-commit hook.
std::string version_remark(const fs::path& tree, const std::string& version) {
  static const std::regex extra(R"(["']ruff\s*([=<>!~][^"';]*))");
  static const std::regex hook(
      R"(ruff-pre-commit[^\n]*\n\s*(?:#[^\n]*\n\s*)*rev:\s*['"]?v?([0-9][0-9.]*))");
  std::smatch found;
  for (const char* name : {"pyproject.toml", "setup.py"}) {
    const auto text = read_file(tree / name);
    if (!text || !std::regex_search(*text, found, extra)) continue;
    const std::string requirement = trim(found[1].str());
    if (meets_all(version, requirement)) return {};
    return fmt::format(" (the checkout asks for ruff{}, {} is here)", requirement, version);
  }
  const auto text = read_file(tree / ".pre-commit-config.yaml");
  if (!text || !std::regex_search(*text, found, hook)) return {};
  const std::string pinned = found[1];
  if (begins_with_version(version, without_last(pinned))) return {};
  return fmt::format(" (the checkout asks for ruff {}, {} is here)", pinned, version);
}

// ------------------------------------------------------------------------------- other files

// Puts the tree's other files back as they were: checkstyle mends whatever it finds.
class OtherFiles {
 public:
  OtherFiles(const fs::path& tree, const fs::path& kernel_file)
      : tree_(tree), kernel_(kernel_file) {
    for (const fs::path& file : present()) {
      auto text = read_file(file);
      if (text) before_.emplace(file, std::move(*text));
    }
  }

  Result<void> put_back() const {
    for (const fs::path& file : present()) {
      std::error_code error;
      if (!before_.contains(file)) fs::remove(file, error);
    }
    for (const auto& [file, text] : before_) {
      const auto now = read_file(file);
      if (now && *now == text) continue;
      if (auto written = write_file_atomically(file, text); !written) return written;
    }
    return {};
  }

 private:
  std::vector<fs::path> present() const {
    static const std::set<std::string> kSourceFiles = {".py", ".pyi",  ".pyw", ".ipynb",
                                                       ".md", ".toml", ".cfg", ".ini"};
    std::vector<fs::path> files;
    std::error_code error;
    fs::recursive_directory_iterator it(tree_, fs::directory_options::skip_permission_denied,
                                        error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      std::error_code unknown;
      if (it->path().filename() == ".git") it.disable_recursion_pending();
      if (it->is_symlink(unknown) || !it->is_regular_file(unknown)) continue;
      if (it->path() == kernel_ || !kSourceFiles.contains(it->path().extension().string()))
        continue;
      files.push_back(it->path());
    }
    return files;
  }

  fs::path tree_, kernel_;
  std::map<fs::path, std::string> before_;
};

// -------------------------------------------------------------------------------- the gate

// What a run of checkstyle says, apart for the kernel file and the others.
struct Said {
  std::set<std::string> of_kernel;  // lines
  std::set<std::string> of_others;  // lines and file names
  std::set<std::string> files;      // the others
};

Said read_checkstyle(const std::string& text, const std::string& kernel) {
  static const std::regex finding(R"(^([^\s:][^:]*):\d+(:\d+)?:? \S.*)");
  static const std::regex reformat(R"(^[Ww]ould reformat:? (\S.*)$)");
  Said said;
  const auto lines = split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch found;
    std::string file;
    const bool diff =
        lines[i].starts_with("--- ") && i + 1 < lines.size() && lines[i + 1].starts_with("+++ ");
    const bool of_format = diff || std::regex_match(lines[i], found, reformat);
    if (diff) {
      file = lines[i].substr(4);
    } else if (of_format || std::regex_match(lines[i], found, finding)) {
      file = found[1];
    } else {
      continue;
    }
    file = fs::path(file).lexically_normal().string();
    if (file == kernel) {
      said.of_kernel.insert(of_format ? file + ": would be reformatted" : lines[i]);
    } else {
      said.of_others.insert(of_format ? file : lines[i]);
      said.files.insert(file);
    }
  }
  return said;
}

std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string& line : split_lines(text)) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

class Gate {
 public:
  Gate(ProcessRunner& runner, const StyleJob& job)
      : runner_(runner),
        job_(job),
        relative_(job.kernel_file.lexically_relative(job.tree).string()) {}

  Result<StyleResult> run() {
    auto before = read_file(job_.kernel_file);
    if (!before) return tl::unexpected(before.error());
    result_.text = *before;
    auto version = start("version of ruff", {"ruff", "--version"});
    if (!version) return tl::unexpected(version.error());
    if (version->end == ProcessEnd::kFailedToStart) {
      return not_checked("ruff is not there");
    }
    if (!version->ok()) return not_checked("ruff --version " + describe_end(*version));
    result_.ruff_version = version_in(version->out);
    const OtherFiles others(job_.tree, job_.kernel_file);
    auto checked = check();
    if (auto back = others.put_back(); !back) return tl::unexpected(back.error());
    if (!checked) return tl::unexpected(checked.error());
    if (!trouble_.empty()) {  // whatever was rewritten before it is not what the checkout wants
      if (auto back = write_file_atomically(job_.kernel_file, *before); !back) {
        return tl::unexpected(back.error());
      }
      return not_checked(trouble_);
    }
    auto text = read_file(job_.kernel_file);
    if (!text) return tl::unexpected(text.error());
    result_.text = std::move(*text);
    result_.rewritten = result_.text != *before;
    result_.state =
        result_.findings.empty() ? StyleResult::State::kPassed : StyleResult::State::kFindings;
    result_.sentence = sentence();
    return result_;
  }

 private:
  StyleResult not_checked(const std::string& why) {
    result_.findings.clear();
    result_.sentence = fmt::format("The style was not checked: {}.", why);
    return result_;
  }

  // checkstyle, a repair of the kernel file where it needs one, checkstyle once more.
  Result<void> check() {
    auto first = checkstyle();
    if (!first) return tl::unexpected(first.error());
    others_ = read_checkstyle(first->out, relative_);  // later runs see them mended
    if (auto judged = judge(); !judged || !trouble_.empty()) return judged;
    if (make_ok_ && result_.findings.empty()) return {};
    // On the kernel file alone: what a checkstyle that gave up has not mended.
    for (const std::vector<std::string>& argv :
         {std::vector<std::string>{"ruff", "check", "--fix", "--force-exclude", relative_},
          std::vector<std::string>{"ruff", "format", "--force-exclude", relative_}}) {
      if (auto fixed = start("ruff on the kernel file", argv); !fixed) {
        return tl::unexpected(fixed.error());
      }
    }
    auto second = make_there_ ? checkstyle() : std::move(first);
    if (!second) return tl::unexpected(second.error());
    if (auto judged = judge(); !judged) return judged;
    if (make_there_ && !make_ok_ && result_.findings.empty()) {
      // ruff is content: what checkstyle says of the kernel file is another tool's.
      const Said said = read_checkstyle(second->out + second->err, relative_);
      result_.findings.assign(said.of_kernel.begin(), said.of_kernel.end());
      if (said.of_kernel.empty() && said.of_others.empty()) {
        make_remark_ = fmt::format(" (make checkstyle {}: {})", describe_end(*second),
                                   last_line(second->out + second->err));
      }
    }
    return {};
  }

  Result<ProcessOutcome> start(const std::string& label, std::vector<std::string> argv) {
    ProcessSpec spec;
    spec.label = label;
    spec.argv = std::move(argv);
    spec.env = job_.environment;
    spec.env["LC_ALL"] = "C.UTF-8";  // make's words are read
    spec.env["NO_COLOR"] = "1";
    spec.env["RUFF_NO_CACHE"] = "true";  // nothing new in the tree
    spec.cwd = job_.tree;
    spec.inputs = {job_.kernel_file};
    for (const char* name : {"Makefile", "pyproject.toml", "ruff.toml", ".ruff.toml"}) {
      std::error_code error;
      if (fs::is_regular_file(job_.tree / name, error)) spec.inputs.push_back(job_.tree / name);
    }
    spec.outputs = {job_.kernel_file};
    auto outcome = runner_.run(spec);
    if (outcome && outcome->end == ProcessEnd::kCancelled) {
      return fail(ErrorKind::kStopped,
                  "Stopped during the style gate; start the run again to go on.");
    }
    return outcome;
  }

  Result<ProcessOutcome> checkstyle() {
    auto outcome = start("make checkstyle", {"make", "checkstyle"});
    if (!outcome) return outcome;
    make_there_ = outcome->end != ProcessEnd::kFailedToStart &&
                  outcome->err.find("No rule to make target") == std::string::npos;
    make_ok_ = outcome->ok();
    return outcome;
  }

  // ruff's verdict on the kernel file: findings_, or trouble_ where it gives none.
  Result<void> judge() {
    result_.findings.clear();
    auto check = start("ruff check",
                       {"ruff", "check", "--output-format=concise", "--force-exclude", relative_});
    if (!check) return tl::unexpected(check.error());
    auto format =
        start("ruff format --check", {"ruff", "format", "--check", "--force-exclude", relative_});
    if (!format) return tl::unexpected(format.error());
    for (const std::string& line : split_lines(check->out)) {
      if (line.starts_with(relative_ + ":")) result_.findings.push_back(line);
    }
    if (format->end == ProcessEnd::kExited && format->exit_code == 1) {
      result_.findings.push_back(relative_ + ": would be reformatted");
    }
    if (!result_.findings.empty()) return {};  // a syntax error too: format fails on it
    for (const auto* outcome : {&*check, &*format}) {
      if (outcome->ok() || !trouble_.empty()) continue;
      trouble_ = fmt::format("ruff {}: {}", describe_end(*outcome), reason_in(*outcome));
    }
    return {};
  }

  // The innermost cause: ruff names the file first and the reason last.
  static std::string reason_in(const ProcessOutcome& outcome) {
    std::string reason = last_line(outcome.err.empty() ? outcome.out : outcome.err);
    while (!reason.empty() && reason.back() == '.') reason.pop_back();
    return reason;
  }

  std::string sentence() const {
    std::string remark = make_remark_;
    if (!make_there_) {
      remark += " (by ruff alone: the checkout has no make checkstyle that runs)";
    }
    remark += version_remark(job_.tree, result_.ruff_version);
    const std::string others = others_.files.empty()
                                   ? std::string()
                                   : fmt::format(" {} in {} {} not the winner's.",
                                                 counted(others_.of_others.size(), "finding"),
                                                 counted(others_.files.size(), "other file"),
                                                 others_.of_others.size() == 1 ? "is" : "are");
    if (!result_.findings.empty()) {
      return fmt::format("{} in {} left{}: {}.{}", counted(result_.findings.size(), "finding"),
                         relative_, remark, join(result_.findings, "; "), others);
    }
    return fmt::format(
        "{} {}{}.{}",
        result_.rewritten ? "Formatted, nothing else to mend in" : "Nothing to mend in", relative_,
        remark, others);
  }

  ProcessRunner& runner_;
  const StyleJob& job_;
  std::string relative_;
  StyleResult result_;
  Said others_;
  bool make_there_ = false, make_ok_ = false;
  std::string make_remark_;
  std::string trouble_;  // why ruff gives no verdict
};

const char* name_of(StyleResult::State state) {
  switch (state) {
    case StyleResult::State::kPassed:
      return "passed";
    case StyleResult::State::kFindings:
      return "findings";
    case StyleResult::State::kNotChecked:
      return "not checked";
  }
  return "not checked";
}

}  // namespace

Json to_json(const StyleResult& result) {
  return {{"state", name_of(result.state)},
          {"rewritten", result.rewritten},
          {"text", result.text},
          {"findings", result.findings},
          {"ruff_version", result.ruff_version},
          {"sentence", result.sentence}};
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
