#include "ui/variants/diff/edit_pane.h"

#include <algorithm>

namespace lwb {

namespace {
constexpr int kIndent = 4;
}

EditPane::EditPane(Side side, QWidget* parent) : CodePane(side, parent), side_(side) {
  setReadOnly(side == kOld);
  setAutoIndent(true);
  setIndentationsUseTabs(false);
  setIndentationWidth(kIndent);
  setTabWidth(kIndent);
  setBackspaceUnindents(true);
}

void EditPane::set_text(const std::string& text) {
  const bool dos = text.find("\r\n") != std::string::npos;
  setEolMode(dos ? EolWindows : EolUnix);
  const bool locked = isReadOnly();
  setReadOnly(false);
  setText(QString::fromStdString(text));
  setReadOnly(locked);
  SendScintilla(SCI_EMPTYUNDOBUFFER);
}

std::string EditPane::text_bytes() const {
  return text().toStdString();
}

void EditPane::show_marks(const Diff& diff) {
  clear_marks();
  make_room_for_numbers(std::max(1, lines()));
  for (const DiffRow& row : diff.rows) {
    const DiffSide& mine = side_ == kOld ? row.old_side : row.new_side;
    if (mine.line) mark(mine.line.value - 1, mine, row.kind);
  }
}

}  // namespace lwb
