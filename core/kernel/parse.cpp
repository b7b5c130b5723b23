#include "core/kernel/parse.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

struct SourceFile {
  fs::path path;
  std::string module;
  bool outline = false;
};

// "a/b/__init__.py" → "a.b".
std::string dotted_name(const fs::path& relative) {
  std::vector<std::string> parts;
  for (const fs::path& part : relative.parent_path()) parts.push_back(part.string());
  if (relative.stem() != "__init__") parts.push_back(relative.stem().string());
  return join(parts, ".");
}

// Every .py file below `folder`, in order of path; hidden folders and caches are left out.
std::vector<fs::path> python_files(const fs::path& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(
      folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code kind_error;
    if (entry->is_directory(kind_error)) {
      if (name.starts_with('.') || name == "__pycache__") entry.disable_recursion_pending();
    } else if (name.ends_with(".py") && entry->is_regular_file(kind_error)) {
      result.push_back(entry->path());
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

void add_files(std::vector<SourceFile>& files, const fs::path& folder, const fs::path& base,
               bool outline) {
  for (const fs::path& file : python_files(folder)) {
    files.push_back({file, dotted_name(file.lexically_relative(base)), outline});
  }
}

// The folder that `module` is imported from when `file` is that module; empty when it is not.
fs::path import_root(const fs::path& file, const std::string& module) {
  fs::path root = file.parent_path();
  std::vector<std::string> parts = split(module, '.');
  if (file.stem() != "__init__") {
    if (parts.empty() || file.stem() != parts.back()) return {};
    parts.pop_back();
  }
  for (; !parts.empty(); parts.pop_back()) {
    if (root.filename() != parts.back()) return {};
    root = root.parent_path();
  }
  return root;
}

// For a file kept elsewhere in the checkout (a variant in the workspace): the src/ above it.
fs::path source_root_above(const fs::path& file, const std::string& package) {
  std::error_code error;
  for (fs::path folder = fs::absolute(file, error).parent_path(); !folder.empty();
       folder = folder.parent_path()) {
    if (fs::is_directory(folder / "src" / package, error)) return folder / "src";
    if (folder == folder.root_path()) break;
  }
  return {};
}

Json job_files(const std::vector<SourceFile>& files) {
  Json result = Json::array();
  for (const SourceFile& file : files) {
    Json entry{{"file", file.path.string()}, {"module", file.module}};
    if (file.outline) entry["outline"] = true;
    result.push_back(std::move(entry));
  }
  return result;
}

Error process_error(const ProcessOutcome& outcome, const PythonTools& tools) {
  if (outcome.end == ProcessEnd::kCancelled) {
    return {ErrorKind::kStopped, "Reading the sources was stopped.", {}};
  }
  if (outcome.end == ProcessEnd::kFailedToStart) {
    return {ErrorKind::kPreflight,
            "The Python program " + tools.python +
                " could not be started to read the sources; install Python 3.10 or newer.",
            outcome.err};
  }
  for (const std::string& line : split_lines(outcome.out)) {
    if (line.find("\"fatal\"") == std::string::npos) continue;
    const auto event = parse_json(line, "event of lwb_parse.py");
    if (event && get_string(*event, "event") == "fatal") {
      return {ErrorKind::kInternal,
              "Reading the sources failed in lwb_parse.py: " + get_string(*event, "message"),
              get_string(*event, "traceback")};
    }
  }
  return {ErrorKind::kInternal,
          "lwb_parse.py, which reads the sources, " + describe_end(outcome) + ".", outcome.err};
}

// Runs the job; the events but the last one, "done".
Result<std::vector<Json>> run_job(ProcessRunner& runner, const PythonTools& tools, const Json& job,
                                  std::string label, std::vector<fs::path> inputs) {
  ProcessSpec spec;
  spec.label = std::move(label);
  spec.argv = {tools.python, "-u", (tools.scripts / "lwb_parse.py").string()};
  spec.env = tools.environment;
  spec.cwd = tools.cwd;
  spec.stdin_text = print_json(job);
  spec.inputs = std::move(inputs);
  const auto outcome = runner.run(spec);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  if (!outcome->ok()) return tl::unexpected<Error>(process_error(*outcome, tools));
  std::vector<Json> events;
  for (const std::string& line : split_lines(outcome->out)) {
    auto event = parse_json(line, "event of lwb_parse.py");
    if (!event) return tl::unexpected<Error>(event.error());
    if (get_string(*event, "event") == "done") return events;
    events.push_back(std::move(*event));
  }
  return fail(ErrorKind::kInternal, "lwb_parse.py ended without saying that it was done.",
              outcome->err);
}

std::string syntax_message(const Json& event) {
  const long long line = get_integer(event, "line");
  const std::string message = get_string(event, "message");
  return line > 0 ? "line " + std::to_string(line) + ": " + message : message;
}

Result<SourceModel> model_of(const Json& event) {
  const Json& model = get_object(event, "model");
  std::string text;
  // An outline's positions are not edited and its expressions have no use for their text.
  if (!get_bool(model, "outline") || !get_array(model, "launches").empty()) {
    auto read = read_file(get_string(event, "file"));
    if (!read) return tl::unexpected<Error>(read.error());
    text = std::move(*read);
  }
  return source_model_from_json(model, std::move(text));
}

}  // namespace

Result<SourceModel> parse_source(ProcessRunner& runner, const PythonTools& tools,
                                 const fs::path& file, const std::string& module) {
  Json job{{"files", job_files({{file, module, false}})}};
  std::vector<fs::path> inputs{file};
  const std::string package = split(module, '.').front();
  fs::path root = import_root(file, module);
  if (root.empty()) root = source_root_above(file, package);
  if (!root.empty()) {
    job["search_roots"] = Json::array({root.string()});
    job["package"] = package;
    // Kernels and launches of other files decide what the model says.
    for (fs::path& other : python_files(root / package)) {
      if (other != file) inputs.push_back(std::move(other));
    }
  }
  auto events = run_job(runner, tools, job, "parse " + module, std::move(inputs));
  if (!events) return tl::unexpected<Error>(events.error());
  if (events->size() != 1) {
    return fail(ErrorKind::kInternal, "lwb_parse.py did not answer for " + file.string() + ".");
  }
  const Json& event = events->front();
  if (get_string(event, "event") == "syntax_error") {
    return fail(ErrorKind::kPreflight,
                file.string() + " cannot be read as Python, " + syntax_message(event) + ".");
  }
  return model_of(event);
}

Result<PackageModel> parse_package(ProcessRunner& runner, const PythonTools& tools,
                                   const fs::path& checkout_root, const std::string& package) {
  const fs::path src = checkout_root / "src";
  std::vector<SourceFile> files;
  add_files(files, src / package, src, false);
  if (files.empty()) {
    return fail(ErrorKind::kUsage, "There is no Python file below " + (src / package).string() +
                                       "; give the root of a checkout.");
  }
  for (const char* folder : std::array{"benchmark", "benchmarks", "test", "tests"}) {
    add_files(files, checkout_root / folder, checkout_root, true);
  }
  const Json job{{"files", job_files(files)},
                 {"search_roots", Json::array({src.string()})},
                 {"auto_outline", true}};
  std::vector<fs::path> inputs;
  for (const SourceFile& file : files) inputs.push_back(file.path);
  auto events = run_job(runner, tools, job, "parse " + package, std::move(inputs));
  if (!events) return tl::unexpected<Error>(events.error());
  PackageModel result;
  for (const Json& event : *events) {
    if (get_string(event, "event") == "syntax_error") {
      result.unparsable[get_string(event, "file")] = syntax_message(event);
      continue;
    }
    auto model = model_of(event);
    if (!model) return tl::unexpected<Error>(model.error());
    result.modules.push_back(std::move(*model));
  }
  return result;
}

}  // namespace lwb
