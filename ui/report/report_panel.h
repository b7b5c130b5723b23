// The run's documents: report, comparison, profile, and the notes of each variant.
#pragma once

#include <QWidget>
#include <filesystem>

class QComboBox;
class QLabel;
class QStackedLayout;

namespace lwb {

class MarkdownView;
class RunView;

class ReportPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ReportPanel(RunView& run, QWidget* parent = nullptr);
  // "report.md", "rms_norm_v2_notes.md": shown when it is there.
  void show_document(const QString& name);

 private:
  void list_documents();
  void load();
  RunView& run_;
  QComboBox* choice_;
  MarkdownView* view_;
  QLabel* empty_;
  QStackedLayout* pages_;
  std::filesystem::file_time_type loaded_;
};

}  // namespace lwb
