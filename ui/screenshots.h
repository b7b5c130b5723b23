// `--screenshots DIR`: plays the sample's recording through the window, as a person would click through
// it, and saves a picture of every page, panel and dialog, light and dark.
#pragma once

#include <QString>
#include <QStringList>

namespace lwb {

class MainWindow;

// The files written, or none with `problem` set. `window` has been told what to open.
QStringList take_screenshots(MainWindow& window, const QString& folder, QString& problem);

}  // namespace lwb
