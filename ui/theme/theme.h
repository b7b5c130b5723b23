// Colours, fonts and the few styled controls: everything that the palette of Qt does not say.
#pragma once

#include <QColor>
#include <QFont>
#include <QObject>
#include <QPalette>
#include <QStringList>

class QLabel;
class QPushButton;
class QTableView;

namespace lwb {

// One colour scheme. Contrast of text on what it stands on is at least 4.5:1 (WCAG 2.1, 1.4.3; tested).
struct Tokens {
  bool dark = false;
  QColor window, surface, stripe, text, secondary, line, accent, on_accent, good, bad, caution;
  QColor selection;  // ground of a selected row; its text keeps its own colour
  QColor added, added_words, removed, removed_words, changed;  // of a diff
};
const Tokens& light_tokens();
const Tokens& dark_tokens();
// Of the scheme in force.
const Tokens& tokens();

class SystemScheme;

enum class Scheme { kSystem, kLight, kDark };

// The scheme in force; sets the application's style and palette.
class Theme : public QObject {
  Q_OBJECT
 public:
  static Theme& instance();
  void set_scheme(Scheme scheme);
  Scheme scheme() const { return scheme_; }

 Q_SIGNALS:
  void changed();

 private:
  Theme();
  Scheme scheme_ = Scheme::kSystem;
  SystemScheme* system_ = nullptr;
};

QPalette palette_of(const Tokens& tokens);

// Loads the fonts that come with the program, so that it looks the same on a bare server; returns
// their families. Before the first window.
QStringList load_fonts();
QFont text_font();       // 13 px
QFont secondary_font();  // 11 px
QFont strong_font();     // 13 px, semi-bold
QFont title_font();      // 17 px, semi-bold
QFont code_font();       // 12 px, fixed pitch, digits of one width

// The colour of a variant wherever it is drawn: Okabe and Ito's colours, which people with colour
// blindness tell apart, by its number; the original is grey.
QColor variant_colour(int number);

// "▲ FASTER", from the journal's "FASTER"; colour is never the only sign.
QString verdict_words(const QString& verdict);
QColor verdict_colour(const QString& verdict);

// A small label on a ground of its own; hidden when the text is empty.
enum class Chip { kPlain, kGood, kCaution, kBad };
void set_chip(QLabel* label, const QString& text, Chip kind);
// The one button of a dialog or bar that goes on.
void set_primary(QPushButton* button);
// How every table looks: rows selected as a whole, stripes, no grid, no row numbers.
void set_up_table(QTableView* table);
// What a panel shows while it has nothing to show: says what will appear, and when.
QLabel* empty_label(const QString& sentence);

}  // namespace lwb
