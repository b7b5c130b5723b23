#pragma once

#include <QFont>
#include <QStringList>

namespace lwb {

/// Registers the fonts that the program carries along, and makes the text font the program's own.
/// Call it once, after the QApplication and before the first window: a server often has no fonts
/// at all, and then every letter would be an empty box.
/// Returns the families that could be loaded (none when the resources are missing).
QStringList load_fonts();

/// Font for code, commands and file names, in the size of the program's text.
QFont code_font();

}  // namespace lwb
