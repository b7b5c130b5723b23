#include "ui/setup/sample.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include "core/process/child_environment.h"
#include "core/process/process.h"
#include "core/report/template.h"

namespace lwb {

QString copy_of_sample(QString& problem) {
  const QString root = QString::fromStdString(resource_root().string());
  const QString parent = QStandardPaths::writableLocation(QStandardPaths::CacheLocation) +
                         QStringLiteral("/samples");
  QDir().mkpath(parent);
  const QString folder =
      parent + QStringLiteral("/sample-%1-%2")
                   .arg(QDateTime::currentDateTimeUtc().toString(
                       QStringLiteral("yyyyMMdd-HHmmss-zzz")))
                   .arg(QCoreApplication::applicationPid());
  ProcessSpec spec;
  spec.label = "copy of the sample";
  // The names come as arguments: nothing of them is read as shell.
  spec.argv = {"bash", "-c", "set -eu; root=$1; . \"$root/packaging/sample.sh\"; copy_sample \"$2\"",
               "bash", root.toStdString(), folder.toStdString()};
  spec.env = own_environment();
  SystemRunner runner;
  const auto outcome = runner.run(spec);
  if (outcome && outcome->ok()) return folder;
  problem = QCoreApplication::translate("sample", "The sample cannot be copied to %1: %2")
                .arg(folder, outcome ? QString::fromStdString(outcome->err).trimmed()
                                     : QString::fromStdString(outcome.error().sentence));
  return {};
}

QString sample_recording() {
  const QString file = QString::fromStdString(
      (resource_root() / "resources/recordings/sample.json.gz").string());
  return QFileInfo::exists(file) ? file : QString();
}

}  // namespace lwb
