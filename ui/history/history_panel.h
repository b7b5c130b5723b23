// Earlier runs of every kernel of the checkout; any of them can be opened, and any two compared.
#pragma once

#include <QFutureWatcher>
#include <QWidget>
#include <filesystem>
#include <vector>

#include "core/base/json.h"
#include "core/measure/op_time.h"

class QLabel;
class QStackedLayout;
class QPushButton;
class QTableWidget;

namespace lwb {

class RunView;

// One run as the list shows it.
struct HistoryEntry {
  QString kernel, started, outcome, score, goal;
  std::filesystem::path folder;  // of its journal
  bool archived = false;
  Json request = Json::object();
  std::vector<CellVerdict> winner;  // of the run's winner, against its original
};

// Two runs side by side: what was asked and found, and each cell of either's winner.
struct HistoryRow {
  QString name, first, second;
  QString change;  // first's time over second's, where both have one
};
std::vector<HistoryRow> compare_runs(const HistoryEntry& first, const HistoryEntry& second);

// Reads the journals below `optimization/`, the present ones and the archived; newest first.
std::vector<HistoryEntry> read_history(const std::filesystem::path& checkout);

class HistoryPanel : public QWidget {
  Q_OBJECT
 public:
  explicit HistoryPanel(RunView& run, QWidget* parent = nullptr);
  void refresh();

 Q_SIGNALS:
  // `archived`: empty for the present run of the kernel.
  void open_wanted(const QString& kernel, const std::filesystem::path& archived);

 private:
  void fill(const std::vector<HistoryEntry>& entries);
  void selection_changed();
  void compare();
  RunView& run_;
  QTableWidget* table_;
  QTableWidget* comparison_;
  QPushButton* compare_;
  QStackedLayout* pages_;
  std::vector<HistoryEntry> entries_;
  QFutureWatcher<std::vector<HistoryEntry>> reader_;
};

}  // namespace lwb
