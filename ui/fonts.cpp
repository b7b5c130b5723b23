#include "ui/fonts.h"

#include <QApplication>
#include <QFontDatabase>
#include <QtGlobal>

// Resources of a static library are initialized by hand; the macro must stand outside a namespace.
static void init_font_resources() {
  Q_INIT_RESOURCE(fonts);
}

namespace lwb {

namespace {
constexpr int kTextPoints = 10;
}

QStringList load_fonts() {
  init_font_resources();
  QStringList families;
  // DejaVu Sans stands in for the arrows, marks and signs that Roboto does not have.
  for (const auto& name :
       {u"Roboto-Regular.ttf", u"Roboto-Bold.ttf", u"DejaVuSans.ttf", u"DejaVuSansMono.ttf"}) {
    const int id =
        QFontDatabase::addApplicationFont(QStringLiteral(":/fonts/") + QString::fromUtf16(name));
    for (const QString& family : QFontDatabase::applicationFontFamilies(id)) {
      if (!families.contains(family)) families.append(family);
    }
  }
  QFont text;
  text.setFamilies({QStringLiteral("Roboto"), QStringLiteral("DejaVu Sans")});
  text.setPointSize(kTextPoints);
  QApplication::setFont(text);
  return families;
}

QFont code_font() {
  QFont font(QApplication::font());
  font.setFamilies({QStringLiteral("DejaVu Sans Mono")});
  font.setStyleHint(QFont::Monospace);
  return font;
}

}  // namespace lwb
