// Charts as SVG text, written by core itself (design rule 10): lines over x with interval bands.
#pragma once

#include <string>
#include <vector>

namespace lwb {

struct ChartSeries {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> low, high;  // the band; empty: none
  bool dashed = false;            // a bound (roof) rather than a measurement
};

struct Chart {
  std::string title;
  std::string subtitle;  // where the numbers come from: "NVIDIA H200, op time, median and 99 % interval"
  std::string x_label, y_label;
  bool log_x = true, log_y = true;
  std::vector<ChartSeries> series;
};

// 880 × 480 units; text stays text. Colours are distinguishable without colour vision (Okabe-Ito) and every series has its own
// marker. An empty chart says "no data".
std::string to_svg(const Chart& chart);

}  // namespace lwb
