#include "ui/gpu/gpu_monitor.h"

#include <QStringList>
#include <QtConcurrentRun>
#include <algorithm>

namespace lwb {

namespace {

constexpr int kEveryMs = 1000;
constexpr std::size_t kMostSamples = 300;  // five minutes

// NVML writes "GPU-…", torch only the rest.
std::string plain_uuid(const std::string& uuid) {
  return uuid.starts_with("GPU-") ? uuid.substr(4) : uuid;
}

}  // namespace

GpuMonitor::GpuMonitor(const std::string& library, QObject* parent)
    : QObject(parent), nvml_(std::make_shared<Nvml>(library)) {
  connect(&reader_, &QFutureWatcher<std::vector<GpuReading>>::finished, this,
          [this] { take(reader_.result()); });
  timer_.setInterval(kEveryMs);
  connect(&timer_, &QTimer::timeout, this, &GpuMonitor::look);
  if (!nvml_->problem().empty()) return;
  timer_.start();
  look();
}

GpuMonitor::~GpuMonitor() {
  reader_.waitForFinished();
}

void GpuMonitor::follow(const std::string& uuid, const std::string& name) {
  if (uuid == uuid_ && name == name_) return;
  uuid_ = uuid;
  name_ = name;
  samples_.clear();
  Q_EMIT changed();
}

std::optional<GpuReading> GpuMonitor::latest() const {
  return samples_.empty() ? std::nullopt : std::optional(samples_.back().reading);
}

QString GpuMonitor::problem() const {
  return QString::fromStdString(nvml_->problem());
}

void GpuMonitor::look() {
  seconds_ += kEveryMs / 1e3;
  if (reader_.isRunning()) return;
  reader_.setFuture(QtConcurrent::run([nvml = nvml_] { return nvml->read(); }));
}

void GpuMonitor::take(const std::vector<GpuReading>& all) {
  if (all.empty()) return;
  auto found = std::find_if(all.begin(), all.end(), [&](const GpuReading& gpu) {
    return !uuid_.empty() && plain_uuid(gpu.uuid) == plain_uuid(uuid_);
  });
  if (found == all.end()) {
    found = std::find_if(all.begin(), all.end(),
                         [&](const GpuReading& gpu) { return gpu.name == name_; });
  }
  samples_.push_back({seconds_, found == all.end() ? all.front() : *found});
  if (samples_.size() > kMostSamples) samples_.pop_front();
  Q_EMIT changed();
}

QString clock_temperature_power(const GpuReading& reading) {
  QStringList parts;
  const auto add = [&](const std::optional<double>& value, const char* unit) {
    if (value) parts << QString::number(*value, 'f', 0) + QString::fromUtf8(unit);
  };
  add(reading.sm_mhz, " MHz");
  add(reading.temperature_c, " °C");
  add(reading.power_w, " W");
  return parts.join(QStringLiteral(" · "));
}

}  // namespace lwb
