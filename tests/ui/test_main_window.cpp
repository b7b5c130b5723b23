#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QFontInfo>
#include <QFontMetrics>
#include <QLabel>
#include <QMenuBar>
#include <QPushButton>
#include <QTemporaryDir>

#include "ui/main_window.h"
#include "ui/theme/system_scheme.h"
#include "ui/theme/theme.h"

namespace {

QString text_of(const lwb::MainWindow& window, const char* name) {
  const auto* label = window.findChild<QLabel*>(QString::fromLatin1(name));
  return label && !label->isHidden() ? label->text() : QString();
}

QAction* action_of(const lwb::MainWindow& window, const char* text) {
  for (QAction* action : window.findChildren<QAction*>()) {
    if (action->text().remove(QLatin1Char('&')) == QString::fromUtf8(text)) return action;
  }
  return nullptr;
}

TEST(MainWindow, MenusStandInTheUsualOrder) {
  const lwb::MainWindow window;
  QStringList titles;
  for (const QAction* menu : window.menuBar()->actions()) {
    titles.append(menu->text().remove(QLatin1Char('&')));
  }
  EXPECT_EQ(titles.join(QLatin1Char(' ')).toStdString(), "File Run View Help");
  ASSERT_TRUE(action_of(window, "Quit"));
  EXPECT_TRUE(action_of(window, "About Liger Workbench"));
}

TEST(MainWindow, EveryPanelHasAMenuEntryWithAShortcutOfItsOwn) {
  const lwb::MainWindow window;
  EXPECT_FALSE(window.docks().isEmpty());
  for (const QDockWidget* dock : window.docks()) {
    EXPECT_FALSE(dock->toggleViewAction()->shortcut().isEmpty()) << qPrintable(dock->objectName());
  }
  QStringList keys;
  for (const QAction* action : window.findChildren<QAction*>()) {
    const QString key = action->shortcut().toString();
    // Copy belongs to the table that has the focus.
    if (key.isEmpty() || action->shortcutContext() == Qt::WidgetShortcut) continue;
    EXPECT_FALSE(keys.contains(key)) << qPrintable(key);
    keys << key;
  }
}

TEST(MainWindow, EmptyStateSaysWhatToDoNext) {
  lwb::MainWindow window;
  window.show();
  EXPECT_TRUE(text_of(window, "problem").contains(QStringLiteral("try the sample")));
  EXPECT_FALSE(window.findChild<QPushButton*>(QStringLiteral("start"))->isEnabled());
  EXPECT_FALSE(action_of(window, "Go On")->isEnabled());
  EXPECT_FALSE(action_of(window, "Stop")->isEnabled());
}

TEST(MainWindow, SaysWhyAFolderIsNoCheckoutUntilItIsDismissed) {
  const QTemporaryDir folder;
  lwb::MainWindow window;
  window.show();
  lwb::OpenRequest request;
  request.checkout = folder.path();
  window.open(request);
  EXPECT_TRUE(text_of(window, "error").contains(QStringLiteral("is not a checkout")));
  auto* dismiss = window.findChild<QPushButton*>(QStringLiteral("dismiss"));
  EXPECT_TRUE(dismiss->isVisible());
  dismiss->click();
  EXPECT_FALSE(dismiss->isVisible());
}

TEST(MainWindow, NothingIsCutOffAtTheSmallestSize) {
  lwb::MainWindow window;
  window.resize(window.minimumSize());
  window.show();
  EXPECT_LE(window.minimumSizeHint().width(), 1100);
  EXPECT_LE(window.minimumSizeHint().height(), 700);
}

TEST(Fonts, ProgramCarriesItsOwn) {
  EXPECT_TRUE(lwb::load_fonts().contains(QStringLiteral("Inter")));
  EXPECT_TRUE(lwb::load_fonts().contains(QStringLiteral("JetBrains Mono")));
  EXPECT_EQ(QFontInfo(lwb::text_font()).family().toStdString(), "Inter");
  EXPECT_EQ(QFontInfo(lwb::code_font()).family().toStdString(), "JetBrains Mono");
}

TEST(Fonts, DigitsAreOfOneWidthSoThatColumnsLineUp) {
  const QFontMetrics metrics(lwb::code_font());
  for (const QChar digit : QStringLiteral("123456789.")) {
    EXPECT_EQ(metrics.horizontalAdvance(digit), metrics.horizontalAdvance(QLatin1Char('0')));
  }
}

// WCAG 2.1, 1.4.3: relative luminance and contrast ratio.
double luminance(const QColor& colour) {
  const auto linear = [](double c) {
    return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
         0.0722 * linear(colour.blueF());
}
double contrast(const QColor& a, const QColor& b) {
  const double high = std::max(luminance(a), luminance(b));
  const double low = std::min(luminance(a), luminance(b));
  return (high + 0.05) / (low + 0.05);
}

TEST(Theme, TheDesktopSaysWhetherItIsDark) {
  const auto packed = [](unsigned value) {
    return QVariant::fromValue(QDBusVariant(QVariant::fromValue(QDBusVariant(QVariant(value)))));
  };
  EXPECT_EQ(lwb::SystemScheme::dark_by(packed(1)), true);
  EXPECT_EQ(lwb::SystemScheme::dark_by(packed(2)), false);
  EXPECT_EQ(lwb::SystemScheme::dark_by(packed(0)), std::nullopt);
  EXPECT_EQ(lwb::SystemScheme::dark_by(QVariant(QStringLiteral("dark"))), std::nullopt);
}

TEST(Theme, TextStandsOutFromWhatItStandsOn) {
  for (const lwb::Tokens* t : {&lwb::light_tokens(), &lwb::dark_tokens()}) {
    for (const QColor& ground : {t->window, t->surface, t->stripe}) {
      for (const QColor& ink : {t->text, t->secondary, t->accent, t->good, t->bad, t->caution}) {
        EXPECT_GE(contrast(ink, ground), 4.5)
            << ink.name().toStdString() << " on " << ground.name().toStdString();
      }
    }
    for (const QColor& ground : {t->selection, t->added, t->removed, t->changed, t->added_words,
                                 t->removed_words}) {
      EXPECT_GE(contrast(t->text, ground), 4.5) << ground.name().toStdString();
    }
    EXPECT_GE(contrast(t->on_accent, t->accent), 4.5);
  }
}

}  // namespace
