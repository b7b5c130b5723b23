// One side of the side-by-side diff: a text with its changed lines marked, and room where the other
// side has lines that this one has not, so that equal lines stand beside each other.
#pragma once

#include <vector>

#include "core/diff/diff.h"
#include "ui/variants/diff/code_pane.h"

namespace lwb {

class DiffPane : public CodePane {
  Q_OBJECT
 public:
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

 private:
  struct Fold {
    int above = 0;  // the line that carries the label
    std::size_t first = 0;
  };
  Side side_;
  std::vector<int> line_of_row_;  // in the document; of a filler: of the line above it
  std::vector<Fold> folds_;
};

}  // namespace lwb
