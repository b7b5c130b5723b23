#include "ui/main_window.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <QStatusBar>

#include "ui/start_page.h"

namespace lwb {

namespace {
constexpr QSize kFirstSize(1100, 720);
constexpr int kNoticeMs = 4000;
}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), start_page_(new StartPage) {
  setCentralWidget(start_page_);
  resize(kFirstSize);
  make_menus();
  connect(start_page_, &StartPage::open_clicked, this, &MainWindow::choose_checkout);
  connect(start_page_, &StartPage::copy_clicked, this, &MainWindow::copy_command);
  open({});
}

void MainWindow::make_menus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  QAction* open_action = file->addAction(tr("&Open Checkout…"));
  open_action->setShortcut(QKeySequence::Open);
  connect(open_action, &QAction::triggered, this, &MainWindow::choose_checkout);
  close_ = file->addAction(tr("&Close Checkout"));
  close_->setShortcut(QKeySequence::Close);
  connect(close_, &QAction::triggered, this, [this] { open({}); });
  file->addSeparator();
  QAction* quit = file->addAction(tr("&Quit"));
  quit->setShortcut(QKeySequence::Quit);
  quit->setMenuRole(QAction::QuitRole);
  connect(quit, &QAction::triggered, this, &QWidget::close);

  QMenu* run = menuBar()->addMenu(tr("&Run"));
  copy_ = run->addAction(tr("&Copy Terminal Command"));
  copy_->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C));
  connect(copy_, &QAction::triggered, this, &MainWindow::copy_command);

  QMenu* view = menuBar()->addMenu(tr("&View"));
  QAction* bar = view->addAction(tr("&Status Bar"));
  bar->setCheckable(true);
  bar->setChecked(true);
  connect(bar, &QAction::toggled, statusBar(), &QWidget::setVisible);
  QAction* full = view->addAction(tr("&Full Screen"));
  full->setCheckable(true);
  full->setShortcut(QKeySequence::FullScreen);
  connect(full, &QAction::toggled, this,
          [this](bool on) { setWindowState(windowState().setFlag(Qt::WindowFullScreen, on)); });

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  QAction* about_action = help->addAction(tr("&About Liger Workbench"));
  about_action->setMenuRole(QAction::AboutRole);
  connect(about_action, &QAction::triggered, this, &MainWindow::about);
  QAction* about_qt = help->addAction(tr("About &Qt"));
  about_qt->setMenuRole(QAction::AboutQtRole);
  connect(about_qt, &QAction::triggered, qApp, &QApplication::aboutQt);
}

void MainWindow::open(const OpenRequest& request) {
  request_ = request;
  QString problem;
  if (!request_.checkout.isEmpty()) {
    request_.checkout = QDir::cleanPath(QDir(request_.checkout).absolutePath());
    problem = checkout_problem(request_.checkout);
  }
  start_page_->show_request(request_, problem);

  const bool ready = !request_.empty() && problem.isEmpty();
  copy_->setEnabled(ready);
  close_->setEnabled(ready);
  setWindowTitle(ready && !request_.checkout.isEmpty()
                     ? tr("%1 – Liger Workbench").arg(QDir(request_.checkout).dirName())
                     : tr("Liger Workbench"));
  // The folder stays in sight; a wrong one is explained on the page.
  statusBar()->showMessage(ready && !request_.checkout.isEmpty()
                               ? QDir::toNativeSeparators(request_.checkout)
                               : tr("No checkout is open"));
}

void MainWindow::choose_checkout() {
  // Not modal over the event loop: the window goes on answering while a folder is chosen.
  auto* dialog = new QFileDialog(this, tr("Open Checkout"), request_.checkout);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& folder) {
    OpenRequest request;
    request.checkout = folder;
    open(request);
  });
  dialog->open();
}

void MainWindow::copy_command() {
  const QString command = start_page_->command();
  if (command.isEmpty()) return;
  QApplication::clipboard()->setText(command);
  statusBar()->showMessage(tr("Copied: %1").arg(command), kNoticeMs);
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
