// Shown while the run waits for a person: what for, and the button that opens the dialog.
#pragma once

#include <QFrame>

class QLabel;
class QPushButton;

namespace lwb {

class RunView;

class DecisionBar : public QFrame {
  Q_OBJECT
 public:
  explicit DecisionBar(RunView& run, QWidget* parent = nullptr);

 Q_SIGNALS:
  // The person wants to decide on the approval with this id.
  void review_wanted(const std::string& id);

 private:
  void refresh();
  RunView& run_;
  QLabel* sentence_;
  QPushButton* review_;
  std::string id_;
};

}  // namespace lwb
