#include "ui/variants/diff/code_pane.h"

#include <QEvent>

#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kNumbers = 0;  // the margin: line number and sign
constexpr int kWords = 8;    // indicator: the first that lexers leave free
enum Marker { kChangedGround, kOnlyGround };
enum OwnStyle {
  kNumberStyle = 40,
  kFillerStyle,
  kFoldStyle,
  kChangedStyle,
  kOnlyStyle
};  // past the lexer's

QsciStyle text_style(int number, const char* name, const QColor& ink, const QColor& ground) {
  return QsciStyle(number, QString::fromLatin1(name), ink, ground, code_font());
}

}  // namespace

CodePane::CodePane(Side side, QWidget* parent)
    : QsciScintilla(parent), side_(side), lexer_(new QsciLexerPython(this)) {
  setUtf8(true);
  setLexer(lexer_);
  setWrapMode(WrapNone);
  setFrameShape(NoFrame);
  setMarginType(kNumbers, TextMarginRightJustified);
  setMarginWidth(1, 0);
  setMarginWidth(2, 0);
  markerDefine(Background, kChangedGround);
  markerDefine(Background, kOnlyGround);
  indicatorDefine(StraightBoxIndicator, kWords);
  setIndicatorDrawUnder(true, kWords);
  SendScintilla(SCI_SETENDATLASTLINE, 1UL);
  SendScintilla(SCI_SETSCROLLWIDTHTRACKING, 1UL);
  SendScintilla(SCI_SETSCROLLWIDTH, 1UL);
  apply_theme();
}

void CodePane::apply_theme() {
  const Tokens& t = tokens();
  themed_ = &t;
  lexer_->setDefaultFont(code_font());
  for (int i = 0; i < 32; ++i) {
    lexer_->setFont(code_font(), i);
    lexer_->setPaper(t.surface, i);
    lexer_->setColor(t.text, i);
  }
  lexer_->setDefaultPaper(t.surface);
  for (const int i : {QsciLexerPython::Comment, QsciLexerPython::CommentBlock}) {
    lexer_->setColor(t.secondary, i);
  }
  for (const int i : {QsciLexerPython::Keyword, QsciLexerPython::Decorator,
                      QsciLexerPython::FunctionMethodName, QsciLexerPython::ClassName}) {
    lexer_->setColor(t.accent, i);
  }
  for (const int i :
       {QsciLexerPython::DoubleQuotedString, QsciLexerPython::SingleQuotedString,
        QsciLexerPython::TripleSingleQuotedString, QsciLexerPython::TripleDoubleQuotedString}) {
    lexer_->setColor(t.good, i);
  }
  lexer_->setColor(t.caution, QsciLexerPython::Number);
  setPaper(t.surface);
  setColor(t.text);
  setCaretForegroundColor(t.text);
  setSelectionBackgroundColor(t.selection);
  resetSelectionForegroundColor();
  setMarginsBackgroundColor(t.window);
  setMarginsForegroundColor(t.secondary);
  setMarkerBackgroundColor(t.changed, kChangedGround);
  setMarkerBackgroundColor(side_ == kOld ? t.removed : t.added, kOnlyGround);
  const QColor words = side_ == kOld ? t.removed_words : t.added_words;
  setIndicatorForegroundColor(words, kWords);
  SendScintilla(SCI_INDICSETALPHA, kWords, 255);
  SendScintilla(SCI_INDICSETOUTLINEALPHA, kWords, 255);
  for (const QsciStyle& own : {number_style(RowKind::kSame), number_style(RowKind::kChanged),
                               number_style(side_ == kOld ? RowKind::kRemoved : RowKind::kAdded),
                               text_style(kFillerStyle, "filler", t.secondary, t.stripe),
                               text_style(kFoldStyle, "fold", t.accent, t.stripe)}) {
    own.apply(this);
  }
}

void CodePane::changeEvent(QEvent* event) {
  QsciScintilla::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && themed_ != &tokens()) apply_theme();
}

QsciStyle CodePane::number_style(RowKind kind) const {
  const Tokens& t = tokens();
  if (!is_change(kind)) return text_style(kNumberStyle, "line number", t.secondary, t.window);
  if (kind == RowKind::kChanged) return text_style(kChangedStyle, "changed", t.caution, t.window);
  return text_style(kOnlyStyle, "only here", side_ == kOld ? t.bad : t.good, t.window);
}

void CodePane::mark(int line, const DiffSide& side, RowKind kind) {
  const QChar sign = !is_change(kind)            ? QLatin1Char(' ')
                     : kind == RowKind::kChanged ? QLatin1Char('~')
                     : side_ == kOld             ? QLatin1Char('-')
                                                 : QLatin1Char('+');
  setMarginText(line, QStringLiteral("%1 %2 ").arg(side.line.value).arg(sign), number_style(kind));
  if (!is_change(kind)) return;
  markerAdd(line, kind == RowKind::kChanged ? kChangedGround : kOnlyGround);
  if (kind != RowKind::kChanged) return;
  const long start = SendScintilla(SCI_POSITIONFROMLINE, static_cast<unsigned long>(line));
  SendScintilla(SCI_SETINDICATORCURRENT, kWords);
  for (const WordMark& word : side.marks) {
    SendScintilla(SCI_INDICATORFILLRANGE, static_cast<unsigned long>(start) + word.begin,
                  static_cast<long>(word.end - word.begin));
  }
}

void CodePane::clear_marks() {
  markerDeleteAll();
  clearMarginText();
  const long length = SendScintilla(SCI_GETLENGTH);
  SendScintilla(SCI_SETINDICATORCURRENT, kWords);
  SendScintilla(SCI_INDICATORCLEARRANGE, 0UL, length);
}

void CodePane::make_room_for_numbers(int most) {
  setMarginWidth(kNumbers, QString::number(most) + QStringLiteral("00000"));
}

void CodePane::set_fillers(int line, int count) {
  annotate(line, QStringLiteral(" ") + QStringLiteral("\n ").repeated(count - 1),
           text_style(kFillerStyle, "filler", tokens().secondary, tokens().stripe));
}

void CodePane::set_fold_label(int above, const QString& label) {
  annotate(above, label, text_style(kFoldStyle, "fold", tokens().accent, tokens().stripe));
}

}  // namespace lwb
