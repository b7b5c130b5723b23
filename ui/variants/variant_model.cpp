#include "ui/variants/variant_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/text.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr double kMegabyte = 1024.0 * 1024.0;  // as the stock script counts

double ratio_of(const Json& record, const char* key) {
  return get_number(get_object(record, key), "ratio", 1);
}

// The largest peak of the variant's own side; 0 where memory was not measured.
double peak_bytes(const Json& record, const std::string& side) {
  double most = 0;
  for (const Json& peak : get_array(record, "memory")) {
    if (get_string(peak, "side") == side) most = std::max(most, get_number(peak, "peak_bytes"));
  }
  return most;
}

// The most that a thread takes of "registers" or "spills", over `rows`; none where nothing was
// compiled.
std::optional<long long> most_of(const Json& rows, const char* key) {
  std::optional<long long> most;
  for (const Json& row : rows) {
    if (get_integer(row, "registers") <= 0) continue;
    most = std::max(most.value_or(0), get_integer(row, key));
  }
  return most;
}

// Of a variant: over the buckets of its settings tables.
std::optional<long long> most_of_tables(const Json& record, const char* key) {
  std::optional<long long> most;
  for (const Json& table : get_array(record, "tables")) {
    if (const auto own = most_of(get_array(table, "buckets"), key)) {
      most = std::max(most.value_or(0), *own);
    }
  }
  return most;
}

QString joined(const Json& list, const char* separator) {
  QStringList parts;
  for (const Json& item : list) {
    if (item.is_string()) parts << QString::fromStdString(item.get<std::string>());
  }
  return parts.join(QString::fromUtf8(separator));
}

QString decision_words(const std::string& decision) {
  if (decision == "ACCEPTED") return VariantModel::tr("▲ ACCEPTED");
  if (decision == "REJECTED") return VariantModel::tr("= REJECTED");
  if (decision == "MIXED") return VariantModel::tr("? MIXED");
  if (decision == "DISCARDED") return VariantModel::tr("✗ DISCARDED");
  return VariantModel::tr("… measuring");
}

QColor decision_colour(const std::string& decision) {
  if (decision == "ACCEPTED") return tokens().good;
  if (decision == "DISCARDED") return tokens().bad;
  if (decision == "MIXED") return tokens().caution;
  return tokens().secondary;
}

}  // namespace

VariantModel::VariantModel(RunView& run, QObject* parent) : QAbstractTableModel(parent), run_(run) {
  connect(&run_, &RunView::restarted, this, &VariantModel::rebuild);
  connect(&run_, &RunView::folded, this, [this](const std::vector<Event>& events) {
    const bool concerns = std::any_of(events.begin(), events.end(), [](const Event& event) {
      return event.type == "variant" || event.type == "winner" || event.type == "run_started" ||
             event.type == "profile";
    });
    if (concerns) rebuild();
  });
  rebuild();
}

void VariantModel::rebuild() {
  beginResetModel();
  rows_.clear();
  if (run_.has_run()) rows_.push_back({0, Json::object()});
  for (const auto& [number, record] : run_.state().variants) rows_.push_back({number, record});
  endResetModel();
}

int VariantModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int VariantModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

int VariantModel::number(int row) const {
  return rows_[static_cast<std::size_t>(row)].number;
}

int VariantModel::row_of(int number) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].number == number) return static_cast<int>(i);
  }
  return -1;
}

bool VariantModel::is_winner(const Row& row) const {
  return row.number > 0 &&
         get_string(run_.state().winner, "variant") == "v" + std::to_string(row.number);
}

QVariant VariantModel::text(const Row& row, int column) const {
  const bool original = row.number == 0;
  const bool measured = original || get_bool(row.record, "measured");
  const auto ratio = [&](const char* key) {
    return measured ? QString::fromStdString(format_ratio(ratio_of(row.record, key)))
                    : QStringLiteral("–");
  };
  switch (column) {
    case kMark: return is_winner(row) ? QStringLiteral("★") : QString();
    case kName: return QStringLiteral("v%1").arg(row.number);
    case kAuthor:
      return original ? tr("upstream") : QString::fromStdString(get_string(row.record, "author"));
    case kTechniques: {
      if (original) return tr("baseline");
      const QString techniques = joined(get_array(row.record, "techniques"), " + ");
      return techniques.isEmpty() ? QString::fromStdString(get_string(row.record, "title"))
                                  : techniques;
    }
    case kVerdict:
      return original ? QStringLiteral("–") : decision_words(get_string(row.record, "decision"));
    case kScore: return ratio("score");
    case kInterval: {
      if (original || !measured) return QString();
      const Json& score = get_object(row.record, "score");
      return QString::fromStdString(
          fmt::format("{:.3f} – {:.3f}", get_number(score, "low"), get_number(score, "high")));
    }
    case kForward: return ratio("forward");
    case kBackward: return ratio("backward");
    case kMemory: {
      const double bytes = original ? (rows_.size() > 1 ? peak_bytes(rows_.back().record, "v0") : 0)
                                    : peak_bytes(row.record, "v" + std::to_string(row.number));
      return bytes > 0 ? QString::fromStdString(fmt::format("{:.1f}", bytes / kMegabyte))
                       : QStringLiteral("–");
    }
    case kRegisters:
    case kSpills: {
      const char* key = column == kRegisters ? "registers" : "spills";
      const auto most = original ? most_of(get_array(run_.state().profile, "launches"), key)
                                 : most_of_tables(row.record, key);
      return most ? QString::number(*most) : QStringLiteral("–");
    }
    default: return {};
  }
}

QVariant VariantModel::sort_value(const Row& row, int column) const {
  switch (column) {
    case kName: return row.number;
    case kScore:
    case kInterval: return ratio_of(row.record, "score");
    case kForward: return ratio_of(row.record, "forward");
    case kBackward: return ratio_of(row.record, "backward");
    case kMemory:
    case kRegisters:
    case kSpills: return text(row, column).toString().toDouble();
    default: return text(row, column);
  }
}

QVariant VariantModel::tip(const Row& row, int column) const {
  if (row.number == 0) return tr("The kernel file as the run found it");
  if (column == kVerdict || column == kScore || column == kInterval) {
    return QString::fromStdString(get_string(row.record, "reason")) + QLatin1Char('\n') +
           joined(get_array(row.record, "guardrails"), "\n");
  }
  return QString::fromStdString(get_string(row.record, "title"));
}

QVariant VariantModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole: return text(row, column);
    case kSortRole: return sort_value(row, column);
    case kNumberRole: return row.number;
    case Qt::ToolTipRole: return tip(row, column);
    case Qt::TextAlignmentRole:
      return QVariant((column >= kScore ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::FontRole:
      if (column >= kScore) return code_font();
      return is_winner(row) ? strong_font() : QVariant();
    case Qt::ForegroundRole:
      if (column == kVerdict) return decision_colour(get_string(row.record, "decision"));
      if (column == kAuthor || column == kInterval) return tokens().secondary;
      return {};
    default: return {};
  }
}

QVariant VariantModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant((section >= kScore ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kVerdict:
        return tr(
            "ACCEPTED: gains, no guardrail tripped. MIXED: gains, but a cell is slower. "
            "REJECTED: nothing gained, or a guardrail tripped. DISCARDED: it does not compute "
            "what the original computes, or does not build.");
      case kScore:
        return tr(
            "Original over variant in the goal's quantity, geometric mean over the cells in "
            "scope: above 1 is a gain");
      case kInterval: return tr("Interval of the score at 99 % confidence");
      case kForward:
      case kBackward:
        return tr(
            "Original over variant in op time of this pass, geometric mean over the cells in "
            "scope: above 1 is faster");
      case kMemory:
        return tr(
            "Largest peak of device memory over the cells, as the stock script "
            "counts it (1 MB = 2^20 bytes)");
      case kRegisters:
        return tr("Registers a thread, the most over the launches and shapes that the settings "
                  "sweep compiled: fewer let more warps run at once");
      case kSpills:
        return tr("Registers that did not fit and went to memory, the most over the launches and "
                  "shapes: 0 is good");
      default: return {};
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kName: return tr("Variant");
    case kAuthor: return tr("Author");
    case kTechniques: return tr("Techniques");
    case kVerdict: return tr("Verdict");
    case kScore: return tr("Score");
    case kInterval: return tr("99 % interval");
    case kForward: return tr("Forward");
    case kBackward: return tr("Backward");
    case kMemory: return tr("Memory, MB");
    case kRegisters: return tr("Regs");
    case kSpills: return tr("Spills");
    default: return QString();
  }
}

}  // namespace lwb
