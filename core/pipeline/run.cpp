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
#include "core/optimize/proposals.h"
#include "core/pipeline/cells.h"
#include "core/pipeline/earlier_run.h"
#include "core/pipeline/finalize_stage.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/profile_document.h"
#include "core/pipeline/profile_stage.h"
#include "core/pipeline/variant_checks.h"
#include "core/pipeline/workbench.h"
#include "core/run/offers.h"
#include "core/run/state.h"

namespace lwb {
namespace {

constexpr const char* kStop = "Stop here";
constexpr const char* kStopNoHeadroom = "Stop: there is no headroom";
constexpr const char* kGoOn = "Go on with this strategy order";
constexpr const char* kNoWinner = "No winner";

class Run {
 public:
  Run(const RunOptions& options, LastStage last, const CancelToken& cancel,
      const Listener& listener)
      : options_(options), last_(last), cancel_(cancel), listener_(listener) {}

  Result<RunOutcome> go() {
    using Part = Result<void> (Run::*)();
    for (const Part part : {&Run::open, &Run::lock, &Run::preflight, &Run::begin_from,
                            &Run::find_cells_first, &Run::open_journal}) {
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
      auto earlier = request_of_winner(workspace_, request_, bench_->checkout.root);
      if (!earlier) return tl::unexpected(earlier.error());
      request_ = std::move(*earlier);
    }
    if (auto found = take_kernel(); !found) return found;
    return read_calls_file();
  }

  Result<void> take_kernel() {
    auto kernel = find_kernel(bench_->kernels, request_.kernel);
    if (!kernel) return tl::unexpected(kernel.error());
    kernel_ = std::move(*kernel);
    if (kernel_.ready) return {};
    return fail(ErrorKind::kPreflight,
                fmt::format("{} cannot be optimized: {}; lwb kernels lists those that can.",
                            kernel_.name, kernel_.reason));
  }

  // Read now, so that a malformed file stops the run before anything is started. A run that is
  // finalized has its calls in the journal, whatever became of the file.
  Result<void> read_calls_file() {
    by_hand_ = calls_by_hand(request_, bench_->checkout, kernel_);
    const bool in_journal = last_ == LastStage::kFinalizeWinner;
    if (!by_hand_) return in_journal ? Result<void>{} : tl::unexpected(by_hand_.error());
    if (!in_journal) {
      request_.calls_sha256 = by_hand_->sha256;
    } else if (by_hand_->sha256 != request_.calls_sha256) {
      by_hand_ =
          fail(ErrorKind::kUsage,
               fmt::format("The calls file {} was changed since the run of {} began; lwb run "
                           "begins a new one.",
                           request_.calls_file, kernel_.name));
    }
    return {};
  }

  Result<void> lock() {
    if (auto locked = lock_checkout(*bench_, kernel_.name, cancel_, listener_); !locked) {
      return locked;
    }
    return take_kernel();  // parsed again where another run has changed it meanwhile
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
    if (auto passed = tell_checks(); !passed) return passed;
    keep_python_warm(*bench_, preflight_.imports);
    return lock_gpu(*bench_, kernel_.name, cancel_, listener_);
  }

  // The last sentence names the first check that failed: it is what has to be mended first.
  Result<void> tell_checks() {
    const Check* first = nullptr;
    int count = 0;
    std::string failures;
    for (const Check& check : preflight_.checks) {
      const bool failed = check.state == Check::kFailed;
      if (failed || check.state == Check::kWarning) {
        listener_.say((failed ? "failed: " : "warning: ") + check.sentence +
                      (check.fix.empty() ? "" : " " + check.fix));
      }
      if (!failed) continue;
      if (first == nullptr) first = &check;
      ++count;
      if (!check.details.empty()) failures += check.sentence + "\n" + check.details + "\n";
    }
    if (first == nullptr) return {};
    return fail(ErrorKind::kPreflight,
                fmt::format("Pre-flight failed for {}{}: {} {}", kernel_.name,
                            count > 1 ? fmt::format(" at {} checks, first", count) : "",
                            first->sentence, first->fix),
                failures);
  }

  // What the run starts from: the kernel file's text and its model, in the sandbox.
  Result<void> begin_from() {
    auto earlier = look_at_earlier_run(workspace_, bench_->checkout.op_file(kernel_.name), request_,
                                       last_, listener_.say);
    if (!earlier) return tl::unexpected(earlier.error());
    earlier_ = std::move(*earlier);
    const std::string& text = earlier_.original_text;
    if (auto put = sandbox_->put_kernel(kernel_.name, text); !put) return put;
    auto side = sandbox_->add_side("v0", kernel_.name, text);
    if (!side) return tl::unexpected(side.error());
    original_ = side_of(*side);
    if (!earlier_.holds_winner) return {};
    // The package was parsed with the winner in it.
    auto model = parse_source(*bench_->runner, bench_->tools, original_.file, original_.module);
    if (!model) return tl::unexpected(model.error());
    original_model_ = std::move(*model);
    return {};
  }

  Result<void> find_cells_first() {
    if (!earlier_.goes_on)
      listener_.progress({"pre-flight", "capturing the calls of the cells", 0, 0});
    auto cells = find_cells(
        {*bench_, *sandbox_, original_, kernel_, request_, environment_key(), std::move(by_hand_)},
        earlier_.events);
    if (!cells) return tl::unexpected(cells.error());
    cells_ = std::move(*cells);
    return {};
  }

  // -------------------------------------------------------------------------- workspace, journal

  Result<void> open_journal() {
    if (auto made = create_workspace(workspace_); !made) return made;
    if (auto kept = keep_earlier_run(); !kept) return kept;
    if (auto excluded =
            exclude_workspace(*bench_->runner, bench_->tools.environment, bench_->checkout.root);
        !excluded) {
      listener_.say("warning: " + excluded.error().sentence);
    }
    auto journal = Journal::open(workspace_.journal());
    if (!journal) return tl::unexpected(journal.error());
    journal_ = std::move(*journal);
    if (auto started = earlier_.goes_on ? Result<void>{} : journal_start(); !started)
      return started;
    if (auto attached = bench_->runner->attach(&journal_); !attached) return attached;
    if (!earlier_.goes_on) {
      if (auto told = journal_.append("preflight", preflight_.json()); !told) return told;
    }
    return write_file_atomically(workspace_.original(), earlier_.original_text);
  }

  Result<void> keep_earlier_run() {
    if (!earlier_.is_there) return {};
    if (earlier_.goes_on) {
      listener_.say("going on with the run that stands in " + workspace_.root.string());
      return {};
    }
    auto archived = archive_run(workspace_);
    if (!archived) return tl::unexpected(archived.error());
    listener_.say("the earlier run was kept in " + archived->string());
    return create_workspace(workspace_);
  }

  Result<void> journal_start() {
    return journal_.append("run_started",
                           {{"schema", kJournalSchema},
                            {"program", LWB_VERSION},
                            {"kernel", kernel_.name},
                            {"checkout", bench_->checkout.root.string()},
                            {"request", to_json(request_)},
                            {"recorded_on", bench_->runner->recorded_on()},
                            {"original_sha256", sha256_hex(earlier_.original_text)}});
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
    }
    // Also of an autonomous run: it can be asked to pause.
    owned_.push_back(inbox_approvals(workspace_.inbox()));
    if (request_.autonomy != Autonomy::kAutonomous) {
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
                               preflight_.gpu, original_, environment_key(), cells_};
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
    // A variant that a person offers while the winner is asked about is made and measured first; the
    // steps that were done are in the journal.
    for (int asked = 1;; ++asked) {
      auto optimized = optimize(shared, optimizing);
      if (!optimized) return tl::unexpected(optimized.error());
      int chosen = 0;
      bool offered = false;
      auto outcome = approve_winner(shared, *optimized, asked, chosen, offered);
      if (offered) continue;
      if (!outcome || chosen == 0 || last_ == LastStage::kOptimize) return outcome;
      return finalize(shared, optimizing, *profile, *optimized, chosen);
    }
  }

  Result<RunOutcome> finalize(Session& shared, const OptimizeInputs& optimizing,
                              const ProfileResult& profile, const OptimizeResult& optimized,
                              int chosen) {
    const FinalizeInputs inputs{*bench_,
                                *sandbox_,
                                request_,
                                kernel_,
                                preflight_.gpu,
                                earlier_.original_text,
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

  // `profile.order` becomes what the person made of it.
  Result<bool> approve_profile(Session& shared, ProfileResult& profile) {
    ApprovalRequest request{
        "profile", "Go on with this profile and strategy order?", profile.document, {kGoOn, kStop}};
    if (profile.roof.no_headroom) request.choices = {kStopNoHeadroom, kGoOn};
    auto answer = ask(journal_, shared.approvals, request, cancel_);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->choice != kGoOn && !profile.roof.no_headroom) {
      return fail(ErrorKind::kStopped, "Stopped at the profile, as chosen.");
    }
    if (answer->order) profile.order = ordered(profile.order, *answer->order);
    return answer->choice == kGoOn;
  }

  OptimizeInputs optimize_inputs(const SourceModel& model, const ProfileResult& profile) {
    OptimizeInputs inputs;
    inputs.request = request_;
    inputs.original_text = earlier_.original_text;
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
      if (auto back = sandbox_->put_kernel(kernel_.name, earlier_.original_text); !back) {
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

  // `asked`: how often, with this. `offered`: instead of an answer there is another variant to try.
  Result<RunOutcome> approve_winner(Session& shared, const OptimizeResult& result, int asked,
                                    int& chosen, bool& offered) {
    if (result.winner == 0) {
      return RunOutcome{"NO_WINNER",
                        result.winner_reason + " Stopped because " + result.stop_reason + ".",
                        0,
                        {}};
    }
    auto document = read_file(workspace_.root / "comparison.md");
    const std::string id = asked == 1 ? "winner" : fmt::format("winner-{}", asked);
    ApprovalRequest request{id, "Approve the winner?", document ? *document : "", {}};
    request.choices.push_back(fmt::format("Approve winner v{}", result.winner));
    for (const VariantRecord& record : result.records) {
      if (record.number != result.winner && record.decision == Decision::kAccepted) {
        request.choices.push_back("Choose " + record.name());
      }
    }
    request.choices.push_back(kNoWinner);
    const auto offers = offered_variants(workspace_.inbox());
    std::vector<ApprovalSource*> sources = shared.approvals;
    sources.push_back(offers.get());
    auto answer = ask(journal_, sources, request, cancel_);
    if (!answer) return tl::unexpected(answer.error());
    offered = answer->choice == kVariantOffered;
    if (offered) return RunOutcome{};
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
  Result<CallsFile> by_hand_;
  std::unique_ptr<Sandbox> sandbox_;
  Preflight preflight_;
  Workspace workspace_;
  Journal journal_;
  EarlierRun earlier_;
  Cells cells_;
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
