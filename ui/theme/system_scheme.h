// Whether the desktop is dark, as it says itself (the freedesktop.org settings portal: Qt 6.4 knows
// no scheme), and when that changes. A desktop without a portal is known by the palette it gave Qt.
#pragma once

#include <QDBusVariant>
#include <QObject>
#include <QVariant>
#include <optional>

namespace lwb {

class SystemScheme : public QObject {
  Q_OBJECT
 public:
  // Before the application's palette is set for the first time.
  explicit SystemScheme(QObject* parent = nullptr);
  bool is_dark() const { return is_dark_; }

  // What the portal's answer says: 1 is dark, 2 is light, 0 no preference. Nothing for the last and
  // for anything else; variants within variants are unpacked.
  static std::optional<bool> dark_by(const QVariant& answer);

 Q_SIGNALS:
  void changed();

 private Q_SLOTS:
  void setting_changed(const QString& space, const QString& key, const QDBusVariant& value);

 private:
  bool is_dark_ = false;
};

}  // namespace lwb
