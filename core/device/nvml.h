// What NVIDIA's driver says of a GPU at this moment, by NVML, loaded at run time: a machine without
// it has no telemetry, which is a fact and no failure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lwb {

// A value is missing where the driver does not give it (containers, MIG, old drivers).
struct GpuReading {
  std::string name, uuid;
  std::optional<double> sm_mhz, temperature_c, power_w, power_limit_w;
  std::optional<int> gpu_percent, memory_percent;  // share of the last sample period in use
  std::optional<double> memory_used_bytes, memory_total_bytes;
  // Words of nvml.h's nvmlClocksThrottleReason…, without "gpu_idle".
  std::optional<std::vector<std::string>> throttle_reasons;
  struct Process {
    unsigned pid = 0;  // of the host, also inside a container
    std::optional<double> memory_bytes;
  };
  std::optional<std::vector<Process>> processes;
};

class Nvml {
 public:
  // `library`: a path, else the driver's libnvidia-ml.so.1.
  explicit Nvml(const std::string& library = {});
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Why there is no telemetry, as one sentence; empty when there is.
  const std::string& problem() const { return problem_; }
  // Every GPU of the machine; takes a few milliseconds. Not from two threads at once.
  std::vector<GpuReading> read();

 private:
  class Library;
  std::unique_ptr<Library> library_;
  std::string problem_;
};

}  // namespace lwb
