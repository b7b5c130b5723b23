#include "ui/variants/diff/diff_pane.h"

#include <QMouseEvent>
#include <algorithm>

namespace lwb {

DiffPane::DiffPane(Side side, QWidget* parent) : CodePane(side, parent), side_(side) {
  setReadOnly(true);
  if (side == kOld) setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);  // one bar for both
  setAnnotationDisplay(AnnotationStandard);
}

void DiffPane::show_diff(const Diff& diff) {
  QString text = QStringLiteral("\n");  // room for filler lines above the first one
  line_of_row_.clear();
  int lines = 0;
  for (const DiffRow& row : diff.rows) {
    const DiffSide& mine = side_ == kOld ? row.old_side : row.new_side;
    if (mine.line) {
      text += QString::fromStdString(mine.text) + QLatin1Char('\n');
      ++lines;
    }
    line_of_row_.push_back(lines);
  }
  folds_.clear();
  setReadOnly(false);
  setText(text);
  setReadOnly(true);
  clearAnnotations();
  make_room_for_numbers(lines);
  int fillers = 0;
  for (std::size_t i = 0; i < diff.rows.size(); ++i) {
    const DiffRow& row = diff.rows[i];
    const DiffSide& mine = side_ == kOld ? row.old_side : row.new_side;
    if (mine.line) {
      mark(line_of_row_[i], mine, row.kind);
      fillers = 0;
    } else {
      set_fillers(line_of_row_[i], ++fillers);
    }
  }
}

void DiffPane::fold(std::size_t first, std::size_t last, const QString& label) {
  const int from = line_of_row_[first], to = line_of_row_[last - 1];
  SendScintilla(SCI_HIDELINES, static_cast<unsigned long>(from), static_cast<long>(to));
  set_fold_label(from - 1, label);
  folds_.push_back({from - 1, first});
}

void DiffPane::unfold_all() {
  SendScintilla(SCI_SHOWLINES, 0UL, static_cast<long>(lines() - 1));
  for (const Fold& fold : folds_) clearAnnotations(fold.above);
  folds_.clear();
}

int DiffPane::display_line(std::size_t row) const {
  const int line = row < line_of_row_.size() ? line_of_row_[row] : lines() - 1;
  return static_cast<int>(SendScintilla(SCI_VISIBLEFROMDOCLINE, static_cast<unsigned long>(line)));
}

int DiffPane::display_lines() const {
  return static_cast<int>(
      SendScintilla(SCI_VISIBLEFROMDOCLINE, static_cast<unsigned long>(lines())));
}

int DiffPane::first_display_line() const {
  return static_cast<int>(SendScintilla(SCI_GETFIRSTVISIBLELINE));
}

void DiffPane::scroll_to(int line) {
  SendScintilla(SCI_SETFIRSTVISIBLELINE, static_cast<unsigned long>(std::max(0, line)));
}

// A click on the label of a fold opens it.
void DiffPane::mousePressEvent(QMouseEvent* event) {
  const int height = static_cast<int>(SendScintilla(SCI_TEXTHEIGHT, 0UL));
  const int clicked = first_display_line() + event->pos().y() / std::max(1, height);
  for (const Fold& fold : folds_) {
    const int line = static_cast<int>(
        SendScintilla(SCI_VISIBLEFROMDOCLINE, static_cast<unsigned long>(fold.above)));
    if (clicked == line + 1) {
      Q_EMIT fold_clicked(fold.first);
      return;
    }
  }
  QsciScintilla::mousePressEvent(event);
}

}  // namespace lwb
