#include "ui/report/report_panel.h"

#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QStackedLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "core/base/files.h"
#include "ui/report/markdown_view.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

ReportPanel::ReportPanel(RunView& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      choice_(new QComboBox),
      view_(new MarkdownView),
      empty_(empty_label(tr("The report is written when a run has gone through its gates; profile, "
                            "comparison and notes appear here as soon as they are there."))),
      pages_(new QStackedLayout) {
  choice_->setObjectName(QStringLiteral("documents"));
  choice_->setToolTip(tr("Documents in the workspace of this run"));
  view_->setObjectName(QStringLiteral("reportView"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 8);
  column->addWidget(choice_);
  pages_->addWidget(empty_);
  pages_->addWidget(view_);
  column->addLayout(pages_, 1);
  connect(choice_, &QComboBox::currentTextChanged, this, [this] {
    loaded_ = {};
    load();
  });
  connect(&run_, &RunView::restarted, this, &ReportPanel::list_documents);
  connect(&run_, &RunView::folded, this, [this](const std::vector<Event>& events) {
    const bool concerns = std::any_of(events.begin(), events.end(), [](const Event& event) {
      return event.type != "samples" && event.type != "process";
    });
    if (concerns) list_documents();
  });
  list_documents();
}

void ReportPanel::list_documents() {
  const QString kept = choice_->currentText();
  QStringList names;
  if (run_.is_open()) {
    const QDir folder(QString::fromStdString(run_.workspace().root.string()));
    names = folder.entryList({QStringLiteral("*.md")}, QDir::Files, QDir::Name);
    for (const char* first : {"profile.md", "comparison.md", "report.md"}) {
      const QString name = QString::fromLatin1(first);
      if (names.removeOne(name)) names.prepend(name);
    }
  }
  QStringList present;
  for (int i = 0; i < choice_->count(); ++i) present << choice_->itemText(i);
  if (names != present) {
    const QSignalBlocker quiet(choice_);
    choice_->clear();
    choice_->addItems(names);
    choice_->setCurrentIndex(std::max(0, static_cast<int>(names.indexOf(kept))));
  }
  load();
}

void ReportPanel::show_document(const QString& name) {
  list_documents();
  const int index = choice_->findText(name);
  if (index >= 0) choice_->setCurrentIndex(index);
}

void ReportPanel::load() {
  choice_->setVisible(choice_->count() > 0);
  pages_->setCurrentIndex(choice_->count() > 0 ? 1 : 0);
  if (choice_->count() == 0) return;
  const auto file = run_.workspace().root / choice_->currentText().toStdString();
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file, error);
  if (error || written == loaded_) return;
  auto text = read_file(file);
  if (!text) return;
  loaded_ = written;
  view_->show_text(QString::fromStdString(*text), run_.workspace().root);
}

}  // namespace lwb
