#include "ui/theme/theme.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QStyle>
#include <QStyleFactory>
#include <QTableView>
#include <array>

#include "ui/theme/system_scheme.h"

namespace lwb {

namespace {

const Tokens* in_force = nullptr;

QString chip_rule(const char* name, QColor colour) {
  QColor ground = colour;
  ground.setAlphaF(0.14F);
  return QStringLiteral("QLabel[chip=\"%1\"] { color: %2; background: %3; border-radius: 4px;"
                        " padding: 2px 8px; }")
      .arg(QLatin1String(name), colour.name(), ground.name(QColor::HexArgb));
}

// What the palette cannot say.
QString style_sheet(const Tokens& t) {
  return chip_rule("plain", t.secondary) + chip_rule("good", t.good) +
         chip_rule("caution", t.caution) + chip_rule("bad", t.bad) +
         QStringLiteral(
             "QFrame#header, QFrame#rail { background: %1; border: none; }"
             "QFrame#header { border-bottom: 1px solid %2; }"
             "QFrame#rail { border-right: 1px solid %2; }"
             "QFrame#decisionBar { background: %3; border-bottom: 1px solid %2; }"
             "QFrame#rail QPushButton { border: none; border-left: 3px solid transparent;"
             " padding: 6px 9px; text-align: left; background: transparent; }"
             "QFrame#rail QPushButton:focus { background: %5; }"
             "QFrame#rail QPushButton:checked { border-left-color: %4; background: %5; }"
             "QPushButton[primary=\"true\"] { background: %4; color: %6; border: 1px solid %4;"
             " border-radius: 4px; padding: 6px 14px; font-weight: 600; }"
             "QPushButton[primary=\"true\"]:disabled { background: %2; color: %7;"
             " border-color: %2; }"
             "QPushButton[primary=\"true\"]:focus { border: 2px solid %8; padding: 5px 13px; }"
             "QToolTip { background: %5; color: %8; border: 1px solid %2; padding: 4px; }"
             "QHeaderView::section { background: %1; color: %7; border: none;"
             " border-bottom: 1px solid %2; padding: 4px 6px; }"
             "QDockWidget::title { background: %1; padding: 5px 8px; }")
      .arg(t.window.name(), t.line.name(), t.selection.name(), t.accent.name(), t.surface.name(),
           t.on_accent.name(), t.secondary.name(), t.text.name());
}

QFont sized(double pixels, int weight) {
  QFont font;
  font.setFamilies({QStringLiteral("Inter"), QStringLiteral("DejaVu Sans")});
  font.setPointSizeF(pixels * 72 / 96);  // points, as QScintilla wants them (design: traps)
  font.setWeight(static_cast<QFont::Weight>(weight));
  return font;
}

}  // namespace

const Tokens& light_tokens() {
  static const Tokens tokens{false,     "#f6f7f9", "#ffffff", "#f2f4f7", "#1b1f24", "#5d6675",
                             "#dde2e8", "#2563c9", "#ffffff", "#11795a", "#b4372a", "#8a5c00",
                             "#e1e8f5", "#e3f4ea", "#b9e3c9", "#fbe7e4", "#f4bfb7", "#fdf3d8"};
  return tokens;
}

const Tokens& dark_tokens() {
  static const Tokens tokens{true,      "#1d2126", "#161a1e", "#1a1f24", "#e3e7ec", "#8c97a5",
                             "#2e353d", "#6aa5ff", "#10151b", "#4cc38a", "#ff8573", "#e3b341",
                             "#26344a", "#16301f", "#23573a", "#3a1d1b", "#6b2a26", "#362c12"};
  return tokens;
}

const Tokens& tokens() {
  return in_force != nullptr ? *in_force : light_tokens();
}

Theme::Theme() = default;

Theme& Theme::instance() {
  static Theme theme;
  return theme;
}

void Theme::set_scheme(Scheme scheme) {
  if (system_ == nullptr) {  // asked before our own palette is set
    system_ = new SystemScheme(this);
    connect(system_, &SystemScheme::changed, this, [this] {
      if (scheme_ == Scheme::kSystem) set_scheme(scheme_);
    });
  }
  scheme_ = scheme;
  const bool dark = scheme == Scheme::kDark || (scheme == Scheme::kSystem && system_->is_dark());
  in_force = dark ? &dark_tokens() : &light_tokens();
  if (QApplication::style()->name() != QLatin1String("fusion")) {
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  }
  QApplication::setPalette(palette_of(*in_force));
  qApp->setStyleSheet(style_sheet(*in_force));
  Q_EMIT changed();
}

QPalette palette_of(const Tokens& t) {
  QPalette palette;
  palette.setColor(QPalette::Window, t.window);
  palette.setColor(QPalette::WindowText, t.text);
  palette.setColor(QPalette::Base, t.surface);
  palette.setColor(QPalette::AlternateBase, t.stripe);
  palette.setColor(QPalette::Text, t.text);
  palette.setColor(QPalette::PlaceholderText, t.secondary);
  palette.setColor(QPalette::Button, t.window);
  palette.setColor(QPalette::ButtonText, t.text);
  palette.setColor(QPalette::BrightText, t.bad);
  palette.setColor(QPalette::ToolTipBase, t.surface);
  palette.setColor(QPalette::ToolTipText, t.text);
  palette.setColor(QPalette::Highlight, t.selection);
  palette.setColor(QPalette::HighlightedText, t.text);
  palette.setColor(QPalette::Link, t.accent);
  palette.setColor(QPalette::LinkVisited, t.accent);
  palette.setColor(QPalette::Light, t.surface);
  palette.setColor(QPalette::Midlight, t.stripe);
  palette.setColor(QPalette::Mid, t.line);
  palette.setColor(QPalette::Dark, t.line.darker(120));
  palette.setColor(QPalette::Shadow, t.line.darker(150));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, t.secondary);
  }
  return palette;
}

QFont text_font() { return sized(13, QFont::Normal); }
QFont secondary_font() { return sized(11, QFont::Normal); }
QFont strong_font() { return sized(13, QFont::DemiBold); }
QFont title_font() { return sized(17, QFont::DemiBold); }

QFont code_font() {
  QFont font = sized(12, QFont::Normal);
  font.setFamilies({QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans")});
  font.setStyleHint(QFont::Monospace);
  font.setFixedPitch(true);
  return font;
}

// M. Okabe, K. Ito, "Color Universal Design" (2008). Yellow is left for last: it is weak on white.
QColor variant_colour(int number) {
  if (number <= 0) return tokens().dark ? QColor("#a3adb9") : QColor("#4b5563");
  static const std::array<QColor, 7> light{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                           "#e69f00", "#56b4e9", "#b8a800"};
  static const std::array<QColor, 7> dark{"#56b4e9", "#e69f00", "#3dbf95", "#d99bbd",
                                          "#e8794a", "#8fc9f0", "#f0e442"};
  const auto& colours = tokens().dark ? dark : light;
  return colours[static_cast<std::size_t>(number - 1) % colours.size()];
}

QString verdict_words(const QString& verdict) {
  if (verdict == QLatin1String("FASTER")) return QStringLiteral("▲ FASTER");
  if (verdict == QLatin1String("SLOWER")) return QStringLiteral("▼ SLOWER");
  if (verdict == QLatin1String("SAME")) return QStringLiteral("= SAME");
  return QStringLiteral("? ") + verdict;
}

QColor verdict_colour(const QString& verdict) {
  if (verdict == QLatin1String("FASTER")) return tokens().good;
  if (verdict == QLatin1String("SLOWER")) return tokens().bad;
  if (verdict == QLatin1String("SAME")) return tokens().secondary;
  return tokens().caution;
}

void set_chip(QLabel* label, const QString& text, Chip kind) {
  label->setVisible(!text.isEmpty());
  label->setText(text);
  const char* names[] = {"plain", "good", "caution", "bad"};
  const QString name = QString::fromLatin1(names[static_cast<int>(kind)]);
  if (label->property("chip").toString() == name) return;
  label->setProperty("chip", name);
  label->style()->unpolish(label);  // so that the style sheet is read again
  label->style()->polish(label);
}

void set_primary(QPushButton* button) {
  button->setProperty("primary", true);
}

void set_up_table(QTableView* table) {
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setAlternatingRowColors(true);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(QFontMetrics(text_font()).height() + 8);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table->setFrameShape(QFrame::NoFrame);
}

QLabel* empty_label(const QString& sentence) {
  auto* label = new QLabel(sentence);
  label->setObjectName(QStringLiteral("empty"));
  label->setAlignment(Qt::AlignCenter);
  label->setWordWrap(true);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setContentsMargins(24, 24, 24, 24);
  return label;
}

}  // namespace lwb
