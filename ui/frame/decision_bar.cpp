#include "ui/frame/decision_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

DecisionBar::DecisionBar(RunView& run, QWidget* parent)
    : QFrame(parent), run_(run), sentence_(new QLabel), review_(new QPushButton(tr("Review…"))) {
  setObjectName(QStringLiteral("decisionBar"));
  sentence_->setObjectName(QStringLiteral("decision"));
  sentence_->setFont(strong_font());
  sentence_->setWordWrap(true);
  review_->setObjectName(QStringLiteral("review"));
  set_primary(review_);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 8, 12, 8);
  row->addWidget(sentence_, 1);
  row->addWidget(review_);
  connect(review_, &QPushButton::clicked, this, [this] { Q_EMIT review_wanted(id_); });
  for (const auto signal : {&RunView::restarted, &RunView::running_changed}) {
    connect(&run_, signal, this, &DecisionBar::refresh);
  }
  connect(&run_, &RunView::folded, this, &DecisionBar::refresh);
  refresh();
}

void DecisionBar::refresh() {
  const auto& pending = run_.state().pending;
  setVisible(!pending.empty());
  if (pending.empty()) return;
  id_ = pending.front().id;
  QString text = tr("★ %1").arg(QString::fromStdString(pending.front().question));
  if (!run_.is_running()) text += tr(" The run is not going on now: start it again to decide.");
  sentence_->setText(text);
  review_->setEnabled(run_.is_running());
  review_->setToolTip(run_.is_running() ? tr("Show what is decided, in full (Ctrl+Return)")
                                        : tr("Run › Go On starts the run again"));
}

}  // namespace lwb
