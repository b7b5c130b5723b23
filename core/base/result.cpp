#include "core/base/result.h"

namespace lwb {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kGate:
      return 1;
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kPreflight:
      return 3;
    case ErrorKind::kStopped:
      return 4;
    case ErrorKind::kInternal:
      break;
  }
  return 5;
}

}  // namespace lwb
