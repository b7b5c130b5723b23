#include "ui/profile/roofline_chart.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kRoofKey = 0;
constexpr int kMostTicks = 5;
constexpr double kMegabyte = 1e6;        // as copy rates are given, in powers of ten
constexpr double kTerabytePerS = 1e6;    // in bytes per microsecond
constexpr double kRoomAtTheSides = 0.3;  // in powers of two

QString tr(const char* text) {
  return QCoreApplication::translate("RooflineChart", text);
}

ChartPoint point(double bytes, double us, const QString& tip) {
  const double rate = bytes / us / kTerabytePerS;
  return {std::log2(bytes / kMegabyte), rate, rate, rate, true, tip};
}

}  // namespace

Chart roofline_chart(const Json& profile) {
  Chart chart;
  ChartLine roof;
  roof.key = kRoofKey;
  roof.label = tr("roof");
  roof.colour = tokens().bad;
  roof.is_dashed = true;
  std::vector<ChartLine> passes;
  for (const Json& row : get_array(get_object(profile, "roofline"), "rows")) {
    const double bytes = get_number(row, "bytes"), op = get_number(row, "op_us");
    const double floor = get_number(row, "floor_us");
    if (!(bytes > 0) || !(op > 0) || !(floor > 0)) continue;
    const QString pass = QString::fromStdString(get_string(row, "pass"));
    auto line = std::find_if(passes.begin(), passes.end(),
                             [&](const ChartLine& l) { return l.label == pass; });
    if (line == passes.end()) {
      ChartLine next;
      next.key = static_cast<int>(passes.size()) + 1;
      next.label = pass;
      next.colour = variant_colour(next.key);
      next.joins_points = false;
      line = passes.insert(passes.end(), next);
    }
    const QString call = QString::fromStdString(get_string(row, "call"));
    line->points.push_back(point(bytes, op,
                                 tr("%1, %2\n%3 MB in %4 µs: %5 TB/s, %6 % of the roof")
                                     .arg(call, pass)
                                     .arg(bytes / kMegabyte, 0, 'f', 1)
                                     .arg(op, 0, 'f', 1)
                                     .arg(bytes / op / kTerabytePerS, 0, 'f', 2)
                                     .arg(100 * get_number(row, "share"), 0, 'f', 1)));
    roof.points.push_back(point(bytes, floor,
                                tr("roof: %1 TB/s at %2 MB, measured by copies of this size")
                                    .arg(bytes / floor / kTerabytePerS, 0, 'f', 2)
                                    .arg(bytes / kMegabyte, 0, 'f', 1)));
  }
  if (roof.points.empty()) return chart;
  std::sort(roof.points.begin(), roof.points.end(),
            [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  chart.lines.push_back(roof);
  chart.lines.insert(chart.lines.end(), passes.begin(), passes.end());
  double low = 0, high = 0;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& p : line.points) high = std::max(high, p.y);
  }
  chart.y_ticks = nice_ticks(low, high, kMostTicks);
  chart.y_min = low;
  chart.y_max = high;
  const double first = roof.points.front().x, last = roof.points.back().x;
  chart.x_min = first - kRoomAtTheSides;
  chart.x_max = last + kRoomAtTheSides;
  // Powers of two, every second or third where there are many.
  const int from = static_cast<int>(std::ceil(chart.x_min));
  const int to = static_cast<int>(std::floor(chart.x_max));
  const int step = std::max(1, (to - from) / kMostTicks);
  for (int power = from; power <= to; power += step) {
    chart.x_ticks.push_back(
        {static_cast<double>(power), QString::number(std::exp2(power), 'g', 6)});
  }
  chart.x_title = tr("bytes the pass must move, MB");
  chart.y_title = tr("bandwidth, TB/s");
  return chart;
}

}  // namespace lwb
