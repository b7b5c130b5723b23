// The work area of the stage profile: the diagnosis first, its evidence under it.
#pragma once

#include <QWidget>

class QLabel;
class QListWidget;
class QStackedLayout;
class QTableWidget;

namespace lwb {

class ChartWidget;
class RunView;

class ProfilePage : public QWidget {
  Q_OBJECT
 public:
  explicit ProfilePage(RunView& run, QWidget* parent = nullptr);

 private:
  void refresh();
  void fill_gpu();
  void fill_rows();
  void fill_launches();
  void fill_lists();
  RunView& run_;
  QLabel* diagnosis_;
  QLabel* gpu_;
  QTableWidget* rows_;
  ChartWidget* roofline_;
  QTableWidget* launches_;
  QListWidget* order_;
  QListWidget* opportunities_;
  QStackedLayout* pages_;
};

}  // namespace lwb
