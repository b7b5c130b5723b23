#include "core/pipeline/profile_stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/measure/measure_step.h"
#include "core/pipeline/profile_document.h"

namespace lwb {
namespace {

constexpr int kBaselineRounds = 2;

class ProfileStage {
 public:
  ProfileStage(Session& session, const ProfileInputs& inputs) : session_(session), in_(inputs) {}

  Result<ProfileResult> run() {
    using Part = Result<void> (ProfileStage::*)();
    for (const Part part :
         {&ProfileStage::cells, &ProfileStage::trace, &ProfileStage::stock, &ProfileStage::baseline,
          &ProfileStage::diagnose, &ProfileStage::write}) {
      if (auto done = (this->*part)(); !done) return tl::unexpected(done.error());
    }
    return result_;
  }

 private:
  Step step(const std::string& name, std::vector<std::string> parts = {}) const {
    return profile_step(name, std::move(parts), in_.environment_key, in_.original.sha256,
                        in_.request);
  }

  // They were found before there was a journal; now they are part of it.
  Result<void> cells() {
    result_.cells = in_.cells.captured;
    result_.calls = in_.cells.calls;
    result_.scope = in_.cells.scope;
    const Step here = capture_step(in_.environment_key, in_.original.sha256, in_.request);
    if (finished_step(session_.journal, here) == nullptr) {
      if (auto begun = begin_step(session_, here); !begun) return begun;
      if (auto ended = end_step(session_, here, in_.cells.wall, to_json(in_.cells.captured));
          !ended) {
        return ended;
      }
    }
    return write_file_atomically(session_.workspace.calls(),
                                 to_json(result_.cells.calls).dump(1) + "\n");
  }

  Result<void> trace() {
    auto traced = run_step(
        session_, step("trace the launches", {session_.workspace.kernel}),
        [&] {
          return trace_launches(*in_.bench.runner, in_.bench.tools, in_.original, result_.calls);
        },
        [](const LaunchTrace& t) { return to_json(t); }, launch_trace_from_json);
    if (!traced) return tl::unexpected(traced.error());
    result_.trace = std::move(*traced);
    return {};
  }

  Result<void> stock() {
    const Step here = step("stock benchmark v0");
    auto ran = run_step(
        session_, here,
        [&]() -> Result<CheckReport> {
          return run_stock_benchmark(in_.bench, in_.sandbox, in_.kernel, session_.workspace, 0);
        },
        [](const CheckReport& r) {
          return Json{{"passed", r.passed}, {"remarks", r.remarks}};
        },
        [](const Json& json) -> Result<CheckReport> {
          CheckReport report;
          for (const Json& r : get_array(json, "remarks")) report.remarks.push_back(r);
          return report;
        });
    if (!ran) return tl::unexpected(ran.error());
    if (auto table = read_stock_csv(session_.workspace.stock_csv(0))) result_.stock = *table;
    return {};
  }

  Result<void> baseline() {
    MeasureOptions options;
    options.rounds = kBaselineRounds;
    options.extra_rounds = 0;
    options.budget_s = in_.request.budget_s;
    options.copy_sizes = copy_sizes(result_.trace);
    auto measured = measure_step(session_, step("op-time baseline"), in_.bench.tools,
                                 {in_.original}, result_.calls, options);
    if (!measured) return tl::unexpected(measured.error());
    result_.baseline = std::move(*measured);
    return {};
  }

  Result<void> diagnose() {
    result_.roof = roofline(result_.baseline, in_.original.name, result_.trace, in_.gpu.l2_bytes,
                            {result_.scope.begin(), result_.scope.end()}, in_.request.scope.pass);
    result_.analysis = analyse(in_.model);
    const TechniqueContext context{in_.model, result_.trace, in_.gpu.triton_version};
    for (const auto& technique : catalog()) {
      const Applicability where = applicability_of(*technique, context);
      for (const std::string& reason : where.reasons) {
        result_.not_applicable.push_back(technique->id() + ": " + reason);
      }
      if (where.applies()) add_to_order(*technique, context, where);
    }
    std::stable_sort(result_.order.begin(), result_.order.end(),
                     [](const StrategyItem& a, const StrategyItem& b) {
                       return a.expected_gain > b.expected_gain;
                     });
    return {};
  }

  // The call at which it is worth most decides a technique's place. One that does nothing at any
  // measured call is not tried: what it did elsewhere would not have been measured.
  void add_to_order(const Technique& technique, const TechniqueContext& context,
                    const Applicability& where) {
    StrategyItem best;
    bool any_effect = false;
    for (const Site& site : where.sites) {
      const Pass pass = pass_of(site);
      if (in_.request.scope.pass && *in_.request.scope.pass != pass) continue;
      for (const RooflineRow& row : result_.roof.rows) {
        if (row.pass != pass || !in_scope(row.call)) continue;
        const Hypothesis hypothesis = technique.hypothesis(context, site, facts_of(row));
        any_effect = any_effect || !hypothesis.no_effect;
        if (!best.technique.empty() && hypothesis.expected_gain <= best.expected_gain) continue;
        best = {technique.id(),
                fmt::format(
                    "{} ({} {}: {})", hypothesis.text, to_string(pass), row.call,
                    hypothesis.basis.empty() ? "no floor to expect a gain from" : hypothesis.basis),
                hypothesis.expected_gain, pass};
      }
    }
    if (best.technique.empty()) return;  // none of its passes is in scope
    if (any_effect) {
      result_.order.push_back(best);
    } else {
      result_.not_applicable.push_back(technique.id() +
                                       ": applies, but does nothing at the measured calls");
    }
  }

  bool in_scope(const std::string& call) const {
    return result_.scope.empty() || result_.scope.count(call) > 0;
  }

  Pass pass_of(const Site& site) const {
    for (const LaunchRecord& launch : result_.trace.launches) {
      const bool same_host =
          site.host_function.size() >= launch.host_function.size() &&
          site.host_function.compare(site.host_function.size() - launch.host_function.size(),
                                     std::string::npos, launch.host_function) == 0;
      if (launch.kernel == site.kernel || (site.kernel.empty() && same_host)) return launch.pass;
    }
    return Pass::kBackward;
  }

  Technique::PassFacts facts_of(const RooflineRow& row) const {
    Technique::PassFacts facts{
        row.call, row.pass, row.op_us, row.floor_us, 0, 0, result_.roof.best_copy_rate};
    if (const PassBytes* bytes = result_.trace.bytes_of(row.call, row.pass)) {
      facts.read_bytes = bytes->read;
      facts.written_bytes = bytes->written;
    }
    return facts;
  }

  Result<void> write() {
    auto document = profile_document(session_, in_, result_);
    if (!document) return tl::unexpected(document.error());
    result_.document = std::move(*document);
    const Json json = profile_json(in_, result_);
    for (const auto& [name, text] : {std::pair{"profile.md", result_.document},
                                     std::pair{"profile.json", json.dump(1) + "\n"}}) {
      if (auto written = write_file_atomically(session_.workspace.root / name, text); !written) {
        return written;
      }
    }
    return session_.journal.append("profile", json);
  }

  Session& session_;
  const ProfileInputs& in_;
  ProfileResult result_;
};

}  // namespace

Result<ProfileResult> profile_stage(Session& session, const ProfileInputs& inputs) {
  return ProfileStage(session, inputs).run();
}

}  // namespace lwb
