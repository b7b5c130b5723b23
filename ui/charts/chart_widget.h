// One chart: lines with interval bands, or points alone, over ticks that the caller names. Qt
// Charts stays behind this widget, so that nothing else depends on it.
#pragma once

#include <QColor>
#include <QString>
#include <QWidget>
#include <memory>
#include <vector>

class QPainter;

namespace lwb {

struct ChartPoint {
  double x = 0, y = 0;       // in the chart's own coordinates: logarithms are the caller's
  double low = 0, high = 0;  // of the band; equal: no band here
  bool is_settled = true;    // false: still being measured, drawn hollow
  QString tip;
};

struct ChartLine {
  int key = 0;    // told when it is clicked; unique in the chart
  QString label;  // written at the line's end
  QColor colour;
  bool is_dashed = false;
  bool joins_points = true;
  bool has_marks = true;   // at its points
  bool is_strong = false;  // of the selected variant
  std::vector<ChartPoint> points;
};

struct ChartTick {
  double at = 0;
  QString label;
  friend bool operator==(const ChartTick&, const ChartTick&) = default;
};

struct Chart {
  QString x_title, y_title;
  std::vector<ChartTick> x_ticks, y_ticks;
  double x_min = 0, x_max = 1, y_min = 0, y_max = 1;
  std::vector<ChartLine> lines;
};

// Ticks from 1, 2 and 5 times powers of ten that cover [low, high]; `low` and `high` are moved to
// the outer ones. On a logarithmic axis the ticks stand at log10 of what they say.
std::vector<ChartTick> nice_ticks(double& low, double& high, int most);
std::vector<ChartTick> nice_log_ticks(double& low, double& high);

class ChartWidget : public QWidget {
  Q_OBJECT
 public:
  explicit ChartWidget(QWidget* parent = nullptr);
  ~ChartWidget() override;

  // Shows it, keeping the series of lines that were there.
  void show_chart(const Chart& chart);
  // The chart alone, without the widget's surroundings, for files.
  void render(QPainter& painter, const QRectF& target);
  QSize chart_size() const;

  QSize sizeHint() const override { return {420, 220}; }

 Q_SIGNALS:
  void clicked(int key);

 private:
  class Private;
  std::unique_ptr<Private> d_;
};

}  // namespace lwb
