#include "ui/run/run_view.h"

#include <QSysInfo>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/device/gpu.h"
#include "core/pipeline/pipeline.h"
#include "core/run/approvals.h"

namespace lwb {

namespace {
constexpr int kOwnerMs = 1000;
}

RunView::RunView(QObject* parent) : QObject(parent) {
  connect(&follower_, &JournalFollower::restarted, this, [this] {
    selected_ = -1;
    Q_EMIT restarted();
  });
  connect(&follower_, &JournalFollower::folded, this, &RunView::folded);
  connect(&follower_, &JournalFollower::failed, this, &RunView::failed);
  owner_timer_.setInterval(kOwnerMs);
  connect(&owner_timer_, &QTimer::timeout, this, &RunView::look_for_owner);
}

void RunView::open(const QString& checkout, const QString& kernel,
                   const std::filesystem::path& archived) {
  checkout_ = checkout;
  kernel_ = kernel;
  archived_ = !archived.empty();
  owner_.reset();
  if (kernel.isEmpty()) {
    owner_timer_.stop();
    workspace_ = {};
    follower_.follow({});
    return;
  }
  const std::filesystem::path root = checkout.toStdString();
  workspace_ = {archived_ ? archived : root / "optimization" / kernel.toStdString(),
                kernel.toStdString()};
  look_for_owner();
  owner_timer_.start();
  follower_.follow(workspace_.journal());
}

void RunView::look_for_owner() {
  auto owner = run_in_progress(checkout_.toStdString(), kernel_.toStdString());
  const bool changed = owner.has_value() != owner_.has_value();
  owner_ = std::move(owner);
  if (changed) Q_EMIT running_changed();
}

void RunView::select_variant(int number) {
  if (number == selected_) return;
  selected_ = number;
  Q_EMIT variant_selected(number);
}

QString RunView::measured_on() const {
  const std::string gpu = get_string(state().gpu, "name");
  return QString::fromStdString(lwb::measured_on(state().recorded_on, gpu));
}

bool RunView::answer(const std::string& id, const ApprovalAnswer& answer, QString& problem) {
  auto sent = answer_by_inbox(workspace_.inbox(), id, answer);
  if (!sent) problem = QString::fromStdString(sent.error().sentence);
  return sent.has_value();
}

bool RunView::offer(const VariantOffer& offer, QString& problem) {
  problem = offer_problem();
  if (!problem.isEmpty()) return false;
  auto laid = offer_variant(workspace_.inbox(), offer);
  if (!laid) problem = QString::fromStdString(laid.error().sentence);
  return laid.has_value();
}

QString RunView::offer_problem() const {
  if (archived_) return tr("This is an earlier run: nothing is measured for it any more.");
  return QString::fromStdString(lwb::offer_problem(state()));
}

bool RunView::stop(QString& problem) {
  if (!is_running()) return true;
  const QString host = QString::fromStdString(owner_->host);
  if (host != QSysInfo::machineHostName()) {
    problem =
        tr("The run goes on at %1: stop it there, by kill -INT %2.").arg(host).arg(owner_->pid);
    return false;
  }
  if (!is_alive(*owner_)) return true;  // its number may be another process's by now
  if (::kill(static_cast<pid_t>(owner_->pid), SIGINT) == 0) return true;
  problem = tr("Process %1, which runs it, cannot be stopped: %2.")
                .arg(owner_->pid)
                .arg(QString::fromLocal8Bit(std::strerror(errno)));
  return false;
}

bool RunView::is_pause_wished() const {
  return is_open() && pause_is_wished(workspace_.inbox());
}

bool RunView::wish_pause(bool wished, QString& problem) {
  if (!wished) {
    withdraw_pause(workspace_.inbox());
    return true;
  }
  auto sent = wish_for_pause(workspace_.inbox());
  if (!sent) problem = QString::fromStdString(sent.error().sentence);
  return sent.has_value();
}

}  // namespace lwb
