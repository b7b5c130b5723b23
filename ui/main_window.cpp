#include "ui/main_window.h"

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/benchmarks/benchmarks_panel.h"
#include "ui/console/console_panel.h"
#include "ui/dialogs/approval_dialog.h"
#include "ui/finalize/finalize_page.h"
#include "ui/frame/decision_bar.h"
#include "ui/frame/header.h"
#include "ui/frame/notifier.h"
#include "ui/gpu/gpu_panel.h"
#include "ui/history/history_panel.h"
#include "ui/notes/notes_panel.h"
#include "ui/profile/profile_page.h"
#include "ui/report/report_panel.h"
#include "ui/setup/new_run_page.h"
#include "ui/setup/request_form.h"
#include "ui/setup/sample.h"
#include "ui/theme/theme.h"
#include "ui/variants/variant_diff.h"
#include "ui/variants/variants_page.h"

namespace lwb {

namespace {

constexpr QSize kFirstSize(1372, 890);
constexpr QSize kSmallest(1100, 700);
constexpr int kMostRecent = 8;
constexpr int kNoticeMs = 4000;
constexpr int kPreflightFailed = 3;
const QString kRecentKey = QStringLiteral("recent");
const QString kSchemeKey = QStringLiteral("scheme");

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), board_(run_) {
  setWindowTitle(tr("Liger Workbench"));
  setMinimumSize(kSmallest);
  resize(kFirstSize);
  setDockNestingEnabled(true);
  make_pages();
  make_docks();
  make_menus();
  new Notifier(run_, *this);
  restore();
  connect(&run_, &RunView::failed, this, &MainWindow::say);
  connect(&run_, &RunView::folded, this, &MainWindow::follow_stage);
  connect(&run_, &RunView::restarted, this, &MainWindow::follow_stage);
  connect(&run_, &RunView::running_changed, this, &MainWindow::follow_stage);
  connect(&process_, &RunProcess::printed, console_, &ConsolePanel::append_output);
  connect(&process_, &RunProcess::finished, this, &MainWindow::run_ended);
  show_stage(Stage::kPreflight);
  follow_stage();
}

void MainWindow::make_pages() {
  auto* header = new Header(run_, gpu_);
  bar_ = new DecisionBar(run_);
  connect(bar_, &DecisionBar::review_wanted, this, [this] { review_pending(); });
  error_bar_ = new QFrame;
  error_ = new QLabel;
  error_->setObjectName(QStringLiteral("error"));
  error_->setWordWrap(true);
  error_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* copy = new QPushButton(tr("Copy Details"));
  auto* dismiss = new QPushButton(tr("Dismiss"));
  dismiss->setObjectName(QStringLiteral("dismiss"));
  connect(copy, &QPushButton::clicked, this, [this] {
    QApplication::clipboard()->setText(error_->text() + QLatin1Char('\n') + process_.command() +
                                       QLatin1Char('\n') + process_.log());
  });
  connect(dismiss, &QPushButton::clicked, error_bar_, &QWidget::hide);
  auto* error_row = new QHBoxLayout(error_bar_);
  error_row->addWidget(error_, 1);
  error_row->addWidget(copy);
  error_row->addWidget(dismiss);
  error_bar_->hide();

  rail_ = new PipelineRail(run_);
  pages_ = new QStackedWidget;
  new_run_ = new NewRunPage(run_);
  pages_->addWidget(new_run_);
  pages_->addWidget(new ProfilePage(run_));
  variants_ = new VariantsPage(run_, board_);
  connect(variants_->benchmarks(), &BenchmarksPanel::failed, this, &MainWindow::say);
  connect(variants_->diff(), &VariantDiff::failed, this, &MainWindow::say);
  pages_->addWidget(variants_);
  pages_->addWidget(new FinalizePage(run_));
  connect(rail_, &PipelineRail::stage_wanted, this, [this](Stage stage) { stay_at(stage); });
  connect(&run_, &RunView::line_wanted, this, [this] { stay_at(Stage::kOptimize); });
  connect(new_run_, &NewRunPage::checkout_wanted, this, [this](const QString& folder) {
    folder.isEmpty() ? choose_checkout() : open_checkout_folder(folder, {}, {});
  });
  connect(new_run_, &NewRunPage::sample_wanted, this, &MainWindow::open_sample);
  connect(new_run_, &NewRunPage::kernel_chosen, this, [this](const QString& kernel) {
    if (kernel != run_.kernel() || new_run_->checkout() != run_.checkout()) {
      run_.open(new_run_->checkout(), kernel);
    }
  });
  connect(new_run_, &NewRunPage::start_wanted, this, &MainWindow::start);

  auto* area = new QWidget;
  auto* row = new QHBoxLayout;
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(rail_);
  row->addWidget(pages_, 1);
  auto* column = new QVBoxLayout(area);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(header);
  column->addWidget(error_bar_);
  column->addWidget(bar_);
  column->addLayout(row, 1);
  setCentralWidget(area);
}

QDockWidget* MainWindow::add_dock(const char* name, const QString& title, QWidget* content) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(QString::fromLatin1(name));
  dock->setWidget(content);
  addDockWidget(Qt::BottomDockWidgetArea, dock);
  if (!docks_.isEmpty()) tabifyDockWidget(docks_.front(), dock);
  dock->hide();
  docks_.append(dock);
  return dock;
}

void MainWindow::make_docks() {
  console_ = new ConsolePanel(run_);
  add_dock("console", tr("Console"), console_);
  add_dock("gpu", tr("GPU"), new GpuPanel(gpu_));
  add_dock("notes", tr("Notes"), new NotesPanel(run_));
  report_ = new ReportPanel(run_);
  add_dock("report", tr("Report"), report_);
  history_ = new HistoryPanel(run_);
  QDockWidget* history = add_dock("history", tr("History"), history_);
  connect(history, &QDockWidget::visibilityChanged, history_, &HistoryPanel::refresh);
  connect(history_, &HistoryPanel::open_wanted, this,
          [this](const QString& kernel, const std::filesystem::path& archived) {
            follows_ = true;
            run_.open(run_.checkout(), kernel, archived);
          });
}

void MainWindow::make_menus() {
  const auto add = [this](QMenu* menu, const QString& text, const QKeySequence& keys, auto slot) {
    QAction* action = menu->addAction(text);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, slot);
    return action;
  };
  QMenu* file = menuBar()->addMenu(tr("&File"));
  add(file, tr("&Open Checkout…"), QKeySequence::Open, [this] { choose_checkout(); });
  add(file, tr("Open the &Sample"), {}, [this] { open_sample(); });
  file->addSeparator();
  QAction* quit = add(file, tr("&Quit"), QKeySequence::Quit, [this] { close(); });
  quit->setMenuRole(QAction::QuitRole);

  QMenu* run = menuBar()->addMenu(tr("&Run"));
  add(run, tr("&New Run"), QKeySequence::New, [this] { stay_at(Stage::kPreflight); });
  go_on_ = add(run, tr("&Go On"), QKeySequence(Qt::Key_F5), [this] { go_on(); });
  go_on_->setToolTip(tr("Start the run again where it stood"));
  stop_ = add(run, tr("S&top"), QKeySequence(Qt::SHIFT | Qt::Key_F5), [this] { stop(); });
  stop_->setToolTip(tr("End the run's children; it can be gone on with"));
  pause_ = add(run, tr("&Pause After This Variant"), QKeySequence(Qt::CTRL | Qt::Key_P), [this] {
    QString problem;
    if (!run_.wish_pause(pause_->isChecked(), problem)) say(problem);
  });
  pause_->setObjectName(QStringLiteral("pause"));
  pause_->setCheckable(true);
  pause_->setToolTip(tr("The run asks before it makes the next variant; an autonomous one too"));
  run->addSeparator();
  review_ = add(run, tr("&Review What Waits…"), QKeySequence(Qt::CTRL | Qt::Key_Return),
                [this] { review_pending(); });
  add(run, tr("&Copy Terminal Command"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] {
    OpenRequest request = request_;
    request.checkout = new_run_->checkout();
    request.kernel = new_run_->form()->kernel();
    const QString command = terminal_command(request);
    QApplication::clipboard()->setText(command);
    statusBar()->showMessage(tr("Copied: %1").arg(command), kNoticeMs);
  });

  QMenu* view = menuBar()->addMenu(tr("&View"));
  int number = 1;
  for (const auto& [stage, title] : {std::pair{Stage::kPreflight, tr("New Run and Pre-&flight")},
                                     {Stage::kProfile, tr("&Profile")},
                                     {Stage::kOptimize, tr("&Variants")},
                                     {Stage::kFinalize, tr("&Finalize")}}) {
    add(view, title, QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_0 + number++)),
        [this, stage = stage] { stay_at(stage); });
  }
  view->addSeparator();
  for (QDockWidget* dock : docks_) {
    QAction* toggle = dock->toggleViewAction();
    toggle->setShortcut(QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_0 + number++)));
    connect(toggle, &QAction::triggered, dock, [dock](bool shown) {
      if (shown) dock->raise();
    });
    view->addAction(toggle);
  }
  view->addSeparator();
  QMenu* scheme = view->addMenu(tr("&Colours"));
  auto* group = new QActionGroup(this);
  for (const auto& [kind, title] : {std::pair{Scheme::kSystem, tr("As the &System")},
                                    {Scheme::kLight, tr("&Light")},
                                    {Scheme::kDark, tr("&Dark")}}) {
    QAction* action = scheme->addAction(title);
    action->setCheckable(true);
    action->setChecked(Theme::instance().scheme() == kind);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [kind = kind] {
      Theme::instance().set_scheme(kind);
      QSettings().setValue(kSchemeKey, static_cast<int>(kind));
    });
  }

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  add(help, tr("&About Liger Workbench"), {}, [this] { about(); })->setMenuRole(QAction::AboutRole);
  connect(help->addAction(tr("About &Qt")), &QAction::triggered, qApp, &QApplication::aboutQt);
}

void MainWindow::restore() {
  const QSettings settings;
  new_run_->set_recent(settings.value(kRecentKey).toStringList());
  restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
  restoreState(settings.value(QStringLiteral("windowState")).toByteArray());
}

// ------------------------------------------------------------------------------------- opening

void MainWindow::open(const OpenRequest& request) {
  request_ = request;
  if (request.sample) {
    open_sample();
  } else if (!request.checkout.isEmpty()) {
    open_checkout_folder(QDir::cleanPath(QDir(request.checkout).absolutePath()), request.kernel,
                         request.replay);
  } else if (!request.replay.isEmpty()) {
    say(
        tr("A recording needs the checkout that it was made on: name it before --replay, or use "
           "--sample."));
  }
}

void MainWindow::open_checkout_folder(const QString& folder, const QString& kernel,
                                      const QString& replay) {
  if (const QString problem = checkout_problem(folder); !problem.isEmpty()) return say(problem);
  error_bar_->hide();
  replay_ = replay;
  follows_ = true;
  QSettings settings;
  QStringList recent = settings.value(kRecentKey).toStringList();
  recent.removeAll(folder);
  recent.prepend(folder);
  while (recent.size() > kMostRecent) recent.removeLast();
  settings.setValue(kRecentKey, recent);
  new_run_->set_recent(recent);
  run_.open(folder, kernel);
  new_run_->open(folder, kernel, replay);
  setWindowTitle(tr("%1 – Liger Workbench").arg(QDir(folder).dirName()));
  statusBar()->showMessage(QDir::toNativeSeparators(folder));
}

void MainWindow::open_sample() {
  QString problem;
  const QString folder = copy_of_sample(problem);
  if (folder.isEmpty()) return say(problem);
  const bool has_gpu = QFile::exists(QStringLiteral("/dev/nvidiactl"));
  open_checkout_folder(folder, QString::fromLatin1(kSampleKernel),
                       has_gpu ? QString() : sample_recording());
  new_run_->form()->prepare_sample();
}

void MainWindow::choose_checkout() {
  auto* dialog = new QFileDialog(this, tr("Open Checkout"), new_run_->checkout());
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  connect(dialog, &QFileDialog::fileSelected, this,
          [this](const QString& folder) { open_checkout_folder(folder, {}, {}); });
  dialog->open();
}

// --------------------------------------------------------------------------------- the run itself

void MainWindow::start(const QStringList& arguments) {
  error_bar_->hide();
  console_->clear_output();
  last_arguments_ = arguments;
  follows_ = true;
  if (!process_.start(arguments)) say(tr("A run that this window started goes on: stop it first."));
  follow_stage();
}

// The run of this window, or the one that it only follows.
void MainWindow::stop() {
  if (process_.is_running()) return process_.stop();
  QString problem;
  if (!run_.stop(problem)) say(problem);
}

// With what it was asked for: in this window, or as its journal has it.
void MainWindow::go_on() {
  if (!last_arguments_.isEmpty()) return start(last_arguments_);
  start(new_run_->arguments());
}

void MainWindow::run_ended(int exit_code) {
  run_.follower().look();
  const QStringList lines = process_.log().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  if (exit_code == kPreflightFailed && !run_.has_run()) {
    new_run_->show_failure(process_.log());
    show_stage(Stage::kPreflight);
  }
  constexpr int kStopped = 4;
  if (exit_code > 1 && exit_code != kStopped) {
    QString sentence = tr("The run ended with exit code %1.").arg(exit_code);
    for (const QString& line : lines) {
      if (line.startsWith(QLatin1String("lwb: "))) sentence = line.mid(5);
    }
    say(sentence);
  } else if (exit_code < 0) {
    say(lines.isEmpty() ? tr("The run's process crashed.") : lines.last());
  }
  follow_stage();
}

void MainWindow::say(const QString& error) {
  error_->setText(tr("✗ %1").arg(error));
  error_bar_->show();
}

void MainWindow::show_stage(Stage stage) {
  pages_->setCurrentIndex(static_cast<int>(stage));
  rail_->set_current(stage);
}

void MainWindow::stay_at(Stage stage) {
  follows_ = false;
  show_stage(stage);
}

void MainWindow::follow_stage() {
  const RunState& state = run_.state();
  const bool ours = process_.is_running();
  stop_->setEnabled(ours || run_.is_running());
  go_on_->setEnabled(!run_.is_running() && !ours && run_.has_run() && !run_.is_archived());
  pause_->setEnabled(run_.is_running() && !state.finished);
  pause_->setChecked(run_.is_running() && run_.is_pause_wished());
  review_->setEnabled(run_.is_running() && !state.pending.empty());
  // Answered elsewhere, or withdrawn for a variant that was offered.
  const bool asked = dialog_ && std::any_of(state.pending.begin(), state.pending.end(),
                                            [&](const auto& p) { return p.id == dialog_->id(); });
  if (dialog_ && !asked) dialog_->reject();
  if (!follows_ || !run_.has_run()) return;
  Stage stage = Stage::kPreflight;
  if (!state.profile.empty()) stage = Stage::kProfile;
  if (!state.variants.empty()) stage = Stage::kOptimize;
  if (!state.gates.empty()) stage = Stage::kFinalize;
  show_stage(stage);
}

bool MainWindow::review_pending() {
  if (run_.state().pending.empty()) return false;
  if (dialog_) {
    dialog_->raise();
    return true;
  }
  dialog_ = new ApprovalDialog(run_.state().pending.front(), run_, board_, this);
  connect(dialog_, &ApprovalDialog::decided, this,
          [this](const std::string& id, const ApprovalAnswer& answer) {
            QString problem;
            if (!run_.answer(id, answer, problem)) say(problem);
          });
  dialog_->open();
  return true;
}

// ------------------------------------------------------------------------------------- the end

void MainWindow::closeEvent(QCloseEvent* event) {
  if (variants_->diff()->has_unsaved_edit() && !may_close_) {
    event->ignore();
    ask_about_edit();
    return;
  }
  if (process_.is_running() && !may_close_) {
    event->ignore();
    ask_before_closing();
    return;
  }
  QSettings settings;
  settings.setValue(QStringLiteral("geometry"), saveGeometry());
  settings.setValue(QStringLiteral("windowState"), saveState());
  QMainWindow::closeEvent(event);
}

void MainWindow::ask_about_edit() {
  auto* box = new QMessageBox(QMessageBox::Question, tr("An edit is not saved"),
                              tr("The edited variant was not saved. Close and lose it?"),
                              QMessageBox::NoButton, this);
  box->setObjectName(QStringLiteral("unsavedEdit"));
  box->setAttribute(Qt::WA_DeleteOnClose);
  QPushButton* lose = box->addButton(tr("Lose the Edit"), QMessageBox::DestructiveRole);
  QPushButton* stay = box->addButton(tr("Stay"), QMessageBox::RejectRole);
  box->setDefaultButton(stay);
  box->setEscapeButton(stay);
  connect(lose, &QPushButton::clicked, this, [this] {
    variants_->diff()->discard_edit();
    close();
  });
  box->open();
}

void MainWindow::ask_before_closing() {
  auto* box = new QMessageBox(QMessageBox::Question, tr("A run goes on"),
                              tr("The run of %1 goes on. Leave it running?").arg(run_.kernel()),
                              QMessageBox::NoButton, this);
  box->setObjectName(QStringLiteral("closing"));
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setInformativeText(
      tr("It can be opened again and followed later; what waits for a decision "
         "goes on waiting."));
  QPushButton* leave = box->addButton(tr("Leave It Running"), QMessageBox::AcceptRole);
  QPushButton* stop = box->addButton(tr("Stop It"), QMessageBox::DestructiveRole);
  QPushButton* stay = box->addButton(tr("Stay"), QMessageBox::RejectRole);
  box->setDefaultButton(stay);
  box->setEscapeButton(stay);
  connect(leave, &QPushButton::clicked, this, [this] {
    may_close_ = true;
    close();
  });
  connect(stop, &QPushButton::clicked, this, [this] {
    process_.stop();
    may_close_ = true;
    close();
  });
  box->open();
}

void MainWindow::about() {
  auto* box = new QMessageBox(this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setWindowTitle(tr("About Liger Workbench"));
  box->setText(tr("Liger Workbench %1").arg(QStringLiteral(LWB_VERSION)));
  box->setInformativeText(
      tr("Profiles, optimizes and finalizes Triton kernels of a Liger-Kernel checkout.\n\n"
         "Free software under the GNU General Public License, version 3 or later, without any "
         "warranty. What it writes into your kernels, workspace and pull requests is yours."));
  box->open();
}

}  // namespace lwb
