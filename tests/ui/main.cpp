// Tests of the window run without a display, in one QApplication.

#include <gtest/gtest.h>

#include <QApplication>

#include "ui/fonts.h"

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  const QApplication app(argc, argv);
  lwb::load_fonts();
  return RUN_ALL_TESTS();
}
