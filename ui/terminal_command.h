#pragma once

#include <QString>

namespace lwb {

/// What the window was asked to open, on its command line or from its menu. Empty means not given.
struct OpenRequest {
  QString checkout;     ///< folder of the checkout
  QString kernel;       ///< name of an op file, without .py
  QString replay;       ///< recording to play instead of running
  bool sample = false;  ///< the sample that comes with the program

  bool empty() const { return checkout.isEmpty() && replay.isEmpty() && !sample; }
};

/// One word of a POSIX shell command line, quoted if it needs to be.
QString shell_quoted(const QString& word);

/// The command that does in a terminal what the request asks for. Where no kernel was given it
/// lists the kernels of the checkout. before_option stands before each option: with " \\\n  " the
/// command becomes several lines that a shell still reads as one.
QString terminal_command(const OpenRequest& request,
                         const QString& before_option = QStringLiteral(" "));

/// Why the folder is no checkout, as one sentence; empty when it looks like one (it has the folder
/// src/liger_kernel/ops).
QString checkout_problem(const QString& folder);

}  // namespace lwb
