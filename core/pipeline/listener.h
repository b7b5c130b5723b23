// Who is told how a command goes on.
#pragma once

#include <functional>
#include <string>

#include "core/run/session.h"

namespace lwb {

struct Listener {
  std::function<void(const std::string&)> say;    // one line for a person
  std::function<void(const Progress&)> progress;
  bool terminal = false;  // approvals may be asked on the terminal
};

}  // namespace lwb
