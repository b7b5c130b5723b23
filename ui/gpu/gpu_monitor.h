// Reads the GPUs of this machine once a second, on another thread, and keeps the last minutes of
// the one that the run measures on.
#pragma once

#include <QFutureWatcher>
#include <QObject>
#include <QTimer>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "core/device/nvml.h"

namespace lwb {

class GpuMonitor : public QObject {
  Q_OBJECT
 public:
  struct Sample {
    double seconds = 0;  // since the monitor began
    GpuReading reading;
  };

  // `library`: as for Nvml.
  explicit GpuMonitor(const std::string& library = {}, QObject* parent = nullptr);
  ~GpuMonitor() override;

  // The GPU to keep: by UUID, else by name, else the machine's first. Forgets another one's
  // samples.
  void follow(const std::string& uuid, const std::string& name);
  const std::deque<Sample>& samples() const { return samples_; }
  std::optional<GpuReading> latest() const;
  // Why there is nothing, or an empty text.
  QString problem() const;

 Q_SIGNALS:
  void changed();

 private:
  void look();
  void take(const std::vector<GpuReading>& all);
  std::shared_ptr<Nvml> nvml_;
  std::string uuid_, name_;
  std::deque<Sample> samples_;
  double seconds_ = 0;
  QFutureWatcher<std::vector<GpuReading>> reader_;
  QTimer timer_;
};

// "1980 MHz · 61 °C · 412 W", of what is known.
QString clock_temperature_power(const GpuReading& reading);

}  // namespace lwb
