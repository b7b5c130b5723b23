// Results and errors. No exception crosses a room's door: what can fail returns Result<T>.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace lwb {

// Why something failed, as the exit code of `lwb` tells it (issue: "Exit codes").
enum class ErrorKind {
  kGate,       // 1: a gate failed, or the change was reverted
  kUsage,      // 2: a bad request: option, sentence, scope, target, calls file
  kPreflight,  // 3: the checkout or the machine is not ready
  kStopped,    // 4: the user stopped the run
  kInternal,   // 5: a defect, or an outside program that broke its contract
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string sentence;  // one exact sentence: what, where, what to do
  std::string details;   // a traceback or an excerpt of output; may be empty
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string sentence, std::string details = {}) {
  return tl::unexpected<Error>(Error{kind, std::move(sentence), std::move(details)});
}

// The exit code of `lwb` for an error of this kind: 1 to 5, in the order of ErrorKind.
int exit_code(ErrorKind kind);

}  // namespace lwb
