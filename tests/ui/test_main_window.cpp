#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFontInfo>
#include <QFontMetrics>
#include <QLabel>
#include <QMenuBar>
#include <QStatusBar>
#include <QTemporaryDir>

#include "ui/fonts.h"
#include "ui/main_window.h"
#include "ui/start_page.h"

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

QString make_checkout(const QTemporaryDir& folder) {
  QDir(folder.path()).mkpath(QStringLiteral("my checkout/src/liger_kernel/ops"));
  return folder.filePath(QStringLiteral("my checkout"));
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

TEST(MainWindow, EmptyStateSaysWhatToDoNext) {
  lwb::MainWindow window;
  window.show();
  EXPECT_EQ(text_of(window, "title").toStdString(), "No checkout is open");
  EXPECT_TRUE(text_of(window, "text").contains(QStringLiteral("src, benchmark and test")));
  EXPECT_TRUE(text_of(window, "problem").isEmpty());
  EXPECT_FALSE(action_of(window, "Copy Terminal Command")->isEnabled());
}

TEST(MainWindow, OpensACheckoutAndCopiesItsCommand) {
  const QTemporaryDir folder;
  lwb::MainWindow window;
  lwb::OpenRequest request;
  request.checkout = make_checkout(folder);
  request.kernel = QStringLiteral("some_op");
  window.open(request);
  EXPECT_EQ(text_of(window, "title").toStdString(), "my checkout");
  EXPECT_TRUE(window.windowTitle().startsWith(QStringLiteral("my checkout")));
  EXPECT_EQ(window.statusBar()->currentMessage(), request.checkout);

  action_of(window, "Copy Terminal Command")->trigger();
  EXPECT_EQ(QApplication::clipboard()->text(),
            QStringLiteral("lwb run --checkout '%1' --kernel some_op")
                .arg(request.checkout));

  action_of(window, "Close Checkout")->trigger();
  EXPECT_EQ(text_of(window, "title").toStdString(), "No checkout is open");
}

TEST(MainWindow, SaysWhyAFolderIsNoCheckout) {
  const QTemporaryDir folder;
  lwb::MainWindow window;
  lwb::OpenRequest request;
  request.checkout = folder.path();
  window.open(request);
  EXPECT_TRUE(text_of(window, "problem").contains(QStringLiteral("src/liger_kernel/ops")));
  EXPECT_FALSE(action_of(window, "Copy Terminal Command")->isEnabled());

  request.checkout = folder.filePath(QStringLiteral("nowhere"));
  window.open(request);
  EXPECT_TRUE(text_of(window, "problem").contains(QStringLiteral("does not exist")));
}

TEST(Fonts, ProgramCarriesItsOwn) {
  const QStringList families = lwb::load_fonts();
  for (const char* family : {"Roboto", "DejaVu Sans", "DejaVu Sans Mono"}) {
    EXPECT_TRUE(families.contains(QString::fromLatin1(family))) << family;
  }
  EXPECT_EQ(QFontInfo(QApplication::font()).family().toStdString(), "Roboto");
  EXPECT_TRUE(QFontInfo(lwb::code_font()).fixedPitch());
}

TEST(Fonts, DigitsAreOfOneWidthSoThatColumnsLineUp) {
  const QFontMetrics metrics(QApplication::font());
  for (char16_t digit = u'1'; digit <= u'9'; ++digit) {
    EXPECT_EQ(metrics.horizontalAdvance(QChar(digit)), metrics.horizontalAdvance(QChar(u'0')));
  }
}

}  // namespace
