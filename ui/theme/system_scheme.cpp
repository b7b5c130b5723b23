#include "ui/theme/system_scheme.h"

#include <QDBusConnection>
#include <QDBusConnectionInterface>
#include <QDBusMessage>
#include <QGuiApplication>
#include <QPalette>

namespace lwb {

namespace {

const QString kService = QStringLiteral("org.freedesktop.portal.Desktop");
const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.Settings");
const QString kSpace = QStringLiteral("org.freedesktop.appearance");
const QString kKey = QStringLiteral("color-scheme");
constexpr int kPatienceMs = 200;  // the window waits for the answer
constexpr unsigned kDark = 1, kLight = 2;

std::optional<bool> asked_of_portal() {
  const QDBusConnection bus = QDBusConnection::sessionBus();
  if (!bus.isConnected() || !bus.interface()->isServiceRegistered(kService)) return std::nullopt;
  QDBusMessage question =
      QDBusMessage::createMethodCall(kService, kPath, kInterface, QStringLiteral("Read"));
  question << kSpace << kKey;
  const QDBusMessage answer = bus.call(question, QDBus::Block, kPatienceMs);
  if (answer.type() != QDBusMessage::ReplyMessage || answer.arguments().isEmpty()) {
    return std::nullopt;
  }
  return SystemScheme::dark_by(answer.arguments().constFirst());
}

}  // namespace

SystemScheme::SystemScheme(QObject* parent) : QObject(parent) {
  const QPalette given = QGuiApplication::palette();
  const bool by_palette =
      given.color(QPalette::Window).lightness() < given.color(QPalette::WindowText).lightness();
  is_dark_ = asked_of_portal().value_or(by_palette);
  QDBusConnection::sessionBus().connect(kService, kPath, kInterface,
                                        QStringLiteral("SettingChanged"), this,
                                        SLOT(setting_changed(QString, QString, QDBusVariant)));
}

std::optional<bool> SystemScheme::dark_by(const QVariant& answer) {
  QVariant value = answer;
  while (value.canConvert<QDBusVariant>()) value = value.value<QDBusVariant>().variant();
  if (value.typeId() != QMetaType::UInt) return std::nullopt;
  if (value.toUInt() == kDark) return true;
  if (value.toUInt() == kLight) return false;
  return std::nullopt;
}

void SystemScheme::setting_changed(const QString& space, const QString& key,
                                   const QDBusVariant& value) {
  if (space != kSpace || key != kKey) return;
  const bool dark = dark_by(QVariant::fromValue(value)).value_or(false);
  if (dark == is_dark_) return;
  is_dark_ = dark;
  Q_EMIT changed();
}

}  // namespace lwb
