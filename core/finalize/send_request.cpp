// Sending a branch: the remote, the push and gh.

#include <fmt/format.h>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/finalize/git_commands.h"
#include "core/finalize/pull_request.h"

namespace lwb {
namespace {

constexpr std::chrono::minutes kNetworkLimit{5};

class Sender {
 public:
  Sender(ProcessRunner& runner, const Environment& environment, fs::path checkout)
      : runner_(runner),
        environment_(git_environment(environment)),
        checkout_(std::move(checkout)) {}

  Step<ProcessOutcome> run(const std::string& label, std::vector<std::string> argv) const {
    ProcessSpec spec;
    spec.label = label;
    spec.argv = std::move(argv);
    spec.env = environment_;
    spec.cwd = checkout_;
    spec.wall_limit = spec.silence_limit = kNetworkLimit;
    return call(runner_, spec);
  }

  // A setting's first line; empty when it is not set.
  Step<std::string> setting(std::vector<std::string> arguments) const {
    std::vector<std::string> argv = {"git", "config"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    auto outcome = run("read git's configuration", std::move(argv));
    if (!outcome) return tl::unexpected(outcome.error());
    const auto lines = split_lines(outcome->ok() ? outcome->out : "");
    return lines.empty() ? "" : lines.front();
  }

  Step<SendTarget> find_target() const {
    SendTarget target;
    target.remote.clear();
    auto listed = run("list the remotes", {"git", "remote"});
    if (!listed) return tl::unexpected(listed.error());
    const auto remotes = split_lines(listed->ok() ? listed->out : "");
    auto wanted = setting({"--get", "remote.pushDefault"});
    if (!wanted) return tl::unexpected(wanted.error());
    for (const std::string& remote : remotes) {
      if (remotes.size() == 1 || remote == *wanted ||
          (remote == "origin" && target.remote.empty())) {
        target.remote = remote;
      }
    }
    if (target.remote.empty()) return target;
    // As it is written there: what insteadOf makes of it may be a mirror's address.
    for (const char* key : {"pushurl", "url"}) {
      auto address = setting({"--get-all", fmt::format("remote.{}.{}", target.remote, key)});
      if (!address) return tl::unexpected(address.error());
      target.repository = repository_of_address(*address);
      if (!address->empty()) break;
    }
    target.owner = target.repository.substr(0, target.repository.find('/'));
    return target;
  }

 private:
  ProcessRunner& runner_;
  Environment environment_;
  fs::path checkout_;
};

// One request on its way.
class Sending {
 public:
  Sending(const Sender& sender, const fs::path& checkout, const BranchResult& branch,
          const std::string& title, const fs::path& text_file)
      : sender_(sender),
        checkout_(checkout),
        branch_(branch),
        title_(title),
        text_file_(fs::absolute(text_file)) {}

  Result<SendResult> run() {
    auto done = send();
    if (!done && !done.error().refused) return tl::unexpected(done.error().error);
    if (!done) {
      result_.sentence = done.error().error.sentence;
      if (!result_.left.empty()) {
        result_.sentence += " Left to run: " + join(result_.left, "; ") + ".";
      }
    }
    return result_;
  }

 private:
  Step<void> send() {
    if (!branch_.made) return refuse("There is no branch to send.");
    std::error_code error;
    if (!fs::is_regular_file(text_file_, error)) {
      return refuse(fmt::format("The request's text {} is not there, so nothing was sent.",
                                text_file_.string()));
    }
    auto target = sender_.find_target();
    if (!target) return tl::unexpected(target.error());
    target_ = *target;
    if (target_.remote.empty()) {
      result_.left = send_commands(checkout_, branch_.branch, title_, text_file_);
      return refuse(
          "The branch was not sent, as the repository has no remote that is the only one "
          "or is called origin; add one by \"git remote add origin ADDRESS\".");
    }
    result_.left = send_commands(checkout_, branch_.branch, title_, text_file_, target_);
    if (auto ready = check_gh(); !ready) return ready;
    if (auto pushed = push(); !pushed) return pushed;
    return open();
  }

  // First, so that no branch stands on the remote without a request.
  Step<void> check_gh() const {
    auto status = sender_.run("gh login", {"gh", "auth", "status"});
    if (!status) return tl::unexpected(status.error());
    if (status->end == ProcessEnd::kFailedToStart) {
      return refuse(
          "Nothing was sent, as the GitHub command line tool gh is not installed "
          "(https://cli.github.com).");
    }
    if (!status->ok()) {
      return refuse(
          fmt::format("Nothing was sent, as gh is not logged in ({}); run \"gh auth "
                      "login\".",
                      reason_of(*status)));
    }
    return {};
  }

  Step<void> push() {
    const std::string ref = "refs/heads/" + branch_.branch;
    auto pushed = sender_.run("push the branch", {"git", "push", "--porcelain", "--no-follow-tags",
                                                  target_.remote, ref + ":" + ref});
    if (!pushed) return tl::unexpected(pushed.error());
    if (pushed->ok()) {
      result_.left.erase(result_.left.begin());
      return {};
    }
    std::string why = reason_of(*pushed);
    for (const std::string& line : split_lines(pushed->out)) {  // "!\tFROM:TO\t[rejected] (why)"
      const auto fields = split(line, '\t');
      if (fields.size() == 3 && fields[0] == "!") why = trim(fields[2]);
    }
    return refuse(fmt::format("Nothing was sent, as the push of {} to {} was refused: {}.",
                              branch_.branch, target_.remote, why));
  }

  Step<void> open() {
    std::vector<std::string> argv = {"gh", "pr", "create"};
    auto base = base_repository();
    if (!base) return tl::unexpected(base.error());
    if (!base->empty()) argv.insert(argv.end(), {"--repo", *base});
    const std::string head =
        target_.owner.empty() ? branch_.branch : target_.owner + ":" + branch_.branch;
    argv.insert(argv.end(),
                {"--head", head, "--title", title_, "--body-file", text_file_.string()});
    auto opened = sender_.run("open the pull request", std::move(argv));
    if (!opened) return tl::unexpected(opened.error());
    for (const std::string& line : split_lines(opened->out)) {
      if (line.starts_with("https://") || line.starts_with("http://")) result_.url = trim(line);
    }
    if (!opened->ok()) {
      result_.url.clear();
      return refuse(fmt::format("{} was pushed to {}, but gh opened no pull request: {}.",
                                branch_.branch, target_.remote, reason_of(*opened)));
    }
    result_.sent = true;
    result_.left.clear();
    result_.sentence =
        fmt::format("{} was pushed to {} and a pull request was opened{}.", branch_.branch,
                    target_.remote, result_.url.empty() ? "" : ": " + result_.url);
    return {};
  }

  // Without a terminal gh would open it in the fork itself; it asks a person where it belongs. What
  // the user answered once ("gh repo set-default") stays.
  Step<std::string> base_repository() const {
    if (target_.repository.empty()) return "";
    auto chosen = sender_.setting({"--get-regexp", "^remote\\..*\\.gh-resolved$"});
    if (!chosen || !chosen->empty()) return chosen ? Step<std::string>("") : chosen;
    auto parent = sender_.run("find what this is a fork of",
                              {"gh", "repo", "view", target_.repository, "--json", "parent"});
    if (!parent) return tl::unexpected(parent.error());
    if (!parent->ok()) return "";
    const auto answer = parse_json(parent->out, "the answer of gh");
    if (!answer) return "";
    const Json& repository = get_object(*answer, "parent");
    const std::string owner = get_string(get_object(repository, "owner"), "login");
    const std::string name = get_string(repository, "name");
    return owner.empty() || name.empty() ? "" : owner + "/" + name;
  }

  const Sender& sender_;
  const fs::path& checkout_;
  const BranchResult& branch_;
  const std::string& title_;
  fs::path text_file_;
  SendTarget target_;
  SendResult result_;
};

}  // namespace

Json to_json(const SendResult& result) {
  return {{"sent", result.sent},
          {"url", result.url},
          {"sentence", result.sentence},
          {"left", result.left}};
}

std::string repository_of_address(const std::string& address) {
  std::string rest = trim(address);
  const std::size_t scheme = rest.find("://");
  if (scheme != std::string::npos) {
    if (rest.starts_with("file:")) return {};
    rest = rest.substr(scheme + 3);
  } else if (rest.find(':') == std::string::npos || rest.find('/') < rest.find(':')) {
    return {};  // a path
  }
  const std::size_t host_end = rest.find_first_of(scheme != std::string::npos ? "/" : ":");
  if (host_end == std::string::npos) return {};
  std::vector<std::string> parts;
  for (const std::string& part : split(rest.substr(host_end + 1), '/')) {
    if (!part.empty()) parts.push_back(part);
  }
  if (parts.size() != 2) return {};
  if (parts[1].ends_with(".git")) parts[1].resize(parts[1].size() - 4);
  return parts[0] + "/" + parts[1];
}

Result<SendTarget> find_send_target(ProcessRunner& runner, const Environment& environment,
                                    const fs::path& checkout) {
  auto target = Sender(runner, environment, checkout).find_target();
  if (!target) return tl::unexpected(target.error().error);
  return *target;
}

Result<SendResult> send_pull_request(ProcessRunner& runner, const Environment& environment,
                                     const fs::path& checkout, const BranchResult& branch,
                                     const std::string& title, const fs::path& text_file) {
  const Sender sender(runner, environment, checkout);
  return Sending(sender, checkout, branch, title, text_file).run();
}

}  // namespace lwb
