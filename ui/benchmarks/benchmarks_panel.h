// What is measured, while it is measured: a quantity over x, what each variant gains, and the heat
// table of all cells.
#pragma once

#include <QWidget>

#include "ui/benchmarks/benchmark_chart.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QStackedLayout;
class QTableView;

namespace lwb {

class BenchmarkBoard;
class HeatModel;
class RunView;

class BenchmarksPanel : public QWidget {
  Q_OBJECT
 public:
  BenchmarksPanel(RunView& run, const BenchmarkBoard& board, QWidget* parent = nullptr);

  // Both charts as a picture, or all numbers: by the name's end, .png, .svg or .csv. A sentence
  // when it cannot be written.
  QString save(const QString& file);

 Q_SIGNALS:
  void failed(const QString& sentence);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  ChartChoice choice() const;
  void refresh();
  void fill_choices();
  void draw();
  void show_selected_column();
  void ask_and_save(const QString& suffix, const QString& filter);
  QString caption() const;
  RunView& run_;
  const BenchmarkBoard& board_;
  HeatModel* model_;
  QComboBox* quantity_;
  QComboBox* pass_;
  QComboBox* shape_;
  QCheckBox* logarithmic_;
  ChartWidget* values_;
  ChartWidget* gains_;
  QTableView* heat_;
  QStackedLayout* pages_;
  bool follows_pass_ = true, follows_shape_ = true;  // until the person chooses
};

}  // namespace lwb
