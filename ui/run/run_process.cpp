#include "ui/run/run_process.h"

#include <signal.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QStandardPaths>

namespace lwb {

namespace {
constexpr int kLogMs = 200;
}

QString lwb_program() {
  const QString named = qEnvironmentVariable("LWB_PROGRAM");
  if (!named.isEmpty()) return named;
  return QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("lwb"));
}

RunProcess::RunProcess(QObject* parent) : QObject(parent) {
  log_timer_.setInterval(kLogMs);
  connect(&log_timer_, &QTimer::timeout, this, &RunProcess::read_log);
}

RunProcess::~RunProcess() {
  if (process_ == nullptr) return;
  // QProcess would kill its child: we let go of it instead, on purpose.
  process_->disconnect(this);
  process_->setParent(nullptr);
}

bool RunProcess::start(const QStringList& arguments) {
  if (process_ != nullptr) return false;
  const QString folder =
      QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + QStringLiteral("/logs");
  QDir().mkpath(folder);
  log_file_ = folder + QStringLiteral("/run-%1-%2.log")
                           .arg(QDateTime::currentDateTimeUtc().toString(
                               QStringLiteral("yyyyMMdd-HHmmss-zzz")))
                           .arg(QCoreApplication::applicationPid());
  log_offset_ = 0;
  command_ = QStringLiteral("lwb ") + arguments.join(QLatin1Char(' '));
  process_ = new QProcess(this);
  process_->setProgram(lwb_program());
  process_->setArguments(arguments);
  process_->setStandardInputFile(QProcess::nullDevice());
  // A file, not a pipe: the run must not end by SIGPIPE when the window is closed.
  process_->setStandardOutputFile(log_file_, QIODevice::Append);
  process_->setStandardErrorFile(log_file_, QIODevice::Append);
  process_->setChildProcessModifier([] { ::setsid(); });
  connect(process_, &QProcess::started, this, &RunProcess::started);
  const auto ended = [this](int code) {
    read_log();
    log_timer_.stop();
    process_->deleteLater();
    process_ = nullptr;
    Q_EMIT finished(code);
  };
  connect(process_, &QProcess::finished, this, [ended](int code, QProcess::ExitStatus status) {
    ended(status == QProcess::NormalExit ? code : -1);
  });
  connect(process_, &QProcess::errorOccurred, this, [this, ended](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    Q_EMIT printed(tr("%1 cannot be started: %2.").arg(lwb_program(), process_->errorString()));
    ended(-1);
  });
  process_->start();
  log_timer_.start();
  return true;
}

void RunProcess::stop() {
  if (process_ != nullptr && process_->processId() > 0) {
    ::kill(static_cast<pid_t>(process_->processId()), SIGINT);
  }
}

QString RunProcess::log() const {
  QFile file(log_file_);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

void RunProcess::read_log() {
  QFile file(log_file_);
  if (!file.open(QIODevice::ReadOnly) || !file.seek(log_offset_)) return;
  const QByteArray more = file.readAll();
  const qsizetype end = more.lastIndexOf('\n') + 1;
  if (end == 0) return;
  log_offset_ += end;
  Q_EMIT printed(QString::fromUtf8(more.left(end)));
}

}  // namespace lwb
