#include "ui/screenshots.h"

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QPushButton>
#include <QTabWidget>
#include <functional>

#include "ui/main_window.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kPatienceMs = 60000;
constexpr int kLivePatienceMs = 540000;  // a run that measures, where there is a GPU
constexpr int kSettleMs = 250;  // charts and documents are drawn a moment after their events
constexpr int kDockHeight = 360;
constexpr int kSmallestFile = 0;  // of QPixmap::save(): the most compression

// This mode has no person to wait for: it runs the event loop until something holds.
bool wait_for(const std::function<bool()>& condition, int patience_ms = kPatienceMs) {
  QElapsedTimer clock;
  clock.start();
  while (!condition()) {
    if (clock.elapsed() > patience_ms) return false;
    QApplication::processEvents(QEventLoop::AllEvents, 20);
  }
  return true;
}

class Photographer {
 public:
  Photographer(MainWindow& window, const QString& folder) : window_(window), folder_(folder) {}

  QStringList run(QString& problem) {
    if (!QDir().mkpath(folder_)) {
      problem = MainWindow::tr("cannot write %1: give --screenshots a folder that can be written.")
                    .arg(folder_);
      return {};
    }
    window_.show();
    if (!play()) {
      problem = MainWindow::tr("the recording did not play to its end: %1").arg(stuck_at_);
      return {};
    }
    if (!problem_.isEmpty()) {
      problem = problem_;
      return {};
    }
    return files_;
  }

 private:
  bool play() {
    auto* start = window_.findChild<QPushButton*>(QStringLiteral("start"));
    stuck_at_ = QStringLiteral("new run");
    if (!wait_for([&] { return start->isEnabled(); })) return false;
    shoot("new-run");
    start->click();
    // Each decision in turn, by the button that goes on.
    for (const auto& [id, picture] : {std::pair{"profile", "approve-profile"},
                                      {"winner", "approve-winner"},
                                      {"finalize", "approve-finalize"},
                                      {"pull_request", "approve-pull-request"},
                                      {"result", "approve-result"}}) {
      stuck_at_ = QString::fromLatin1(id);
      if (!decide(id, picture)) return false;
    }
    stuck_at_ = QStringLiteral("the end of the run");
    if (!wait_for([this] { return window_.run().state().finished; })) return false;
    pages();
    return true;
  }

  int patience() const {
    const RunState& state = window_.run().state();
    return window_.run().has_run() && state.recorded_on.empty() ? kLivePatienceMs : kPatienceMs;
  }

  bool decide(const std::string& id, const char* picture) {
    const auto waits = [&] {
      const auto& pending = window_.run().state().pending;
      return !pending.empty() && pending.front().id == id && window_.run().is_running();
    };
    if (!wait_for(waits, patience())) return false;
    if (id == "winner") shoot("decision-bar");
    window_.review_pending();
    ApprovalDialog* dialog = window_.dialog();
    auto* tabs = dialog->findChild<QTabWidget*>();
    for (int i = 0; tabs->isVisible() && i < tabs->count(); ++i) {
      tabs->setCurrentIndex(i);
      // The first is what the dialog opens with; the later questions show the same changes again.
      const QString tab = tabs->tabText(i).toLower().replace(QLatin1Char(' '), QLatin1Char('-'));
      if (i == 0) shoot_both(picture, dialog);
      if (i > 0 && (id == "profile" || id == "winner")) {
        shoot_both(picture + ("-" + tab.toStdString()), dialog);
      }
    }
    if (!tabs->isVisible()) shoot_both(picture, dialog);
    QPushButton* choice = nullptr;
    for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
      if (button->property("primary").toBool()) choice = button;
    }
    // A pull request is never sent from here.
    if (id == "pull_request") {
      choice = dialog->findChild<QPushButton*>(QStringLiteral("Leave the branch unsent"));
    }
    if (choice == nullptr) return false;
    choice->click();
    return wait_for([this] { return window_.dialog() == nullptr; });
  }

  void pages() {
    for (const auto& [stage, name] : {std::pair{Stage::kPreflight, "pre-flight"},
                                      {Stage::kProfile, "profile"},
                                      {Stage::kOptimize, "variants"},
                                      {Stage::kFinalize, "finalize"}}) {
      window_.stay_at(stage);
      shoot(name);
    }
    window_.stay_at(Stage::kOptimize);
    for (QDockWidget* dock : window_.docks()) {
      dock->show();
      dock->raise();
      window_.resizeDocks({dock}, {kDockHeight}, Qt::Vertical);
      shoot("dock-" + dock->objectName().toStdString());
      dock->hide();
    }
  }

  void shoot(const std::string& name) { shoot_both(name, &window_); }

  void shoot_both(const std::string& name, QWidget* widget) {
    for (const auto& [scheme, suffix] :
         {std::pair{Scheme::kDark, "dark"}, {Scheme::kLight, "light"}}) {
      Theme::instance().set_scheme(scheme);
      QElapsedTimer clock;
      clock.start();
      wait_for([&] { return clock.elapsed() > kSettleMs; });
      const QString file = QDir(folder_).filePath(
          QStringLiteral("%1-%2.png").arg(QString::fromStdString(name), QLatin1String(suffix)));
      if (widget->grab()
              .toImage()
              .convertToFormat(QImage::Format_RGB888)
              .save(file, "PNG", kSmallestFile)) {
        files_ << file;
      } else if (problem_.isEmpty()) {
        problem_ =
            MainWindow::tr("cannot write %1: give --screenshots a folder that can be written.")
                .arg(file);
      }
    }
  }

  MainWindow& window_;
  QString folder_, stuck_at_, problem_;
  QStringList files_;
};

}  // namespace

QStringList take_screenshots(MainWindow& window, const QString& folder, QString& problem) {
  return Photographer(window, folder).run(problem);
}

}  // namespace lwb
