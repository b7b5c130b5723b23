// Approvals (design rule 4): what a person decides at each stage, asked in the journal and answered
// by a small file that is renamed into the run's inbox/, by a terminal prompt, or by policy.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/process/process.h"
#include "core/run/journal.h"

namespace lwb {

struct ApprovalRequest {
  std::string id;        // "profile", "winner", "finalize", "pull_request", …; unique in the run
  std::string question;  // one sentence
  std::string document;  // what is being decided, in full: Markdown
  std::vector<std::string> choices;  // the first is the one that an autonomous run takes
  bool for_a_person = false;         // a person asked to be asked: policy does not answer it
};

struct ApprovalAnswer {
  std::string choice;
  std::string comment;
  std::string by;  // "autonomous", "terminal", "window", "inbox"
  // Of "profile": ids of the techniques in the order in which they are to be tried; those that are
  // not in it are struck. Nothing: as proposed.
  std::optional<std::vector<std::string>> order = std::nullopt;
};

// Answers one request; nothing when it has no answer (yet).
class ApprovalSource {
 public:
  virtual ~ApprovalSource() = default;
  virtual std::optional<ApprovalAnswer> poll(const ApprovalRequest& request) = 0;
};

// Always the first choice.
std::unique_ptr<ApprovalSource> autonomous_approvals();
// `<inbox>/<id>.json`: {"choice":…,"comment":…,"by":…}; renamed into place by whoever answers.
std::unique_ptr<ApprovalSource> inbox_approvals(std::filesystem::path inbox);
// Answers for a person elsewhere: writes `<inbox>/<id>.json` in one step. kPreflight when the inbox
// cannot be written.
Result<void> answer_by_inbox(const std::filesystem::path& inbox, const std::string& id,
                             const ApprovalAnswer& answer);
// A wish of a person elsewhere: the loop stops after the variant that it is at, and asks. Laid into
// the inbox, taken out by whoever heeds it.
Result<void> wish_for_pause(const std::filesystem::path& inbox);
void withdraw_pause(const std::filesystem::path& inbox);
bool pause_is_wished(const std::filesystem::path& inbox);

// A prompt on the terminal (`input` and `output` are file descriptors); does not block: looks
// whether a line can be read.
std::unique_ptr<ApprovalSource> terminal_approvals(int input, int output);

// Journals "approval_requested", waits for the first source that answers, journals
// "approval_answered". An answer already in the journal (resume) is taken as it is. kStopped when
// cancelled meanwhile.
Result<ApprovalAnswer> ask(Journal& journal, const std::vector<ApprovalSource*>& sources,
                           const ApprovalRequest& request, const CancelToken& cancel);

}  // namespace lwb
