// Earlier runs of every kernel of the checkout; any of them can be opened.
#pragma once

#include <QFutureWatcher>
#include <QWidget>
#include <filesystem>
#include <vector>

class QLabel;
class QStackedLayout;
class QTableWidget;

namespace lwb {

class RunView;

// One run as the list shows it.
struct HistoryEntry {
  QString kernel, started, outcome, score, goal;
  std::filesystem::path folder;  // of its journal
  bool archived = false;
};
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
  RunView& run_;
  QTableWidget* table_;
  QStackedLayout* pages_;
  std::vector<HistoryEntry> entries_;
  QFutureWatcher<std::vector<HistoryEntry>> reader_;
};

}  // namespace lwb
