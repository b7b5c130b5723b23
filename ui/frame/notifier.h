// Tells the person that a decision is wanted when the window is not in front: by the desktop's
// notifications (org.freedesktop.Notifications) where there are any, and by the window's entry in
// the task bar.
#pragma once

#include <QObject>
#include <QSet>

class QWidget;

namespace lwb {

class RunView;

class Notifier : public QObject {
  Q_OBJECT
 public:
  Notifier(RunView& run, QWidget& window);

 Q_SIGNALS:
  // What the person is told; once for each question, and never while the window is in front.
  void told(const QString& title, const QString& text);

 private:
  void look();
  void tell(const QString& title, const QString& text);
  RunView& run_;
  QWidget& window_;
  QSet<QString> asked_;  // ids of questions that were there already
};

}  // namespace lwb
