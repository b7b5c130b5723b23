#include "core/pipeline/pull_request_stage.h"

#include <fmt/format.h>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

constexpr const char* kLeaveBranch = "Leave the branch unsent";
constexpr const char* kSend = "Push the branch and open the pull request";

std::string title_of(const PullRequestInputs& in) {
  return fmt::format("[{}] {}", in.kernel.name,
                     in.winner.techniques.empty() ? "launch settings by shape" : in.winner.title);
}

std::string evidence_of(const PullRequestInputs& in) {
  std::string text = fmt::format(
      "Op time (GPU time of the op's calls, L2 flushed, A/B interleaved in fresh processes) on "
      "{}:\n\n"
      "| call | pass | before µs | after µs | speed-up | interval |\n|---|---|---|---|---|---|\n",
      in.gpu.name);
  for (const CellVerdict& row : in.verdicts) {
    text += fmt::format("| {} | {} | {:.1f} | {:.1f} | {} | {:.3f}-{:.3f} |\n", row.call,
                        to_string(row.pass), row.old_us, row.new_us, format_ratio(row.ratio.ratio),
                        row.ratio.low, row.ratio.high);
  }
  return text;
}

std::string text_of(const PullRequestInputs& in) {
  const std::string summary = fmt::format("Faster {} ({}).\n\n{}", in.kernel.name,
                                          join(in.winner.changes, "; "), evidence_of(in));
  std::vector<std::string> really_run;
  if (in.style_passed) really_run.push_back("make checkstyle");
  return pull_request_text(find_pull_request_template(in.bench.checkout.root), summary,
                           in.winner.hypothesis,
                           fmt::format("`{}`: {}", in.test_command, in.test_sentence),
                           measured_on(in.recorded_on, in.gpu.name), really_run);
}

// Asks, and pushes and opens the request when told to.
Result<void> offer(Session& session, const PullRequestInputs& in, const BranchResult& branch,
                   const fs::path& text_file, Json& data) {
  const fs::path& root = in.bench.checkout.root;
  auto target = find_send_target(session.runner, in.bench.tools.environment, root);
  if (!target) return tl::unexpected(target.error());
  const auto commands = send_commands(root, branch.branch, title_of(in), text_file, *target);
  data["commands"] = commands;
  auto answer = ask(session.journal, session.approvals,
                    {"pull_request",
                     "Send the pull request?",
                     text_of(in) + "\n```diff\n" + branch.patch + "```\n",
                     {kLeaveBranch, kSend}},
                    session.cancel);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->choice != kSend) {
    for (const std::string& command : commands) in.say("    " + command);
    return {};
  }
  auto sent = send_pull_request(session.runner, in.bench.tools.environment, root, branch,
                                title_of(in), text_file);
  if (!sent) return tl::unexpected(sent.error());
  data["state"] = sent->sent ? "sent" : "not sent";
  data["url"] = sent->url;
  in.say("pull request: " + sent->sentence);
  return {};
}

}  // namespace

Result<void> pull_request_stage(Session& session, const PullRequestInputs& in, const Step& step) {
  const fs::path text_file = session.workspace.root / "pull_request.md";
  if (auto written = write_file_atomically(text_file, text_of(in)); !written) return written;
  BranchJob job;
  job.checkout = in.bench.checkout.root;
  job.environment = in.bench.tools.environment;
  job.branch = fmt::format("liger-workbench/{}-{}", in.kernel.name, in.winner.name());
  job.subject = title_of(in);
  job.body = evidence_of(in);
  job.files = in.files;
  auto branch = run_step(
      session, step, [&] { return make_branch(session.runner, job); },
      [](const BranchResult& result) { return to_json(result); },
      [](const Json& json) -> Result<BranchResult> { return branch_result_from_json(json); });
  if (!branch) return tl::unexpected(branch.error());
  const fs::path patch = session.workspace.root / (in.kernel.name + ".patch");
  if (auto written = write_file_atomically(patch, branch->patch); !written) return written;
  in.say("pull request: " + branch->sentence);
  Json data = to_json(*branch);
  data["text"] = text_file.string();
  data["state"] = branch->made ? "ready" : "not made";
  if (branch->made) {
    if (auto offered = offer(session, in, *branch, text_file, data); !offered) return offered;
  }
  return session.journal.append("pull_request", std::move(data));
}

}  // namespace lwb
