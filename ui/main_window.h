// The program's window: header, decision bar, rail, a work area by stage, and docks.
#pragma once

#include <QMainWindow>
#include <QPointer>
#include <QStringList>

#include "ui/benchmarks/benchmark_board.h"
#include "ui/dialogs/approval_dialog.h"
#include "ui/frame/pipeline_rail.h"
#include "ui/gpu/gpu_monitor.h"
#include "ui/run/run_process.h"
#include "ui/run/run_view.h"
#include "ui/terminal_command.h"

class QAction;
class QDockWidget;
class QLabel;
class QStackedWidget;

namespace lwb {

class ConsolePanel;
class DecisionBar;
class FinalizePage;
class HistoryPanel;
class NewRunPage;
class ProfilePage;
class ReportPanel;
class VariantsPage;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr);

  // What the command line asked for; a checkout that cannot be opened is said in the window.
  void open(const OpenRequest& request);
  RunView& run() { return run_; }
  const BenchmarkBoard& board() const { return board_; }
  void show_stage(Stage stage);
  // As when the person chooses it: the work area no longer follows the run.
  void stay_at(Stage stage);
  // Opens the dialog for what the run waits for; false when it waits for nothing.
  bool review_pending();
  ApprovalDialog* dialog() const { return dialog_; }
  const QList<QDockWidget*>& docks() const { return docks_; }

 protected:
  void closeEvent(QCloseEvent* event) override;

 private:
  void make_pages();
  void make_docks();
  void make_menus();
  QDockWidget* add_dock(const char* name, const QString& title, QWidget* content);
  void choose_checkout();
  void open_checkout_folder(const QString& folder, const QString& kernel, const QString& replay);
  void open_sample();
  void start(const QStringList& arguments);
  void go_on();
  void stop();
  void run_ended(int exit_code);
  void say(const QString& error);
  void follow_stage();
  void ask_about_edit();
  void ask_before_closing();
  void about();
  void restore();

  RunView run_;
  BenchmarkBoard board_;
  RunProcess process_;
  GpuMonitor gpu_;
  OpenRequest request_;
  QStringList last_arguments_;
  QString replay_;
  bool follows_ = true;  // the work area follows the run's stage until the person chooses one
  bool may_close_ = false;
  QString sample_folder_;
  PipelineRail* rail_ = nullptr;
  DecisionBar* bar_ = nullptr;
  QLabel* error_ = nullptr;
  QWidget* error_bar_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  NewRunPage* new_run_ = nullptr;
  VariantsPage* variants_ = nullptr;
  ConsolePanel* console_ = nullptr;
  ReportPanel* report_ = nullptr;
  HistoryPanel* history_ = nullptr;
  QList<QDockWidget*> docks_;
  QAction* go_on_ = nullptr;
  QAction* stop_ = nullptr;
  QAction* pause_ = nullptr;
  QAction* review_ = nullptr;
  QPointer<ApprovalDialog> dialog_;
};

}  // namespace lwb
