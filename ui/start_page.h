#pragma once

#include <QWidget>

#include "ui/terminal_command.h"

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace lwb {

/// What the window shows while no run is open: the state, what to do next, and the command that
/// does it in a terminal.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  explicit StartPage(QWidget* parent = nullptr);

  /// Describes the request; problem is a sentence about it, or empty.
  void show_request(const OpenRequest& request, const QString& problem);

  /// The command shown, on one line; empty when there is none.
  QString command() const;

 Q_SIGNALS:
  void open_clicked();
  void copy_clicked();

 private:
  OpenRequest request_;
  QLabel* title_;
  QLabel* text_;
  QLabel* problem_;
  QWidget* command_box_;
  QPlainTextEdit* command_;
  QPushButton* open_;
  QPushButton* copy_;
};

}  // namespace lwb
