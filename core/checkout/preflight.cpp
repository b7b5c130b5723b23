#include "core/checkout/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

constexpr std::uintmax_t kLowDisk = 2ULL << 30;   // compiled kernels and sandboxes fit easily
constexpr std::uintmax_t kNoDisk = 256ULL << 20;  // below this a run would end in the middle

const char* name_of(Check::State state) {
  switch (state) {
    case Check::kOk:
      return "ok";
    case Check::kFailed:
      return "failed";
    case Check::kWarning:
      return "warning";
    case Check::kInfo:
      return "info";
  }
  return "info";
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

class Checks {
 public:
  Checks(ProcessRunner& runner, const PythonTools& tools, const Checkout& checkout,
         const KernelEntry* kernel, const Request& request, const Sandbox& sandbox)
      : runner_(runner),
        tools_(tools),
        checkout_(checkout),
        kernel_(kernel),
        request_(request),
        sandbox_(sandbox) {}

  Result<Preflight> run() {
    // The two that import the most and need no answer of the others run beside them.
    begin_script();
    begin_tests();
    using Part = Result<void> (Checks::*)();
    for (const Part part : {&Checks::op_file, &Checks::driver, &Checks::probe, &Checks::script,
                            &Checks::tests, &Checks::git, &Checks::disk, &Checks::tools}) {
      if (auto done = (this->*part)(); !done) return tl::unexpected(done.error());
    }
    return result_;
  }

 private:
  void add(Check check) { result_.checks.push_back(std::move(check)); }

  Result<ProcessOutcome> start(const std::string& label, std::vector<std::string> argv,
                               std::string input = {}) {
    ProcessSpec spec;
    spec.label = label;
    spec.argv = std::move(argv);
    spec.env = tools_.environment;
    spec.cwd = sandbox_.tree();
    spec.stdin_text = std::move(input);
    spec.wall_limit = std::chrono::minutes(4);
    auto outcome = runner_.run(spec);
    if (outcome && outcome->end == ProcessEnd::kCancelled) {
      return fail(ErrorKind::kStopped, "Stopped during pre-flight; nothing was changed.");
    }
    return outcome;
  }

  Result<void> op_file() {
    if (kernel_ == nullptr) return {};
    add({"op_file", "Op file", kernel_->ready ? Check::kOk : Check::kFailed,
         kernel_->ready
             ? fmt::format("{} holds {} launched {}: {}.",
                           checkout_.op_relative(kernel_->name).string(),
                           kernel_->jit_kernels.size(),
                           kernel_->jit_kernels.size() == 1 ? "kernel" : "kernels",
                           join(kernel_->jit_kernels, ", "))
             : fmt::format("{} cannot be optimized: {}.", kernel_->name, kernel_->reason),
         "", ""});
    if (!kernel_->foreign_launches.empty()) {
      add({"foreign_launches", "Launches elsewhere", Check::kInfo,
           "Kernels of this file are also launched from " + join(kernel_->foreign_launches, ", ") +
               "; their signatures stay as they are.",
           "", ""});
    }
    return {};
  }

  Result<void> driver() {
    auto smi = start("GPU driver",
                     {"nvidia-smi", "--query-gpu=name,uuid,driver_version,memory.used,memory.total",
                      "--format=csv,noheader"});
    if (!smi) return tl::unexpected(smi.error());
    if (smi->ok() && !trim(smi->out).empty()) {
      const auto fields = split(first_line(smi->out), ',');
      if (fields.size() > 2) result_.gpu.driver = trim(fields[2]);
      add({"driver", "GPU driver", Check::kOk, "nvidia-smi answers: " + first_line(smi->out) + ".",
           "", ""});
      return {};
    }
    const std::string said = trim(smi->out + smi->err);
    const bool mismatch = said.find("mismatch") != std::string::npos;
    add({"driver", "GPU driver", Check::kFailed,
         smi->end == ProcessEnd::kFailedToStart
             ? "nvidia-smi is not there: this machine has no NVIDIA driver."
             : "nvidia-smi fails: " + first_line(said) + ".",
         mismatch ? "Reboot, or reload the driver's kernel module."
                  : "Use a machine with an NVIDIA GPU and its driver.",
         said});
    return {};
  }

  Result<void> probe() {
    const std::string module =
        kernel_ != nullptr ? checkout_.op_module(kernel_->name) : checkout_.package;
    const fs::path src = sandbox_.tree() / "src";
    Json job{{"checks", {"gpu", "torch", "import", "dispatch"}},
             {"module", module},
             {"src", request_.import_from_source ? Json(src.string()) : Json(nullptr)},
             {"expected_file",
              kernel_ != nullptr
                  ? Json((src / checkout_.package / "ops" / (kernel_->name + ".py")).string())
                  : Json(nullptr)}};
    auto outcome =
        start("probe the Python environment",
              {tools_.python, "-u", (tools_.scripts / "lwb_probe.py").string()}, job.dump());
    if (!outcome) return tl::unexpected(outcome.error());
    if (outcome->end == ProcessEnd::kFailedToStart) {
      add({"python", "Python", Check::kFailed,
           fmt::format("The Python {} cannot be started.", tools_.python),
           "Name the Python that has torch and triton with --python or LWB_PYTHON.", outcome->err});
      return {};
    }
    bool seen = false;
    for (const std::string& line : split_lines(outcome->out)) {
      auto event = parse_json(line, "an event of lwb_probe.py");
      if (!event || get_string(*event, "event") != "fact") continue;
      seen = true;
      take_fact(*event);
    }
    if (!seen) {
      add({"python", "Python", Check::kFailed,
           "The probe of the Python environment " + describe_end(*outcome) + " and said nothing.",
           "Try that Python by hand: import torch, triton.", outcome->err});
    }
    return {};
  }

  void take_fact(const Json& fact) {
    const std::string name = get_string(fact, "name");
    const Json& data = get_object(fact, "data");
    const bool ok = get_bool(fact, "ok");
    if (name == "torch") return take_torch(fact, data, ok);
    if (name == "triton") {
      result_.gpu.triton_version = get_string(data, "version");
      add({"triton", "Triton", ok ? Check::kOk : Check::kFailed,
           ok ? "Triton " + result_.gpu.triton_version + "." : "Triton cannot be imported.",
           ok ? "" : "Install triton into that Python.", get_string(data, "traceback")});
    } else if (name == "python") {
      result_.gpu.python_version = get_string(data, "version");
      add({"python", "Python", Check::kOk,
           fmt::format("Python {} at {}.", result_.gpu.python_version,
                       get_string(data, "executable")),
           "", ""});
    } else if (name == "import") {
      take_import(data, ok);
    } else if (name == "install") {
      take_install(data);
    } else if (name == "dispatch") {
      take_dispatch(data);
    }
  }

  void take_torch(const Json& fact, const Json& data, bool ok) {
    const std::string driver = result_.gpu.driver;
    const Gpu found = gpu_from_json(fact);
    const Gpu before = result_.gpu;
    result_.gpu = found;
    result_.gpu.driver = driver;
    result_.gpu.triton_version = before.triton_version;
    result_.gpu.python_version = before.python_version;
    const std::string version = found.torch_version;
    if (ok && !found.name.empty()) {
      add({"torch", "PyTorch", Check::kOk,
           fmt::format("torch {} sees {} (SM {}.{}, {} multiprocessors).", version, found.name,
                       found.capability_major, found.capability_minor, found.sm_count),
           "", ""});
      return;
    }
    const bool imported = !version.empty();
    add({"torch", "PyTorch", Check::kFailed,
         imported ? get_string(data, "message", "torch " + version + " sees no CUDA GPU.")
                  : "torch cannot be imported by that Python.",
         imported ? "Use a torch that is built for CUDA and fits the driver."
                  : "Install torch, or name another Python with --python.",
         get_string(data, "traceback")});
  }

  // What an ordinary user of this machine gets, where a dispatcher chooses (field-notes R1).
  void take_dispatch(const Json& data) {
    std::vector<std::string> chosen;
    for (const auto& [name, entry] : get_object(data, "names").items()) {
      chosen.push_back(name + ": " + get_string(entry, "chosen", "none"));
    }
    add({"dispatch", "Implementation", Check::kInfo,
         chosen.empty() ? "No dispatcher stands between users and the op."
                        : "Outside of the workbench the dispatcher chooses " + join(chosen, ", ") +
                              "; children are made to use Triton.",
         "", ""});
  }

  void take_import(const Json& data, bool ok) {
    for (const Json& name : get_array(data, "imports")) {
      if (name.is_string()) result_.imports.push_back(name.get<std::string>());
    }
    const std::string file = get_string(data, "file");
    const fs::path expected = sandbox_.tree() / "src";
    const bool ours = ok && (file.empty() || file.rfind(expected.string(), 0) == 0);
    std::string sentence = ok ? "Children import " + file + "."
                              : fmt::format("The op cannot be imported: {}",
                                            get_string(data, "message", get_string(data, "type")));
    if (ok && !ours) {
      sentence = fmt::format("Children would import {} instead of {}.", file, expected.string());
    }
    add({"import", "Import", ours ? Check::kOk : Check::kFailed, sentence,
         ours ? ""
              : "Install the checkout in dev mode (pip install -e .), or mend the error shown.",
         get_string(data, "traceback")});
  }

  void take_install(const Json& data) {
    // Where a child without our PYTHONPATH imports it from: what an ordinary user of this Python
    // gets.
    const std::string plain = get_string(data, "imported_from");
    if (request_.import_from_source) {
      add({"install", "Installation", Check::kInfo,
           "The package is imported from the checkout's src by PYTHONPATH.", "", ""});
      return;
    }
    const bool here = plain.rfind(checkout_.src().string(), 0) == 0;
    add({"install", "Installation", here ? Check::kOk : Check::kFailed,
         here            ? "The package is installed in dev mode."
         : plain.empty() ? "The package is not installed."
                         : fmt::format("The package is installed elsewhere: {} instead of {}.",
                                       plain, checkout_.src().string()),
         here ? "" : "Run pip install -e . in the checkout, or give --import-from-source.", ""});
  }

  void begin_script() {
    if (kernel_ == nullptr || kernel_->script.empty()) return;
    script_file_ = sandbox_.tree() / fs::relative(kernel_->script, checkout_.root);
    script_ = std::async(std::launch::async, [this] {
      return start("start the benchmark script", {tools_.python, script_file_.string(), "--help"});
    });
  }

  void begin_tests() {
    if (kernel_ == nullptr || kernel_->tests.empty()) return;
    test_file_ = sandbox_.tree() / fs::relative(kernel_->tests.front(), checkout_.root);
    tests_ = std::async(std::launch::async, [this] {
      return start("collect the tests", {tools_.python, "-m", "pytest", "--collect-only", "-q",
                                         "-p", "no:cacheprovider", test_file_.string()});
    });
  }

  Result<void> script() {
    if (!script_.valid()) return {};
    const fs::path& file = script_file_;
    auto help = script_.get();
    if (!help) return tl::unexpected(help.error());
    add({"script", "Benchmark script", help->ok() ? Check::kOk : Check::kFailed,
         help->ok() ? file.filename().string() + " starts."
                    : fmt::format("{} {} when started with --help.", file.filename().string(),
                                  describe_end(*help)),
         help->ok() ? "" : "Mend what its traceback shows.", help->ok() ? "" : help->err});
    return {};
  }

  Result<void> tests() {
    if (!tests_.valid()) return {};
    const fs::path& file = test_file_;
    auto collected = tests_.get();
    if (!collected) return tl::unexpected(collected.error());
    int count = 0;
    for (const std::string& line : split_lines(collected->out)) {
      if (line.find("::") != std::string::npos) ++count;
    }
    const bool ok = collected->ok() && count > 0;
    add({"tests", "Tests", ok ? Check::kOk : Check::kFailed,
         ok ? fmt::format("{} collects {} tests.", file.filename().string(), count)
            : fmt::format("{} collects no test: pytest {}.", file.filename().string(),
                          describe_end(*collected)),
         ok ? "" : "Install what its import needs, or mend the error shown.",
         ok ? "" : collected->out + collected->err});
    return {};
  }

  Result<void> git() {
    ProcessSpec spec;
    spec.label = "git state";
    spec.argv = {"git", "-C", checkout_.root.string(), "status", "--porcelain", "--branch"};
    spec.env = tools_.environment;
    spec.cwd = sandbox_.tree();
    auto status = runner_.run(spec);
    if (!status) return tl::unexpected(status.error());
    if (!status->ok()) {
      add({"git", "Git", Check::kInfo, "The checkout is no git repository: no branch can be made.",
           "", ""});
      return {};
    }
    const bool dirty =
        kernel_ != nullptr &&
        status->out.find(checkout_.op_relative(kernel_->name).string()) != std::string::npos;
    add({"git", "Git", dirty ? Check::kWarning : Check::kInfo,
         dirty ? "The kernel file has uncommitted edits; they are the baseline."
               : "Git: " + first_line(status->out) + ".",
         "", ""});
    return {};
  }

  Result<void> disk() {
    const auto free = free_bytes(checkout_.root);
    const auto area = free_bytes(sandbox_.tree());
    if (!free || !area) return {};
    const std::uintmax_t least = std::min(*free, *area);
    add({"disk", "Disk",
         least < kNoDisk    ? Check::kFailed
         : least < kLowDisk ? Check::kWarning
                            : Check::kInfo,
         format_bytes(static_cast<double>(least)) + " are free.",
         least < kLowDisk ? "Free some space: compiled kernels are cached." : "", ""});
    return {};
  }

  Result<void> tools() {
    for (const auto& [name, why] :
         {std::pair{"ncu", "hardware counters"}, std::pair{"ruff", "the style gate"},
          std::pair{"make", "the style gate"}, std::pair{"gh", "opening a pull request"}}) {
      auto version = start(std::string("version of ") + name, {name, "--version"});
      if (!version) return tl::unexpected(version.error());
      add({name, name, Check::kInfo,
           version->ok() ? trim(first_line(version->out))
                         : fmt::format("{} is not there ({}).", name, why),
           "", ""});
    }
    return {};
  }

  ProcessRunner& runner_;
  const PythonTools& tools_;
  const Checkout& checkout_;
  const KernelEntry* kernel_;
  const Request& request_;
  const Sandbox& sandbox_;
  Preflight result_;
  fs::path script_file_, test_file_;
  std::future<Result<ProcessOutcome>> script_, tests_;  // last: they end before the rest goes
};

}  // namespace

bool Preflight::passed() const {
  for (const Check& check : checks) {
    if (check.state == Check::kFailed) return false;
  }
  return true;
}

Json Preflight::json() const {
  Json list = Json::array();
  for (const Check& check : checks) {
    list.push_back({{"id", check.id},
                    {"title", check.title},
                    {"state", name_of(check.state)},
                    {"sentence", check.sentence},
                    {"fix", check.fix},
                    {"details", check.details}});
  }
  return {{"passed", passed()}, {"checks", list}, {"gpu", to_json(gpu)}};
}

Result<Preflight> run_preflight(ProcessRunner& runner, const PythonTools& tools,
                                const Checkout& checkout, const KernelEntry* kernel,
                                const Request& request, const Sandbox& sandbox) {
  return Checks(runner, tools, checkout, kernel, request, sandbox).run();
}

}  // namespace lwb
