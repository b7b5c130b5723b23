// How far the original and the best variant are from the roof, at the cell of the profile that has
// the most to gain.
#pragma once

#include <QWidget>
#include <optional>

#include "core/run/state.h"

class QLabel;

namespace lwb {

struct Headroom {
  std::string call, pass;
  double original = 0;         // share of the roof, 1 is at it
  int variant = 0;             // the winner, else the accepted one with the best score; 0: none yet
  std::optional<double> best;  // its share
};
// Nothing before there is a profile with a floor.
std::optional<Headroom> headroom_of(const RunState& state);

class HeadroomBars : public QWidget {
  Q_OBJECT
 public:
  explicit HeadroomBars(QWidget* parent = nullptr);
  void show_headroom(const std::optional<Headroom>& headroom);

 private:
  class Bar;
  QLabel* title_;
  Bar* original_;
  Bar* best_;
};

}  // namespace lwb
