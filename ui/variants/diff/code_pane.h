// Python source in the scheme's colours, with numbered lines and the marks of a diff.
#pragma once

#include "core/diff/diff.h"
#include "ui/variants/diff/qscintilla.h"

namespace lwb {

struct Tokens;

class CodePane : public QsciScintilla {
  Q_OBJECT
 public:
  enum Side { kOld, kNew };
  explicit CodePane(Side side, QWidget* parent = nullptr);

 protected:
  void changeEvent(QEvent* event) override;
  // Number, sign and ground of one line of the document.
  void mark(int line, const DiffSide& side, RowKind kind);
  void clear_marks();
  void make_room_for_numbers(int most);
  void set_fold_label(int above, const QString& label);
  void set_fillers(int line, int count);

 private:
  void apply_theme();
  QsciStyle number_style(RowKind kind) const;  // of the line's number and sign
  Side side_;
  const Tokens* themed_ = nullptr;  // the tokens that it was last coloured with
  QsciLexerPython* lexer_;
};

}  // namespace lwb
