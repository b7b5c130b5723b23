// How this room calls git and gh: never interactive, and what went wrong as part of a sentence.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/process/process.h"

namespace lwb {

// Why a step ended: an Error of the seam, or a refusal that becomes a result's sentence.
struct StepEnd {
  Error error;
  bool refused = false;
};
template <class T>
using Step = tl::expected<T, StepEnd>;

tl::unexpected<StepEnd> refuse(std::string sentence);

// `environment` without the variables that would lead git to another repository, index or object
// store than the folder's own, and with prompts off.
Environment git_environment(Environment environment);

// Starts argv in `folder`; an Error of kind kStopped when the user stopped it.
Step<ProcessOutcome> call(ProcessRunner& runner, const ProcessSpec& spec);

// What the program said went wrong: git's first "fatal:" or "error:" line without that word, else
// the last line, else how it ended. Without a full stop.
std::string reason_of(const ProcessOutcome& outcome);

// Plumbing commands that leave the user's index, working tree, HEAD and configuration alone: no
// hook (reference-transaction and post-index-change would run), no file system monitor, no shared
// index, no sparse index, no signature, no identity guessed from the host's name.
class Plumbing {
 public:
  Plumbing(ProcessRunner& runner, const Environment& environment, std::filesystem::path folder);

  // From now on GIT_INDEX_FILE of every call.
  void use_index(const std::filesystem::path& file);

  Step<ProcessOutcome> run(const std::string& label, std::vector<std::string> arguments,
                           const std::string& input = {}) const;
  // In another folder, on files of that folder.
  Step<ProcessOutcome> run_on_files(const std::string& label, std::vector<std::string> arguments,
                                    const std::filesystem::path& folder,
                                    const std::vector<std::string>& files) const;
  // Standard output of a command that has to succeed; "LABEL failed: REASON." is refused else.
  Step<std::string> text(const std::string& label, std::vector<std::string> arguments,
                         const std::string& input = {}) const;
  // The same without the blanks around it.
  Step<std::string> word(const std::string& label, std::vector<std::string> arguments,
                         const std::string& input = {}) const;

 private:
  ProcessSpec spec(const std::string& label, std::vector<std::string> arguments) const;

  ProcessRunner& runner_;
  Environment environment_;
  std::filesystem::path folder_;
};

}  // namespace lwb
