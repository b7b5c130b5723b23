#include "ui/variants/variant_diff.h"

#include <QComboBox>
#include <QLabel>
#include <QStackedLayout>
#include <QToolButton>
#include <QVBoxLayout>

#include "core/base/files.h"
#include "core/base/json.h"
#include "ui/run/run_view.h"
#include "ui/variants/diff/diff_view.h"
#include "ui/variants/variant_editor.h"

namespace lwb {

VariantDiff::VariantDiff(RunView& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      old_choice_(new QComboBox),
      new_choice_(new QComboBox),
      view_(new DiffView),
      editor_(new VariantEditor),
      edit_(new QToolButton),
      offered_(new QLabel),
      pages_(new QStackedLayout) {
  old_choice_->setObjectName(QStringLiteral("oldVariant"));
  new_choice_->setObjectName(QStringLiteral("newVariant"));
  view_->setObjectName(QStringLiteral("diff"));
  view_->add_to_bar(old_choice_);
  view_->add_to_bar(new QLabel(QStringLiteral("↔")));
  view_->add_to_bar(new_choice_);
  edit_->setObjectName(QStringLiteral("edit"));
  edit_->setText(tr("✎ Edit"));
  edit_->setAutoRaise(true);
  view_->add_to_bar(edit_);
  offered_->setObjectName(QStringLiteral("offered"));
  offered_->setForegroundRole(QPalette::PlaceholderText);
  offered_->hide();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 4, 8, 4);
  column->setSpacing(2);
  column->addWidget(offered_);
  column->addLayout(pages_, 1);
  pages_->addWidget(view_);
  pages_->addWidget(editor_);
  connect(edit_, &QToolButton::clicked, this, &VariantDiff::edit);
  connect(editor_, &VariantEditor::save_wanted, this, &VariantDiff::save);
  connect(editor_, &VariantEditor::discarded, this, &VariantDiff::discard_edit);
  connect(old_choice_, &QComboBox::currentIndexChanged, this, &VariantDiff::load);
  connect(new_choice_, &QComboBox::currentIndexChanged, this, &VariantDiff::load);
  for (const auto changed : {&RunView::restarted, &RunView::running_changed}) {
    connect(&run_, changed, this, &VariantDiff::show_whether_editable);
  }
  connect(&run_, &RunView::restarted, this, [this] {
    pages_->setCurrentWidget(view_);  // an edit is of its run
    fill_choices();
  });
  connect(&run_, &RunView::folded, this, [this] {
    show_whether_editable();
    fill_choices();
  });
  fill_choices();
  show_whether_editable();
}

void VariantDiff::fill_choices() {
  const int wanted = run_.has_run() ? static_cast<int>(run_.state().variants.size()) + 1 : 0;
  if (old_choice_->count() == wanted) return;
  const QSignalBlocker quiet_old(old_choice_), quiet_new(new_choice_);
  const QVariant old_number = old_choice_->currentData(), new_number = new_choice_->currentData();
  for (QComboBox* choice : {old_choice_, new_choice_}) {
    choice->clear();
    if (wanted > 0) choice->addItem(tr("original"), 0);
    for (const auto& [number, record] : run_.state().variants) {
      choice->addItem(QStringLiteral("v%1").arg(number), number);
    }
  }
  show_variants(old_number.toInt(),
                new_number.isValid() ? new_number.toInt() : old_choice_->count() - 1);
}

void VariantDiff::show_variants(int old_number, int new_number) {
  {
    const QSignalBlocker quiet_old(old_choice_), quiet_new(new_choice_);
    old_choice_->setCurrentIndex(old_choice_->findData(old_number));
    new_choice_->setCurrentIndex(new_choice_->findData(new_number));
  }
  load();
}

std::string VariantDiff::text_of(int number) const {
  const auto& workspace = run_.workspace();
  auto text = read_file(number == 0 ? workspace.original() : workspace.variant(number));
  return text ? *text : std::string();
}

void VariantDiff::load() {
  if (!old_choice_->currentData().isValid() || !new_choice_->currentData().isValid()) {
    view_->clear(tr("The changes appear here when there is a variant."));
    return;
  }
  const int from = old_choice_->currentData().toInt(), to = new_choice_->currentData().toInt();
  const std::string old_text = text_of(from), new_text = text_of(to);
  if (from == shown_old_ && to == shown_new_ && old_text == old_text_ && new_text == new_text_)
    return;
  shown_old_ = from;
  shown_new_ = to;
  old_text_ = old_text;
  new_text_ = new_text;
  view_->set_texts(title_of(from), old_text, title_of(to), new_text);
}

void VariantDiff::show_whether_editable() {
  const QString problem = run_.offer_problem();
  edit_->setEnabled(problem.isEmpty());
  edit_->setToolTip(problem.isEmpty()
                        ? tr("Edit a copy of the right side and save it as a new variant")
                        : problem);
  const bool waits = run_.is_open() && variant_is_offered(run_.workspace().inbox());
  offered_->setVisible(waits && problem.isEmpty());
  offered_->setText(
      run_.is_running()
          ? tr("… Your variant waits for its turn: the step at hand is finished first.")
          : tr("… Your variant waits: it is made when the run goes on (F5)."));
}

void VariantDiff::edit() {
  if (!new_choice_->currentData().isValid()) return;
  edited_ = new_choice_->currentData().toInt();
  editor_->edit(edited_ == 0 ? tr("✎ A copy of the original") : tr("✎ A copy of v%1").arg(edited_),
                text_of(0), text_of(edited_));
  pages_->setCurrentWidget(editor_);
}

bool VariantDiff::has_unsaved_edit() const {
  return pages_->currentWidget() == editor_ && editor_->is_changed();
}

void VariantDiff::discard_edit() {
  pages_->setCurrentWidget(view_);
}

void VariantDiff::save() {
  VariantOffer offer;
  offer.text = editor_->text();
  offer.title = editor_->change_title().toStdString();
  offer.based_on = "v" + std::to_string(edited_);
  QString problem;
  if (!run_.offer(offer, problem)) {
    Q_EMIT failed(problem);
    return;  // the edit stays
  }
  pages_->setCurrentWidget(view_);
  show_whether_editable();
}

QString VariantDiff::title_of(int number) const {
  if (number == 0) return tr("original · %1.py").arg(run_.kernel());
  const auto found = run_.state().variants.find(number);
  if (found == run_.state().variants.end()) return QStringLiteral("v%1").arg(number);
  return tr("v%1 · based on %2 · %3")
      .arg(number)
      .arg(QString::fromStdString(get_string(found->second, "based_on")),
           QString::fromStdString(get_string(found->second, "author")));
}

void VariantDiff::go_to_line(int line) {
  view_->go_to_old_line(line);
}

}  // namespace lwb
