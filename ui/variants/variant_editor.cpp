#include "ui/variants/variant_editor.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include "ui/theme/theme.h"
#include "ui/variants/diff/edit_pane.h"

namespace lwb {

namespace {
constexpr int kQuietMs = 250;  // marks follow when the typing rests
}

VariantEditor::VariantEditor(QWidget* parent)
    : QWidget(parent),
      title_(new QLabel),
      change_(new QLineEdit),
      save_(new QPushButton(tr("Save as New Variant"))),
      old_(new EditPane(CodePane::kOld)),
      new_(new EditPane(CodePane::kNew)) {
  setObjectName(QStringLiteral("editor"));
  title_->setFont(strong_font());
  change_->setObjectName(QStringLiteral("changeTitle"));
  change_->setPlaceholderText(
      tr("What does it change? One line, for the comparison and the report"));
  save_->setObjectName(QStringLiteral("saveVariant"));
  set_primary(save_);
  auto* discard = new QPushButton(tr("Discard"));
  discard->setObjectName(QStringLiteral("discardEdit"));
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 2, 8, 2);
  bar->addWidget(title_);
  bar->addWidget(change_, 1);
  bar->addWidget(discard);
  bar->addWidget(save_);
  auto* next = new QLabel(
      tr("Saved, it runs through smoke test, stock benchmark, measurement and guardrails as the "
         "run's next variant, by the author “engineer”. The kernel file of the checkout is not "
         "touched."));
  next->setFont(secondary_font());
  next->setForegroundRole(QPalette::PlaceholderText);
  next->setContentsMargins(8, 0, 8, 2);
  next->setWordWrap(true);
  auto* panes = new QSplitter;
  panes->addWidget(old_);
  panes->addWidget(new_);
  panes->setChildrenCollapsible(false);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  column->addLayout(bar);
  column->addWidget(next);
  column->addWidget(panes, 1);
  quiet_.setSingleShot(true);
  quiet_.setInterval(kQuietMs);
  connect(&quiet_, &QTimer::timeout, this, &VariantEditor::compare);
  connect(new_, &QsciScintilla::textChanged, this, [this] { quiet_.start(); });
  connect(change_, &QLineEdit::textChanged, this, &VariantEditor::compare);
  connect(save_, &QPushButton::clicked, this, &VariantEditor::save_wanted);
  connect(discard, &QPushButton::clicked, this, &VariantEditor::discarded);
}

void VariantEditor::edit(const QString& title, const std::string& original,
                         const std::string& text) {
  title_->setText(title);
  original_ = original;
  begun_ = text;
  change_->clear();
  old_->set_text(original);
  new_->set_text(text);
  compare();
  new_->setFocus();
}

std::string VariantEditor::text() const {
  return new_->text_bytes();
}

QString VariantEditor::change_title() const {
  return change_->text().trimmed();
}

bool VariantEditor::is_changed() const {
  return text() != begun_;
}

void VariantEditor::compare() {
  const Diff diff = diff_texts(original_, text());
  old_->show_marks(diff);
  new_->show_marks(diff);
  const bool named = !change_title().isEmpty();
  save_->setEnabled(is_changed() && named);
  save_->setToolTip(!is_changed() ? tr("Nothing was edited yet")
                    : !named      ? tr("Say in one line what it changes")
                                  : tr("The run makes it its next variant"));
}

}  // namespace lwb
