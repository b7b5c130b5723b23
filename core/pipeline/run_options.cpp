#include "core/pipeline/run_options.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "core/base/text.h"

namespace lwb {
namespace {

template <class Value>
Result<Value> choose(const std::string& option, const std::string& text,
                     const std::vector<std::pair<std::string, Value>>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) {
    if (name == text) return value;
    names.push_back(name);
  }
  return fail(ErrorKind::kUsage, fmt::format("{} '{}' is not known; choose one of {}.", option,
                                             text, join(names, ", ")));
}

Result<void> apply_choices(const RunOptions& options, Request& request) {
  if (!options.goal.empty()) {
    auto goal = choose<Goal>(
        "--goal", options.goal,
        {{"speed", Goal::kSpeed}, {"memory", Goal::kMemory}, {"balanced", Goal::kBalanced}});
    if (!goal) return tl::unexpected(goal.error());
    request.goal = *goal;
  }
  if (!options.gpu.empty()) {
    auto gpu = choose<TargetGpu>("--gpu", options.gpu,
                                 {{"auto", TargetGpu::kAuto},
                                  {"ampere", TargetGpu::kAmpere},
                                  {"hopper", TargetGpu::kHopper},
                                  {"blackwell", TargetGpu::kBlackwell}});
    if (!gpu) return tl::unexpected(gpu.error());
    request.gpu = *gpu;
  }
  if (!options.scope.empty()) {
    auto scope = parse_scope(options.scope);
    if (!scope) return tl::unexpected(scope.error());
    request.scope = *scope;
  }
  if (!options.target.empty()) {
    auto target = parse_target(options.target);
    if (!target) return tl::unexpected(target.error());
    request.target = *target;
  }
  return {};
}

// Numbers that a command line or a form can hold and no measurement can use.
Result<void> check_numbers(const RunOptions& options) {
  for (const double x : options.x_values) {
    if (std::isfinite(x) && x > 0) continue;
    return fail(ErrorKind::kUsage,
                fmt::format("--x {} is no size; give numbers above 0, such as 2048,8192.", x));
  }
  if (!std::isfinite(options.budget_s) || options.budget_s < 0) {
    return fail(ErrorKind::kUsage,
                fmt::format("--budget-s {} is no time; give a number of seconds above 0.",
                            options.budget_s));
  }
  if (options.max_variants < 0) {
    return fail(ErrorKind::kUsage,
                fmt::format("--max-variants {} is no number of variants; give at least 1.",
                            options.max_variants));
  }
  for (const std::string& model : options.models) {
    if (!trim(model).empty()) continue;
    return fail(ErrorKind::kUsage,
                "--models holds an empty name; give names with a comma between, such as A,B.");
  }
  return {};
}

void apply_plain(const RunOptions& options, Request& request) {
  if (!options.kernel.empty()) request.kernel = options.kernel;
  if (options.autonomous) request.autonomy = Autonomy::kAutonomous;
  if (options.max_variants > 0) request.max_variants = options.max_variants;
  if (!options.models.empty()) request.models = options.models;
  if (!options.x_values.empty()) request.x_values = options.x_values;
  if (!options.calls_file.empty()) {
    request.calls_file = std::filesystem::absolute(options.calls_file).string();
  }
  if (options.budget_s > 0) request.budget_s = options.budget_s;
  if (options.no_pull_request) request.pull_request = false;
  request.import_from_source = options.import_from_source;
  if (options.accept_known_failures) request.accept_known_failures = true;
  request.update_benchmark_csv = options.update_benchmark_csv;
}

}  // namespace

Result<Request> build_request(const RunOptions& options, const std::vector<std::string>& kernels,
                              const std::function<void(const std::string&)>& say) {
  Request request;
  if (!options.sentence.empty()) {
    auto parsed = parse_sentence(options.sentence, kernels, options.kernel);
    if (!parsed) return tl::unexpected(parsed.error());
    say("the sentence was understood as\n" + describe(*parsed));
    request = std::move(parsed->request);
  }
  if (auto applied = apply_choices(options, request); !applied) {
    return tl::unexpected(applied.error());
  }
  if (auto right = check_numbers(options); !right) return tl::unexpected(right.error());
  apply_plain(options, request);
  if (request.kernel.empty()) {
    return fail(ErrorKind::kUsage,
                "No kernel is named; give --kernel NAME, or name it in --request.");
  }
  return request;
}

}  // namespace lwb
