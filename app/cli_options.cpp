#include "app/cli_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/base/json.h"
#include "core/base/text.h"

namespace lwb {
namespace {

// A number above 0; `example` is how it is written right. A whole one of at most `largest` where
// that is given.
CLI::Validator positive(const std::string& example, double largest = 0) {
  return CLI::Validator(
      [example, largest](const std::string& text) {
        double value = 0;
        const bool is_number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
        const bool fits = largest == 0 || (value <= largest && value == std::floor(value));
        if (is_number && value > 0 && fits) return std::string();
        return largest == 0
                   ? fmt::format("'{}' is not a number above 0; write it like {}", text, example)
                   : fmt::format("'{}' is not a whole number from 1 to {}; write it like {}", text,
                                 largest, example);
      },
      "");
}

void add_checkout(CLI::App* app, CommandLine& line) {
  app->add_option("--checkout", line.run.checkout, "Folder of the Liger-Kernel checkout")
      ->required()
      ->type_name("DIR");
  app->add_option("--python", line.run.python,
                  "Python that has torch and triton (default: $LWB_PYTHON, else python3)")
      ->type_name("PROGRAM");
  app->add_flag("--import-from-source", line.run.import_from_source,
                "Import the package from the checkout's src by PYTHONPATH; nothing needs to be "
                "installed in dev mode");
  app->add_flag("--json", line.json,
                "One JSON document on standard output, everything else on standard error");
}

void add_kernel(CLI::App* app, CommandLine& line, bool required) {
  auto* option = app->add_option("--kernel", line.run.kernel,
                                 "Name of an op file in the package's ops/, e.g. rms_norm")
                     ->type_name("NAME");
  if (required) option->required();
}

void add_cells(CLI::App* app, CommandLine& line) {
  app->add_option("--models", line.run.models,
                  "Models of the checkout's registry whose widths are measured (default: the "
                  "smallest and the largest width beside the script's own sweep)")
      ->delimiter(',')
      ->type_name("A,B");
  app->add_option("--x", line.run.x_values, "Values of x that are measured")
      ->delimiter(',')
      ->check(positive("--x 2048,8192"))
      ->type_name("N,M");
  app->add_option("--calls", line.run.calls_file,
                  "Calls to measure besides the captured ones: a calls.json, written or edited by "
                  "hand")
      ->type_name("FILE");
  app->add_option("--budget-s", line.run.budget_s,
                  "GPU seconds that measuring may take; what was not measured is listed")
      ->check(positive("--budget-s 600"))
      ->type_name("SECONDS");
  app->add_option("--work-area", line.run.work_area,
                  "Where sandbox copies are made (default: the user's cache folder)")
      ->type_name("DIR");
}

// What a run is asked for: the seven fields of the request, the cells, and how it is run.
void add_request(CLI::App* app, CommandLine& line) {
  add_checkout(app, line);
  add_kernel(app, line, false);
  app->add_option("--request", line.run.sentence,
                  "The request as one sentence, e.g. \"just optimize rms_norm backward, at most 5 "
                  "variants\"; options win over it")
      ->type_name("TEXT");
  app->add_option("--goal", line.run.goal, "speed, memory or balanced (default: balanced)");
  app->add_option("--scope", line.run.scope,
                  "general, forward, backward, or a regime such as \"hidden_size<=1024\"");
  app->add_option("--gpu", line.run.gpu,
                  "auto, ampere, hopper or blackwell: also check that variants compile there");
  app->add_option("--target", line.run.target,
                  "Stop when met: \"forward under 0.3ms at hidden_size=4096\", \"memory under "
                  "200MB\"");
  app->add_flag("--autonomous", line.run.autonomous,
                "Ask nothing; take the first choice each time");
  app->add_option("--max-variants", line.run.max_variants, "How many variants may be tried (8)")
      ->check(positive("--max-variants 8", 1000));
  add_cells(app, line);
  app->add_flag("--no-pr", line.run.no_pull_request, "Make no branch and no pull request text");
  app->add_flag("--accept-known-failures", line.run.accept_known_failures,
                "Apply although tests fail that fail on the unchanged kernel too");
  app->add_flag("--update-benchmark-csv", line.run.update_benchmark_csv,
                "Also put the winner's rows into benchmark/data/all_benchmark_data.csv");
  auto* record = app->add_option("--record", line.run.record_file,
                                 "Keep what every child process answered, for a later --replay")
                     ->type_name("FILE");
  app->add_option("--replay", line.run.replay_file,
                  "Answer every child process from a recording; what was not recorded is refused")
      ->type_name("FILE")
      ->excludes(record);
}

constexpr const char* kFooter =
    "Exit codes: 0 done (also an honest \"no headroom\" or \"no winner\"), 1 a gate failed, 2 bad "
    "usage, 3 pre-flight failed, 4 stopped by the user (resumable), 5 internal.";

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

// "" when the first word is a command, or none is needed (--help).
std::string problem_of_command(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> names = commands_of(app);
  const std::string list = join(names, ", ");
  if (argc < 2) return fmt::format("no command is given; choose one of {}.", list);
  const std::string word = argv[1];
  if (word.empty() || word.front() == '-') return {};
  for (const std::string& name : names) {
    if (name == word) return {};
  }
  const auto nearest = nearest_names(word, names, 1);
  return fmt::format("there is no command '{}'; {}choose one of {}.", word,
                     nearest.empty() ? "" : "did you mean " + nearest.front() + "? Else ", list);
}

// What is wrong with the rest, and what to do.
std::string problem_of_options(const CLI::App& app, const CLI::ParseError& error) {
  std::string sentence = error.what();
  while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == '\n')) {
    sentence.pop_back();
  }
  const auto chosen = app.get_subcommands();
  const std::string name = chosen.empty() ? "" : " " + chosen.front()->get_name();
  return fmt::format("{}; lwb{} --help lists what can be given.", sentence, name);
}

bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

ParsedCommandLine refused(const std::string& sentence, bool json) {
  fmt::print(stderr, "lwb: {}\n", sentence);
  if (json) fmt::print("{}\n", print_json({{"error", sentence}, {"details", ""}}));
  ParsedCommandLine parsed;
  parsed.exit_now = true;
  parsed.exit_code = 2;
  return parsed;
}

}  // namespace

ParsedCommandLine parse_command_line(int argc, char** argv) {
  ParsedCommandLine parsed;
  CommandLine& line = parsed.line;
  CLI::App app{
      "Profiles a Triton kernel of a Liger-Kernel checkout and optimizes it through measured "
      "variants.",
      "lwb"};
  app.footer(kFooter);
  app.set_version_flag("--version", LWB_VERSION);
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default(false);

  const auto add = [&](const char* name, const char* text, Command command) {
    CLI::App* sub = app.add_subcommand(name, text);
    sub->footer(kFooter);
    sub->callback([&line, command] { line.command = command; });
    return sub;
  };
  add_checkout(
      add("doctor", "Check the checkout and this machine; changes nothing", Command::kDoctor),
      line);
  add_checkout(add("kernels", "List every op file: ready or not, and why", Command::kKernels),
               line);
  add_request(
      add("run", "All three stages, from request to finished change; resumes where it stood",
          Command::kRun),
      line);
  add_request(add("profile", "Pre-flight and the profile stage only", Command::kProfile), line);
  add_request(add("optimize", "Up to the approved winner; nothing is applied", Command::kOptimize),
              line);
  add_request(
      add("finalize", "Goes on with the approved winner: gates, the one write, report, branch",
          Command::kFinalize),
      line);
  CLI::App* measure = add("measure", "A/B of two kernel files in op time", Command::kMeasure);
  add_checkout(measure, line);
  add_kernel(measure, line, true);
  add_cells(measure, line);
  measure->add_option("--variant", line.variant_file, "The kernel file to judge")
      ->required()
      ->type_name("FILE");
  measure
      ->add_option("--against", line.against_file,
                   "What it is compared with (default: the checkout's own file)")
      ->type_name("FILE");
  measure
      ->add_option("--repeat", line.repeat,
                   "Measure so many times, each in fresh processes: how well verdicts repeat")
      ->check(positive("--repeat 10", 1000));
  CLI::App* offer =
      add("offer", "Give a run that goes on a variant of your own to judge", Command::kOffer);
  add_checkout(offer, line);
  add_kernel(offer, line, true);
  offer->add_option("--variant", line.variant_file, "The edited kernel file")
      ->required()
      ->type_name("FILE");
  offer->add_option("--title", line.title, "One line: what it changes")
      ->required()
      ->type_name("TEXT");
  offer->add_option("--based-on", line.based_on, "The variant that was edited (default: v0)")
      ->type_name("vN");
  CLI::App* show = add("show", "What is known of the last run of a kernel", Command::kShow);
  add_checkout(show, line);
  add_kernel(show, line, true);

  if (const std::string problem = problem_of_command(app, argc, argv); !problem.empty()) {
    return refused(problem, wants_json(argc, argv));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      return refused(problem_of_options(app, error), wants_json(argc, argv));
    }
    app.exit(error);  // prints help or the version
    parsed.exit_now = true;
  }
  return parsed;
}

}  // namespace lwb
