#include "core/request/request.h"

#include <array>
#include <utility>

namespace lwb {
namespace {

constexpr std::array<std::pair<Comparison, const char*>, 5> kComparisons{{
    {Comparison::kLessEqual, "<="},
    {Comparison::kGreaterEqual, ">="},
    {Comparison::kLess, "<"},
    {Comparison::kGreater, ">"},
    {Comparison::kEqual, "="},
}};

template <class Value>
Result<Value> named(const Json& json, const char* key, Value fallback,
                    std::initializer_list<Value> values) {
  const std::string text = get_string(json, key);
  if (text.empty()) return fallback;
  for (const Value value : values) {
    if (to_string(value) == text) return value;
  }
  return fail(ErrorKind::kUsage, std::string("The request's ") + key + " is '" + text +
                                     "', which is none of its values.");
}

}  // namespace

std::string to_string(Goal goal) {
  return goal == Goal::kSpeed ? "speed" : goal == Goal::kMemory ? "memory" : "balanced";
}

std::string to_string(Autonomy autonomy) {
  return autonomy == Autonomy::kAutonomous ? "autonomous" : "interactive";
}

std::string to_string(TargetGpu gpu) {
  switch (gpu) {
    case TargetGpu::kAuto:
      return "auto";
    case TargetGpu::kAmpere:
      return "ampere";
    case TargetGpu::kHopper:
      return "hopper";
    case TargetGpu::kBlackwell:
      return "blackwell";
  }
  return "auto";
}

std::string to_string(Pass pass) {
  return pass == Pass::kForward ? "forward" : pass == Pass::kBackward ? "backward" : "full";
}

std::string to_string(Comparison comparison) {
  for (const auto& [value, text] : kComparisons) {
    if (value == comparison) return text;
  }
  return "=";
}

std::optional<Pass> parse_pass(std::string_view text) {
  if (text == "forward") return Pass::kForward;
  if (text == "backward") return Pass::kBackward;
  if (text == "full") return Pass::kFull;
  return std::nullopt;
}

bool Condition::holds(double actual) const {
  switch (comparison) {
    case Comparison::kLess:
      return actual < value;
    case Comparison::kLessEqual:
      return actual <= value;
    case Comparison::kGreater:
      return actual > value;
    case Comparison::kGreaterEqual:
      return actual >= value;
    case Comparison::kEqual:
      return actual == value;
  }
  return false;
}

Json to_json(const Request& request) {
  return {{"target_kernel", request.kernel},
          {"optimization_goal", to_string(request.goal)},
          {"scope", to_string(request.scope)},
          {"target_gpu", to_string(request.gpu)},
          {"autonomy", to_string(request.autonomy)},
          {"max_variants", request.max_variants},
          {"target_metric", request.target ? Json(to_string(*request.target)) : Json(nullptr)},
          {"models", request.models},
          {"x", request.x_values},
          {"calls_file", request.calls_file},
          {"calls_sha256", request.calls_sha256},
          {"budget_s", request.budget_s},
          {"pull_request", request.pull_request},
          {"accept_known_failures", request.accept_known_failures},
          {"import_from_source", request.import_from_source},
          {"update_benchmark_csv", request.update_benchmark_csv}};
}

Json what_is_measured(Json request) {
  for (const char* key : {"autonomy", "pull_request", "accept_known_failures",
                          "update_benchmark_csv", "calls_file"}) {
    request.erase(key);
  }
  // Absent in journals from before the content of the calls file counted.
  if (get_string(request, "calls_sha256").empty()) request.erase("calls_sha256");
  return request;
}

Result<Request> request_from_json(const Json& json) {
  Request request;
  request.kernel = get_string(json, "target_kernel");
  auto goal = named(json, "optimization_goal", Goal::kBalanced,
                    {Goal::kSpeed, Goal::kMemory, Goal::kBalanced});
  if (!goal) return tl::unexpected(goal.error());
  request.goal = *goal;
  auto gpu =
      named(json, "target_gpu", TargetGpu::kAuto,
            {TargetGpu::kAuto, TargetGpu::kAmpere, TargetGpu::kHopper, TargetGpu::kBlackwell});
  if (!gpu) return tl::unexpected(gpu.error());
  request.gpu = *gpu;
  auto autonomy = named(json, "autonomy", Autonomy::kInteractive,
                        {Autonomy::kInteractive, Autonomy::kAutonomous});
  if (!autonomy) return tl::unexpected(autonomy.error());
  request.autonomy = *autonomy;
  auto scope = parse_scope(get_string(json, "scope", "general"));
  if (!scope) return tl::unexpected(scope.error());
  request.scope = *scope;
  if (const std::string target = get_string(json, "target_metric"); !target.empty()) {
    auto parsed = parse_target(target);
    if (!parsed) return tl::unexpected(parsed.error());
    request.target = *parsed;
  }
  request.max_variants = static_cast<int>(get_integer(json, "max_variants", 8));
  if (request.max_variants < 1) {
    return fail(ErrorKind::kUsage, "The request's max_variants is " +
                                       std::to_string(request.max_variants) +
                                       "; give a whole number of at least 1.");
  }
  for (const Json& model : get_array(json, "models")) {
    if (model.is_string()) request.models.push_back(model.get<std::string>());
  }
  for (const Json& x : get_array(json, "x")) {
    if (x.is_number()) request.x_values.push_back(x.get<double>());
  }
  request.calls_file = get_string(json, "calls_file");
  request.calls_sha256 = get_string(json, "calls_sha256");
  request.budget_s = get_number(json, "budget_s");
  request.pull_request = get_bool(json, "pull_request", true);
  request.accept_known_failures = get_bool(json, "accept_known_failures");
  request.import_from_source = get_bool(json, "import_from_source");
  request.update_benchmark_csv = get_bool(json, "update_benchmark_csv");
  return request;
}

}  // namespace lwb
