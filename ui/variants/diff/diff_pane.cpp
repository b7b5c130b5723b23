#include "ui/variants/diff/diff_pane.h"

#include <QEvent>
#include <QMouseEvent>
#include <algorithm>

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

DiffPane::DiffPane(Side side, QWidget* parent)
    : QsciScintilla(parent), side_(side), lexer_(new QsciLexerPython(this)) {
  setUtf8(true);
  setLexer(lexer_);
  setReadOnly(true);
  setWrapMode(WrapNone);
  setFrameShape(NoFrame);
  if (side == kOld) setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);  // one bar for both
  setMarginType(kNumbers, TextMarginRightJustified);
  setMarginWidth(1, 0);
  setMarginWidth(2, 0);
  markerDefine(Background, kChangedGround);
  markerDefine(Background, kOnlyGround);
  indicatorDefine(StraightBoxIndicator, kWords);
  setIndicatorDrawUnder(true, kWords);
  setAnnotationDisplay(AnnotationStandard);
  SendScintilla(SCI_SETENDATLASTLINE, 1UL);
  SendScintilla(SCI_SETSCROLLWIDTHTRACKING, 1UL);
  SendScintilla(SCI_SETSCROLLWIDTH, 1UL);
  apply_theme();
}

void DiffPane::apply_theme() {
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

void DiffPane::changeEvent(QEvent* event) {
  QsciScintilla::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && themed_ != &tokens()) apply_theme();
}

void DiffPane::show_diff(const Diff& diff) {
  QString text = QStringLiteral("\n");  // room for filler lines above the first one
  line_of_row_.clear();
  numbers_ = {0};
  for (const DiffRow& row : diff.rows) {
    const DiffSide& mine = side_ == kOld ? row.old_side : row.new_side;
    if (mine.line) {
      text += QString::fromStdString(mine.text) + QLatin1Char('\n');
      numbers_.push_back(mine.line.value);
    }
    line_of_row_.push_back(static_cast<int>(numbers_.size()) - 1);
  }
  folds_.clear();
  setReadOnly(false);
  setText(text);
  setReadOnly(true);
  clearAnnotations();
  setMarginWidth(kNumbers, QString::number(numbers_.size()) + QStringLiteral("00000"));
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

QsciStyle DiffPane::number_style(RowKind kind) const {
  const Tokens& t = tokens();
  if (kind == RowKind::kSame) return text_style(kNumberStyle, "line number", t.secondary, t.window);
  if (kind == RowKind::kChanged) return text_style(kChangedStyle, "changed", t.caution, t.window);
  return text_style(kOnlyStyle, "only here", side_ == kOld ? t.bad : t.good, t.window);
}

void DiffPane::mark(int line, const DiffSide& side, RowKind kind) {
  const QChar sign = kind == RowKind::kSame      ? QLatin1Char(' ')
                     : kind == RowKind::kChanged ? QLatin1Char('~')
                     : side_ == kOld             ? QLatin1Char('-')
                                                 : QLatin1Char('+');
  setMarginText(line,
                QStringLiteral("%1 %2 ").arg(numbers_[static_cast<std::size_t>(line)]).arg(sign),
                number_style(kind));
  if (kind == RowKind::kSame) return;
  markerAdd(line, kind == RowKind::kChanged ? kChangedGround : kOnlyGround);
  if (kind != RowKind::kChanged) return;
  const long start = SendScintilla(SCI_POSITIONFROMLINE, static_cast<unsigned long>(line));
  SendScintilla(SCI_SETINDICATORCURRENT, kWords);
  for (const WordMark& word : side.marks) {
    SendScintilla(SCI_INDICATORFILLRANGE, static_cast<unsigned long>(start) + word.begin,
                  static_cast<long>(word.end - word.begin));
  }
}

void DiffPane::set_fillers(int line, int count) {
  annotate(line, QStringLiteral(" ") + QStringLiteral("\n ").repeated(count - 1),
           text_style(kFillerStyle, "filler", tokens().secondary, tokens().stripe));
}

void DiffPane::fold(std::size_t first, std::size_t last, const QString& label) {
  const int from = line_of_row_[first], to = line_of_row_[last - 1];
  SendScintilla(SCI_HIDELINES, static_cast<unsigned long>(from), static_cast<long>(to));
  annotate(from - 1, label, text_style(kFoldStyle, "fold", tokens().accent, tokens().stripe));
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
