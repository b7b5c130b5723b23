#include "core/optimize/loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/diff/diff.h"
#include "core/measure/measure_step.h"
#include "core/measure/stock.h"
#include "core/optimize/notebook.h"
#include "core/optimize/proposals.h"
#include "core/optimize/tuning.h"
#include "core/run/offers.h"

namespace lwb {
namespace {

constexpr std::string_view kPausePrefix = "pause-";

std::size_t added_lines(const std::string& diff) {
  const auto lines = split_lines(diff);
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
        return !line.empty() && line[0] == '+' && line.rfind("+++", 0) != 0;
      }));
}

class OptimizeLoop {
 public:
  OptimizeLoop(Session& session, const OptimizeInputs& inputs) : session_(session), in_(inputs) {}

  Result<OptimizeResult> run() {
    for (;;) {
      if (session_.cancel.cancelled()) return stopped();
      auto offered = try_offered();
      if (!offered) return tl::unexpected(offered.error());
      if (*offered) continue;
      const std::string reason = reason_to_stop();
      if (!reason.empty()) {
        result_.stop_reason = reason;
        break;
      }
      const auto proposal = next_proposal(of_catalog(result_.records), in_.order);
      if (!proposal) {
        result_.stop_reason = "every technique of the catalog that applies was tried";
        break;
      }
      auto go_on = pause();
      if (!go_on) return tl::unexpected(go_on.error());
      if (!*go_on) {
        result_.stop_reason = "a person ended the search";
        break;
      }
      offered = try_offered();  // in the pause
      if (!offered) return tl::unexpected(offered.error());
      if (*offered) continue;
      if (auto tried = try_variant(*proposal); !tried) return tl::unexpected(tried.error());
    }
    if (auto chosen = choose_winner(); !chosen) return tl::unexpected(chosen.error());
    if (auto written = write_results(); !written) return tl::unexpected(written.error());
    return result_;
  }

  Result<std::optional<VariantRecord>> repair(const std::vector<VariantRecord>& records,
                                              const VariantRecord& failed) {
    if (failed.techniques.size() < 2) return std::nullopt;
    result_.records = records;
    Proposal proposal;
    proposal.techniques = failed.techniques;
    proposal.techniques.pop_back();
    proposal.based_on = failed.number;
    if (auto tried = try_variant(proposal); !tried) return tl::unexpected(tried.error());
    const VariantRecord& made = result_.records.back();
    if (made.decision != Decision::kAccepted) return std::nullopt;
    return made;
  }

 private:
  // Waits for a person where one asked to be asked after this variant, or had asked before the run
  // was stopped; false: the search is to end. A resumed run comes by here for each variant that its
  // journal holds already: a wish is heeded after the last of them.
  Result<bool> pause() {
    const std::string after =
        result_.records.empty() ? "the profile" : result_.records.back().name();
    ApprovalRequest request{std::string(kPausePrefix) + std::to_string(result_.records.size()),
                            fmt::format("Paused after {}. Go on with the next variant?", after),
                            "",
                            {"Go on", "End the search and choose the winner"},
                            true};
    const auto& events = session_.journal.events();
    const auto is_there = [&](const auto& holds) {
      return std::any_of(events.begin(), events.end(), holds);
    };
    const bool asked = is_there([&](const Event& event) {
      return event.type == "approval_requested" && get_string(event.data, "id") == request.id;
    });
    // A search that a person ended stays ended, though a variant was offered and made since.
    const bool ended = is_there([&](const Event& event) {
      const std::string id = get_string(event.data, "id");
      return event.type == "approval_answered" && id.starts_with(kPausePrefix) &&
             std::atoi(id.c_str() + kPausePrefix.size()) <
                 static_cast<int>(result_.records.size()) &&
             get_string(event.data, "choice") == request.choices.back();
    });
    if (ended) return false;
    const auto next = static_cast<long long>(result_.records.size()) + 1;
    const bool made = is_there([&](const Event& event) {
      return event.type == "variant" && get_integer(event.data, "number") == next;
    });
    const fs::path inbox = session_.workspace.inbox();
    if (!asked && (made || !pause_is_wished(inbox))) return true;
    withdraw_pause(inbox);
    auto answer = ask(session_.journal, session_.approvals, request, session_.cancel);
    if (!answer) return tl::unexpected(answer.error());
    return answer->choice == request.choices.front();
  }

  static tl::unexpected<Error> stopped() {
    return fail(ErrorKind::kStopped,
                "Stopped by the user; the same command goes on where the run stood.");
  }

  std::string reason_to_stop() const {
    const auto& records = result_.records;
    for (const VariantRecord& record : records) {
      if (in_.request.target && record.measured && record.decision == Decision::kAccepted &&
          target_met(*in_.request.target, record, calls_of_target())) {
        return fmt::format("the target metric is met by {}: {}", record.name(),
                           to_string(*in_.request.target));
      }
    }
    if (in_.request.budget_s > 0 && result_.gpu_seconds >= in_.request.budget_s) {
      return fmt::format("the GPU budget of {} is used up", format_duration(in_.request.budget_s));
    }
    return stop_reason(of_catalog(records), in_.request, in_.scope);
  }

  // A target that names no cells is meant for every cell in scope.
  std::vector<CapturedCall> calls_of_target() const {
    if (in_.scope.empty() || !in_.request.target->conditions.empty()) return in_.calls;
    std::vector<CapturedCall> scoped;
    for (const CapturedCall& call : in_.calls) {
      if (in_.scope.count(call.id) > 0) scoped.push_back(call);
    }
    return scoped;
  }

  Step step(const std::string& name, std::vector<std::string> parts) const {
    parts.push_back(in_.environment_key);
    parts.push_back(sha256_hex(in_.original_text));
    return {"optimize", name, step_key(parts)};
  }

  TechniqueContext context() const { return {in_.model, in_.trace, in_.gpu.triton_version}; }

  // ---------------------------------------------------------------- one variant, start to end

  Result<void> try_variant(const Proposal& proposal) {
    VariantRecord record;
    record.number = static_cast<int>(result_.records.size()) + 1;
    describe_before(record, proposal);
    auto text = tuned_text(record, proposal);
    if (!text) {
      if (text.error().kind == ErrorKind::kStopped) return tl::unexpected(text.error());
      return discard(record, text.error().sentence);
    }
    std::string why_not;
    if (unchanged_path(record)) {
      why_not =
          "no setting was at least 1 % faster than the original at any measured shape; "
          "not measured, because every launch keeps the original's path";
      record.learnings.push_back("The launch settings are already the best of those tried.");
    }
    return judge(record, *text, why_not);
  }

  // From the file to the verdict. `why_not`: the file cannot differ, so it is rejected unmeasured.
  Result<void> judge(VariantRecord& record, const std::string& text, const std::string& why_not) {
    record.sha256 = sha256_hex(text);
    const std::string diff = unified_diff(in_.original_text, text, "original", record.name());
    record.changed_lines = static_cast<int>(added_lines(diff));
    const fs::path file = session_.workspace.variant(record.number);
    if (auto written = write_file_atomically(file, text); !written) return written;
    if (auto noted = note(record, diff, false); !noted) return noted;
    if (!why_not.empty()) {
      record.decision = Decision::kRejected;
      record.reason = why_not;
      return finish(record, diff);
    }
    auto side = in_.make_side(record.name(), text);
    if (!side) return tl::unexpected(side.error());
    auto passed = check(record, *side, text);
    if (!passed) return tl::unexpected(passed.error());
    if (!*passed) return finish(record, diff);
    if (auto measured = measure_variant(record, *side); !measured) return measured;
    return finish(record, diff);
  }

  // A variant that a person offered comes before the catalog's next, and after any stop rule too:
  // someone waits for its verdict. False: none is offered.
  Result<bool> try_offered() {
    VariantRecord record;
    record.number = static_cast<int>(result_.records.size()) + 1;
    auto offer = take_offer(session_.journal, session_.workspace.inbox(), record.number);
    if (!offer) return tl::unexpected(offer.error());
    if (!*offer) return false;
    record.author = (*offer)->author;
    record.based_on = (*offer)->based_on;
    record.title = (*offer)->title;
    record.hypothesis = (*offer)->title;
    record.changes = {(*offer)->title};
    const std::string bare = strip_variant_header((*offer)->text);
    const std::string text =
        with_variant_header(bare, {record.name(), record.based_on, {}, {}, record.changes});
    auto judged = judge(record, text, bare == in_.original_text ? "it is the original" : "");
    if (!judged) return tl::unexpected(judged.error());
    return true;
  }

  void describe_before(VariantRecord& record, const Proposal& proposal) {
    record.techniques = proposal.techniques;
    record.based_on = "v" + std::to_string(proposal.based_on);
    std::vector<std::string> titles, hypotheses;
    for (const std::string& id : proposal.techniques) {
      const Technique* technique = find_technique(id);
      titles.push_back(technique != nullptr ? technique->title() : id);
      for (const StrategyItem& item : in_.order) {
        if (item.technique == id) {
          hypotheses.push_back(item.hypothesis);
          record.expected_gain = std::max(record.expected_gain, item.expected_gain);
        }
      }
    }
    record.title = titles.empty() ? "launch settings by shape" : join(titles, " + ");
    record.hypothesis = hypotheses.empty()
                            ? "The launch settings (warps, stages, register cap, block size where "
                              "free) are a guess that is not the best at every shape."
                            : join(hypotheses, " ");
    if (!titles.empty()) record.changes = titles;
    record.changes.push_back("settings chosen by shape in a sweep; the original's path elsewhere");
    if (proposal.gates > 0) {
      record.title += fmt::format(" (v{} gated)", proposal.gates);
      record.hypothesis = fmt::format(
          "v{} gains but is slower at {}; with the original's path kept "
          "there nothing is slower.",
          proposal.gates,
          join({proposal.keep_original.begin(), proposal.keep_original.end()}, ", "));
    }
  }

  Result<std::string> tuned_text(VariantRecord& record, const Proposal& proposal) {
    TuningInputs tuning{context(), in_.calls,     in_.scope, in_.request,
                        in_.gpu,   in_.make_side, in_.tools, record.changes};
    if (proposal.gates > 0) {
      const VariantRecord& mixed = result_.records[static_cast<std::size_t>(proposal.gates - 1)];
      record.tables = gated_tables(mixed.tables, tuning, proposal.keep_original);
      return build_tuned(tuning, record);
    }
    return tune(session_, tuning, record, result_.gpu_seconds,
                [this](const std::string& name, std::vector<std::string> parts) {
                  return step(name, std::move(parts));
                });
  }

  // False: the variant was discarded, the record says why.
  Result<bool> check(VariantRecord& record, const Side& side, const std::string& text) {
    const Step smoke_step = step("smoke " + record.name(), {record.sha256});
    const auto encode = [](const CheckReport& report) {
      return Json{
          {"passed", report.passed}, {"failures", report.failures}, {"remarks", report.remarks}};
    };
    const auto decode = [](const Json& json) -> Result<CheckReport> {
      CheckReport report;
      report.passed = get_bool(json, "passed");
      for (const Json& f : get_array(json, "failures")) report.failures.push_back(f);
      for (const Json& r : get_array(json, "remarks")) report.remarks.push_back(r);
      return report;
    };
    auto smoke = run_step(
        session_, smoke_step, [&] { return in_.smoke(side); }, encode, decode);
    if (!smoke) return tl::unexpected(smoke.error());
    for (const std::string& remark : smoke->remarks) record.learnings.push_back(remark);
    if (!smoke->passed) {
      record.decision = Decision::kDiscarded;
      record.reason = "smoke test: " + join(smoke->failures, "; ");
      record.learnings.push_back("It does not compute what the original computes.");
      return false;
    }
    auto stock = run_step(
        session_, step("stock benchmark " + record.name(), {record.sha256}),
        [&] { return in_.stock(record.number, text); }, encode, decode);
    if (!stock) return tl::unexpected(stock.error());
    for (const std::string& remark : stock->remarks) record.learnings.push_back(remark);
    return true;
  }

  Result<void> measure_variant(VariantRecord& record, const Side& side) {
    MeasureOptions options;
    options.rounds = in_.rounds;
    options.samples = in_.samples;
    options.extra_rounds = 1;  // the best are measured with more once more
    options.budget_s = remaining_budget();
    auto measured = measure_step(session_, step("measure " + record.name(), {record.sha256}),
                                 in_.tools, {in_.original, side}, in_.calls, options);
    if (!measured) return tl::unexpected(measured.error());
    result_.gpu_seconds += measured->gpu_seconds;
    for (const auto& failure : measured->failures) {
      record.decision = Decision::kDiscarded;
      record.reason = fmt::format("{} {} failed in the measurement ({}): {}", failure.call,
                                  failure.pass, failure.kind, failure.message);
    }
    if (!record.reason.empty()) return {};
    record.measured = true;
    record.verdicts = compare_sides(*measured, in_.original.name, record.name());
    std::vector<MemoryPeak> stock = in_.stock_memory(0);
    for (MemoryPeak& peak : in_.stock_memory(record.number)) stock.push_back(std::move(peak));
    record.memory = merge_memory(measured->memory, stock);
    decide(record, in_.request, in_.scope);
    learn(record);
    return {};
  }

  double remaining_budget() const {
    return in_.request.budget_s > 0 ? std::max(1.0, in_.request.budget_s - result_.gpu_seconds) : 0;
  }

  void learn(VariantRecord& record) const {
    const VariantRecord* best = best_record(result_.records);
    const double before = best != nullptr ? best->score.ratio : 1;
    const std::string expected =
        record.author == "catalog"
            ? fmt::format("Expected {}, measured", format_ratio(record.expected_gain))
            : "Measured";
    record.learnings.push_back(fmt::format("{} {} over the cells in scope; the best before was {}.",
                                           expected, format_gain(record.score),
                                           format_ratio(before)));
  }

  static bool unchanged_path(const VariantRecord& record) {
    return record.techniques.empty() &&
           std::all_of(record.tables.begin(), record.tables.end(), [](const SettingsTable& table) {
             return std::all_of(table.buckets.begin(), table.buckets.end(),
                                [](const BucketChoice& b) { return b.settings.empty(); });
           });
  }

  Result<void> discard(VariantRecord& record, const std::string& why) {
    record.decision = Decision::kDiscarded;
    record.reason = why;
    return finish(record, "");
  }

  Result<void> note(const VariantRecord& record, const std::string& diff, bool done) {
    return write_notes(
        session_.workspace, record,
        {in_.diagnosis, diff, session_.runner.recorded_on(), &result_.records, done});
  }

  Result<void> finish(VariantRecord& record, const std::string& diff) {
    if (auto written = session_.journal.append("variant", to_json(record)); !written) {
      return written;
    }
    if (auto noted = note(record, diff, true); !noted) return noted;
    result_.records.push_back(record);
    return {};
  }

  // ------------------------------------------------------------------------------ the winner

  std::vector<const VariantRecord*> finalists() const {
    std::vector<const VariantRecord*> best;
    for (const VariantRecord& record : result_.records) {
      if (record.decision == Decision::kAccepted) best.push_back(&record);
    }
    std::sort(best.begin(), best.end(), [](const VariantRecord* a, const VariantRecord* b) {
      return a->score.ratio > b->score.ratio;
    });
    if (best.size() > 2) best.resize(2);
    return best;
  }

  Result<void> choose_winner() {
    const auto best = finalists();
    if (best.empty()) {
      result_.winner_reason =
          "No variant gained at least 1 % beyond its uncertainty without "
          "tripping a guardrail.";
      return {};
    }
    std::vector<Side> sides{in_.original};
    std::vector<std::string> parts;
    for (const VariantRecord* record : best) {
      auto text = read_file(session_.workspace.variant(record->number));
      if (!text) return tl::unexpected(text.error());
      auto side = in_.make_side(record->name(), *text);
      if (!side) return tl::unexpected(side.error());
      sides.push_back(*side);
      parts.push_back(record->sha256);
    }
    MeasureOptions options;
    options.rounds = in_.rounds;
    options.samples = in_.samples;
    options.memory = false;
    options.seed = 2;  // other data than in the loop
    auto measured = measure_step(session_, step("measure the best again", parts), in_.tools, sides,
                                 in_.calls, options);
    if (!measured) return tl::unexpected(measured.error());
    result_.gpu_seconds += measured->gpu_seconds;
    return judge_finalists(best, *measured);
  }

  Result<void> judge_finalists(const std::vector<const VariantRecord*>& best,
                               const Measurement& measured) {
    for (const VariantRecord* record : best) {
      VariantRecord again = *record;
      again.verdicts = compare_sides(measured, in_.original.name, record->name());
      decide(again, in_.request, in_.scope);
      if (again.decision != Decision::kAccepted) {
        result_.winner_reason += fmt::format("{} did not hold when measured once more: {}. ",
                                             record->name(), again.reason);
        continue;
      }
      if (result_.winner == 0 || again.score.ratio > result_.final_score.ratio) {
        result_.winner = record->number;
        result_.final_score = again.score;
        result_.final_verdicts = again.verdicts;
      }
    }
    if (result_.winner > 0) {
      result_.winner_reason += fmt::format(
          "v{} reached {} over the cells in scope when the best were measured once more in fresh "
          "processes.",
          result_.winner, format_gain(result_.final_score));
    }
    return {};
  }

  Result<void> write_results() {
    if (auto written = session_.journal.append(
            "winner",
            {{"variant",
              result_.winner == 0 ? Json(nullptr) : Json("v" + std::to_string(result_.winner))},
             {"reason", result_.winner_reason},
             {"stop_reason", result_.stop_reason},
             {"score", to_json(result_.final_score)}});
        !written) {
      return written;
    }
    return write_comparison(session_.workspace,
                            {session_.workspace.kernel, in_.gpu.name, session_.runner.recorded_on(),
                             to_string(in_.request.goal), to_string(in_.request.scope),
                             result_.stop_reason, result_.records, result_.winner,
                             result_.winner_reason, result_.final_verdicts, result_.final_score});
  }

  Session& session_;
  const OptimizeInputs& in_;
  OptimizeResult result_;
};

}  // namespace

Result<OptimizeResult> optimize(Session& session, const OptimizeInputs& inputs) {
  return OptimizeLoop(session, inputs).run();
}

Result<std::optional<VariantRecord>> try_without_last(Session& session,
                                                      const OptimizeInputs& inputs,
                                                      const std::vector<VariantRecord>& records,
                                                      const VariantRecord& failed) {
  return OptimizeLoop(session, inputs).repair(records, failed);
}

}  // namespace lwb
