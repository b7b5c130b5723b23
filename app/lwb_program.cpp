#include "app/lwb_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <QCoreApplication>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "app/cli_options.h"
#include "app/cli_output.h"
#include "core/base/text.h"
#include "core/pipeline/pipeline.h"
#include "core/run/state.h"

namespace {

lwb::CancelToken cancel_token;

// First Ctrl-C ends the children and leaves a resumable run; a second one is the default: it kills.
extern "C" void on_interrupt(int signal) {
  cancel_token.cancel();
  std::signal(signal, SIG_DFL);
}

// One line for each new step, and every few seconds how far a long one is.
class ProgressPrinter {
 public:
  void operator()(const lwb::Progress& now) {
    const Clock::time_point time = Clock::now();
    const bool fresh = now.stage != last_.stage || now.step != last_.step;
    if (fresh) step_start_ = time;
    const bool end = now.total > 0 && now.done == now.total;
    if (!fresh && !end && time - printed_ < std::chrono::seconds(5)) return;
    std::string far;
    if (now.total > 0) {
      far = fmt::format(" {}/{}", now.done, now.total);
      if (now.done > 0 && !end) {
        const double left = seconds(time - step_start_) * (now.total - now.done) / now.done;
        far += fmt::format(", about {} left", lwb::format_duration(left));
      }
    }
    fmt::print(stderr, "[{:>8}] {}: {}{}\n", lwb::format_duration(seconds(time - start_)),
               now.stage, now.step, far);
    last_ = now;
    printed_ = time;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }
  Clock::time_point start_ = Clock::now(), step_start_ = start_, printed_ = start_;
  lwb::Progress last_;
};

lwb::Listener listener() {
  lwb::Listener result;
  result.terminal = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
  result.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  result.progress = ProgressPrinter();
  return result;
}

int report_error(const lwb::Error& error, bool json) {
  fmt::print(stderr, "lwb: {}\n", error.sentence);
  if (!error.details.empty()) fmt::print(stderr, "{}\n", error.details);
  if (json) {
    fmt::print("{}\n", lwb::print_json({{"error", error.sentence}, {"details", error.details}}));
  }
  return lwb::exit_code(error.kind);
}

int show(const lwb::CommandLine& line) {
  auto checkout = lwb::open_checkout(line.run.checkout);
  if (!checkout) return report_error(checkout.error(), line.json);
  const auto journal = checkout->workspace(line.run.kernel) / "journal.jsonl";
  if (!std::filesystem::exists(journal)) {
    return report_error({lwb::ErrorKind::kUsage,
                         fmt::format("There is no run of {} in {}; start one with lwb run.",
                                     line.run.kernel, checkout->root.string()),
                         ""},
                        line.json);
  }
  auto events = lwb::read_journal(journal);
  if (!events) return report_error(events.error(), line.json);
  const lwb::RunState state = lwb::fold(*events);
  fmt::print("{}", line.json ? lwb::print_json(lwb::to_json(state)) + "\n" : lwb::describe(state));
  return 0;
}

int run(const lwb::CommandLine& line) {
  const auto last = line.command == lwb::Command::kProfile    ? lwb::LastStage::kProfile
                    : line.command == lwb::Command::kOptimize ? lwb::LastStage::kOptimize
                    : line.command == lwb::Command::kFinalize ? lwb::LastStage::kFinalizeWinner
                                                              : lwb::LastStage::kFinalize;
  auto outcome = lwb::run_pipeline(line.run, last, cancel_token, listener());
  if (!outcome) return report_error(outcome.error(), line.json);
  if (line.json) fmt::print("{}\n", lwb::print_json(outcome->state));
  for (const auto& [name, value] : outcome->summary.items()) {
    if (value.is_string()) fmt::print(stderr, "{:<9} {}\n", name, value.get<std::string>());
  }
  fmt::print(stderr, "{}: {}\n", outcome->outcome, outcome->sentence);
  return outcome->exit_code;
}

int dispatch(const lwb::CommandLine& line) {
  switch (line.command) {
    case lwb::Command::kKernels: {
      auto kernels = lwb::kernels_of(line.run, cancel_token);
      if (!kernels) return report_error(kernels.error(), line.json);
      lwb::print_kernels(*kernels, line.json);
      return 0;
    }
    case lwb::Command::kDoctor: {
      auto preflight = lwb::doctor(line.run, cancel_token, listener());
      if (!preflight) return report_error(preflight.error(), line.json);
      lwb::print_preflight(*preflight, line.json);
      return preflight->passed() ? 0 : 3;
    }
    case lwb::Command::kMeasure: {
      auto compared = lwb::measure_files(line.run, line.variant_file, line.against_file,
                                         line.repeat, cancel_token, listener());
      if (!compared) return report_error(compared.error(), line.json);
      lwb::print_comparisons(*compared, line.json);
      return 0;
    }
    case lwb::Command::kOffer: {
      auto offered = lwb::offer_file(line.run, line.variant_file, line.title, line.based_on);
      if (!offered) return report_error(offered.error(), line.json);
      fmt::print(stderr, "offered: the run of {} makes it its next variant\n", line.run.kernel);
      return 0;
    }
    case lwb::Command::kShow:
      return show(line);
    case lwb::Command::kRun:
    case lwb::Command::kProfile:
    case lwb::Command::kOptimize:
    case lwb::Command::kFinalize:
      return run(line);
  }
  return 5;
}

}  // namespace

namespace lwb {

CancelToken& interrupts() {
  return cancel_token;
}

int run_lwb(int argc, char** argv, ProcessRunner* seam) {
  ParsedCommandLine parsed = parse_command_line(argc, argv);
  if (parsed.exit_now) return parsed.exit_code;
  parsed.line.run.seam = seam;
  QCoreApplication app(argc, argv);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  return dispatch(parsed.line);
}

}  // namespace lwb
