// The GPU over the last minutes: clock, power, temperature, use, memory, why it throttles and who
// else works on it.
#pragma once

#include <QWidget>

class QLabel;
class QStackedLayout;

namespace lwb {

class ChartWidget;
class GpuMonitor;

class GpuPanel : public QWidget {
  Q_OBJECT
 public:
  explicit GpuPanel(GpuMonitor& monitor, QWidget* parent = nullptr);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void refresh();
  GpuMonitor& monitor_;
  QLabel* title_;
  QLabel* facts_;
  QLabel* empty_;
  ChartWidget* clock_;
  ChartWidget* power_;
  ChartWidget* temperature_;
  ChartWidget* use_;
  QStackedLayout* pages_;
};

}  // namespace lwb
