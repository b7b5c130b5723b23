#include "ui/terminal_command.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>

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

QString terminal_command(const OpenRequest& request, const QString& before_option) {
  if (request.sample) return QStringLiteral("packaging/run.sh");
  const bool has_kernel = !request.kernel.isEmpty();
  QString command = has_kernel ? QStringLiteral("lwb run") : QStringLiteral("lwb kernels");
  const auto add = [&](const char* option, const QString& value) {
    command += before_option + QString::fromLatin1(option) + QLatin1Char(' ') + shell_quoted(value);
  };
  add("--checkout", request.checkout.isEmpty() ? QStringLiteral(".") : request.checkout);
  if (has_kernel) add("--kernel", request.kernel);
  if (has_kernel && !request.replay.isEmpty()) add("--replay", request.replay);
  return command;
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
