// One side of the side-by-side diff: a text with its changed lines marked, and room where the other
// side has lines that this one has not, so that equal lines stand beside each other.
#pragma once

#include <vector>

#include "core/diff/diff.h"
#include "ui/variants/diff/qscintilla.h"

namespace lwb {

struct Tokens;

class DiffPane : public QsciScintilla {
  Q_OBJECT
 public:
  enum Side { kOld, kNew };
  explicit DiffPane(Side side, QWidget* parent = nullptr);

  void show_diff(const Diff& diff);
  // Folds rows [first, last) away; equal rows only. Both sides are told the same.
  void fold(std::size_t first, std::size_t last, const QString& label);
  void unfold_all();
  // The display line (with folds and filler lines) of a row; of the line before it for a filler.
  int display_line(std::size_t row) const;
  int display_lines() const;
  int first_display_line() const;
  void scroll_to(int display_line);

 Q_SIGNALS:
  void fold_clicked(std::size_t first_row);

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Fold {
    int above = 0;  // the line that carries the label
    std::size_t first = 0;
  };
  void apply_theme();
  void mark(int line, const DiffSide& side, RowKind kind);
  void set_fillers(int line, int count);
  QsciStyle number_style(RowKind kind) const;  // of the line's number and sign
  Side side_;
  const Tokens* themed_ = nullptr;  // the tokens that it was last coloured with
  QsciLexerPython* lexer_;
  std::vector<int> line_of_row_;  // in the document; of a filler: of the line above it
  std::vector<int> numbers_;      // line numbers by document line, 0 for the first, which is empty
  std::vector<Fold> folds_;
};

}  // namespace lwb
