#include "ui/benchmarks/benchmark_chart.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/benchmarks/benchmark_board.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr double kMegabyte = 1024.0 * 1024.0;
constexpr int kMostTicks = 5;
constexpr double kRoomAtTheSides = 0.04;  // of the x axis

QString tr(const char* text) {
  return QCoreApplication::translate("BenchmarkChart", text);
}

struct Place {
  double x;
  SampleTable::Cell cell;
};

struct Value {
  double value, low, high;
};

// The calls of a choice along the x axis.
struct XAxis {
  std::vector<Place> places;
  std::vector<ChartTick> ticks;
  QString title;
};

// "T=2048 hidden_size=1024" → "2048·1024", and by `names` → "T·hidden_size".
QString part_of_call(const std::string& call, bool names) {
  QStringList parts;
  for (const QString& field :
       QString::fromStdString(call).split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    const auto equals = field.indexOf(QLatin1Char('='));
    if (equals < 0) {
      if (!names) parts << field;
    } else {
      parts << (names ? field.left(equals) : field.mid(equals + 1));
    }
  }
  return parts.join(QStringLiteral("·"));
}

XAxis axis_of_shape(const BenchmarkBoard& board, const ChartChoice& choice) {
  XAxis axis;
  std::string x_name;
  bool all_positive = true;
  for (const SampleTable::Cell& cell : board.table().cells()) {
    const CallName name = split_call_name(cell.call);
    if (cell.pass != choice.pass || !name.has_x || name.rest != *choice.shape) continue;
    axis.places.push_back({name.x, cell});
    x_name = name.x_name;
    all_positive = all_positive && name.x > 0;
  }
  std::sort(axis.places.begin(), axis.places.end(),
            [](const Place& a, const Place& b) { return a.x < b.x; });
  for (Place& place : axis.places) {
    const QString label = QString::number(place.x, 'g', 7);
    if (all_positive) place.x = std::log2(place.x);
    axis.ticks.push_back({place.x, label});
  }
  axis.title = QString::fromStdString(x_name);
  if (!choice.shape->empty()) axis.title += tr(", ") + QString::fromStdString(*choice.shape);
  return axis;
}

XAxis axis_of_calls(const BenchmarkBoard& board, const ChartChoice& choice) {
  XAxis axis;
  for (const SampleTable::Cell& cell : board.table().cells()) {
    if (cell.pass != choice.pass) continue;
    const auto x = static_cast<double>(axis.places.size());
    axis.places.push_back({x, cell});
    axis.ticks.push_back({x, part_of_call(cell.call, false)});
    if (axis.title.isEmpty()) axis.title = part_of_call(cell.call, true);
  }
  return axis;
}

std::optional<Value> value_of(const BenchmarkBoard& board, Quantity quantity,
                              const SampleTable::Cell& cell, int variant) {
  if (quantity == Quantity::kMemory) {
    const auto peak = board.peak_bytes(cell.call, variant);
    if (!peak) return std::nullopt;
    return Value{*peak / kMegabyte, *peak / kMegabyte, *peak / kMegabyte};
  }
  const auto summary = board.table().summary(cell, variant);
  if (!summary) return std::nullopt;
  if (quantity == Quantity::kOpTime) {
    return Value{summary->median_us, summary->low_us, summary->high_us};
  }
  if (summary->wall_us <= 0) return std::nullopt;
  return Value{summary->wall_us, summary->wall_us, summary->wall_us};
}

std::optional<Value> gain_of(const BenchmarkBoard& board, Quantity quantity,
                             const SampleTable::Cell& cell, int variant) {
  if (quantity == Quantity::kOpTime) {
    const auto ratio = board.ratio(cell, variant);
    if (!ratio) return std::nullopt;
    return Value{ratio->ratio, ratio->low, ratio->high};
  }
  const auto before = value_of(board, quantity, cell, 0);
  const auto after = value_of(board, quantity, cell, variant);
  if (!before || !after || after->value <= 0) return std::nullopt;
  const double gain = before->value / after->value;
  return Value{gain, gain, gain};
}

QString title_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kOpTime: return tr("op time, µs");
    case Quantity::kWallTime: return tr("wall time, µs");
    case Quantity::kMemory: return tr("peak memory, MB");
  }
  return {};
}

ChartLine line_of(int variant, int selected) {
  ChartLine line;
  line.key = variant;
  line.label = variant == 0 ? tr("original") : QStringLiteral("v%1").arg(variant);
  line.colour = variant_colour(variant);
  line.is_strong = variant == selected;
  return line;
}

XAxis x_axis(const BenchmarkBoard& board, const ChartChoice& choice) {
  return choice.shape ? axis_of_shape(board, choice) : axis_of_calls(board, choice);
}

void set_x(Chart& chart, const XAxis& axis) {
  chart.x_ticks = axis.ticks;
  chart.x_title = axis.title;
  if (axis.ticks.empty()) return;
  const double first = axis.ticks.front().at, last = axis.ticks.back().at;
  const double room = last > first ? kRoomAtTheSides * (last - first) : 0.5;
  chart.x_min = first - room;
  chart.x_max = last + room;
}

// Lines hold plain values until here.
void set_y(Chart& chart, bool is_logarithmic, bool from_zero) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      low = std::min(low, point.low);
      high = std::max(high, point.high);
    }
  }
  if (low > high) return;
  if (!is_logarithmic) {
    if (from_zero) low = 0;
    chart.y_ticks = nice_ticks(low, high, kMostTicks);
    chart.y_min = low;
    chart.y_max = high;
    return;
  }
  chart.y_ticks = nice_log_ticks(low, high);
  chart.y_min = std::log10(low);
  chart.y_max = std::log10(high);
  for (ChartLine& line : chart.lines) {
    for (ChartPoint& point : line.points) {
      for (double* y : {&point.y, &point.low, &point.high}) *y = std::log10(*y);
    }
  }
}

}  // namespace

Chart quantity_chart(const BenchmarkBoard& board, const ChartChoice& choice) {
  Chart chart;
  const XAxis axis = x_axis(board, choice);
  set_x(chart, axis);
  chart.y_title = title_of(choice.quantity);
  if (choice.quantity == Quantity::kOpTime) {
    ChartLine roof;
    roof.key = kRoofKey;
    roof.label = tr("roof");
    roof.colour = tokens().bad;
    roof.is_dashed = true;
    roof.joins_points = choice.shape.has_value();
    for (const Place& place : axis.places) {
      if (const auto floor = board.floor_us(place.cell)) {
        roof.points.push_back({place.x, *floor, *floor, *floor, true,
                               tr("roof: %1 µs, the least that the measured copy rate allows")
                                   .arg(*floor, 0, 'f', 1)});
      }
    }
    if (!roof.points.empty()) chart.lines.push_back(roof);
  }
  for (const int variant : board.table().variants()) {
    ChartLine line = line_of(variant, choice.selected);
    line.joins_points = choice.shape.has_value();
    for (const Place& place : axis.places) {
      const auto value = value_of(board, choice.quantity, place.cell, variant);
      if (!value || !(value->low > 0)) continue;
      line.points.push_back({place.x, value->value, value->low, value->high,
                             board.is_settled(place.cell, variant),
                             board.details(place.cell, variant)});
    }
    chart.lines.push_back(line);
  }
  set_y(chart, choice.is_logarithmic, true);
  return chart;
}

Chart gain_chart(const BenchmarkBoard& board, const ChartChoice& choice) {
  Chart chart;
  const XAxis axis = x_axis(board, choice);
  set_x(chart, axis);
  chart.y_title = tr("original over variant, ×");
  for (const int variant : board.table().variants()) {
    ChartLine line = line_of(variant, choice.selected);
    line.joins_points = choice.shape.has_value() || variant == 0;
    line.is_dashed = variant == 0;
    for (const Place& place : axis.places) {
      if (variant == 0) {
        line.points.push_back({place.x, 1, 1, 1, true, tr("1.00×: as fast as the original")});
        continue;
      }
      const auto gain = gain_of(board, choice.quantity, place.cell, variant);
      if (!gain) continue;
      line.points.push_back({place.x, gain->value, gain->low, gain->high,
                             board.is_settled(place.cell, variant),
                             board.details(place.cell, variant)});
    }
    chart.lines.push_back(line);
  }
  set_y(chart, false, false);
  return chart;
}

}  // namespace lwb
