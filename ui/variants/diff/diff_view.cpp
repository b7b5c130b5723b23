#include "ui/variants/diff/diff_view.h"

#include <QAction>
#include <QCheckBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QShortcut>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/variants/diff/diff_pane.h"
#include "ui/variants/diff/overview_bar.h"

namespace lwb {

namespace {

constexpr int kContext = 3;           // unchanged rows kept around a change
constexpr int kWorthFolding = 3;      // rows: fewer than this are not folded
constexpr int kMostOfPosition = 420;  // px: where change 3 of 12 stands, with its comment
constexpr int kAbove = 3;             // rows shown above a change that was gone to

std::vector<RowRange> changes_of(const Diff& diff) {
  std::vector<RowRange> changes;
  for (std::size_t i = 0; i < diff.rows.size(); ++i) {
    if (!is_change(diff.rows[i].kind)) continue;
    if (changes.empty() || changes.back().end.value != i) changes.push_back({{i}, {i}});
    changes.back().end.value = i + 1;
  }
  return changes;
}

}  // namespace

DiffView::DiffView(QWidget* parent)
    : QWidget(parent),
      old_(new DiffPane(DiffPane::kOld)),
      new_(new DiffPane(DiffPane::kNew)),
      overview_(new OverviewBar),
      old_title_(new QLabel),
      new_title_(new QLabel),
      position_(new QLabel),
      fold_(new QCheckBox(tr("Fold unchanged"))),
      lock_(new QCheckBox(tr("Scroll together"))),
      ignore_space_(new QAction(tr("White space"), this)),
      ignore_comments_(new QAction(tr("Comments"), this)),
      find_(new QLineEdit) {
  for (QLabel* title : {old_title_, new_title_}) {
    title->setFont(secondary_font());
    title->setForegroundRole(QPalette::PlaceholderText);
    title->setContentsMargins(8, 2, 8, 2);
  }
  auto* grid = new QGridLayout;
  grid->setSpacing(0);
  grid->setHorizontalSpacing(1);
  grid->addWidget(old_title_, 0, 0);
  grid->addWidget(new_title_, 0, 1);
  grid->addWidget(old_, 1, 0);
  grid->addWidget(new_, 1, 1);
  grid->addWidget(overview_, 1, 2);
  grid->setColumnStretch(0, 1);
  grid->setColumnStretch(1, 1);
  grid->setRowStretch(1, 1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  make_bar();
  column->addLayout(grid, 1);
  for (const auto& [from, to] : {std::pair{old_, new_}, {new_, old_}}) {
    for (QScrollBar* bar : {from->verticalScrollBar(), from->horizontalScrollBar()}) {
      connect(bar, &QScrollBar::valueChanged, this,
              [this, from = from, to = to] { scrolled(from, to); });
    }
    connect(from, &DiffPane::fold_clicked, this, [this](std::size_t first) {
      opened_.push_back(first);
      fold_unchanged();
    });
    connect(from, &QsciScintilla::SCN_ZOOM, to, [from = from, to = to] {
      to->zoomTo(static_cast<int>(from->SendScintilla(QsciScintilla::SCI_GETZOOM)));
    });
  }
  connect(overview_, &OverviewBar::line_wanted, this, [this](int line) { new_->scroll_to(line); });
}

void DiffView::make_bar() {
  auto* row = new QHBoxLayout;
  bar_ = row;
  row->setContentsMargins(8, 2, 8, 2);
  row->setSpacing(8);
  const auto button = [&](const char* name, Qt::ArrowType arrow, const QString& tip, auto slot) {
    auto* tool = new QToolButton;
    tool->setObjectName(QString::fromLatin1(name));
    tool->setArrowType(arrow);
    tool->setAutoRaise(true);
    tool->setToolTip(tip);
    connect(tool, &QToolButton::clicked, this, slot);
    row->addWidget(tool);
  };
  position_->setObjectName(QStringLiteral("position"));
  row->addWidget(position_);
  button("previousChange", Qt::UpArrow, tr("Previous change (Shift+F7)"),
         &DiffView::previous_change);
  button("nextChange", Qt::DownArrow, tr("Next change (F7)"), &DiffView::next_change);
  row->addStretch();
  find_->setObjectName(QStringLiteral("find"));
  find_->setPlaceholderText(tr("Find in both sides (Ctrl+F)"));
  find_->setClearButtonEnabled(true);
  find_->setMaximumWidth(240);
  connect(find_, &QLineEdit::returnPressed, this, [this] { find(true); });
  row->addWidget(find_);
  fold_->setChecked(true);
  fold_->setObjectName(QStringLiteral("fold"));
  fold_->setToolTip(tr("Hide lines that are the same on both sides; a click on the gap opens it"));
  connect(fold_, &QCheckBox::toggled, this, [this] {
    opened_.clear();
    fold_unchanged();
  });
  row->addWidget(fold_);
  auto* ignore = new QToolButton;
  ignore->setObjectName(QStringLiteral("ignore"));
  ignore->setText(tr("Ignore"));
  ignore->setToolTip(tr("Differences that are not marked as changes"));
  ignore->setPopupMode(QToolButton::InstantPopup);
  ignore->setAutoRaise(true);
  for (const auto& [action, name] :
       {std::pair{ignore_space_, "ignoreSpace"}, {ignore_comments_, "ignoreComments"}}) {
    action->setObjectName(QString::fromLatin1(name));
    action->setCheckable(true);
    connect(action, &QAction::toggled, this, &DiffView::compare);
    ignore->addAction(action);
  }
  row->addWidget(ignore);
  lock_->setChecked(true);
  lock_->setObjectName(QStringLiteral("lock"));
  connect(lock_, &QCheckBox::toggled, this, [this](bool on) {
    if (on) scrolled(new_, old_);
  });
  row->addWidget(lock_);
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
  const auto shortcut = [this](const QKeySequence& keys, auto slot) {
    auto* action = new QShortcut(keys, this);
    action->setContext(Qt::WidgetWithChildrenShortcut);
    connect(action, &QShortcut::activated, this, slot);
  };
  shortcut(QKeySequence(Qt::Key_F7), &DiffView::next_change);
  shortcut(QKeySequence(Qt::SHIFT | Qt::Key_F7), &DiffView::previous_change);
  shortcut(QKeySequence(Qt::Key_N), &DiffView::next_change);
  shortcut(QKeySequence(Qt::Key_P), &DiffView::previous_change);
  shortcut(QKeySequence::Find, [this] { find_->setFocus(); });
  shortcut(QKeySequence::FindNext, [this] { find(true); });
  shortcut(QKeySequence::FindPrevious, [this] { find(false); });
}

void DiffView::add_to_bar(QWidget* control) {
  bar_->insertWidget(added_++, control);
}

void DiffView::set_texts(const QString& old_title, const std::string& old_text,
                         const QString& new_title, const std::string& new_text) {
  old_title_->setText(old_title);
  new_title_->setText(new_title);
  old_text_ = old_text;
  new_text_ = new_text;
  compare();
}

void DiffView::compare() {
  diff_ = diff_texts(old_text_, new_text_);
  ignore_in(diff_, {ignore_space_->isChecked(), ignore_comments_->isChecked()});
  changes_ = changes_of(diff_);
  opened_.clear();
  current_ = -1;
  old_->show_diff(diff_);
  new_->show_diff(diff_);
  fold_unchanged();
  new_->scroll_to(0);
  position_->setText(changes_.empty()      ? tr("no difference")
                     : change_count() == 1 ? tr("1 change")
                                           : tr("%1 changes").arg(change_count()));
}

void DiffView::clear(const QString& sentence) {
  set_texts({}, {}, {}, {});
  position_->setText(sentence);
}

void DiffView::fold_unchanged() {
  const int first = new_->first_display_line();
  old_->unfold_all();
  new_->unfold_all();
  if (fold_->isChecked() && !changes_.empty()) {
    std::size_t at = 0;
    auto shown = changed_ranges(diff_, kContext);
    shown.push_back({{diff_.rows.size()}, {diff_.rows.size()}});
    for (const RowRange& range : shown) {
      const std::size_t end = range.begin.value;
      const bool open = std::find(opened_.begin(), opened_.end(), at) != opened_.end();
      if (!open && end > at && end - at >= kWorthFolding) {
        const QString label = tr("⋯ %1 unchanged lines").arg(end - at);  // never just one
        old_->fold(at, end, label);
        new_->fold(at, end, label);
      }
      at = range.end.value;
    }
  }
  refresh_marks();
  new_->scroll_to(first);
}

void DiffView::refresh_marks() {
  std::vector<OverviewBar::Mark> marks;
  for (std::size_t i = 0; i < diff_.rows.size(); ++i) {
    const RowKind kind = diff_.rows[i].kind;
    if (!is_change(kind)) continue;
    // Of the pane that has the line: the other stands at the line above.
    const DiffPane* pane = kind == RowKind::kRemoved ? old_ : new_;
    marks.push_back({pane->display_line(i), kind});
  }
  overview_->set_marks(std::move(marks), new_->display_lines());
  scrolled(new_, old_);
}

void DiffView::next_change() {
  if (!changes_.empty()) go_to((current_ + 1) % change_count());
}

void DiffView::previous_change() {
  if (!changes_.empty()) go_to((std::max(current_, 0) + change_count() - 1) % change_count());
}

void DiffView::go_to(int change) {
  current_ = change;
  const std::size_t row = changes_[static_cast<std::size_t>(change)].begin.value;
  const DiffPane* pane = diff_.rows[row].kind == RowKind::kRemoved ? old_ : new_;
  new_->scroll_to(pane->display_line(row) - kAbove);
  QString text = tr("change %1 of %2").arg(change + 1).arg(change_count());
  const QString comment = comment_of(changes_[static_cast<std::size_t>(change)]);
  if (!comment.isEmpty()) text += QStringLiteral(": ") + comment;
  position_->setText(fontMetrics().elidedText(text, Qt::ElideRight, kMostOfPosition));
  position_->setToolTip(comment);
}

// The first comment that the change adds: what it says of itself.
QString DiffView::comment_of(const RowRange& change) const {
  for (std::size_t i = change.begin.value; i < change.end.value; ++i) {
    const DiffRow& row = diff_.rows[i];
    if (row.kind == RowKind::kRemoved) continue;
    const QString line = QString::fromStdString(row.new_side.text).trimmed();
    if (line.startsWith(QLatin1Char('#'))) return line.mid(1).trimmed();
  }
  return {};
}

void DiffView::go_to_old_line(int line) {
  for (std::size_t i = 0; i < diff_.rows.size(); ++i) {
    if (diff_.rows[i].old_side.line.value != line) continue;
    fold_->setChecked(false);
    old_->scroll_to(old_->display_line(i) - kAbove);
    old_->setCursorPosition(line, 0);  // the first line of the pane is empty
    return;
  }
}

void DiffView::scrolled(DiffPane* from, DiffPane* to) {
  if (scrolling_) return;
  scrolling_ = true;
  if (lock_->isChecked()) {
    to->scroll_to(from->first_display_line());
    to->horizontalScrollBar()->setValue(from->horizontalScrollBar()->value());
  }
  overview_->set_visible(new_->first_display_line(),
                         static_cast<int>(new_->SendScintilla(QsciScintilla::SCI_LINESONSCREEN)));
  scrolling_ = false;
}

// In the new text, then in the old one where it is not there.
void DiffView::find(bool forward) {
  const QString text = find_->text();
  if (text.isEmpty()) return;
  for (DiffPane* pane : {new_, old_}) {
    int line = -1, index = -1;
    if (!forward) pane->getCursorPosition(&line, &index);
    if (pane->findFirst(text, false, false, false, true, forward, forward ? -1 : line,
                        forward ? -1 : std::max(0, index - static_cast<int>(text.size())))) {
      pane->ensureCursorVisible();
      return;
    }
  }
  position_->setText(tr("“%1” is on neither side").arg(text));
}

}  // namespace lwb
