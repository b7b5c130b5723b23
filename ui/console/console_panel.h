// The console: every child of the run, searchable and copyable, and the run's errors, which stay until
// they are dismissed.
#pragma once

#include <QWidget>

class QLineEdit;
class QPlainTextEdit;
class QSortFilterProxyModel;
class QTableView;

namespace lwb {

class ConsoleModel;
class RunView;

class ConsolePanel : public QWidget {
  Q_OBJECT
 public:
  explicit ConsolePanel(RunView& run, QWidget* parent = nullptr);
  // What `lwb` printed, below the table.
  void append_output(const QString& text);
  void clear_output();

 private:
  void show_details();
  ConsoleModel* model_;
  QSortFilterProxyModel* filtered_;
  QLineEdit* search_;
  QTableView* table_;
  QPlainTextEdit* details_;
  QPlainTextEdit* output_;
};

}  // namespace lwb
