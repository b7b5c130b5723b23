// The work area of the stage finalize: the gates, what was written, the pull request, the summary.
#pragma once

#include <QWidget>

class QLabel;
class QListWidget;
class QPlainTextEdit;
class QStackedLayout;

namespace lwb {

class RunView;

class FinalizePage : public QWidget {
  Q_OBJECT
 public:
  explicit FinalizePage(RunView& run, QWidget* parent = nullptr);

 private:
  void refresh();
  QString summary_text() const;
  RunView& run_;
  QLabel* outcome_;
  QLabel* sentence_;
  QListWidget* gates_;
  QPlainTextEdit* summary_;
  QPlainTextEdit* pull_request_;
  QStackedLayout* pages_;
};

}  // namespace lwb
