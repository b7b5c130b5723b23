#include "ui/frame/headroom_bars.h"

#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

#include "core/base/json.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kBarHeight = 6;
constexpr int kRowHeight = 30;

const Json* best_variant(const RunState& state, int& number) {
  const std::string winner = get_string(state.winner, "variant");
  const Json* best = nullptr;
  double most = 0;
  for (const auto& [n, record] : state.variants) {
    if (winner == "v" + std::to_string(n)) {
      number = n;
      return &record;
    }
    const double score = get_number(get_object(record, "score"), "ratio", 1);
    if (get_string(record, "decision") != "ACCEPTED" || score <= most) continue;
    most = score;
    best = &record;
    number = n;
  }
  return best;
}

}  // namespace

std::optional<Headroom> headroom_of(const RunState& state) {
  const Json* worst = nullptr;
  // Cells that fit into the L2 say little about the roof: they count where there is no other.
  const auto weight = [](const Json& row) {
    return get_number(row, "share") + (get_bool(row, "large") ? 0 : 100);
  };
  for (const Json& row : get_array(get_object(state.profile, "roofline"), "rows")) {
    if (get_number(row, "floor_us") <= 0) continue;
    if (worst == nullptr || weight(row) < weight(*worst)) worst = &row;
  }
  if (worst == nullptr) return std::nullopt;
  Headroom headroom{get_string(*worst, "call"), get_string(*worst, "pass"),
                    get_number(*worst, "share"), 0, std::nullopt};
  const Json* best = best_variant(state, headroom.variant);
  if (best == nullptr) return headroom;
  for (const Json& verdict : get_array(*best, "verdicts")) {
    const double us = get_number(verdict, "new_us");
    if (get_string(verdict, "call") != headroom.call || us <= 0) continue;
    if (get_string(verdict, "pass") != headroom.pass) continue;
    headroom.best = get_number(*worst, "floor_us") / us;
  }
  return headroom;
}

// A name, a share and a bar of it.
class HeadroomBars::Bar : public QWidget {
 public:
  void show_share(const QString& name, double share, const QColor& colour) {
    name_ = name;
    share_ = share;
    colour_ = colour;
    update();
  }
  QSize sizeHint() const override { return {100, kRowHeight}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(secondary_font());
    painter.setPen(tokens().text);
    const QRect text(0, 0, width(), height() - kBarHeight - 2);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignBottom, name_);
    painter.drawText(text, Qt::AlignRight | Qt::AlignBottom,
                     HeadroomBars::tr("%1 % of roof").arg(100 * share_, 0, 'f', 0));
    const QRectF whole(0, height() - kBarHeight, width(), kBarHeight);
    QRectF part = whole;
    part.setWidth(whole.width() * std::clamp(share_, 0.0, 1.0));
    painter.setPen(Qt::NoPen);
    for (const auto& [bar, colour] : {std::pair{whole, tokens().line}, {part, colour_}}) {
      painter.setBrush(colour);
      painter.drawRoundedRect(bar, kBarHeight / 2.0, kBarHeight / 2.0);
    }
  }

 private:
  QString name_;
  double share_ = 0;
  QColor colour_;
};

HeadroomBars::HeadroomBars(QWidget* parent)
    : QWidget(parent), title_(new QLabel), original_(new Bar), best_(new Bar) {
  setObjectName(QStringLiteral("headroom"));
  setToolTip(
      tr("The least time that the measured roof allows over the op time, at the cell with the "
         "most to gain: near 100 % nothing is left"));
  title_->setFont(secondary_font());
  title_->setForegroundRole(QPalette::PlaceholderText);
  title_->setWordWrap(true);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 12, 12, 0);
  column->setSpacing(2);
  column->addWidget(title_);
  column->addWidget(original_);
  column->addWidget(best_);
  hide();
}

void HeadroomBars::show_headroom(const std::optional<Headroom>& headroom) {
  setVisible(headroom.has_value());
  if (!headroom) return;
  title_->setText(
      tr("Headroom, %1 of %2")
          .arg(QString::fromStdString(headroom->pass), QString::fromStdString(headroom->call)));
  original_->show_share(tr("original"), headroom->original, variant_colour(0));
  best_->setVisible(headroom->best.has_value());
  if (headroom->best) {
    best_->show_share(QStringLiteral("v%1").arg(headroom->variant), *headroom->best,
                      variant_colour(headroom->variant));
  }
}

}  // namespace lwb
