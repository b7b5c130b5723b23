#include <gtest/gtest.h>

#include "ui/terminal_command.h"

namespace {

TEST(TerminalCommand, QuotesWhatAShellWouldSplit) {
  EXPECT_EQ(lwb::shell_quoted(QStringLiteral("/a/b-1.0")).toStdString(), "/a/b-1.0");
  EXPECT_EQ(lwb::shell_quoted(QStringLiteral("a b")).toStdString(), "'a b'");
  EXPECT_EQ(lwb::shell_quoted(QStringLiteral("it's $HOME")).toStdString(), "'it'\\''s $HOME'");
  EXPECT_EQ(lwb::shell_quoted(QString()).toStdString(), "''");
}

TEST(TerminalCommand, ListsKernelsUntilOneIsChosen) {
  lwb::OpenRequest request;
  request.checkout = QStringLiteral("/c");
  EXPECT_EQ(lwb::terminal_command(request).toStdString(), "lwb kernels --checkout /c");
  request.kernel = QStringLiteral("op");
  EXPECT_EQ(lwb::terminal_command(request).toStdString(),
            "lwb run --checkout /c --kernel op");
  request.replay = QStringLiteral("/r/run.json.gz");
  EXPECT_EQ(lwb::terminal_command(request).toStdString(),
            "lwb run --checkout /c --kernel op --replay /r/run.json.gz");
}

}  // namespace
