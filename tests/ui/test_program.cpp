// The program as a user starts it: in a process of its own.

#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QProcessEnvironment>
#include <QTemporaryDir>

namespace {

constexpr int kLimitMs = 240000;  // a whole recorded run with pictures, under sanitizers

struct Outcome {
  QProcess::ExitStatus status;
  int code;
  QString out;
  QString error;
};

Outcome start(const QStringList& arguments, const QString& platform = {},
              const QString& display = {}) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY", "QT_DEBUG_PLUGINS"}) {
    environment.remove(QString::fromLatin1(name));
  }
  // Qt says where it keeps sockets when the session does not: nothing of ours.
  environment.insert(QStringLiteral("QT_LOGGING_RULES"), QStringLiteral("qt.*=false"));
  const QTemporaryDir runtime;
  environment.insert(QStringLiteral("XDG_RUNTIME_DIR"), runtime.path());
  if (!platform.isEmpty()) environment.insert(QStringLiteral("QT_QPA_PLATFORM"), platform);
  if (!display.isEmpty()) environment.insert(QStringLiteral("DISPLAY"), display);
  QProcess process;
  process.setProcessEnvironment(environment);
  process.start(QStringLiteral(LWB_PROGRAM), arguments);
  EXPECT_TRUE(process.waitForFinished(kLimitMs)) << process.errorString().toStdString();
  return {process.exitStatus(), process.exitCode(),
          QString::fromUtf8(process.readAllStandardOutput()),
          QString::fromUtf8(process.readAllStandardError())};
}

void expect_one_sentence(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, QProcess::NormalExit);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.error.count(QLatin1Char('\n')), 1) << outcome.error.toStdString();
}

TEST(Program, SavesPicturesOfARecordedRunWithoutADisplay) {
  const QTemporaryDir folder;
  const QString pictures = folder.filePath(QStringLiteral("new/pictures"));
  const Outcome outcome = start({QStringLiteral("--screenshots"), pictures});
  EXPECT_EQ(outcome.code, 0) << outcome.error.toStdString();
  for (const char* name : {"new-run", "approve-winner", "approve-winner-charts", "variants", "finalize", "dock-console"}) {
    for (const char* scheme : {"light", "dark"}) {
      const QImage picture(
          pictures + QStringLiteral("/%1-%2.png").arg(QLatin1String(name), QLatin1String(scheme)));
      ASSERT_FALSE(picture.isNull()) << name << ' ' << scheme;
      EXPECT_GE(picture.width(), 800);
    }
  }
}

TEST(Program, SaysThatThereIsNoDisplay) {
  const Outcome outcome = start({}, QStringLiteral("xcb"));
  expect_one_sentence(outcome);
  EXPECT_TRUE(outcome.error.contains(QStringLiteral("no display can be opened")))
      << outcome.error.toStdString();
}

TEST(Program, SaysThatTheDisplayDoesNotAnswer) {
  const Outcome outcome = start({}, QStringLiteral("xcb"), QStringLiteral(":4711"));
  expect_one_sentence(outcome);
  EXPECT_TRUE(outcome.error.contains(QStringLiteral(":4711"))) << outcome.error.toStdString();
}

TEST(Program, HelpNeedsNoDisplay) {
  const Outcome outcome = start({QStringLiteral("--help")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.contains(QStringLiteral("--screenshots")));
  EXPECT_EQ(start({QStringLiteral("--version")}).code, 0);
}

TEST(Program, BadUsageIsOneSentence) {
  expect_one_sentence(start({QStringLiteral("--no-such-option")}));
  expect_one_sentence(start({QStringLiteral("a"), QStringLiteral("b")}));
  expect_one_sentence(start({QStringLiteral("--sample"), QStringLiteral("a")}));
  expect_one_sentence(start({QStringLiteral("--screenshots"), QStringLiteral("/dev/null/x")}));
}

}  // namespace
