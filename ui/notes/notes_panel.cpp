#include "ui/notes/notes_panel.h"

#include <QLabel>
#include <QStackedLayout>
#include <algorithm>

#include "core/base/files.h"
#include "ui/report/markdown_view.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

NotesPanel::NotesPanel(RunView& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      empty_(empty_label({})),
      view_(new MarkdownView),
      pages_(new QStackedLayout(this)) {
  view_->setObjectName(QStringLiteral("notesView"));
  pages_->addWidget(empty_);
  pages_->addWidget(view_);
  connect(&run_, &RunView::restarted, this, &NotesPanel::load);
  connect(&run_, &RunView::variant_selected, this, &NotesPanel::load);
  connect(&run_, &RunView::folded, this, [this](const std::vector<Event>& events) {
    // Notes are written before a variant is tried and after it was judged.
    const bool concerns = std::any_of(events.begin(), events.end(), [](const Event& event) {
      return event.type == "variant" || event.type == "step_started";
    });
    if (concerns) load();
  });
  load();
}

void NotesPanel::load() {
  const int number = run_.selected_variant();
  Result<std::string> text = fail(ErrorKind::kUsage, "");
  if (run_.is_open() && number > 0) text = read_file(run_.workspace().notes(number));
  pages_->setCurrentIndex(text ? 1 : 0);
  if (text) return view_->show_text(QString::fromStdString(*text), run_.workspace().root);
  empty_->setText(number == 0 ? tr("The original has no notes: select a variant.")
                              : tr("The notes of the selected variant appear here: why it was "
                                   "tried, what was measured, what was learned."));
}

}  // namespace lwb
