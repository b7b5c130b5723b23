#pragma once

#include <QMainWindow>

#include "ui/terminal_command.h"

class QAction;

namespace lwb {

class StartPage;

/// The program's window. It opens a checkout and says how to start a run on it.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);

  /// Opens what the command line asked for; a checkout that cannot be opened is said in the window.
  void open(const OpenRequest& request);

 private:
  void make_menus();
  void choose_checkout();
  void copy_command();
  void about();

  OpenRequest request_;
  StartPage* start_page_;
  QAction* copy_ = nullptr;
  QAction* close_ = nullptr;
};

}  // namespace lwb
