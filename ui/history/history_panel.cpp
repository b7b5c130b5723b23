#include "ui/history/history_panel.h"

#include <fmt/format.h>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QTableWidget>
#include <QVBoxLayout>
#include <QtConcurrent>
#include <algorithm>
#include <map>
#include <set>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/measure/sample_table.h"
#include "core/run/journal.h"
#include "core/run/state.h"
#include "core/run/workspace.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace fs = std::filesystem;

namespace {

enum Column { kStarted, kKernel, kGoal, kOutcome, kScore, kColumns };

QString day_and_time(const QString& iso) {
  return QString(iso).replace(QLatin1Char('T'), QLatin1Char(' ')).left(19);
}

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
  entry.outcome =
      state.finished ? QString::fromStdString(state.outcome) : HistoryPanel::tr("not finished");
  entry.goal = QString::fromStdString(get_string(state.request, "optimization_goal")) +
               QStringLiteral(", ") + QString::fromStdString(get_string(state.request, "scope"));
  if (state.winner.contains("score")) {
    entry.score =
        QString::fromStdString(format_ratio(get_number(state.winner.at("score"), "ratio", 1)));
  }
  entry.request = state.request;
  const std::string winner = get_string(state.winner, "variant");
  for (const auto& [number, record] : state.variants) {
    if (winner != "v" + std::to_string(number)) continue;
    for (const Json& row : get_array(record, "verdicts")) {
      entry.winner.push_back(cell_verdict_from_json(row));
    }
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
  std::sort(entries.begin(), entries.end(),
            [](const HistoryEntry& a, const HistoryEntry& b) { return a.started > b.started; });
  return entries;
}

std::vector<HistoryRow> compare_runs(const HistoryEntry& first, const HistoryEntry& second) {
  std::vector<HistoryRow> rows{
      {HistoryPanel::tr("Kernel"), first.kernel, second.kernel, {}},
      {HistoryPanel::tr("Outcome"), first.outcome, second.outcome, {}},
      {HistoryPanel::tr("Score"), first.score, second.score, {}},
  };
  // What was asked, where it differs.
  std::set<std::string> keys;
  for (const HistoryEntry* entry : {&first, &second}) {
    for (const auto& [key, value] : entry->request.items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const auto text = [&](const HistoryEntry& entry) {
      if (!entry.request.contains(key)) return QStringLiteral("–");
      const Json& value = entry.request.at(key);
      return QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
    };
    if (text(first) == text(second)) continue;
    rows.push_back({QString::fromStdString(key).replace(QLatin1Char('_'), QLatin1Char(' ')),
                    text(first),
                    text(second),
                    {}});
  }
  std::vector<SampleTable::Cell> cells;
  std::map<SampleTable::Cell, const CellVerdict*> found[2];
  int side = 0;
  for (const HistoryEntry* entry : {&first, &second}) {
    for (const CellVerdict& verdict : entry->winner) {
      const SampleTable::Cell cell{verdict.call, verdict.pass};
      if (std::find(cells.begin(), cells.end(), cell) == cells.end()) cells.push_back(cell);
      found[side][cell] = &verdict;
    }
    ++side;
  }
  for (const SampleTable::Cell& cell : cells) {
    HistoryRow row{QString::fromStdString(cell.call + " " + to_string(cell.pass)), {}, {}, {}};
    const CellVerdict* verdicts[2] = {nullptr, nullptr};
    for (int i = 0; i < 2; ++i) {
      if (found[i].contains(cell)) verdicts[i] = found[i].at(cell);
      QString& text = i == 0 ? row.first : row.second;
      text = verdicts[i] == nullptr
                 ? QStringLiteral("–")
                 : QString::fromStdString(fmt::format("{:.1f} µs, {}", verdicts[i]->new_us,
                                                      format_ratio(verdicts[i]->ratio.ratio)));
    }
    if (verdicts[0] != nullptr && verdicts[1] != nullptr && verdicts[1]->new_us > 0) {
      row.change = QString::fromStdString(format_ratio(verdicts[0]->new_us / verdicts[1]->new_us));
    }
    rows.push_back(row);
  }
  return rows;
}

HistoryPanel::HistoryPanel(RunView& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      table_(new QTableWidget(0, kColumns)),
      comparison_(new QTableWidget(0, 4)),
      compare_(new QPushButton(tr("Compare the Two"))),
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
  pages_->addWidget(
      empty_label(tr("Runs of this checkout's kernels appear here, the present ones "
                     "and the earlier ones that were kept.")));
  // Two can be chosen: Ctrl+click or Shift+click.
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  connect(table_, &QTableWidget::itemSelectionChanged, this, &HistoryPanel::selection_changed);
  compare_->setObjectName(QStringLiteral("compareRuns"));
  connect(compare_, &QPushButton::clicked, this, &HistoryPanel::compare);
  comparison_->setObjectName(QStringLiteral("comparison"));
  set_up_table(comparison_);
  comparison_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  comparison_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  comparison_->hide();
  auto* hint =
      new QLabel(tr("Enter or double click opens a run; two selected ones can be compared."));
  hint->setForegroundRole(QPalette::PlaceholderText);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 4, 8, 4);
  bar->addWidget(hint, 1);
  bar->addWidget(compare_);
  auto* panes = new QSplitter;
  panes->addWidget(table_);
  panes->addWidget(comparison_);
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(bar);
  column->addWidget(panes, 1);
  pages_->addWidget(content);
  selection_changed();
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

void HistoryPanel::selection_changed() {
  const bool two = table_->selectionModel()->selectedRows().size() == 2;
  compare_->setEnabled(two);
  compare_->setToolTip(two ? QString() : tr("Select two runs first, with Ctrl held"));
}

void HistoryPanel::compare() {
  const QModelIndexList chosen = table_->selectionModel()->selectedRows();
  if (chosen.size() != 2) return;
  // The older one first, as the list has the newest on top.
  const int older = std::max(chosen[0].row(), chosen[1].row());
  const int newer = std::min(chosen[0].row(), chosen[1].row());
  const HistoryEntry& first = entries_[static_cast<std::size_t>(older)];
  const HistoryEntry& second = entries_[static_cast<std::size_t>(newer)];
  const auto rows = compare_runs(first, second);
  comparison_->setHorizontalHeaderLabels({tr("Compared"), day_and_time(first.started),
                                          day_and_time(second.started), tr("older / newer")});
  comparison_->horizontalHeaderItem(3)->setToolTip(tr(
      "Time of the older run's winner over the newer one's: above 1 the newer is faster. Two runs "
      "are two sittings: a few per cent mean nothing"));
  comparison_->setRowCount(static_cast<int>(rows.size()));
  for (int i = 0; i < comparison_->rowCount(); ++i) {
    const HistoryRow& row = rows[static_cast<std::size_t>(i)];
    int column = 0;
    for (const QString& text : {row.name, row.first, row.second, row.change}) {
      auto* item = new QTableWidgetItem(text);
      if (column > 0) item->setFont(code_font());
      comparison_->setItem(i, column++, item);
    }
  }
  comparison_->resizeColumnsToContents();
  comparison_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  comparison_->show();
}

void HistoryPanel::refresh() {
  const QString checkout = run_.checkout();
  if (checkout.isEmpty() || !isVisible() || reader_.isRunning()) return;
  reader_.setFuture(QtConcurrent::run([checkout] { return read_history(checkout.toStdString()); }));
}

void HistoryPanel::fill(const std::vector<HistoryEntry>& entries) {
  entries_ = entries;
  pages_->setCurrentIndex(entries_.empty() ? 0 : 1);
  table_->setRowCount(static_cast<int>(entries_.size()));
  int row = 0;
  for (const HistoryEntry& entry : entries_) {
    int column = 0;
    for (const QString& text :
         {day_and_time(entry.started), entry.kernel + (entry.archived ? tr(" (kept)") : QString()),
          entry.goal, entry.outcome, entry.score}) {
      table_->setItem(row, column++, new QTableWidgetItem(text));
    }
    ++row;
  }
}

}  // namespace lwb
