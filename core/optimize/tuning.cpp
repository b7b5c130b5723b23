#include "core/optimize/tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

VariantPlan plan_of(const VariantRecord& record, const std::vector<std::string>& changes) {
  VariantPlan plan;
  plan.name = record.name();
  plan.based_on = record.based_on;
  plan.techniques = record.techniques;
  plan.tables = record.tables;
  plan.changes = changes;
  return plan;
}

// A hook of a pass that is out of scope keeps the original's path.
std::vector<Hook> scoped(std::vector<Hook> hooks, const Request& request) {
  if (request.scope.pass && *request.scope.pass != Pass::kFull) {
    std::erase_if(hooks, [&](const Hook& hook) { return hook.pass != *request.scope.pass; });
  }
  return hooks;
}

std::vector<CapturedCall> scoped(const std::vector<CapturedCall>& calls, const ScopedCalls& scope) {
  std::vector<CapturedCall> chosen;
  for (const CapturedCall& call : calls) {
    if (call.replayable && (scope.empty() || scope.count(call.id) > 0)) chosen.push_back(call);
  }
  return chosen;
}

Json encode(const SweepResult& result) {
  Json points = Json::array();
  for (const SweepPoint& p : result.points) {
    points.push_back(Json::array({p.hook, p.call, Json(p.settings), p.status, p.median_us,
                                  p.registers, p.spills, p.shared_bytes, p.message}));
  }
  return {{"points", points}, {"notes", result.notes}, {"gpu_seconds", result.gpu_seconds}};
}

Result<SweepResult> decode(const Json& json) {
  SweepResult result;
  for (const Json& p : get_array(json, "points")) {
    SweepPoint point;
    point.hook = p.at(0);
    point.call = p.at(1);
    point.settings = p.at(2).get<Settings>();
    point.status = p.at(3);
    point.median_us = p.at(4);
    point.registers = p.at(5);
    point.spills = p.at(6);
    point.shared_bytes = p.at(7);
    point.message = p.at(8);
    result.points.push_back(std::move(point));
  }
  for (const Json& note : get_array(json, "notes")) result.notes.push_back(note);
  result.gpu_seconds = get_number(json, "gpu_seconds");
  return result;
}

// Points that are timed in the calls of one hook decide that hook's table.
std::vector<SettingsTable> tables_of(const std::vector<Hook>& hooks, const TuningInputs& inputs,
                                     const SweepResult& swept) {
  std::vector<SettingsTable> tables;
  for (const Hook& hook : hooks) {
    std::vector<SweepPoint> points;
    for (const SweepPoint& point : swept.points) {
      if (point.hook == hook.function) points.push_back(point);
    }
    std::vector<ShapePoint> shapes = hook.shapes;
    std::erase_if(shapes, [&](const ShapePoint& shape) {
      return std::none_of(points.begin(), points.end(),
                          [&](const SweepPoint& p) { return p.call == shape.call; });
    });
    SettingsTable table = choose_settings(hook.function, hook.features, shapes, points);
    table.capability_major = inputs.gpu.capability_major;
    table.capability_minor = inputs.gpu.capability_minor;
    table.gpu_name = inputs.gpu.name;
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace

Result<std::string> build_tuned(const TuningInputs& inputs, const VariantRecord& record) {
  auto built = build_variant(inputs.context, plan_of(record, inputs.changes));
  if (!built) return tl::unexpected(built.error());
  return built->text;
}

Result<std::string> tune(Session& session, const TuningInputs& inputs, VariantRecord& record,
                         double& gpu_seconds, const StepMaker& step) {
  record.tables.clear();
  std::vector<std::string> left_out;
  auto untuned = build_variant(inputs.context, plan_of(record, inputs.changes), &left_out);
  if (!untuned) return tl::unexpected(untuned.error());
  for (const std::string& reason : left_out) record.learnings.push_back(reason);
  const std::vector<Hook> hooks = scoped(untuned->hooks, inputs.request);
  if (hooks.empty()) return untuned->text;
  auto side = inputs.make_side(record.name() + "-tune", untuned->text);
  if (!side) return tl::unexpected(side.error());
  SweepOptions options;
  options.cache_file = session.workspace.benchmarks() / (record.name() + "_sweep_t4.json");
  const std::vector<CapturedCall> calls = scoped(inputs.calls, inputs.scope);
  auto swept = run_step(
      session, step("sweep " + record.name(), {sha256_hex(untuned->text)}),
      [&] {
        return sweep(session.runner, inputs.tools, *side, calls, hooks, options,
                     [&](int done, int total) {
                       session.report({"optimize", "sweep " + record.name(), done, total});
                     });
      },
      encode, decode);
  if (!swept) return tl::unexpected(swept.error());
  gpu_seconds += swept->gpu_seconds;
  record.sweep_points = static_cast<int>(swept->points.size());
  record.sweep_dropped =
      static_cast<int>(std::count_if(swept->points.begin(), swept->points.end(),
                                     [](const SweepPoint& p) { return p.status != "correct"; }));
  for (const std::string& note : swept->notes) record.learnings.push_back(note);
  record.tables = tables_of(hooks, inputs, *swept);
  return build_tuned(inputs, record);
}

std::vector<SettingsTable> gated_tables(const std::vector<SettingsTable>& tables,
                                        const TuningInputs& inputs,
                                        const std::set<std::string>& keep_original) {
  // The shapes of those calls, by the features that each function decides by.
  std::vector<SettingsTable> gated = tables;
  for (SettingsTable& table : gated) {
    for (BucketChoice& bucket : table.buckets) {
      for (const LaunchRecord& launch : inputs.context.trace.launches) {
        if (keep_original.count(launch.call) == 0 || launch.dtype != bucket.dtype) continue;
        const bool same = std::all_of(
            bucket.features.begin(), bucket.features.end(), [&](const auto& feature) {
              const auto it = launch.locals.find(feature.first);
              return it != launch.locals.end() && it->second == feature.second;
            });
        if (same) bucket.settings.clear();
      }
    }
  }
  return gated;
}

}  // namespace lwb
