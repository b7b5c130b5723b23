#include "core/run/approvals.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

std::optional<std::vector<std::string>> order_in(const Json& answer) {
  if (!answer.contains("order") || !answer["order"].is_array()) return std::nullopt;
  std::vector<std::string> order;
  for (const Json& id : answer["order"]) {
    if (id.is_string()) order.push_back(id);
  }
  return order;
}

Json to_json(const ApprovalAnswer& answer) {
  Json json{{"choice", answer.choice}, {"comment", answer.comment}, {"by", answer.by}};
  if (answer.order) json["order"] = *answer.order;
  return json;
}

fs::path pause_file(const fs::path& inbox) {
  return inbox / "pause";
}

class Autonomous final : public ApprovalSource {
 public:
  std::optional<ApprovalAnswer> poll(const ApprovalRequest& request) override {
    if (request.for_a_person) return std::nullopt;
    return ApprovalAnswer{request.choices.front(), "", "autonomous"};
  }
};

class Inbox final : public ApprovalSource {
 public:
  explicit Inbox(fs::path folder) : folder_(std::move(folder)) {}

  std::optional<ApprovalAnswer> poll(const ApprovalRequest& request) override {
    const fs::path file = folder_ / (request.id + ".json");
    std::error_code error;
    if (!fs::exists(file, error)) return std::nullopt;
    const auto text = read_file(file);
    if (!text) return std::nullopt;
    const auto document = parse_json(*text, "approval " + file.string());
    // Whatever it said, it is used up: a wrong answer must not be read for ever.
    fs::rename(file, folder_ / (request.id + ".read"), error);
    if (!document) return std::nullopt;
    ApprovalAnswer answer{get_string(*document, "choice"), get_string(*document, "comment"),
                          get_string(*document, "by", "inbox"), order_in(*document)};
    const auto& choices = request.choices;
    if (std::find(choices.begin(), choices.end(), answer.choice) == choices.end()) {
      return std::nullopt;
    }
    return answer;
  }

 private:
  fs::path folder_;
};

class Terminal final : public ApprovalSource {
 public:
  Terminal(int input, int output) : input_(input), output_(output) {}

  std::optional<ApprovalAnswer> poll(const ApprovalRequest& request) override {
    if (asked_ != request.id) {
      asked_ = request.id;
      prompt(request);
    }
    pollfd ready{input_, POLLIN, 0};
    if (::poll(&ready, 1, 0) <= 0 || (ready.revents & POLLIN) == 0) return std::nullopt;
    char buffer[1024];
    const ssize_t count = ::read(input_, buffer, sizeof buffer);
    if (count <= 0) return std::nullopt;
    line_.append(buffer, static_cast<std::size_t>(count));
    const auto end = line_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    const std::string typed = trim(line_.substr(0, end));
    line_.erase(0, end + 1);
    return understand(request, typed);
  }

 private:
  void say(const std::string& text) {
    [[maybe_unused]] const auto written = ::write(output_, text.data(), text.size());
  }

  void prompt(const ApprovalRequest& request) {
    std::string text = "\n" + request.document + "\n" + request.question + "\n";
    for (std::size_t i = 0; i < request.choices.size(); ++i) {
      text += fmt::format("  {}) {}\n", i + 1, request.choices[i]);
    }
    say(text + "Type a number, optionally followed by a comment: ");
  }

  // An empty line approves nothing: Enter must not approve.
  std::optional<ApprovalAnswer> understand(const ApprovalRequest& request,
                                           const std::string& typed) {
    const auto space = typed.find(' ');
    const int number = std::atoi(typed.substr(0, space).c_str());
    if (number < 1 || number > static_cast<int>(request.choices.size())) {
      say(fmt::format("Type a number from 1 to {}: ", request.choices.size()));
      return std::nullopt;
    }
    return ApprovalAnswer{request.choices[static_cast<std::size_t>(number - 1)],
                          space == std::string::npos ? "" : trim(typed.substr(space)), "terminal"};
  }

  int input_;
  int output_;
  std::string asked_;
  std::string line_;
};

}  // namespace

std::unique_ptr<ApprovalSource> autonomous_approvals() {
  return std::make_unique<Autonomous>();
}

std::unique_ptr<ApprovalSource> inbox_approvals(fs::path inbox) {
  return std::make_unique<Inbox>(std::move(inbox));
}

Result<void> answer_by_inbox(const fs::path& inbox, const std::string& id,
                             const ApprovalAnswer& answer) {
  std::error_code error;
  fs::create_directories(inbox, error);
  return write_file_atomically(inbox / (id + ".json"), print_json(to_json(answer)));
}

Result<void> wish_for_pause(const fs::path& inbox) {
  std::error_code error;
  fs::create_directories(inbox, error);
  return write_file_atomically(pause_file(inbox), "");
}

void withdraw_pause(const fs::path& inbox) {
  std::error_code error;
  fs::remove(pause_file(inbox), error);
}

bool pause_is_wished(const fs::path& inbox) {
  std::error_code error;
  return fs::exists(pause_file(inbox), error);
}

std::unique_ptr<ApprovalSource> terminal_approvals(int input, int output) {
  return std::make_unique<Terminal>(input, output);
}

Result<ApprovalAnswer> ask(Journal& journal, const std::vector<ApprovalSource*>& sources,
                           const ApprovalRequest& request, const CancelToken& cancel) {
  bool requested = false;
  for (const Event& event : journal.events()) {
    if (get_string(event.data, "id") != request.id) continue;
    requested = requested || event.type == "approval_requested";
    if (event.type == "approval_answered") {
      return ApprovalAnswer{get_string(event.data, "choice"), get_string(event.data, "comment"),
                            get_string(event.data, "by"), order_in(event.data)};
    }
  }
  if (!requested) {
    auto written = journal.append("approval_requested", {{"id", request.id},
                                                         {"question", request.question},
                                                         {"document", request.document},
                                                         {"choices", request.choices}});
    if (!written) return tl::unexpected(written.error());
  }
  for (;;) {
    for (ApprovalSource* source : sources) {
      if (const auto answer = source->poll(request)) {
        Json said = to_json(*answer);
        said["id"] = request.id;
        auto written = journal.append("approval_answered", std::move(said));
        if (!written) return tl::unexpected(written.error());
        return *answer;
      }
    }
    if (cancel.cancelled()) {
      return fail(ErrorKind::kStopped,
                  fmt::format("Stopped while waiting for the approval '{}'; the run can be resumed "
                              "with the same command.",
                              request.id));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace lwb
