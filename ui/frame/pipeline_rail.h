// The four stages with their states, and where the run is, at the left of the window.
#pragma once

#include <QFrame>
#include <QString>

class QLabel;
class QPushButton;

namespace lwb {

class HeadroomBars;
class RunView;

enum class Stage { kPreflight, kProfile, kOptimize, kFinalize };

class PipelineRail : public QFrame {
  Q_OBJECT
 public:
  explicit PipelineRail(RunView& run, QWidget* parent = nullptr);
  // The stage that the work area shows.
  void set_current(Stage stage);

 Q_SIGNALS:
  void stage_wanted(lwb::Stage stage);

 private:
  void refresh();
  QString line_of(Stage stage) const;
  RunView& run_;
  QPushButton* stages_[4];
  QLabel* lines_[4];
  HeadroomBars* headroom_;
  QLabel* facts_;
};

}  // namespace lwb
