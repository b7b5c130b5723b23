#include "core/report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lwb {
namespace {

constexpr double kWidth = 880, kHeight = 480;
constexpr double kLeft = 78, kRight = 200, kTop = 62, kBottom = 56;
// Okabe and Ito's palette (jfly.uni-koeln.de/color): distinct for all common colour visions.
constexpr std::array<const char*, 7> kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                              "#E69F00", "#56B4E9", "#444444"};

struct Axis {
  double low = 0, high = 1;
  bool log = false;
  double from = 0, to = 1;  // in the picture

  double at(double value) const {
    const double v = log ? std::log2(value) : value;
    return from + (v - low) / (high - low) * (to - from);
  }
};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return result;
}

std::string number(double value) {
  if (value >= 1024 && value == std::floor(value)) return fmt::format("{}", std::llround(value));
  return fmt::format("{:.4g}", value);
}

Axis make_axis(const std::vector<double>& values, bool log, double from, double to) {
  Axis axis{0, 1, log, from, to};
  double low = std::numeric_limits<double>::max(), high = 0;
  for (const double value : values) {
    if (!std::isfinite(value) || (log && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return axis;
  if (log) {
    axis.low = std::log2(low), axis.high = std::log2(high);
    const double margin = std::max(0.1, 0.05 * (axis.high - axis.low));
    axis.low -= margin, axis.high += margin;
  } else {
    axis.low = 0, axis.high = high * 1.08;
  }
  if (axis.high <= axis.low) axis.high = axis.low + 1;
  return axis;
}

std::vector<double> ticks(const Axis& axis) {
  std::vector<double> values;
  if (axis.log) {
    const double step = std::max(1.0, std::ceil((axis.high - axis.low) / 8));
    for (double v = std::ceil(axis.low); v <= axis.high; v += step) values.push_back(std::exp2(v));
    return values;
  }
  const double raw = axis.high / 6;
  const double unit = std::pow(10, std::floor(std::log10(raw)));
  const double step = raw / unit < 2 ? 2 * unit : raw / unit < 5 ? 5 * unit : 10 * unit;
  for (double v = 0; v <= axis.high; v += step) values.push_back(v);
  return values;
}

std::string marker(std::size_t index, double x, double y, const char* colour) {
  switch (index % 3) {
    case 0:
      return fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4' fill='{}'/>", x, y, colour);
    case 1:
      return fmt::format("<rect x='{:.1f}' y='{:.1f}' width='8' height='8' fill='{}'/>", x - 4,
                         y - 4, colour);
    default:
      return fmt::format("<path d='M{:.1f} {:.1f}l5 9h-10z' fill='{}'/>", x, y - 6, colour);
  }
}

std::string frame(const Chart& chart, const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : ticks(y)) {
    const double at = y.at(tick);
    svg += fmt::format(
        "<path d='M{:.1f} {:.1f}H{:.1f}' stroke='#d8dee4'/><text x='{:.1f}' y='{:.1f}' "
        "text-anchor='end'>{}</text>",
        kLeft, at, kWidth - kRight, kLeft - 8, at + 4, number(tick));
  }
  for (const double tick : ticks(x)) {
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>", x.at(tick),
                       kHeight - kBottom + 20, number(tick));
  }
  svg += fmt::format(
      "<path d='M{:.1f} {:.1f}V{:.1f}H{:.1f}' fill='none' stroke='#57606a'/>"
      "<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>"
      "<text transform='translate(20 {:.1f}) rotate(-90)' text-anchor='middle'>{}</text>",
      kLeft, kTop, kHeight - kBottom, kWidth - kRight, (kLeft + kWidth - kRight) / 2,
      kHeight - 14, escaped(chart.x_label), (kTop + kHeight - kBottom) / 2, escaped(chart.y_label));
  return svg;
}

std::string draw(const ChartSeries& series, std::size_t index, const Axis& x, const Axis& y) {
  const char* colour = kColours[index % kColours.size()];
  std::string svg, line, upper, lower;
  const bool band = series.low.size() == series.y.size() && series.high.size() == series.y.size();
  for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    if (!(series.y[i] > 0)) continue;
    const double at = x.at(series.x[i]);
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", at, y.at(series.y[i]));
    if (band) {
      upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? "M" : "L", at, y.at(series.high[i]));
      lower = fmt::format("L{:.1f} {:.1f}", at, y.at(series.low[i])) + lower;
    }
    if (!series.dashed) svg += marker(index, at, y.at(series.y[i]), colour);
  }
  if (!upper.empty()) {
    svg = fmt::format("<path d='{}{}z' fill='{}' opacity='.18'/>", upper, lower, colour) + svg;
  }
  svg += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='2'{}/>", line, colour,
                     series.dashed ? " stroke-dasharray='7 5'" : "");
  const double key = kTop + 8 + 24 * static_cast<double>(index);
  svg += fmt::format("<path d='M{:.1f} {:.1f}h26' stroke='{}' stroke-width='2'{}/>",
                     kWidth - kRight + 14, key, colour,
                     series.dashed ? " stroke-dasharray='7 5'" : "");
  if (!series.dashed) svg += marker(index, kWidth - kRight + 27, key, colour);
  return svg + fmt::format("<text x='{:.1f}' y='{:.1f}'>{}</text>", kWidth - kRight + 48, key + 4,
                           escaped(series.name));
}

}  // namespace

std::string to_svg(const Chart& chart) {
  std::vector<double> xs, ys;
  for (const ChartSeries& series : chart.series) {
    xs.insert(xs.end(), series.x.begin(), series.x.end());
    ys.insert(ys.end(), series.y.begin(), series.y.end());
    ys.insert(ys.end(), series.low.begin(), series.low.end());
    ys.insert(ys.end(), series.high.begin(), series.high.end());
  }
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "font-family='DejaVu Sans,Inter,system-ui,sans-serif' font-size='12' fill='#24292f'>"
      "<rect width='{0}' height='{1}' fill='#fff'/>"
      "<text x='{2}' y='26' font-size='17' font-weight='600'>{3}</text>"
      "<text x='{2}' y='46' fill='#57606a'>{4}</text>",
      kWidth, kHeight, kLeft, escaped(chart.title), escaped(chart.subtitle));
  if (ys.empty()) {
    return svg + fmt::format("<text x='{}' y='{}' text-anchor='middle'>no data</text></svg>\n",
                             kWidth / 2, kHeight / 2);
  }
  const Axis x = make_axis(xs, chart.log_x, kLeft, kWidth - kRight);
  const Axis y = make_axis(ys, chart.log_y, kHeight - kBottom, kTop);
  svg += frame(chart, x, y);
  for (std::size_t i = 0; i < chart.series.size(); ++i) svg += draw(chart.series[i], i, x, y);
  return svg + "</svg>\n";
}

}  // namespace lwb
