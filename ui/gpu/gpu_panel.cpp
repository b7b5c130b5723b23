#include "ui/gpu/gpu_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStackedLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <functional>

#include "ui/charts/chart_widget.h"
#include "ui/gpu/gpu_monitor.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr double kGigabyte = 1024.0 * 1024.0 * 1024.0;  // as nvidia-smi's MiB, times 1024
constexpr int kMostTicks = 4;
constexpr double kLeastSpan = 0.1;
constexpr double kShortestS = 60;  // of the time axis

using Quantity = std::function<std::optional<double>(const GpuReading&)>;

struct Curve {
  QString label;
  QColor colour;
  Quantity quantity;
};

Chart chart_of(const std::deque<GpuMonitor::Sample>& samples, const QString& title,
               const std::vector<Curve>& curves, bool from_zero) {
  Chart chart;
  chart.y_title = title;
  chart.x_title = GpuPanel::tr("seconds ago");
  if (samples.empty()) return chart;
  const double now = samples.back().seconds;
  double low = 0, high = 0;
  bool any = false;
  int key = 0;
  for (const Curve& curve : curves) {
    ChartLine line;
    line.key = key++;
    line.label = curve.label;
    line.colour = curve.colour;
    line.has_marks = false;
    for (const GpuMonitor::Sample& sample : samples) {
      const auto value = curve.quantity(sample.reading);
      if (!value) continue;
      low = any ? std::min(low, *value) : *value;
      high = any ? std::max(high, *value) : *value;
      any = true;
      line.points.push_back(
          {sample.seconds - now, *value, *value, *value, true, QString::number(*value, 'f', 0)});
    }
    if (!line.points.empty()) chart.lines.push_back(line);
  }
  if (from_zero) low = 0;
  // A steady value is a line in the middle, not noise that fills the chart.
  const double least = kLeastSpan * std::abs(high);
  if (high - low < least) {
    low -= least / 2;
    high += least / 2;
  }
  chart.y_ticks = nice_ticks(low, high, kMostTicks);
  chart.y_min = low;
  chart.y_max = high;
  double from = std::min(samples.front().seconds - now, -kShortestS), to = 0;
  chart.x_ticks = nice_ticks(from, to, kMostTicks);
  for (ChartTick& tick : chart.x_ticks) tick.label = QString::number(-tick.at);
  chart.x_min = from;
  chart.x_max = 0;
  return chart;
}

std::optional<double> from_int(const std::optional<int>& value) {
  return value ? std::optional<double>(*value) : std::nullopt;
}

QString words(const std::vector<std::string>& list) {
  QStringList parts;
  for (const std::string& word : list) {
    parts << QString::fromStdString(word).replace(QLatin1Char('_'), QLatin1Char(' '));
  }
  return parts.join(QStringLiteral(", "));
}

}  // namespace

GpuPanel::GpuPanel(GpuMonitor& monitor, QWidget* parent)
    : QWidget(parent),
      monitor_(monitor),
      title_(new QLabel),
      facts_(new QLabel),
      empty_(empty_label({})),
      clock_(new ChartWidget),
      power_(new ChartWidget),
      temperature_(new ChartWidget),
      use_(new ChartWidget),
      pages_(new QStackedLayout(this)) {
  title_->setFont(strong_font());
  facts_->setObjectName(QStringLiteral("gpuFacts"));
  facts_->setWordWrap(true);
  facts_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  clock_->setToolTip(tr("Clock of the multiprocessors: verdicts need it steady"));
  temperature_->setToolTip(tr("Of the GPU's core; too warm, and it lowers its clock"));
  auto* charts = new QHBoxLayout;
  for (ChartWidget* chart : {clock_, power_, temperature_, use_}) charts->addWidget(chart, 1);
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(8, 4, 8, 8);
  column->addWidget(title_);
  column->addWidget(facts_);
  column->addLayout(charts, 1);
  pages_->addWidget(empty_);
  pages_->addWidget(content);
  connect(&monitor_, &GpuMonitor::changed, this, &GpuPanel::refresh);
  connect(&Theme::instance(), &Theme::changed, this, &GpuPanel::refresh);
  refresh();
}

void GpuPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void GpuPanel::refresh() {
  const auto latest = monitor_.latest();
  pages_->setCurrentIndex(latest ? 1 : 0);
  if (!latest) {
    const QString problem = monitor_.problem();
    empty_->setText(problem.isEmpty()
                        ? tr("Clock, power, temperature and use appear here in a second.")
                        : tr("%1 Nothing can be measured on this machine; a recording can be "
                             "played.")
                              .arg(problem));
    return;
  }
  if (!isVisible()) return;
  title_->setText(
      tr("%1 · %2").arg(QString::fromStdString(latest->name), clock_temperature_power(*latest)));
  QStringList facts;
  if (latest->memory_used_bytes && latest->memory_total_bytes) {
    facts << tr("Memory %1 of %2 GiB")
                 .arg(*latest->memory_used_bytes / kGigabyte, 0, 'f', 1)
                 .arg(*latest->memory_total_bytes / kGigabyte, 0, 'f', 1);
  }
  if (latest->throttle_reasons) {
    facts << (latest->throttle_reasons->empty()
                  ? tr("✓ no throttling")
                  : tr("▼ throttled: %1").arg(words(*latest->throttle_reasons)));
  }
  if (latest->processes) {
    QStringList pids;
    for (const auto& process : *latest->processes) {
      pids << (process.memory_bytes ? tr("%1 (%2 GiB)")
                                          .arg(process.pid)
                                          .arg(*process.memory_bytes / kGigabyte, 0, 'f', 1)
                                    : QString::number(process.pid));
    }
    facts << (pids.isEmpty()
                  ? tr("no process computes on it")
                  : tr("computing on it: process %1").arg(pids.join(QStringLiteral(", "))));
  }
  facts_->setText(facts.join(QStringLiteral(" · ")));
  const auto& samples = monitor_.samples();
  clock_->show_chart(chart_of(samples, tr("SM clock, MHz"),
                              {{{}, variant_colour(1), [](const auto& r) { return r.sm_mhz; }}},
                              false));
  power_->show_chart(
      chart_of(samples, tr("power, W"),
               {{{}, variant_colour(1), [](const auto& r) { return r.power_w; }},
                {tr("limit"), tokens().bad, [](const auto& r) { return r.power_limit_w; }}},
               true));
  temperature_->show_chart(
      chart_of(samples, tr("temperature, °C"),
               {{{}, variant_colour(1), [](const auto& r) { return r.temperature_c; }}}, false));
  use_->show_chart(chart_of(
      samples, tr("in use, %"),
      {{tr("GPU"), variant_colour(1), [](const auto& r) { return from_int(r.gpu_percent); }},
       {tr("memory"), variant_colour(2), [](const auto& r) { return from_int(r.memory_percent); }}},
      true));
}

}  // namespace lwb
