#include "ui/history/history_panel.h"

#include <QHeaderView>
#include <QLabel>
#include <QStackedLayout>
#include <QTableWidget>
#include <QtConcurrent>
#include <algorithm>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/run/journal.h"
#include "core/run/state.h"
#include "core/run/workspace.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace fs = std::filesystem;

namespace {

enum Column { kStarted, kKernel, kGoal, kOutcome, kScore, kColumns };

void add(std::vector<HistoryEntry>& entries, const fs::path& folder, bool archived) {
  const fs::path file = folder / "journal.jsonl";
  std::error_code error;
  if (!fs::exists(file, error)) return;
  auto events = read_journal(file);
  if (!events || events->empty()) return;
  const RunState state = fold(*events);
  HistoryEntry entry;
  entry.kernel = QString::fromStdString(state.kernel);
  entry.started = QString::fromStdString(state.started);
  entry.outcome = state.finished ? QString::fromStdString(state.outcome)
                                 : HistoryPanel::tr("not finished");
  entry.goal = QString::fromStdString(get_string(state.request, "optimization_goal")) +
               QStringLiteral(", ") + QString::fromStdString(get_string(state.request, "scope"));
  if (state.winner.contains("score")) {
    entry.score =
        QString::fromStdString(format_ratio(get_number(state.winner.at("score"), "ratio", 1)));
  }
  entry.folder = folder;
  entry.archived = archived;
  entries.push_back(std::move(entry));
}

}  // namespace

std::vector<HistoryEntry> read_history(const fs::path& checkout) {
  std::vector<HistoryEntry> entries;
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(checkout / "optimization", error)) {
    if (!folder.is_directory(error)) continue;
    add(entries, folder.path(), false);
    const Workspace workspace{folder.path(), folder.path().filename().string()};
    for (const fs::path& run : archived_runs(workspace)) add(entries, run, true);
  }
  std::sort(entries.begin(), entries.end(), [](const HistoryEntry& a, const HistoryEntry& b) {
    return a.started > b.started;
  });
  return entries;
}

HistoryPanel::HistoryPanel(RunView& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      table_(new QTableWidget(0, kColumns)),
      pages_(new QStackedLayout(this)) {
  table_->setObjectName(QStringLiteral("history"));
  table_->setHorizontalHeaderLabels(
      {tr("Started (UTC)"), tr("Kernel"), tr("Goal, scope"), tr("Outcome"), tr("Score")});
  set_up_table(table_);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setColumnWidth(kStarted, 170);
  table_->setColumnWidth(kKernel, 180);
  table_->setColumnWidth(kGoal, 160);
  table_->setColumnWidth(kOutcome, 120);
  pages_->addWidget(empty_label(tr("Runs of this checkout's kernels appear here, the present ones "
                                   "and the earlier ones that were kept.")));
  pages_->addWidget(table_);
  connect(table_, &QTableWidget::cellActivated, this, [this](int row) {
    const HistoryEntry& entry = entries_[static_cast<std::size_t>(row)];
    Q_EMIT open_wanted(entry.kernel, entry.archived ? entry.folder : fs::path());
  });
  connect(&reader_, &QFutureWatcher<std::vector<HistoryEntry>>::finished, this,
          [this] { fill(reader_.result()); });
  connect(&run_, &RunView::restarted, this, &HistoryPanel::refresh);
  connect(&run_, &RunView::folded, this, [this](const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (event.type == "run_finished" || event.type == "run_started") return refresh();
    }
  });
}

void HistoryPanel::refresh() {
  const QString checkout = run_.checkout();
  if (checkout.isEmpty() || !isVisible() || reader_.isRunning()) return;
  reader_.setFuture(
      QtConcurrent::run([checkout] { return read_history(checkout.toStdString()); }));
}

void HistoryPanel::fill(const std::vector<HistoryEntry>& entries) {
  entries_ = entries;
  pages_->setCurrentIndex(entries_.empty() ? 0 : 1);
  table_->setRowCount(static_cast<int>(entries_.size()));
  int row = 0;
  for (const HistoryEntry& entry : entries_) {
    int column = 0;
    for (const QString& text :
         {QString(entry.started).replace(QLatin1Char('T'), QLatin1Char(' ')).left(19),
          entry.kernel + (entry.archived ? tr(" (kept)") : QString()), entry.goal, entry.outcome,
          entry.score}) {
      table_->setItem(row, column++, new QTableWidgetItem(text));
    }
    ++row;
  }
}

}  // namespace lwb
