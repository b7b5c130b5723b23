#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/checkout/git.h"
#include "core/optimize/loop.h"
#include "core/optimize/notebook.h"
#include "core/pipeline/finalize_stage.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/profile_document.h"
#include "core/pipeline/profile_stage.h"
#include "core/pipeline/variant_checks.h"
#include "core/pipeline/workbench.h"
#include "core/run/state.h"

namespace lwb {
namespace {

constexpr const char* kStop = "Stop: there is no headroom";
constexpr const char* kGoOn = "Go on with this strategy order";
constexpr const char* kNoWinner = "No winner";

class Run {
 public:
  Run(const RunOptions& options, LastStage last, const CancelToken& cancel,
      const Listener& listener)
      : options_(options), last_(last), cancel_(cancel), listener_(listener) {}

  Result<RunOutcome> go() {
    using Part = Result<void> (Run::*)();
    for (const Part part : {&Run::open, &Run::preflight, &Run::open_journal, &Run::snapshot}) {
      if (auto done = (this->*part)(); !done) return failed(done.error());
    }
    auto outcome = stages();
    if (sandbox_) sandbox_->remove();
    if (!outcome) return failed(outcome.error());
    return finish(std::move(*outcome));
  }

 private:
  // ------------------------------------------------------------------ before anything is written

  Result<void> open() {
    auto bench = open_workbench(options_, cancel_);
    if (!bench) return tl::unexpected(bench.error());
    bench_ = std::move(*bench);
    if (const std::string gpu = bench_->runner->recorded_on(); !gpu.empty()) {
      listener_.say(
          "A replay: no program is started, every time, test result and branch was recorded on " +
          gpu + ".");
    }
    auto request = build_request(options_, bench_->kernel_names(), listener_.say);
    if (!request) return tl::unexpected(request.error());
    request_ = std::move(*request);
    workspace_ = {bench_->checkout.workspace(request_.kernel), request_.kernel};
    if (last_ == LastStage::kFinalizeWinner) {
      if (auto taken = take_request_of_winner(); !taken) return taken;
    }
    auto kernel = find_kernel(bench_->kernels, request_.kernel);
    if (!kernel) return tl::unexpected(kernel.error());
    kernel_ = std::move(*kernel);
    if (!kernel_.ready) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("{} cannot be optimized: {}.", kernel_.name, kernel_.reason));
    }
    // Read now, so that a malformed file stops the run before anything is started.
    auto calls = calls_by_hand(request_);
    if (!calls) return tl::unexpected(calls.error());
    by_hand_ = std::move(*calls);
    return {};
  }

  Result<void> take_request_of_winner() {
    const bool there = fs::exists(workspace_.journal());
    auto events = there ? read_journal(workspace_.journal()) : std::vector<Event>{};
    if (!events) return tl::unexpected(events.error());
    const RunState state = fold(*events);
    if (get_string(state.winner, "variant").empty()) {
      return fail(
          ErrorKind::kUsage,
          fmt::format("There is no winner of {} in {} to finalize; lwb optimize looks for one.",
                      request_.kernel, bench_->checkout.root.string()));
    }
    auto earlier = request_from_json(state.request);
    if (!earlier) return tl::unexpected(earlier.error());
    // How to go on is said now; what was measured stays as it was asked for then.
    earlier->autonomy = request_.autonomy;
    earlier->pull_request = request_.pull_request;
    earlier->accept_known_failures = request_.accept_known_failures;
    earlier->update_benchmark_csv = request_.update_benchmark_csv;
    earlier->import_from_source = request_.import_from_source || earlier->import_from_source;
    request_ = std::move(*earlier);
    return {};
  }

  Result<void> preflight() {
    auto sandbox = make_sandbox(*bench_, kernel_.name, cancel_, listener_);
    if (!sandbox) return tl::unexpected(sandbox.error());
    sandbox_ = std::make_unique<Sandbox>(std::move(*sandbox));
    listener_.progress({"pre-flight", "checking the checkout and the machine", 0, 0});
    auto checked = run_preflight(*bench_->runner, bench_->tools, bench_->checkout, &kernel_,
                                 request_, *sandbox_);
    if (!checked) return tl::unexpected(checked.error());
    preflight_ = std::move(*checked);
    std::string failures;
    for (const Check& check : preflight_.checks) {
      if (check.state == Check::kFailed || check.state == Check::kWarning) {
        listener_.say((check.state == Check::kFailed ? "failed: " : "warning: ") + check.sentence +
                      (check.fix.empty() ? "" : " " + check.fix));
      }
      if (check.state == Check::kFailed) failures += check.sentence + "\n" + check.details + "\n";
    }
    if (!preflight_.passed()) {
      return fail(ErrorKind::kPreflight,
                  fmt::format("Pre-flight failed for {}; mend what is listed and start again.",
                              kernel_.name),
                  failures);
    }
    keep_python_warm(*bench_, preflight_.imports);
    return lock_gpu(*bench_, kernel_.name, cancel_, listener_);
  }

  // -------------------------------------------------------------------------- workspace, journal

  Result<void> open_journal() {
    if (auto text = take_original_text(); !text) return text;
    auto kept = keep_earlier_run();
    if (!kept) return tl::unexpected(kept.error());
    if (auto made = create_workspace(workspace_); !made) return made;
    if (auto excluded =
            exclude_workspace(*bench_->runner, bench_->tools.environment, bench_->checkout.root);
        !excluded) {
      listener_.say("warning: " + excluded.error().sentence);
    }
    auto journal = Journal::open(workspace_.journal());
    if (!journal) return tl::unexpected(journal.error());
    journal_ = std::move(*journal);
    if (*kept) return bench_->runner->attach(&journal_);
    if (auto written =
            journal_.append("run_started", {{"schema", kJournalSchema},
                                            {"program", LWB_VERSION},
                                            {"kernel", kernel_.name},
                                            {"checkout", bench_->checkout.root.string()},
                                            {"request", to_json(request_)},
                                            {"recorded_on", bench_->runner->recorded_on()},
                                            {"original_sha256", sha256_hex(original_text_)}});
        !written) {
      return written;
    }
    if (auto attached = bench_->runner->attach(&journal_); !attached) return attached;
    return journal_.append("preflight", preflight_.json());
  }

  // The kernel file as the user has it. Where an earlier start of the same run was ended after it
  // had written the winner, the text from before is what the run goes on with.
  Result<void> take_original_text() {
    const fs::path file = bench_->checkout.op_file(kernel_.name);
    auto text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    original_text_ = std::move(*text);
    if (!fs::exists(workspace_.journal())) return {};
    auto journal = Journal::open(workspace_.journal());
    if (!journal || fold(journal->events()).finished) return {};
    auto state = state_of_apply(*journal, file);
    if (!state) return tl::unexpected(state.error());
    if (*state != ApplyState::kNever) listener_.say(describe(*state, file));
    if (*state != ApplyState::kApplied && *state != ApplyState::kReverted) return {};
    auto before = read_file(workspace_.original());
    if (!before) return tl::unexpected(before.error());
    present_text_ = std::exchange(original_text_, std::move(*before));
    return {};
  }

  // Whether this command goes on where a run with this outcome ended ("" : it did not end).
  bool goes_on_after(const std::string& outcome) const {
    if (outcome.empty()) return true;
    if (last_ == LastStage::kOptimize) return outcome == "PROFILED";
    if (last_ == LastStage::kProfile) return false;
    return outcome == "PROFILED" || outcome == "WINNER";
  }

  // What decides the measurements; how a run is approved and what is done with its winner may
  // change from one start to the next.
  static Json what_is_measured(Json request) {
    for (const char* key :
         {"autonomy", "pull_request", "accept_known_failures", "update_benchmark_csv"}) {
      request.erase(key);
    }
    return request;
  }

  // True: the journal in place is of this request and can be gone on with.
  Result<bool> keep_earlier_run() {
    if (!fs::exists(workspace_.journal())) return false;
    auto events = read_journal(workspace_.journal());
    if (events) {
      const RunState state = fold(*events);
      std::string snapshot;
      for (const Event& event : *events) {
        if (event.type == "run_started") snapshot = get_string(event.data, "original_sha256");
      }
      if (goes_on_after(state.finished ? state.outcome : "") &&
          what_is_measured(state.request) == what_is_measured(to_json(request_)) &&
          snapshot == sha256_hex(original_text_)) {
        listener_.say("going on with the run that stands in " + workspace_.root.string());
        return true;
      }
    }
    // Another request: it begins with what the file holds now.
    if (present_text_) original_text_ = *std::exchange(present_text_, std::nullopt);
    auto archived = archive_run(workspace_);
    if (!archived) return tl::unexpected(archived.error());
    listener_.say("the earlier run was kept in " + archived->string());
    return false;
  }

  Result<void> snapshot() {
    if (auto saved = write_file_atomically(workspace_.original(), original_text_); !saved) {
      return saved;
    }
    if (auto put = sandbox_->put_kernel(kernel_.name, original_text_); !put) return put;
    auto side = sandbox_->add_side("v0", kernel_.name, original_text_);
    if (!side) return tl::unexpected(side.error());
    original_ = side_of(*side);
    if (!present_text_) return {};
    // The package was parsed with the winner in it.
    auto model = parse_source(*bench_->runner, bench_->tools, original_.file, original_.module);
    if (!model) return tl::unexpected(model.error());
    original_model_ = std::move(*model);
    return {};
  }

  // -------------------------------------------------------------------------------------- stages

  std::string environment_key() const {
    const Gpu& gpu = preflight_.gpu;
    return step_key({gpu.name, gpu.driver, gpu.torch_version, gpu.triton_version, LWB_VERSION});
  }

  Session session() {
    sources_.clear();
    owned_.clear();
    if (request_.autonomy == Autonomy::kAutonomous) {
      owned_.push_back(autonomous_approvals());
    } else {
      owned_.push_back(inbox_approvals(workspace_.inbox()));
      if (listener_.terminal) owned_.push_back(terminal_approvals(STDIN_FILENO, STDERR_FILENO));
    }
    for (const auto& source : owned_) sources_.push_back(source.get());
    return Session{*bench_->runner, journal_, workspace_, cancel_, sources_, listener_.progress};
  }

  Result<RunOutcome> stages() {
    Session shared = session();
    const SourceModel* model = original_model_
                                   ? &*original_model_
                                   : bench_->model.module(bench_->checkout.op_module(kernel_.name));
    if (model == nullptr) {
      return fail(ErrorKind::kInternal, "The kernel's module is not in the parsed package.");
    }
    const ProfileInputs inputs{*bench_,        *sandbox_, request_,          kernel_, *model,
                               preflight_.gpu, original_, environment_key(), by_hand_};
    auto profile = profile_stage(shared, inputs);
    if (!profile) return tl::unexpected(profile.error());
    listener_.say(profile->roof.diagnosis);
    auto go_on = approve_profile(shared, *profile);
    if (!go_on) return tl::unexpected(go_on.error());
    if (profile->roof.no_headroom && !*go_on) {
      return RunOutcome{"NO_HEADROOM", profile->roof.diagnosis, 0, {}};
    }
    if (last_ == LastStage::kProfile) {
      return RunOutcome{
          "PROFILED", "The profile is in " + (workspace_.root / "profile.md").string(), 0, {}};
    }
    const OptimizeInputs optimizing = optimize_inputs(*model, *profile);
    auto optimized = optimize(shared, optimizing);
    if (!optimized) return tl::unexpected(optimized.error());
    int chosen = 0;
    auto outcome = approve_winner(shared, *optimized, chosen);
    if (!outcome || chosen == 0 || last_ == LastStage::kOptimize) return outcome;
    return finalize(shared, optimizing, *profile, *optimized, chosen);
  }

  Result<RunOutcome> finalize(Session& shared, const OptimizeInputs& optimizing,
                              const ProfileResult& profile, const OptimizeResult& optimized,
                              int chosen) {
    const FinalizeInputs inputs{*bench_,
                                *sandbox_,
                                request_,
                                kernel_,
                                preflight_.gpu,
                                original_text_,
                                environment_key(),
                                profile,
                                optimized,
                                chosen,
                                request_.autonomy != Autonomy::kAutonomous,
                                listener_.say,
                                [&](const VariantRecord& failed) {
                                  return try_without_last(shared, optimizing, optimized.records,
                                                          failed);
                                }};
    auto result = finalize_stage(shared, inputs);
    if (!result) return tl::unexpected(result.error());
    RunOutcome outcome{result->outcome, result->sentence, result->exit_code, {}};
    outcome.summary = std::move(result->summary);
    return outcome;
  }

  Result<bool> approve_profile(Session& shared, const ProfileResult& profile) {
    ApprovalRequest request{
        "profile", "Go on with this profile and strategy order?", profile.document, {kGoOn, kStop}};
    if (profile.roof.no_headroom) request.choices = {kStop, kGoOn};
    auto answer = ask(journal_, shared.approvals, request, cancel_);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->choice == kStop && !profile.roof.no_headroom) {
      return fail(ErrorKind::kStopped, "Stopped at the profile, as chosen.");
    }
    return answer->choice == kGoOn;
  }

  OptimizeInputs optimize_inputs(const SourceModel& model, const ProfileResult& profile) {
    OptimizeInputs inputs;
    inputs.request = request_;
    inputs.original_text = original_text_;
    inputs.model = model;
    inputs.trace = profile.trace;
    inputs.calls = profile.calls;
    inputs.scope = profile.scope;
    inputs.gpu = preflight_.gpu;
    inputs.order = profile.order;
    inputs.diagnosis = profile.roof.diagnosis;
    inputs.environment_key = environment_key();
    inputs.tools = bench_->tools;
    inputs.original = original_;
    inputs.make_side = [this](const std::string& name, const std::string& text) -> Result<Side> {
      auto side = sandbox_->add_side(name, kernel_.name, text);
      if (!side) return tl::unexpected(side.error());
      return side_of(*side);
    };
    inputs.smoke = [this, &profile](const Side& variant) {
      return check_variant(
          {*bench_->runner, bench_->tools, original_, profile.calls, profile.trace, request_.gpu},
          variant);
    };
    inputs.stock = [this](int number, const std::string& text) -> Result<CheckReport> {
      if (auto put = sandbox_->put_kernel(kernel_.name, text); !put) {
        return tl::unexpected(put.error());
      }
      auto report = run_stock_benchmark(*bench_, *sandbox_, kernel_, workspace_, number);
      if (auto back = sandbox_->put_kernel(kernel_.name, original_text_); !back) {
        return tl::unexpected(back.error());
      }
      return report;
    };
    inputs.stock_memory = [this, &profile](int number) -> std::vector<MemoryPeak> {
      auto table = read_stock_csv(workspace_.stock_csv(number));
      if (!table) return {};
      return stock_memory_peaks(*table, profile.calls, "v" + std::to_string(number));
    };
    return inputs;
  }

  Result<RunOutcome> approve_winner(Session& shared, const OptimizeResult& result, int& chosen) {
    if (result.winner == 0) {
      return RunOutcome{"NO_WINNER",
                        result.winner_reason + " Stopped because " + result.stop_reason + ".",
                        0,
                        {}};
    }
    auto document = read_file(workspace_.root / "comparison.md");
    ApprovalRequest request{"winner", "Approve the winner?", document ? *document : "", {}};
    request.choices.push_back(fmt::format("Approve winner v{}", result.winner));
    for (const VariantRecord& record : result.records) {
      if (record.number != result.winner && record.decision == Decision::kAccepted) {
        request.choices.push_back("Choose " + record.name());
      }
    }
    request.choices.push_back(kNoWinner);
    auto answer = ask(journal_, shared.approvals, request, cancel_);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->choice == kNoWinner) {
      return RunOutcome{"DECLINED", "No winner, as chosen; nothing was changed.", 0, {}};
    }
    chosen = result.winner;
    for (const VariantRecord& record : result.records) {
      if (answer->choice == "Choose " + record.name()) chosen = record.number;
    }
    return RunOutcome{
        "WINNER",
        fmt::format("{}: {} {} The variant is {}; the checkout's kernel file was not changed.",
                    answer->choice, result.winner_reason,
                    "Stopped because " + result.stop_reason + ".",
                    workspace_.variant(chosen).string()),
        0,
        {}};
  }

  // ------------------------------------------------------------------------------------- the end

  Result<RunOutcome> finish(RunOutcome outcome) {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun_;
    if (auto written = journal_.append(
            "run_finished",
            {{"outcome", outcome.outcome},
             {"exit_code", outcome.exit_code},
             {"sentence", outcome.sentence},
             {"summary", outcome.summary},
             {"wall_seconds", wall.count()},
             {"child_seconds", static_cast<double>(bench_->runner->child_wall().count()) / 1e3}},
            true);
        !written) {
      return tl::unexpected(written.error());
    }
    outcome.state = to_json(fold(journal_.events()));
    return outcome;
  }

  tl::unexpected<Error> failed(const Error& error) {
    if (sandbox_) sandbox_->remove();
    if (!journal_.file().empty()) {
      // A stopped run is not finished: it goes on later. The others are noted and go on too.
      (void)journal_.append("error", {{"sentence", error.sentence}, {"details", error.details}});
    }
    return tl::unexpected<Error>(error);
  }

  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  const RunOptions& options_;
  LastStage last_;
  const CancelToken& cancel_;
  const Listener& listener_;
  std::unique_ptr<Workbench> bench_;
  Request request_;
  KernelEntry kernel_;
  std::vector<CapturedCall> by_hand_;
  std::unique_ptr<Sandbox> sandbox_;
  Preflight preflight_;
  Workspace workspace_;
  Journal journal_;
  std::string original_text_;
  std::optional<std::string> present_text_;  // where the file holds the winner already
  std::optional<SourceModel> original_model_;
  Side original_;
  std::vector<std::unique_ptr<ApprovalSource>> owned_;
  std::vector<ApprovalSource*> sources_;
};

}  // namespace

Result<RunOutcome> run_pipeline(const RunOptions& options, LastStage last,
                                const CancelToken& cancel, const Listener& listener) {
  return Run(options, last, cancel, listener).go();
}

}  // namespace lwb
