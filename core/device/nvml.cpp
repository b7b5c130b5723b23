#include "core/device/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

namespace lwb {
namespace {

// From nvml.h (CUDA 12 and 13), which is not needed to build: the part of its interface that is
// used.
using Handle = void*;
using Return = int;
constexpr Return kSuccess = 0, kInsufficientSize = 7;
constexpr unsigned kClockSm = 1;         // NVML_CLOCK_SM
constexpr unsigned kTemperatureGpu = 0;  // NVML_TEMPERATURE_GPU
constexpr unsigned kTextSize = 96;       // NVML_DEVICE_UUID_V2_BUFFER_SIZE, …NAME_V2…
constexpr unsigned kMostProcesses = 256;
constexpr unsigned long long kNotAvailable = ~0ULL;  // of a process' memory

struct Utilization {
  unsigned gpu = 0, memory = 0;
};
struct Memory {
  unsigned long long total = 0, free = 0, used = 0;
};
struct ProcessInfo {
  unsigned pid = 0;
  unsigned long long used_gpu_memory = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};

constexpr std::array<std::pair<unsigned long long, const char*>, 8> kThrottleReasons{{
    {0x002, "applications_clocks_setting"},
    {0x004, "sw_power_cap"},
    {0x008, "hw_slowdown"},
    {0x010, "sync_boost"},
    {0x020, "sw_thermal_slowdown"},
    {0x040, "hw_thermal_slowdown"},
    {0x080, "hw_power_brake_slowdown"},
    {0x100, "display_clock_setting"},
}};

}  // namespace

class Nvml::Library {
 public:
  explicit Library(void* loaded) : loaded_(loaded) {}
  ~Library() {
    if (is_open_) (void)call("nvmlShutdown");
    ::dlclose(loaded_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool open() { return is_open_ = call("nvmlInit_v2") == kSuccess; }

  // The function's answer; -1 where this driver has no such function.
  template <typename... Arguments>
  Return call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<Return (*)(Arguments...)>(::dlsym(loaded_, name));
    return function == nullptr ? -1 : function(arguments...);
  }

 private:
  void* loaded_;
  bool is_open_ = false;
};

namespace {

template <typename Library, typename... Arguments>
std::optional<unsigned> number(const Library& library, const char* name, Handle device,
                               Arguments... arguments) {
  unsigned value = 0;
  if (library.call(name, device, arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

template <typename Library>
std::string text(const Library& library, const char* name, Handle device) {
  std::array<char, kTextSize> buffer{};
  return library.call(name, device, buffer.data(), kTextSize) == kSuccess ? buffer.data() : "";
}

template <typename Library>
std::optional<std::vector<GpuReading::Process>> processes(const Library& library, Handle device) {
  std::array<ProcessInfo, kMostProcesses> infos{};
  unsigned count = kMostProcesses;
  const Return answer =
      library.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, infos.data());
  if (answer != kSuccess && answer != kInsufficientSize) return std::nullopt;
  std::vector<GpuReading::Process> found;
  for (unsigned i = 0; i < std::min(count, kMostProcesses); ++i) {
    GpuReading::Process process{infos[i].pid, std::nullopt};
    if (infos[i].used_gpu_memory != kNotAvailable) {
      process.memory_bytes = static_cast<double>(infos[i].used_gpu_memory);
    }
    found.push_back(process);
  }
  return found;
}

template <typename Library>
GpuReading reading(const Library& library, Handle device) {
  GpuReading r;
  r.name = text(library, "nvmlDeviceGetName", device);
  r.uuid = text(library, "nvmlDeviceGetUUID", device);
  r.sm_mhz = number(library, "nvmlDeviceGetClockInfo", device, kClockSm);
  r.temperature_c = number(library, "nvmlDeviceGetTemperature", device, kTemperatureGpu);
  if (const auto mw = number(library, "nvmlDeviceGetPowerUsage", device)) r.power_w = *mw / 1e3;
  if (const auto mw = number(library, "nvmlDeviceGetEnforcedPowerLimit", device)) {
    r.power_limit_w = *mw / 1e3;
  }
  Utilization use;
  if (library.call("nvmlDeviceGetUtilizationRates", device, &use) == kSuccess) {
    r.gpu_percent = static_cast<int>(use.gpu);
    r.memory_percent = static_cast<int>(use.memory);
  }
  Memory memory;
  if (library.call("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess) {
    r.memory_used_bytes = static_cast<double>(memory.used);
    r.memory_total_bytes = static_cast<double>(memory.total);
  }
  unsigned long long bits = 0;
  if (library.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &bits) == kSuccess) {
    r.throttle_reasons.emplace();
    for (const auto& [bit, word] : kThrottleReasons) {
      if ((bits & bit) != 0) r.throttle_reasons->emplace_back(word);
    }
  }
  r.processes = processes(library, device);
  return r;
}

}  // namespace

Nvml::Nvml(const std::string& library) {
  const std::string name = library.empty() ? "libnvidia-ml.so.1" : library;
  void* loaded = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    problem_ = "There is no NVIDIA driver here: " + name + " cannot be loaded.";
    return;
  }
  library_ = std::make_unique<Library>(loaded);
  if (library_->open()) return;
  library_.reset();
  problem_ = "The NVIDIA driver does not answer: nvidia-smi says why.";
}

Nvml::~Nvml() = default;

std::vector<GpuReading> Nvml::read() {
  std::vector<GpuReading> all;
  unsigned count = 0;
  if (!library_ || library_->call("nvmlDeviceGetCount_v2", &count) != kSuccess) return all;
  for (unsigned i = 0; i < count; ++i) {
    Handle device = nullptr;
    if (library_->call("nvmlDeviceGetHandleByIndex_v2", i, &device) != kSuccess) continue;
    all.push_back(reading(*library_, device));
  }
  return all;
}

}  // namespace lwb
