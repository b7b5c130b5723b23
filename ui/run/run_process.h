// The run's own process: `lwb run …`, started by the window or attached to when it runs already. The
// window may be closed and the run goes on (design rule 4).
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>
#include <filesystem>
#include <string>

namespace lwb {

// The terminal program beside this one.
QString lwb_program();

class RunProcess : public QObject {
  Q_OBJECT
 public:
  explicit RunProcess(QObject* parent = nullptr);
  // Ends nothing: a run that goes on outlives the window.
  ~RunProcess() override;

  // Starts `lwb ARGUMENTS` in a session of its own; what it prints goes to a log file in the cache
  // folder. One at a time: false while one that was started here runs.
  bool start(const QStringList& arguments);
  // Asks the run to end as Ctrl-C does: its children end, and it can be gone on with.
  void stop();

  bool is_running() const { return process_ != nullptr; }
  // What the program said so far, for the console and for a run that ended before it had a journal.
  QString log() const;
  QString command() const { return command_; }

 Q_SIGNALS:
  void started();
  // What it printed since the last time, whole lines.
  void printed(const QString& text);
  // `exit_code` as `lwb --help` lists them; -1 when it crashed or could not be started.
  void finished(int exit_code);

 private:
  void read_log();
  QProcess* process_ = nullptr;
  QTimer log_timer_;
  QString log_file_, command_;
  qint64 log_offset_ = 0;
};

}  // namespace lwb
