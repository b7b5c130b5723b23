#include <fmt/format.h>

#include "core/base/files.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/workbench.h"
#include "core/run/offers.h"
#include "core/run/state.h"
#include "core/run/workspace.h"

namespace lwb {
namespace {

Result<std::string> kernel_text(const std::string& file, const fs::path& fallback) {
  const fs::path path = file.empty() ? fallback : fs::path(file);
  auto text = read_file(path);
  if (!text) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("The kernel file {} cannot be read; name an existing file.", path.string()),
        text.error().sentence);
  }
  return text;
}

std::vector<CapturedCall> replayable(const std::vector<CapturedCall>& calls) {
  std::vector<CapturedCall> chosen;
  for (const CapturedCall& call : calls) {
    if (call.replayable) chosen.push_back(call);
  }
  return chosen;
}

Result<std::vector<FileComparison>> compare_repeatedly(Workbench& bench,
                                                       const std::vector<Side>& sides,
                                                       const std::vector<CapturedCall>& calls,
                                                       const Request& request, int repeat,
                                                       const Listener& listener) {
  std::vector<FileComparison> comparisons;
  for (int i = 1; i <= repeat; ++i) {
    listener.say(fmt::format("measurement {} of {}: {} calls", i, repeat, calls.size()));
    MeasureOptions options;
    options.budget_s = request.budget_s;
    options.seed = static_cast<std::uint64_t>(i);
    auto measured = measure(*bench.runner, bench.tools, sides, calls, options);
    if (!measured) return tl::unexpected(measured.error());
    FileComparison comparison;
    comparison.verdicts = compare_sides(*measured, sides[0].name, sides[1].name, rule_for(options));
    comparison.measurement = std::move(*measured);
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

}  // namespace

Result<std::vector<KernelEntry>> kernels_of(const RunOptions& options, const CancelToken& cancel) {
  auto bench = open_workbench(options, cancel);
  if (!bench) return tl::unexpected(bench.error());
  return (*bench)->kernels;
}

Result<Preflight> doctor(const RunOptions& options, const CancelToken& cancel,
                         const Listener& listener) {
  auto bench = open_workbench(options, cancel);
  if (!bench) return tl::unexpected(bench.error());
  auto sandbox = make_sandbox(**bench, "doctor", cancel, listener);
  if (!sandbox) return tl::unexpected(sandbox.error());
  const SandboxRemover remover{*sandbox};
  Request request;
  request.import_from_source = options.import_from_source;
  return run_preflight(*(*bench)->runner, (*bench)->tools, (*bench)->checkout, nullptr, request,
                       *sandbox);
}

Json FileComparison::json() const {
  Json rows = Json::array(), failures = Json::array();
  for (const CellVerdict& verdict : verdicts) rows.push_back(to_json(verdict));
  for (const auto& failure : measurement.failures) {
    failures.push_back({{"call", failure.call},
                        {"pass", failure.pass},
                        {"side", failure.side},
                        {"kind", failure.kind},
                        {"message", failure.message}});
  }
  return {{"verdicts", rows},
          {"failures", failures},
          {"not_measured", measurement.not_measured},
          {"notes", measurement.notes},
          {"gpu_seconds", measurement.gpu_seconds},
          {"recorded_on", measurement.recorded_on}};
}

Result<std::vector<FileComparison>> measure_files(const RunOptions& options,
                                                  const std::string& variant_file,
                                                  const std::string& against_file, int repeat,
                                                  const CancelToken& cancel,
                                                  const Listener& listener) {
  auto opened = open_workbench(options, cancel);
  if (!opened) return tl::unexpected(opened.error());
  Workbench& bench = **opened;
  auto request = build_request(options, bench.kernel_names(), listener.say);
  if (!request) return tl::unexpected(request.error());
  auto kernel = find_kernel(bench.kernels, request->kernel);
  if (!kernel) return tl::unexpected(kernel.error());
  if (!kernel->ready) {
    return fail(ErrorKind::kPreflight,
                fmt::format("{} cannot be measured: {}.", kernel->name, kernel->reason));
  }
  auto old_text = kernel_text(against_file, bench.checkout.op_file(kernel->name));
  if (!old_text) return tl::unexpected(old_text.error());
  auto new_text = kernel_text(variant_file, {});
  if (!new_text) return tl::unexpected(new_text.error());
  auto by_hand = calls_by_hand(*request, bench.checkout, *kernel);
  if (!by_hand) return tl::unexpected(by_hand.error());

  auto sandbox = make_sandbox(bench, "measure-" + kernel->name, cancel, listener);
  if (!sandbox) return tl::unexpected(sandbox.error());
  const SandboxRemover remover{*sandbox};
  if (auto locked = lock_gpu(bench, kernel->name, cancel, listener); !locked) {
    return tl::unexpected(locked.error());
  }
  auto original = sandbox->add_side("v0", kernel->name, *old_text);
  if (!original) return tl::unexpected(original.error());
  auto variant = sandbox->add_side("v1", kernel->name, *new_text);
  if (!variant) return tl::unexpected(variant.error());
  const std::vector<Side> sides{side_of(*original), side_of(*variant)};

  // What op files usually import; what is absent is passed over.
  keep_python_warm(bench, {"torch", "torch._dynamo", "triton", "triton.language", "transformers"});
  listener.say("capturing the calls of the cells");
  auto cells =
      capture_cells(bench, *sandbox, sides[0], *kernel, *request, std::move(by_hand->calls));
  if (!cells) return tl::unexpected(cells.error());
  return compare_repeatedly(bench, sides, replayable(cells->calls.calls), *request, repeat,
                            listener);
}

Result<void> offer_file(const RunOptions& options, const std::string& file,
                        const std::string& title, const std::string& based_on) {
  auto checkout = open_checkout(options.checkout);
  if (!checkout) return tl::unexpected(checkout.error());
  const Workspace workspace{checkout->workspace(options.kernel), options.kernel};
  RunState state;
  if (fs::exists(workspace.journal())) {
    auto events = read_journal(workspace.journal());
    if (!events) return tl::unexpected(events.error());
    state = fold(*events);
  }
  if (const std::string problem = offer_problem(state); !problem.empty()) {
    return fail(ErrorKind::kUsage, problem);
  }
  VariantOffer offer;
  offer.title = title;
  if (!based_on.empty()) offer.based_on = based_on;
  bool known = offer.based_on == "v0";
  for (const auto& [number, record] : state.variants) {
    known = known || offer.based_on == "v" + std::to_string(number);
  }
  if (!known) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("--based-on {}: the run of {} has no such variant; lwb show lists them.",
                    offer.based_on, options.kernel));
  }
  auto text = kernel_text(file, {});
  if (!text) return tl::unexpected(text.error());
  offer.text = std::move(*text);
  return offer_variant(workspace.inbox(), std::move(offer));
}

}  // namespace lwb
