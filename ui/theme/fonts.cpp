#include <QApplication>
#include <QFontDatabase>

#include "ui/theme/theme.h"

// Resources of a static library are initialized by hand; the macro must stand outside a namespace.
static void init_font_resources() {
  Q_INIT_RESOURCE(fonts);
}

namespace lwb {

QStringList load_fonts() {
  init_font_resources();
  QStringList families;
  // DejaVu Sans stands in for the signs that Inter and JetBrains Mono do not have.
  for (const char* name :
       {"Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf", "Inter-Bold.otf",
        "JetBrainsMono-Regular.ttf", "JetBrainsMono-Bold.ttf", "DejaVuSans.ttf"}) {
    const int id = QFontDatabase::addApplicationFont(QStringLiteral(":/fonts/") +
                                                     QString::fromLatin1(name));
    for (const QString& family : QFontDatabase::applicationFontFamilies(id)) {
      if (!families.contains(family)) families.append(family);
    }
  }
  QApplication::setFont(text_font());
  return families;
}

}  // namespace lwb
