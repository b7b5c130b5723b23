#include "ui/variants/diff/overview_bar.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "ui/theme/theme.h"

namespace lwb {

namespace {
constexpr int kWidth = 14;
constexpr int kSmallest = 3;  // pixels of a mark
}  // namespace

OverviewBar::OverviewBar(QWidget* parent) : QWidget(parent) {
  setFixedWidth(kWidth);
  setToolTip(tr("All changes; click or drag to go there"));
}

void OverviewBar::set_marks(std::vector<Mark> marks, int lines) {
  marks_ = std::move(marks);
  lines_ = std::max(1, lines);
  drawn_ = {};
  update();
}

void OverviewBar::set_visible(int first, int count) {
  first_ = first;
  count_ = count;
  update();
}

int OverviewBar::y_of(int line) const {
  // A short text does not fill the bar: a line is never taller there than in the panes.
  return static_cast<int>(static_cast<double>(line) / std::max(lines_, count_) * height());
}

void OverviewBar::draw_marks() {
  drawn_ = QPixmap(size() * devicePixelRatioF());
  drawn_.setDevicePixelRatio(devicePixelRatioF());
  drawn_.fill(tokens().window);
  QPainter painter(&drawn_);
  for (const Mark& mark : marks_) {
    const QColor colour = mark.kind == RowKind::kAdded     ? tokens().good
                          : mark.kind == RowKind::kRemoved ? tokens().bad
                                                           : tokens().caution;
    const int top = y_of(mark.line);
    painter.fillRect(2, top, width() - 4, std::max(kSmallest, y_of(mark.line + 1) - top), colour);
  }
}

void OverviewBar::paintEvent(QPaintEvent*) {
  if (drawn_.isNull()) draw_marks();
  QPainter painter(this);
  painter.drawPixmap(0, 0, drawn_);
  QColor frame = tokens().text;
  painter.setPen(frame);
  frame.setAlphaF(0.10F);
  painter.setBrush(frame);
  painter.drawRect(0, y_of(first_), width() - 1,
                   std::min(height() - 1, y_of(first_ + count_)) - y_of(first_));
}

void OverviewBar::mousePressEvent(QMouseEvent* event) {
  const int line = static_cast<int>(static_cast<double>(event->pos().y()) / std::max(1, height()) *
                                    std::max(lines_, count_));
  Q_EMIT line_wanted(line - count_ / 2);
}

void OverviewBar::mouseMoveEvent(QMouseEvent* event) {
  mousePressEvent(event);
}

void OverviewBar::resizeEvent(QResizeEvent*) {
  drawn_ = {};
}

void OverviewBar::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) drawn_ = {};
  QWidget::changeEvent(event);
}

}  // namespace lwb
