#include "ui/console/console_model.h"

#include "core/base/text.h"
#include "ui/run/run_view.h"
#include "ui/terminal_command.h"
#include "ui/theme/theme.h"

namespace lwb {

ConsoleModel::ConsoleModel(RunView& run, QObject* parent)
    : QAbstractTableModel(parent), run_(run) {
  connect(&run_, &RunView::restarted, this, [this] {
    beginResetModel();
    shown_ = 0;
    endResetModel();
  });
  connect(&run_, &RunView::folded, this, [this] {
    const int now = static_cast<int>(run_.state().processes.size());
    if (now == shown_) return;
    beginInsertRows({}, shown_, now - 1);
    shown_ = now;
    endInsertRows();
  });
  shown_ = static_cast<int>(run_.state().processes.size());
}

int ConsoleModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : shown_;
}

int ConsoleModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant ConsoleModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= shown_) return {};
  const Json& process = run_.state().processes[static_cast<std::size_t>(index.row())];
  const bool ok = get_bool(process, "ok");
  if (role == Qt::TextAlignmentRole && index.column() == kSeconds) {
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role == Qt::ForegroundRole && index.column() == kStatus) {
    return ok ? tokens().good : tokens().bad;
  }
  if (role == Qt::ToolTipRole) return command(index.row());
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kStatus: return ok ? tr("✓") : tr("✗");
    case kLabel: return QString::fromStdString(get_string(process, "label"));
    case kSeconds:
      return QString::fromStdString(format_duration(get_number(process, "seconds")));
    case kEnd: {
      QString end = QString::fromStdString(get_string(process, "end"));
      const std::string recorded = get_string(process, "recorded_on");
      if (!recorded.empty()) end += tr(", recorded on %1").arg(QString::fromStdString(recorded));
      return end;
    }
    case kCommand: return command(index.row());
    default: return {};
  }
}

QVariant ConsoleModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole && section == kSeconds) {
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kStatus: return QString();
    case kLabel: return tr("Child");
    case kSeconds: return tr("Wall time");
    case kEnd: return tr("End");
    case kCommand: return tr("Command line");
    default: return {};
  }
}

QString ConsoleModel::command(int row) const {
  QStringList words;
  for (const Json& word :
       get_array(run_.state().processes[static_cast<std::size_t>(row)], "argv")) {
    if (word.is_string()) words << shell_quoted(QString::fromStdString(word.get<std::string>()));
  }
  return words.join(QLatin1Char(' '));
}

QString ConsoleModel::tail(int row) const {
  return QString::fromStdString(
      get_string(run_.state().processes[static_cast<std::size_t>(row)], "tail"));
}

}  // namespace lwb
