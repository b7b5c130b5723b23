#include "core/pipeline/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/pipeline/pipeline.h"
#include "core/process/child_environment.h"
#include "core/process/recording.h"
#include "core/report/template.h"
#include "core/run/journal.h"
#include "core/variants/technique.h"

namespace lwb {
namespace {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path default_area(const fs::path& checkout) {
  const std::string cache = environment_variable("XDG_CACHE_HOME");
  const fs::path base =
      cache.empty() ? fs::path(environment_variable("HOME")) / ".cache" : fs::path(cache);
  return base / "liger-workbench" / "sandboxes" / sha256_hex(checkout.string()).substr(0, 16);
}

Environment environment_for(const Workbench& bench, const fs::path& src) {
  ChildEnvironmentFacts facts;
  facts.python_path = {src.string(), bench.tools.scripts.string()};
  facts.triton_cache = (bench.area / "triton-cache").string();
  facts.tmp = (bench.area / "tmp").string();
  return child_environment(facts, own_environment());
}

PathTokens tokens_of(const Workbench& bench) {
  return {{{bench.checkout.root.string(), "@CHECKOUT@"},
           {bench.area.string(), "@AREA@"},
           {bench.tools.scripts.string(), "@SCRIPTS@"},
           {resource_root().string(), "@RESOURCES@"}}};
}

// The GPU's name for a recording's header: asked of the driver, since torch is not there yet.
std::string gpu_name(ProcessRunner& runner, const Environment& environment) {
  ProcessSpec spec;
  spec.label = "name of the GPU";
  spec.argv = {"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"};
  spec.env = environment;
  const auto outcome = runner.run(spec);
  if (!outcome || !outcome->ok()) return "unknown GPU";
  return outcome->out.substr(0, outcome->out.find('\n'));
}

// The GPU that children see: the one that CUDA_VISIBLE_DEVICES names first, by UUID or by number in
// the driver's (PCI) order, else the first. Empty when no driver answers.
std::string gpu_uuid(ProcessRunner& runner, const Environment& environment) {
  const auto set = environment.find("CUDA_VISIBLE_DEVICES");
  const std::string wanted =
      set == environment.end() ? "" : trim(set->second.substr(0, set->second.find(',')));
  if (wanted.rfind("GPU-", 0) == 0) return wanted;
  ProcessSpec spec;
  spec.label = "UUIDs of the GPUs";
  spec.argv = {"nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"};
  spec.env = environment;
  const auto outcome = runner.run(spec);
  if (!outcome || !outcome->ok()) return {};
  const auto lines = split_lines(outcome->out);
  const auto index = static_cast<std::size_t>(std::max(0, std::atoi(wanted.c_str())));
  return index < lines.size() ? trim(lines[index]) : std::string();
}

Result<void> choose_seam(Workbench& bench, const RunOptions& options, const CancelToken& cancel) {
  bench.system = std::make_unique<SystemRunner>(&cancel);
  ProcessRunner* runner = options.seam ? options.seam : bench.system.get();
  if (!options.replay_file.empty()) {
    auto replay = make_replay(options.replay_file, tokens_of(bench));
    if (!replay) return tl::unexpected(replay.error());
    bench.recorded = std::move(*replay);
    runner = bench.recorded.get();
  } else if (!options.record_file.empty()) {
    RecordingHeader header;
    header.recorded_on = gpu_name(*bench.system, bench.tools.environment);
    header.program_version = LWB_VERSION;
    header.journal_schema = kJournalSchema;
    for (const auto& technique : catalog()) header.techniques.push_back(technique->id());
    bench.recorded =
        make_recorder(*runner, fs::absolute(options.record_file), header, tokens_of(bench));
    runner = bench.recorded.get();
  }
  bench.real_programs = !options.seam && options.replay_file.empty();
  bench.runner = std::make_unique<JournalingRunner>(*runner);
  return {};
}

Result<void> parse(Workbench& bench) {
  auto model =
      parse_package(*bench.runner, bench.tools, bench.checkout.root, bench.checkout.package);
  if (!model) return tl::unexpected(model.error());
  bench.model = std::move(*model);
  bench.kernels = list_kernels(bench.checkout, bench.model);
  return {};
}

}  // namespace

std::vector<std::string> Workbench::kernel_names() const {
  std::vector<std::string> names;
  for (const KernelEntry& entry : kernels) names.push_back(entry.name);
  return names;
}

Result<std::unique_ptr<Workbench>> open_workbench(const RunOptions& options,
                                                  const CancelToken& cancel) {
  auto bench = std::make_unique<Workbench>();
  std::error_code error;
  const fs::path root = fs::weakly_canonical(options.checkout, error);
  auto checkout = open_checkout(error ? fs::path(options.checkout) : root);
  if (!checkout) return tl::unexpected(checkout.error());
  bench->checkout = std::move(*checkout);
  const std::string from_environment = environment_variable("LWB_PYTHON");
  bench->tools.python = !options.python.empty()     ? options.python
                        : !from_environment.empty() ? from_environment
                                                    : "python3";
  bench->tools.scripts = resource_root() / "resources" / "python";
  bench->area = options.work_area.empty() ? default_area(bench->checkout.root)
                                          : fs::absolute(options.work_area);
  fs::create_directories(bench->area / "tmp", error);
  if (error) {
    return fail(ErrorKind::kPreflight,
                fmt::format("The work area {} cannot be created ({}); name another with "
                            "--work-area.",
                            bench->area.string(), error.message()));
  }
  bench->tools.cwd = bench->area;
  bench->tools.environment = environment_for(*bench, bench->checkout.src());
  if (auto chosen = choose_seam(*bench, options, cancel); !chosen) {
    return tl::unexpected(chosen.error());
  }
  if (auto parsed = parse(*bench); !parsed) return tl::unexpected(parsed.error());
  return bench;
}

std::optional<LockOwner> run_in_progress(const fs::path& checkout, const std::string& kernel,
                                         const std::string& work_area) {
  std::error_code error;
  const fs::path root = fs::weakly_canonical(checkout, error);
  const fs::path area = work_area.empty() ? default_area(root) : fs::absolute(work_area);
  if (auto owner = lock_holder(area / (kernel + ".lock"))) return owner;
  const auto file = checkout_lock_file(root);  // a run with a work area of its own
  auto owner = file ? lock_holder(*file) : std::nullopt;
  return owner && owner->kernel == kernel ? owner : std::nullopt;
}

Result<void> lock_checkout(Workbench& bench, const std::string& kernel, const CancelToken& cancel,
                           const Listener& listener) {
  auto file = checkout_lock_file(bench.checkout.root);
  if (!file) return tl::unexpected(file.error());
  auto lock = Lock::take(*file, kernel, cancel, [&](const LockOwner& owner) {
    listener.say("waiting for the checkout, which is used by " + describe(owner));
  });
  if (!lock) return tl::unexpected(lock.error());
  bench.locks.push_back(std::move(*lock));
  const SourceModel* parsed = bench.model.module(bench.checkout.op_module(kernel));
  const auto present = read_file(bench.checkout.op_file(kernel));
  if (parsed != nullptr && present && *present == parsed->text) return {};
  return parse(bench);
}

Result<Sandbox> make_sandbox(Workbench& bench, const std::string& purpose,
                             const CancelToken& cancel, const Listener& listener) {
  auto lock =
      Lock::take(bench.area / (purpose + ".lock"), purpose, cancel,
                 [&](const LockOwner& owner) { listener.say("waiting for " + describe(owner)); });
  if (!lock) return tl::unexpected(lock.error());
  bench.locks.push_back(std::move(*lock));
  auto sandbox = Sandbox::create(bench.checkout, bench.area, purpose);
  if (!sandbox) return sandbox;
  bench.tools.environment = environment_for(bench, sandbox->tree() / "src");
  bench.tools.cwd = sandbox->tree();
  return sandbox;
}

Result<void> lock_gpu(Workbench& bench, const std::string& kernel, const CancelToken& cancel,
                      const Listener& listener) {
  if (!bench.real_programs) return {};
  const std::string uuid = gpu_uuid(*bench.system, bench.tools.environment);
  if (uuid.empty()) return {};
  auto file = gpu_lock_file(uuid);
  if (!file) return tl::unexpected(file.error());
  auto lock = Lock::take(*file, kernel, cancel, [&](const LockOwner& owner) {
    listener.say("waiting for the GPU, which is used by " + describe(owner));
  });
  if (!lock) return tl::unexpected(lock.error());
  bench.locks.push_back(std::move(*lock));
  return {};
}

void keep_python_warm(Workbench& bench, const std::vector<std::string>& modules) {
  if (!bench.real_programs) return;
  const std::string script = (bench.tools.scripts / "lwb_standby.py").string();
  bench.system->keep_standby({{bench.tools.python, "-u", script},
                              bench.tools.environment,
                              bench.tools.cwd,
                              print_json(Json(modules))});
}

Side side_of(const PackageSide& side) {
  return {side.name, side.src, side.module, side.file, side.sha256};
}

Result<CallsFile> calls_by_hand(const Request& request, const Checkout& checkout,
                                const KernelEntry& kernel) {
  if (request.calls_file.empty()) return CallsFile{};
  auto file = read_calls(request.calls_file);
  if (!file) return file;
  if (!file->kernel.empty() && file->kernel != kernel.name) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("The calls file {} is for the kernel {}, not for {}; give the file that "
                    "was written for {}, or correct its member \"kernel\".",
                    request.calls_file, file->kernel, kernel.name, kernel.name));
  }
  const std::string module = checkout.op_module(kernel.name);
  for (const CapturedCall& call : file->calls) {
    const Json& function = get_object(call.json, "function");
    const std::string name = get_string(function, "qualname");
    const auto& known = kernel.autograd_functions;
    if (get_string(function, "module") == module &&
        std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    return fail(ErrorKind::kUsage,
                fmt::format("The call \"{}\" of the calls file {} is of {}.{}, which is no "
                            "autograd.Function of {}; that has {}.",
                            call.id, request.calls_file, get_string(function, "module"), name,
                            module, known.empty() ? "none" : join(known, ", ")));
  }
  return file;
}

Result<CaptureResult> capture_cells(Workbench& bench, const Sandbox& sandbox, const Side& original,
                                    const KernelEntry& kernel, const Request& request,
                                    std::vector<CapturedCall> by_hand) {
  CaptureJob job;
  job.side = original;
  job.kernel = kernel.name;
  job.script = sandbox.tree() / fs::relative(kernel.script, bench.checkout.root);
  job.root = sandbox.tree();
  job.models = request.models;
  job.x_values = request.x_values;
  auto captured = capture_calls(*bench.runner, bench.tools, job);
  if (!captured) return captured;
  auto& calls = captured->calls.calls;
  for (CapturedCall& call : by_hand) {
    const auto same = std::find_if(calls.begin(), calls.end(),
                                   [&](const CapturedCall& c) { return c.id == call.id; });
    if (same == calls.end()) {
      calls.push_back(std::move(call));
    } else if (same->json != call.json) {
      return fail(
          ErrorKind::kUsage,
          fmt::format("The calls file {} has a call \"{}\", which is the name of a captured "
                      "call with other arguments; give it an id of its own.",
                      request.calls_file, call.id));
    }
  }
  return captured;
}

}  // namespace lwb
