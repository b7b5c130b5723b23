#include "ui/frame/notifier.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QWidget>

#include "ui/run/run_view.h"

namespace lwb {

Notifier::Notifier(RunView& run, QWidget& window) : QObject(&window), run_(run), window_(window) {
  connect(&run_, &RunView::restarted, this, [this] { asked_.clear(); });
  connect(&run_, &RunView::folded, this, &Notifier::look);
}

void Notifier::look() {
  if (!run_.is_running()) return;
  for (const PendingApproval& question : run_.state().pending) {
    const QString id = QString::fromStdString(question.id);
    if (asked_.contains(id)) continue;
    asked_.insert(id);
    if (window_.isActiveWindow()) continue;
    tell(tr("%1 waits for you").arg(run_.kernel()), QString::fromStdString(question.question));
  }
}

void Notifier::tell(const QString& title, const QString& text) {
  Q_EMIT told(title, text);
  QApplication::alert(&window_);
  const QDBusConnection bus = QDBusConnection::sessionBus();
  if (!bus.isConnected()) return;
  const QString name = QStringLiteral("org.freedesktop.Notifications");
  QDBusMessage message = QDBusMessage::createMethodCall(
      name, QStringLiteral("/org/freedesktop/Notifications"), name, QStringLiteral("Notify"));
  constexpr unsigned kNew = 0;
  constexpr int kDesktopsOwnTimeout = -1;
  message << QCoreApplication::applicationName() << kNew << QStringLiteral("dialog-question")
          << title << text << QStringList() << QVariantMap() << kDesktopsOwnTimeout;
  bus.send(message);  // nobody waits for an answer
}

}  // namespace lwb
