#include "ui/terminal_command.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStringList>

namespace lwb {

namespace {

QString say(const char* text) {
  return QCoreApplication::translate("checkout", text);
}

}  // namespace

QString shell_quoted(const QString& word) {
  static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_@%+=:,./-]+$"));
  if (plain.match(word).hasMatch()) return word;
  QString inside = word;
  inside.replace(QLatin1Char('\''), QStringLiteral("'\\''"));
  return QLatin1Char('\'') + inside + QLatin1Char('\'');
}

QString terminal_command(const OpenRequest& request) {
  if (request.sample) return QStringLiteral("packaging/run.sh");
  QStringList words{QStringLiteral("lwb")};
  const bool has_kernel = !request.kernel.isEmpty();
  words << (has_kernel ? QStringLiteral("run") : QStringLiteral("kernels"));
  words << QStringLiteral("--checkout")
        << (request.checkout.isEmpty() ? QStringLiteral(".") : shell_quoted(request.checkout));
  if (has_kernel) {
    words << QStringLiteral("--kernel") << shell_quoted(request.kernel);
    if (!request.replay.isEmpty()) {
      words << QStringLiteral("--replay") << shell_quoted(request.replay);
    }
  }
  return words.join(QLatin1Char(' '));
}

QString checkout_problem(const QString& folder) {
  const QFileInfo info(folder);
  if (!info.exists()) {
    return say("%1 does not exist: choose the folder of a checkout.").arg(folder);
  }
  if (!info.isDir()) {
    return say("%1 is not a folder: choose the folder of a checkout.").arg(folder);
  }
  if (!QFileInfo(QDir(folder).filePath(QStringLiteral("src/liger_kernel/ops"))).isDir()) {
    return say("%1 is not a checkout: it has no folder src/liger_kernel/ops; choose the folder "
               "that holds src, benchmark and test.")
        .arg(folder);
  }
  return {};
}

}  // namespace lwb
