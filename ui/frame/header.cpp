#include "ui/frame/header.h"

#include <QHBoxLayout>
#include <QLabel>

#include "core/base/json.h"
#include "ui/gpu/gpu_monitor.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

Header::Header(RunView& run, GpuMonitor& gpu, QWidget* parent)
    : QFrame(parent),
      run_(run),
      gpu_(gpu),
      kernel_(new QLabel),
      request_(new QLabel),
      provenance_(new QLabel),
      machine_(new QLabel),
      throttling_(new QLabel) {
  setObjectName(QStringLiteral("header"));
  kernel_->setObjectName(QStringLiteral("kernel"));
  kernel_->setFont(title_font());
  request_->setObjectName(QStringLiteral("request"));
  request_->setForegroundRole(QPalette::PlaceholderText);
  provenance_->setObjectName(QStringLiteral("provenance"));
  machine_->setForegroundRole(QPalette::PlaceholderText);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 6, 12, 6);
  row->setSpacing(12);
  row->addWidget(kernel_);
  row->addWidget(request_);
  row->addWidget(provenance_);
  row->addStretch();
  row->addWidget(machine_);
  row->addWidget(throttling_);
  throttling_->setObjectName(QStringLiteral("throttling"));
  connect(&gpu_, &GpuMonitor::changed, this, &Header::refresh_machine);
  connect(&run_, &RunView::restarted, this, &Header::refresh);
  connect(&run_, &RunView::folded, this, &Header::refresh);
  connect(&run_, &RunView::running_changed, this, &Header::refresh);
  refresh();
}

void Header::refresh() {
  const RunState& state = run_.state();
  kernel_->setText(run_.is_open() ? run_.kernel() : tr("Liger Workbench"));
  QStringList parts;
  if (run_.has_run()) {
    for (const char* key : {"scope", "optimization_goal"}) {
      const std::string value = get_string(state.request, key);
      if (!value.empty()) parts << QString::fromStdString(value);
    }
  }
  const std::string gpu = get_string(state.gpu, "name");
  if (!gpu.empty()) parts << QString::fromStdString(gpu);
  request_->setText(parts.join(QStringLiteral(" · ")));
  QString provenance;
  if (!state.recorded_on.empty()) {
    provenance = tr("recorded on %1").arg(QString::fromStdString(state.recorded_on));
  } else if (run_.is_archived()) {
    provenance = tr("earlier run");
  } else if (run_.is_running()) {
    provenance = tr("live");
  } else if (run_.has_run()) {
    provenance = state.finished ? tr("ended") : tr("stopped, can be gone on with");
  }
  set_chip(provenance_, provenance, state.recorded_on.empty() ? Chip::kPlain : Chip::kCaution);
  gpu_.follow(get_string(state.gpu, "uuid"), gpu);
  refresh_machine();
}

// This machine's GPU as it is now; of a run that was measured elsewhere, its programs.
void Header::refresh_machine() {
  const Json& gpu = run_.state().gpu;
  const auto now = gpu_.latest();
  const bool elsewhere = !run_.state().recorded_on.empty();
  if (now && !elsewhere) {
    machine_->setText(clock_temperature_power(*now));
    const auto& reasons = now->throttle_reasons;
    const bool throttled = reasons && !reasons->empty();
    set_chip(throttling_,
             !reasons    ? QString()
             : throttled ? tr("throttled")
                         : tr("no throttling"),
             throttled ? Chip::kCaution : Chip::kGood);
    return;
  }
  set_chip(throttling_, {}, Chip::kPlain);
  machine_->setText(gpu.empty() ? QString()
                                : tr("torch %1 · triton %2")
                                      .arg(QString::fromStdString(get_string(gpu, "torch")),
                                           QString::fromStdString(get_string(gpu, "triton"))));
}

}  // namespace lwb
