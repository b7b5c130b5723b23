#include "core/pipeline/finalize_stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/diff/diff.h"
#include "core/finalize/plots.h"
#include "core/finalize/style_gate.h"
#include "core/measure/script.h"
#include "core/optimize/notebook.h"
#include "core/pipeline/benchmark_csv.h"
#include "core/pipeline/pull_request_stage.h"
#include "core/pipeline/report_document.h"
#include "core/variants/builder.h"

namespace lwb {
namespace {

constexpr const char* kDoNotApply = "Do not apply";
constexpr const char* kKeep = "Keep the change";
constexpr const char* kRevert = "Revert to the original";

class FinalizeStage {
 public:
  FinalizeStage(Session& session, const FinalizeInputs& inputs) : session_(session), in_(inputs) {}

  Result<FinalizeResult> run() {
    auto state = state_of_apply(session_.journal, file());
    if (!state) return tl::unexpected(state.error());
    const bool written = *state == ApplyState::kApplied || *state == ApplyState::kReverted;
    before_ = in_.original_text;
    if (written) {
      auto kept = read_file(kept_text());
      if (!kept) return tl::unexpected(kept.error());
      before_ = std::move(*kept);
    } else {
      auto refused = refuse_foreign_edits();
      if (!refused) return tl::unexpected(refused.error());
      if (*refused) return not_applied(outcome_.sentence);
    }
    auto passed = gates();
    if (!passed) return tl::unexpected(passed.error());
    if (!*passed) return not_applied(tests_.sentence);
    if (auto drawn = draw_plots(); !drawn) return tl::unexpected(drawn.error());
    auto approved = approve();
    if (!approved) return tl::unexpected(approved.error());
    if (!*approved) return not_applied("Not applied, as chosen; nothing was changed.");
    // A start before this one was ended after it had taken the winner back.
    if (*state == ApplyState::kReverted) return reverted("as chosen");
    if (!written) {
      session_.report({"finalize", "writing " + file().string(), 0, 0});
      if (auto done = apply_change(session_.journal, change()); !done) {
        return tl::unexpected(done.error());
      }
    }
    auto imported = check_import();
    if (!imported) return tl::unexpected(imported.error());
    if (!*imported) return revert("the checkout does not import the written file");
    if (auto rows = update_csv(); !rows) return tl::unexpected(rows.error());
    outcome_.outcome = "APPLIED";
    outcome_.sentence = fmt::format("{} is in {}; {} over the cells in scope.", winner_->name(),
                                    relative_file(), format_gain(score_));
    if (auto branch = offer_pull_request(); !branch) return tl::unexpected(branch.error());
    return last_checkpoint();
  }

 private:
  fs::path file() const { return in_.bench.checkout.op_file(in_.kernel.name); }
  std::string relative_file() const {
    return in_.bench.checkout.op_relative(in_.kernel.name).string();
  }

  // What the kernel file held before the write: the original, or edits that the user let go.
  fs::path kept_text() const {
    return session_.workspace.root / ("before_" + in_.kernel.name + ".py");
  }
  ApplyJob change() const { return {file(), before_, text_, kept_text()}; }

  Step step(const std::string& name, std::vector<std::string> parts) const {
    parts.push_back(in_.environment_key);
    parts.push_back(sha256_hex(in_.original_text));
    return {"finalize", name, step_key(parts)};
  }

  enum class Gate { kPassed, kFailed, kNotChecked };
  Result<void> gate(const std::string& name, bool passed, const std::string& sentence) {
    return gate(name, passed ? Gate::kPassed : Gate::kFailed, sentence);
  }
  // What could not be checked does not hold the winner back, and is no pass either.
  Result<void> gate(const std::string& name, Gate state, const std::string& sentence) {
    in_.say(fmt::format("{}: {}", name, sentence));
    const char* word = state == Gate::kPassed   ? "passed"
                       : state == Gate::kFailed ? "failed"
                                                : "not checked";
    return session_.journal.append("gate", {{"name", name},
                                            {"state", word},
                                            {"passed", state != Gate::kFailed},
                                            {"sentence", sentence}});
  }

  // ------------------------------------------------------------------------- before anything

  // True: the user does not want to go on over what the file holds now.
  Result<bool> refuse_foreign_edits() {
    auto present = read_file(file());
    if (!present) return tl::unexpected(present.error());
    if (*present == in_.original_text) return false;
    outcome_.sentence =
        fmt::format("{} was changed since the run began; it was left as it is.", relative_file());
    if (auto told = gate("unchanged file", false, outcome_.sentence); !told) {
      return tl::unexpected(told.error());
    }
    if (!in_.interactive) return true;
    const std::string diff = unified_diff(in_.original_text, *present, "as the run began", "now");
    auto answer = ask(session_.journal, session_.approvals,
                      {"changed_file_" + sha256_hex(*present).substr(0, 8),
                       outcome_.sentence + " Write the winner over it?",
                       "```diff\n" + diff + "```\n",
                       {kDoNotApply, "Write the winner over it"}},
                      session_.cancel);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->choice == kDoNotApply) return true;
    before_ = *present;
    return false;
  }

  // ------------------------------------------------------------------------------------ gates

  // Style and tests for the winner; where tests fail, for the two repairs.
  Result<bool> gates() {
    std::vector<const VariantRecord*> candidates{record_of(in_.chosen)};
    bool repaired = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      auto passed = gates_of(*candidates[i]);
      if (!passed) return passed;
      if (*passed) return true;
      if (!repaired) {
        repaired = true;
        auto added = repairs(*candidates[0]);
        if (!added) return tl::unexpected(added.error());
        candidates.insert(candidates.end(), added->begin(), added->end());
      }
    }
    return false;
  }

  const VariantRecord* record_of(int number) const {
    for (const VariantRecord& record : in_.optimized.records) {
      if (record.number == number) return &record;
    }
    return &in_.optimized.records.front();
  }

  // First the winner without the technique added last, then the next-ranked accepted variant.
  Result<std::vector<const VariantRecord*>> repairs(const VariantRecord& failed) {
    std::vector<const VariantRecord*> found;
    auto simpler = in_.repair(failed);
    if (!simpler) return tl::unexpected(simpler.error());
    if (*simpler) {
      repaired_ = std::move(**simpler);
      found.push_back(&repaired_);
    }
    const VariantRecord* next = nullptr;
    for (const VariantRecord& record : in_.optimized.records) {
      if (record.number == failed.number || record.decision != Decision::kAccepted) continue;
      if (!next || record.score.ratio > next->score.ratio) next = &record;
    }
    if (next) found.push_back(next);
    return found;
  }

  Result<bool> gates_of(const VariantRecord& record) {
    winner_ = &record;
    const bool measured_again = record.number == in_.optimized.winner;
    score_ = measured_again ? in_.optimized.final_score : record.score;
    verdicts_ = measured_again ? in_.optimized.final_verdicts : record.verdicts;
    auto variant = read_file(session_.workspace.variant(record.number));
    if (!variant) return tl::unexpected(variant.error());
    text_ = strip_variant_header(*variant);
    if (auto styled = style_gate(); !styled) return tl::unexpected(styled.error());
    return test_gate();
  }

  // Before the tests, so that the bytes that are tested are those that are written.
  Result<void> style_gate() {
    auto sandbox = Sandbox::create(in_.bench.checkout, in_.bench.area, in_.kernel.name + "-style");
    if (!sandbox) return tl::unexpected(sandbox.error());
    const SandboxRemover remover{*sandbox};
    if (auto put = sandbox->put_kernel(in_.kernel.name, text_); !put) return put;
    StyleJob job{sandbox->tree(), sandbox->tree() / relative_file(), in_.bench.tools.environment};
    auto styled = run_step(
        session_, step("style of " + winner_->name(), {sha256_hex(text_)}),
        [&] { return run_style_gate(session_.runner, job); },
        [](const StyleResult& result) { return to_json(result); },
        [](const Json& json) -> Result<StyleResult> { return style_result_from_json(json); });
    if (!styled) return tl::unexpected(styled.error());
    style_ = std::move(*styled);
    text_ = style_.text;
    using State = StyleResult::State;
    return gate("style",
                style_.state == State::kFindings     ? Gate::kFailed
                : style_.state == State::kNotChecked ? Gate::kNotChecked
                                                     : Gate::kPassed,
                style_.sentence);
  }

  std::vector<fs::path> test_files() const {
    std::vector<fs::path> files = in_.kernel.tests;
    for (const std::string& dependant : in_.kernel.dependants) {
      for (const KernelEntry& other : in_.bench.kernels) {
        if (other.name == dependant)
          files.insert(files.end(), other.tests.begin(), other.tests.end());
      }
    }
    std::vector<fs::path> unique;
    for (const fs::path& path : files) {
      const fs::path relative = fs::relative(path, in_.bench.checkout.root);
      if (std::find(unique.begin(), unique.end(), relative) == unique.end())
        unique.push_back(relative);
    }
    return unique;
  }

  // `only`: ids of the tests to run, all where it is empty.
  Result<TestRun> tests_with(const std::string& name, const std::string& text,
                             const std::vector<std::string>& only = {}) {
    return run_step(
        session_, step("tests of " + name, {sha256_hex(text), join(only, "\n")}),
        [&]() -> Result<TestRun> {
          if (auto put = in_.sandbox.put_kernel(in_.kernel.name, text); !put) {
            return tl::unexpected(put.error());
          }
          TestJob job;
          job.tree = in_.sandbox.tree();
          job.files = test_files();
          job.only = only;
          job.module = in_.bench.checkout.op_module(in_.kernel.name);
          job.kernel_file = in_.sandbox.tree() / relative_file();
          job.kernel_sha256 = sha256_hex(text);
          job.events = session_.workspace.root / "tests" / (name + "_events.jsonl");
          job.label = "tests of " + name;
          return run_tests(session_.runner, in_.bench.tools, job);
        },
        [](const TestRun& run) { return to_json(run); },
        [](const Json& json) -> Result<TestRun> { return test_run_from_json(json); });
  }

  // The unchanged kernel's tests are needed only to tell an old failure from a new one, and a test
  // that the winner makes skip itself from one that is always skipped.
  Result<bool> test_gate() {
    auto winner = tests_with(winner_->name(), text_);
    if (!winner) return tl::unexpected(winner.error());
    TestRun original;
    const bool failed = !winner->failures().empty();
    if (failed || !winner->passed_over().empty()) {
      const auto only = failed ? std::vector<std::string>{} : winner->passed_over();
      auto unchanged = tests_with("v0", in_.original_text, only);
      if (!unchanged) return tl::unexpected(unchanged.error());
      original = std::move(*unchanged);
    }
    tests_ = judge_tests(original, *winner);
    test_command_ = winner->command;
    if (auto told = gate("tests", tests_.passed, tests_.sentence); !told) {
      return tl::unexpected(told.error());
    }
    if (!tests_.passed) return false;
    return accept_known_failures();
  }

  Result<bool> accept_known_failures() {
    if (tests_.known_failures.empty() || in_.request.accept_known_failures) return true;
    const std::string failing = join(tests_.known_failures, ", ");
    if (!in_.interactive) {
      tests_.sentence = fmt::format(
          "These tests fail on the unchanged kernel too: {}; "
          "--accept-known-failures applies in spite of them.",
          failing);
      return false;
    }
    auto answer = ask(session_.journal, session_.approvals,
                      {"known_failures_" + winner_->name(),
                       "These tests fail on the unchanged kernel too. Go on?",
                       "- " + failing + "\n",
                       {kDoNotApply, "Go on"}},
                      session_.cancel);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->choice != kDoNotApply) return true;
    tests_.sentence = "Not applied, as chosen, because of tests that fail on the unchanged kernel.";
    return false;
  }

  // ------------------------------------------------------------------------------------ plots

  Result<void> draw_plots() {
    auto original = read_stock_csv(session_.workspace.stock_csv(0));
    auto winner = read_stock_csv(session_.workspace.stock_csv(winner_->number));
    if (!original || !winner) {
      plots_.notes.push_back("No stock plots: the stock benchmark left no rows.");
      return {};
    }
    PlotJob job{in_.sandbox.tree(),
                *original,
                *winner,
                in_.profile.cells.reference,
                session_.workspace.benchmarks() / "three_way.csv",
                session_.workspace.root};
    auto drawn = run_step(
        session_, step("plots of " + winner_->name(), {winner_->sha256}),
        [&] { return draw_three_way(session_.runner, in_.bench.tools, job); },
        [](const PlotResult& result) { return to_json(result); },
        [](const Json& json) -> Result<PlotResult> { return plot_result_from_json(json); });
    if (!drawn) return tl::unexpected(drawn.error());
    plots_ = std::move(*drawn);
    return {};
  }

  // ------------------------------------------------------------------------------ approve, write

  std::string diff() const {
    return unified_diff(in_.original_text, text_, "a/" + relative_file(), "b/" + relative_file());
  }

  Result<std::string> report() {
    ReportInputs inputs{
        in_.kernel.name,
        in_.gpu.name,
        session_.runner.recorded_on(),
        outcome_.outcome,
        outcome_.sentence,
        outcome_.outcome == "APPLIED",
        in_.profile,
        in_.optimized,
        winner_,
        verdicts_,
        diff(),
        tests_.sentence,
        test_command_,
        style_.sentence,
        plots_,
        {fmt::format("lwb run --checkout DIR --kernel {}", in_.kernel.name),
         fmt::format("lwb measure --checkout DIR --kernel {} --variant {}", in_.kernel.name,
                     session_.workspace.variant(winner_->number).string())}};
    return write_report(session_.workspace, inputs);
  }

  Result<bool> approve() {
    outcome_.outcome = "READY";
    outcome_.sentence =
        fmt::format("{} has passed its gates and waits for approval.", winner_->name());
    auto document = report();
    if (!document) return tl::unexpected(document.error());
    const std::string apply = "Apply " + winner_->name();
    auto answer = ask(session_.journal, session_.approvals,
                      {"finalize",
                       fmt::format("Write {} into {}?", winner_->name(), relative_file()),
                       *document,
                       {apply, kDoNotApply}},
                      session_.cancel);
    if (!answer) return tl::unexpected(answer.error());
    return answer->choice == apply;
  }

  // That what the checkout's own src gives is the file just written.
  Result<bool> check_import() {
    ScriptJob job;
    job.script = "lwb_probe.py";
    job.label = "import of the written file";
    job.job = {{"checks", {"import"}},
               {"module", in_.bench.checkout.op_module(in_.kernel.name)},
               {"src", in_.bench.checkout.src().string()},
               {"expected_file", file().string()}};
    job.inputs = {file()};
    auto run = run_script(session_.runner, in_.bench.tools, job);
    if (!run) return tl::unexpected(run.error());
    for (const Json& event : run->events) {
      if (get_string(event, "name") != "import") continue;
      const Json& data = get_object(event, "data");
      const bool ok = get_bool(event, "ok") && get_string(data, "sha256") == sha256_hex(text_);
      auto told = gate("import", ok,
                       ok ? "The checkout imports the written file."
                          : fmt::format("The checkout does not import the written file: {}",
                                        get_string(data, "message", get_string(data, "file"))));
      if (!told) return tl::unexpected(told.error());
      return ok;
    }
    return tl::unexpected(script_error(*run, "The import of the written file"));
  }

  // Fresh rows of the optimized kernel in the checkout's shared CSV, where that was asked for.
  Result<void> update_csv() {
    if (!in_.request.update_benchmark_csv) return {};
    auto updated = update_benchmark_csv(session_, in_.bench.checkout, winner_->number,
                                        in_.profile.cells.reference);
    if (!updated) {
      return gate("benchmark CSV", false,
                  "The benchmark CSV was not updated: " + updated.error().sentence);
    }
    csv_ = std::move(*updated);
    return gate("benchmark CSV", true, "This run's rows are in " + csv_->path.string() + ".");
  }

  Result<void> offer_pull_request() {
    if (!in_.request.pull_request) return {};
    PullRequestInputs inputs{in_.bench,
                             in_.kernel,
                             in_.gpu,
                             session_.runner.recorded_on(),
                             *winner_,
                             verdicts_,
                             {{in_.bench.checkout.op_relative(in_.kernel.name), before_, text_}},
                             test_command_,
                             tests_.sentence,
                             style_.state == StyleResult::State::kPassed,
                             in_.say};
    if (csv_) inputs.files.push_back(*csv_);
    return pull_request_stage(session_, inputs,
                              step("branch of " + winner_->name(), {sha256_hex(text_)}));
  }

  // ------------------------------------------------------------------------------------ the end

  Result<FinalizeResult> last_checkpoint() {
    auto document = report();
    if (!document) return tl::unexpected(document.error());
    auto answer = ask(session_.journal, session_.approvals,
                      {"result", outcome_.sentence + " Keep it?", *document, {kKeep, kRevert}},
                      session_.cancel);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->choice == kRevert) return revert("as chosen");
    summarize();
    return outcome_;
  }

  Result<FinalizeResult> revert(const std::string& why) {
    if (auto done = revert_change(session_.journal, change()); !done) {
      return tl::unexpected(done.error());
    }
    return reverted(why);
  }

  Result<FinalizeResult> reverted(const std::string& why) {
    outcome_ = {"REVERTED",
                fmt::format("{} holds again what it held before, {}.", relative_file(), why),
                1,
                {}};
    if (auto done = revert_benchmark_csv(session_, in_.bench.checkout); !done)
      return tl::unexpected(done.error());
    if (auto written = report(); !written) return tl::unexpected(written.error());
    summarize();
    return outcome_;
  }

  Result<FinalizeResult> not_applied(const std::string& sentence) {
    outcome_.outcome = "NOT_APPLIED";
    outcome_.sentence = sentence;
    outcome_.exit_code = 1;
    if (!winner_) winner_ = record_of(in_.chosen);
    if (text_.empty()) text_ = in_.original_text;
    if (auto written = report(); !written) return tl::unexpected(written.error());
    summarize();
    return outcome_;
  }

  void summarize() {
    outcome_.summary = {{"gpu", measured_on(session_.runner.recorded_on(), in_.gpu.name)},
                        {"outcome", outcome_.outcome},
                        {"winner", winner_->name()},
                        {"forward", pass_summary(verdicts_, Pass::kForward)},
                        {"backward", pass_summary(verdicts_, Pass::kBackward)},
                        {"memory", memory_summary(*winner_)},
                        {"tests", tests_.sentence},
                        {"style", style_.sentence},
                        {"report", (session_.workspace.root / "report.md").string()},
                        {"file", file().string()}};
  }

  Session& session_;
  const FinalizeInputs& in_;
  const VariantRecord* winner_ = nullptr;
  VariantRecord repaired_;
  Gain score_;
  std::vector<CellVerdict> verdicts_;
  std::string before_, text_;      // of the kernel file: what is there, what is to be written
  std::optional<CommitFile> csv_;  // where it was updated
  StyleResult style_;
  TestVerdict tests_;
  std::string test_command_;
  PlotResult plots_;
  FinalizeResult outcome_;
};

}  // namespace

Result<FinalizeResult> finalize_stage(Session& session, const FinalizeInputs& inputs) {
  return FinalizeStage(session, inputs).run();
}

}  // namespace lwb
