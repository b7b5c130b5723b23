// The work area of the stage optimize: all variants, the changes of the selected one, its notes.
#pragma once

#include <QWidget>

class QLabel;
class QSortFilterProxyModel;
class QSplitter;
class QStackedLayout;
class QTableView;

namespace lwb {

class MarkdownView;
class RunView;
class VariantDiff;
class VariantModel;

class VariantsPage : public QWidget {
  Q_OBJECT
 public:
  explicit VariantsPage(RunView& run, QWidget* parent = nullptr);
  // Where further views of the selected variant are added (the benchmarks).
  QSplitter* panes() { return panes_; }

 private:
  void select(int number);
  void refresh();
  RunView& run_;
  VariantModel* model_;
  QSortFilterProxyModel* sorted_;
  QLabel* title_;
  QTableView* table_;
  VariantDiff* diff_;
  bool follows_ = true;    // the winner, or the newest variant, until the person selects one
  bool selecting_ = false;
  QSplitter* panes_;
  QStackedLayout* pages_;
};

}  // namespace lwb
