#include "ui/charts/chart_widget.h"

#include <QAreaSeries>
#include <QCategoryAxis>
#include <QChart>
#include <QChartView>
#include <QGraphicsLayout>
#include <QGraphicsScene>
#include <QGraphicsSimpleTextItem>
#include <QLegend>
#include <QLineSeries>
#include <QScatterSeries>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kBandAlpha = 46;
constexpr double kMarkerSize = 7;
constexpr double kStrongMarkerSize = 9;
constexpr double kLabelGap = 6;
constexpr double kLabelRoom = 64;  // right of the plot, for the labels of the lines' ends

// As many decimals as the step between ticks needs.
QString tick_label(double value, double step) {
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return QString::number(value, 'f', decimals);
}

}  // namespace

std::vector<ChartTick> nice_ticks(double& low, double& high, int most) {
  if (!(high > low)) high = low + 1;
  const double raw = (high - low) / std::max(1, most);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = power;
  for (const double times : {1.0, 2.0, 5.0, 10.0}) {
    step = times * power;
    if (step >= raw) break;
  }
  const double first = std::floor(low / step), last = std::ceil(high / step);
  low = first * step;
  high = last * step;
  std::vector<ChartTick> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back({i * step, tick_label(i * step, step)});
  return ticks;
}

std::vector<ChartTick> nice_log_ticks(double& low, double& high) {
  low = std::max(low, 1e-12);
  if (!(high > low)) high = 2 * low;
  std::vector<double> values;
  for (double power = std::pow(10.0, std::floor(std::log10(low)));; power *= 10) {
    for (const double times : {1.0, 2.0, 5.0}) values.push_back(times * power);
    if (power > high) break;
  }
  constexpr double kSlack = 1e-9;
  auto first = std::upper_bound(values.begin(), values.end(), low * (1 + kSlack));
  if (first != values.begin()) --first;
  const auto last = std::lower_bound(first, values.end(), high * (1 - kSlack));
  low = *first;
  high = *last;
  std::vector<ChartTick> ticks;
  for (auto value = first; value <= last; ++value) {
    ticks.push_back({std::log10(*value), QString::number(*value, 'g', 4)});
  }
  return ticks;
}

class ChartWidget::Private {
 public:
  explicit Private(ChartWidget& owner) : widget(owner) {
    view = new QChartView(&owner);
    chart = view->chart();
    view->setRenderHint(QPainter::Antialiasing);
    view->setFrameShape(QFrame::NoFrame);
    chart->legend()->hide();
    chart->setBackgroundRoundness(0);
    chart->layout()->setContentsMargins(0, 0, 0, 0);
    chart->setMargins(QMargins(4, 4, static_cast<int>(kLabelRoom), 4));
    chart->setAnimationOptions(QChart::NoAnimation);
    for (QCategoryAxis** axis : {&x_axis, &y_axis}) {
      *axis = new QCategoryAxis(chart);
      (*axis)->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
      (*axis)->setTruncateLabels(false);
    }
    chart->addAxis(x_axis, Qt::AlignBottom);
    chart->addAxis(y_axis, Qt::AlignLeft);
    QObject::connect(chart, &QChart::plotAreaChanged, &owner, [this] { place_labels(); });
  }

  struct Series {
    QLineSeries* line = nullptr;
    QLineSeries *upper = nullptr, *lower = nullptr;
    QAreaSeries* band = nullptr;
    QScatterSeries *settled = nullptr, *open = nullptr;
    QGraphicsSimpleTextItem* label = nullptr;
  };

  void set_axis(QCategoryAxis* axis, const std::vector<ChartTick>& ticks, double low, double high,
                const QString& title) {
    for (const QString& label : axis->categoriesLabels()) axis->remove(label);
    axis->setRange(low, high);
    axis->setStartValue(low);
    for (const ChartTick& tick : ticks) {
      QString label = tick.label;
      while (axis->categoriesLabels().contains(label)) label += QChar(0x200B);
      axis->append(label, tick.at);
    }
    axis->setTitleText(title);
    axis->setTitleFont(secondary_font());
    axis->setLabelsFont(secondary_font());
    axis->setTitleBrush(tokens().secondary);
    axis->setLabelsColor(tokens().secondary);
    axis->setLinePenColor(tokens().line);
    axis->setGridLineColor(tokens().line);
  }

  Series& series_of(int key) {
    auto [found, is_new] = series.try_emplace(key);
    Series& s = found->second;
    if (!is_new) return s;
    s.upper = new QLineSeries(chart);
    s.lower = new QLineSeries(chart);
    s.band = new QAreaSeries(s.upper, s.lower);
    s.line = new QLineSeries;
    s.settled = new QScatterSeries;
    s.open = new QScatterSeries;
    // A band is drawn before its line.
    for (QAbstractSeries* part :
         std::initializer_list<QAbstractSeries*>{s.band, s.line, s.settled, s.open}) {
      chart->addSeries(part);
      part->attachAxis(x_axis);
      part->attachAxis(y_axis);
    }
    s.label = new QGraphicsSimpleTextItem(chart);
    for (QXYSeries* part : std::initializer_list<QXYSeries*>{s.line, s.settled, s.open}) {
      QObject::connect(part, &QXYSeries::clicked, &widget,
                       [this, key] { Q_EMIT widget.clicked(key); });
      QObject::connect(part, &QXYSeries::hovered, &widget,
                       [this, key](const QPointF& at, bool inside) { show_tip(key, at, inside); });
    }
    return s;
  }

  void drop(Series& s) {
    for (QAbstractSeries* part :
         std::initializer_list<QAbstractSeries*>{s.band, s.line, s.settled, s.open}) {
      chart->removeSeries(part);
      delete part;
    }
    delete s.upper;
    delete s.lower;
    delete s.label;
  }

  void fill(const ChartLine& line) {
    Series& s = series_of(line.key);
    QList<QPointF> points, upper, lower, settled, open;
    for (const ChartPoint& point : line.points) {
      points.append({point.x, point.y});
      upper.append({point.x, std::max(point.high, point.y)});
      lower.append({point.x, std::min(point.low, point.y)});
      (point.is_settled ? settled : open).append({point.x, point.y});
    }
    const bool has_band = std::any_of(line.points.begin(), line.points.end(),
                                      [](const ChartPoint& p) { return p.high > p.low; });
    s.upper->replace(upper);
    s.lower->replace(lower);
    s.band->setVisible(has_band && line.joins_points);
    QColor ground = line.colour;
    ground.setAlpha(kBandAlpha);
    s.band->setBrush(ground);
    s.band->setPen(Qt::NoPen);
    s.line->replace(points);
    s.line->setVisible(line.joins_points);
    QPen pen(line.colour, line.is_strong ? 2.5 : 1.5);
    if (line.is_dashed) pen.setStyle(Qt::DashLine);
    s.line->setPen(pen);
    s.settled->replace(settled);
    s.open->replace(open);
    for (QScatterSeries* marks : {s.settled, s.open}) {
      marks->setMarkerSize(line.is_strong ? kStrongMarkerSize : kMarkerSize);
      marks->setPen(QPen(line.colour, 1.5));
      marks->setVisible(line.has_marks && !line.is_dashed);
    }
    s.settled->setBrush(line.colour);
    s.open->setBrush(tokens().surface);
    s.label->setText(line.label);
    s.label->setBrush(line.colour);
    s.label->setFont(line.is_strong ? strong_font() : secondary_font());
  }

  // At the lines' ends, in the order of the ends, moved apart where they would overlap.
  void place_labels() {
    struct Place {
      QGraphicsSimpleTextItem* item;
      QPointF end;
      double y;
    };
    std::vector<Place> places;
    const QRectF plot = chart->plotArea();
    for (const ChartLine& line : shown.lines) {
      const auto found = series.find(line.key);
      if (found == series.end()) continue;
      Series& s = found->second;
      s.label->setVisible(!line.points.empty() && !line.label.isEmpty());
      if (!s.label->isVisible()) continue;
      const ChartPoint* last = &line.points.front();
      for (const ChartPoint& point : line.points) {
        if (point.x >= last->x) last = &point;
      }
      const QPointF end = chart->mapToPosition({last->x, last->y}, s.line);
      places.push_back({s.label, end, end.y()});
    }
    std::sort(places.begin(), places.end(),
              [](const Place& a, const Place& b) { return a.end.y() < b.end.y(); });
    double next = plot.top();
    for (Place& place : places) {
      const double height = place.item->boundingRect().height();
      place.y = std::max(next, place.end.y() - height / 2);
      next = place.y + height;
    }
    // What ran over the bottom moves up again.
    double limit = plot.bottom();
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      const double height = place->item->boundingRect().height();
      place->y = std::min(place->y, limit - height);
      limit = place->y;
      place->item->setPos(plot.right() + kLabelGap, place->y);
    }
  }

  void show_tip(int key, const QPointF& at, bool inside) {
    if (!inside) return QToolTip::hideText();
    for (const ChartLine& line : shown.lines) {
      if (line.key != key || line.points.empty()) continue;
      const auto nearest = std::min_element(
          line.points.begin(), line.points.end(), [&](const ChartPoint& a, const ChartPoint& b) {
            return std::hypot(a.x - at.x(), a.y - at.y()) < std::hypot(b.x - at.x(), b.y - at.y());
          });
      QToolTip::showText(QCursor::pos(), nearest->tip, view);
    }
  }

  ChartWidget& widget;
  QChartView* view = nullptr;
  QChart* chart = nullptr;
  QCategoryAxis *x_axis = nullptr, *y_axis = nullptr;
  std::map<int, Series> series;
  Chart shown;
  const Tokens* themed = nullptr;  // as the axes were last coloured
};

ChartWidget::ChartWidget(QWidget* parent) : QWidget(parent), d_(std::make_unique<Private>(*this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(d_->view);
  setMinimumHeight(120);
  connect(&Theme::instance(), &Theme::changed, this, [this] { show_chart(Chart(d_->shown)); });
}

ChartWidget::~ChartWidget() = default;

void ChartWidget::show_chart(const Chart& chart) {
  // Setting an axis anew lays the whole chart out anew: only where it differs.
  const Chart before = std::exchange(d_->shown, chart);
  const bool themed = std::exchange(d_->themed, &tokens()) == &tokens();
  const bool same_x = themed && before.x_ticks == chart.x_ticks && before.x_min == chart.x_min &&
                      before.x_max == chart.x_max && before.x_title == chart.x_title;
  const bool same_y = themed && before.y_ticks == chart.y_ticks && before.y_min == chart.y_min &&
                      before.y_max == chart.y_max && before.y_title == chart.y_title;
  for (auto entry = d_->series.begin(); entry != d_->series.end();) {
    const bool is_there =
        std::any_of(chart.lines.begin(), chart.lines.end(),
                    [&](const ChartLine& line) { return line.key == entry->first; });
    if (!is_there) d_->drop(entry->second);
    entry = is_there ? std::next(entry) : d_->series.erase(entry);
  }
  d_->chart->setBackgroundBrush(tokens().surface);
  if (!same_x) d_->set_axis(d_->x_axis, chart.x_ticks, chart.x_min, chart.x_max, chart.x_title);
  if (!same_y) d_->set_axis(d_->y_axis, chart.y_ticks, chart.y_min, chart.y_max, chart.y_title);
  for (const ChartLine& line : chart.lines) d_->fill(line);
  d_->place_labels();
}

void ChartWidget::render(QPainter& painter, const QRectF& target) {
  d_->view->scene()->render(&painter, target, d_->chart->boundingRect());
}

QSize ChartWidget::chart_size() const {
  return d_->chart->size().toSize();
}

}  // namespace lwb
