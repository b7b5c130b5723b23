// Tests of the window run without a display, in one QApplication.

#include <gtest/gtest.h>

#include <QApplication>
#include <QTemporaryDir>

#include "ui/theme/theme.h"

#ifdef __SANITIZE_ADDRESS__
// Qt and fontconfig keep memory until the process ends: leaks are looked for in core's tests.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  qputenv("ASAN_OPTIONS", "detect_leaks=0");  // of the programs that the tests start
  // Under a display of its own where the caller says so (packaging: xvfb-run).
  if (!qEnvironmentVariableIsSet("LWB_TEST_DISPLAY")) qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  const QApplication app(argc, argv);
  QCoreApplication::setOrganizationName(QStringLiteral("liger-workbench-tests"));
  // The window's settings and copies of the sample go into a folder of this run.
  const QTemporaryDir home;
  for (const char* name : {"XDG_CACHE_HOME", "XDG_CONFIG_HOME"}) {
    qputenv(name, home.filePath(QString::fromLatin1(name)).toUtf8());
  }
  lwb::load_fonts();
  lwb::Theme::instance().set_scheme(lwb::Scheme::kLight);
  return RUN_ALL_TESTS();
}
