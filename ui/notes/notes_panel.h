// The notes of the variant that is selected: its hypothesis, what was measured, what was learned.
#pragma once

#include <QWidget>

class QLabel;
class QStackedLayout;

namespace lwb {

class MarkdownView;
class RunView;

class NotesPanel : public QWidget {
  Q_OBJECT
 public:
  explicit NotesPanel(RunView& run, QWidget* parent = nullptr);

 private:
  void load();
  RunView& run_;
  QLabel* empty_;
  MarkdownView* view_;
  QStackedLayout* pages_;
};

}  // namespace lwb
