// The desktop program. Its options are read before a display is looked for, so that --help and a
// wrong option answer everywhere.

#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QEvent>
#include <QTimer>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <QSettings>

#include "ui/main_window.h"
#include "ui/screenshots.h"
#include "ui/theme/theme.h"

namespace {

constexpr int kBadUsage = 2;

struct Options {
  lwb::OpenRequest request;
  QString screenshots;  ///< folder for pictures of the window; empty: show it
};

QString tr(const char* text) {
  return QCoreApplication::translate("main", text);
}

void complain(const QString& sentence) {
  std::fprintf(stderr, "liger-workbench: %s\n", qUtf8Printable(sentence));
}

/// Reads the command line; returns an exit code instead when there is nothing left to do.
std::optional<int> read_options(const QStringList& arguments, Options& options) {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      tr("Profiles, optimizes and finalizes Triton kernels of a Liger-Kernel checkout."));
  const QCommandLineOption help = parser.addHelpOption();
  const QCommandLineOption version = parser.addVersionOption();
  const QCommandLineOption kernel(QStringLiteral("kernel"),
                                  tr("Kernel of the checkout to start with."), tr("name"));
  const QCommandLineOption replay(QStringLiteral("replay"),
                                  tr("Play a recording instead of running."), tr("file"));
  const QCommandLineOption sample(QStringLiteral("sample"),
                                  tr("Open the sample that comes with the program."));
  const QCommandLineOption screenshots(
      QStringLiteral("screenshots"),
      tr("Play the recording of the sample, save pictures of every page, panel and dialog as PNG into "
         "the folder, and exit; needs no display."),
      tr("folder"));
  parser.addOptions({kernel, replay, sample, screenshots});
  parser.addPositionalArgument(QStringLiteral("checkout"), tr("Folder of the checkout to open."),
                               QStringLiteral("[checkout]"));

  if (!parser.parse(arguments)) {
    complain(parser.errorText() + tr(" See liger-workbench --help."));
    return kBadUsage;
  }
  if (parser.isSet(help)) {
    std::fputs(qUtf8Printable(parser.helpText()), stdout);
    return 0;
  }
  if (parser.isSet(version)) {
    std::printf("liger-workbench %s\n", qUtf8Printable(QCoreApplication::applicationVersion()));
    return 0;
  }
  const QStringList folders = parser.positionalArguments();
  if (folders.size() > 1) {
    complain(tr("one checkout can be opened, %1 were given: %2.")
                 .arg(folders.size())
                 .arg(folders.join(QStringLiteral(", "))));
    return kBadUsage;
  }
  if (parser.isSet(sample) && !folders.isEmpty()) {
    complain(tr("--sample and a checkout were given: leave one of them out."));
    return kBadUsage;
  }
  options.request.checkout = folders.value(0);
  options.request.kernel = parser.value(kernel);
  options.request.replay = parser.value(replay);
  options.request.sample =
      parser.isSet(sample) || (parser.isSet(screenshots) && folders.isEmpty());
  options.screenshots = parser.value(screenshots);
  if (parser.isSet(screenshots) && options.screenshots.isEmpty()) {
    complain(tr("--screenshots needs the folder for the pictures."));
    return kBadUsage;
  }
  return std::nullopt;
}

/// While Qt looks for a display it ends the process by abort() when it finds none. We say what is
/// missing instead, and end as with any other bad usage.
void answer_missing_display(QtMsgType type, const QMessageLogContext&, const QString&) {
  if (type != QtFatalMsg) return;  // what leads up to it says the same, less clearly
  complain(
      tr("no display can be opened (DISPLAY is \"%1\", WAYLAND_DISPLAY is \"%2\"): start it in a "
         "desktop session, or use the terminal program lwb.")
          .arg(qEnvironmentVariable("DISPLAY"), qEnvironmentVariable("WAYLAND_DISPLAY")));
  std::fflush(stderr);
  std::_Exit(kBadUsage);
}

/// For packaging/bench.sh: says when the window was first painted, and ends.
class FirstPaint : public QObject {
 public:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Paint && !is_told_) {
      is_told_ = true;
      QTimer::singleShot(0, qApp, [] {
        std::puts("first paint");
        std::fflush(stdout);
        QCoreApplication::quit();
      });
    }
    return QObject::eventFilter(watched, event);
  }

 private:
  bool is_told_ = false;
};

int save_screenshots(lwb::MainWindow& window, const QString& folder) {
  QString problem;
  const QStringList files = lwb::take_screenshots(window, folder, problem);
  if (!problem.isEmpty()) {
    complain(problem);
    return kBadUsage;
  }
  for (const QString& file : files) std::printf("%s\n", qUtf8Printable(file));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  QCoreApplication::setApplicationName(QStringLiteral("liger-workbench"));
  QCoreApplication::setOrganizationName(QStringLiteral("liger-workbench"));
  QCoreApplication::setApplicationVersion(QStringLiteral(LWB_VERSION));

  Options options;
  {
    const QCoreApplication without_display(argc, argv);
    if (const auto code = read_options(QCoreApplication::arguments(), options)) return *code;
  }
  if (!options.screenshots.isEmpty() && !qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }

  const QtMessageHandler usual = qInstallMessageHandler(answer_missing_display);
  QApplication app(argc, argv);
  qInstallMessageHandler(usual);
  QApplication::setApplicationDisplayName(QStringLiteral("Liger Workbench"));

  lwb::load_fonts();
  lwb::Theme::instance().set_scheme(
      static_cast<lwb::Scheme>(QSettings().value(QStringLiteral("scheme"), 0).toInt()));
  lwb::MainWindow window;
  window.open(options.request);
  if (!options.screenshots.isEmpty()) return save_screenshots(window, options.screenshots);
  FirstPaint first_paint;
  if (qEnvironmentVariableIsSet("LWB_FIRST_PAINT")) window.installEventFilter(&first_paint);
  window.show();
  return QApplication::exec();
}
