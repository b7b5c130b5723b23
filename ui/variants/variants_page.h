// The work area of the stage optimize: all variants, the changes of the selected one, the
// benchmarks.
#pragma once

#include <QWidget>

class QLabel;
class QSortFilterProxyModel;
class QSplitter;
class QStackedLayout;
class QTableView;

namespace lwb {

class BenchmarkBoard;
class BenchmarksPanel;
class RunView;
class VariantDiff;
class VariantModel;

class VariantsPage : public QWidget {
  Q_OBJECT
 public:
  VariantsPage(RunView& run, const BenchmarkBoard& board, QWidget* parent = nullptr);
  BenchmarksPanel* benchmarks() { return benchmarks_; }
  VariantDiff* diff() { return diff_; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void select(int number);
  void hide_what_does_not_fit();
  void refresh();
  RunView& run_;
  const BenchmarkBoard& board_;
  VariantModel* model_;
  QSortFilterProxyModel* sorted_;
  QLabel* title_;
  QTableView* table_;
  VariantDiff* diff_;
  BenchmarksPanel* benchmarks_;
  bool follows_ = true;  // the winner, or the newest variant, until the person selects one
  bool selecting_ = false;
  QSplitter* panes_;
  QStackedLayout* pages_;
};

}  // namespace lwb
