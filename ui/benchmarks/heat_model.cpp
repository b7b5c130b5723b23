#include "ui/benchmarks/heat_model.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "ui/benchmarks/benchmark_board.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

// The tint deepens from the faintest at 1× to the deepest at this factor.
constexpr double kDeepestFactor = 2;
constexpr int kFaintest = 28, kDeepest = 110;  // alpha

QString sign_of(VerdictKind kind) {
  const QString words = verdict_words(QString::fromStdString(to_string(kind)));
  return words.left(words.indexOf(QLatin1Char(' ')));
}

QColor tint(const CellVerdict& judged) {
  if (judged.verdict.kind == VerdictKind::kSame) return {};
  QColor colour = verdict_colour(QString::fromStdString(to_string(judged.verdict.kind)));
  const double depth = std::min(
      1.0, std::abs(std::log2(std::max(judged.ratio.ratio, 1e-3))) / std::log2(kDeepestFactor));
  colour.setAlpha(kFaintest + static_cast<int>(depth * (kDeepest - kFaintest)));
  return colour;
}

}  // namespace

HeatModel::HeatModel(const BenchmarkBoard& board, QObject* parent)
    : QAbstractTableModel(parent), board_(board) {
  connect(&board_, &BenchmarkBoard::changed, this, &HeatModel::refresh);
  connect(&Theme::instance(), &Theme::changed, this, &HeatModel::refresh);
  refresh();
}

void HeatModel::refresh() {
  std::vector<int> variants = board_.table().variants();
  std::erase(variants, 0);
  // As long as no row or column is new, the view keeps its place.
  if (variants == variants_ && board_.table().cells() == cells_) {
    if (!cells_.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    return;
  }
  beginResetModel();
  variants_ = std::move(variants);
  cells_ = board_.table().cells();
  endResetModel();
}

int HeatModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(cells_.size());
}

int HeatModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kFirstVariant + static_cast<int>(variants_.size());
}

int HeatModel::variant(int column) const {
  if (column == kOriginal) return 0;
  if (column < kFirstVariant || column >= columnCount()) return -1;
  return variants_[static_cast<std::size_t>(column - kFirstVariant)];
}

QVariant HeatModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const SampleTable::Cell& at = cell(index.row());
  const int column = index.column(), number = variant(column);
  switch (role) {
    case Qt::DisplayRole:
      if (column == kCall) return QString::fromStdString(at.call);
      if (column == kPass) return QString::fromStdString(to_string(at.pass));
      if (column == kOriginal) {
        const auto summary = board_.table().summary(at, 0);
        return summary ? QString::number(summary->median_us, 'f', 1) : QStringLiteral("–");
      }
      if (const auto judged = board_.verdict(at, number)) {
        return sign_of(judged->verdict.kind) + QLatin1Char(' ') +
               QString::fromStdString(format_ratio(judged->ratio.ratio));
      }
      if (const auto live = board_.ratio(at, number)) {
        return QStringLiteral("… ") + QString::fromStdString(format_ratio(live->ratio));
      }
      return QStringLiteral("–");
    case Qt::ToolTipRole:
      return number >= 0 ? board_.details(at, number) : QString::fromStdString(at.call);
    case Qt::BackgroundRole:
      if (number > 0) {
        if (const auto judged = board_.verdict(at, number)) {
          if (const QColor colour = tint(*judged); colour.isValid()) return colour;
        }
      }
      return {};
    case Qt::ForegroundRole:
      if (number > 0) {
        const auto judged = board_.verdict(at, number);
        if (!judged || judged->verdict.kind == VerdictKind::kSame) return tokens().secondary;
      }
      if (column == kPass) return tokens().secondary;
      return {};
    case Qt::FontRole: return column >= kOriginal ? code_font() : QVariant();
    case Qt::TextAlignmentRole:
      return QVariant((column >= kOriginal ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default: return {};
  }
}

QVariant HeatModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant((section >= kOriginal ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole && section >= kFirstVariant) {
    return tr(
        "Original over variant in op time: above 1 is faster. ▲ FASTER, ▼ SLOWER, = SAME, "
        "? UNCERTAIN; … is still being measured");
  }
  if (role == Qt::ToolTipRole && section == kOriginal) {
    return tr("Median op time of the original over all rounds");
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kCall: return tr("Call");
    case kPass: return tr("Pass");
    case kOriginal: return tr("v0, µs");
    default: return QStringLiteral("v%1").arg(variant(section));
  }
}

}  // namespace lwb
