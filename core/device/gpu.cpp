#include "core/device/gpu.h"

#include <fmt/format.h>

namespace lwb {
namespace {

void take_device(Gpu& gpu, const Json& device) {
  gpu.name = get_string(device, "name");
  gpu.uuid = get_string(device, "uuid");
  const Json& capability = get_array(device, "capability");
  if (capability.size() == 2 && capability[0].is_number() && capability[1].is_number()) {
    gpu.capability_major = capability[0].get<int>();
    gpu.capability_minor = capability[1].get<int>();
  }
  gpu.sm_count = static_cast<int>(get_integer(device, "sm_count"));
  gpu.l2_bytes = get_integer(device, "l2_bytes");
  gpu.memory_bytes = get_integer(device, "memory_bytes");
  gpu.memory_clock_khz = get_number(device, "memory_clock_khz");
  gpu.memory_bus_bits = static_cast<int>(get_integer(device, "memory_bus_bits"));
}

}  // namespace

Gpu gpu_from_json(const Json& torch_fact) {
  Gpu gpu;
  const Json& data = torch_fact.contains("data") ? get_object(torch_fact, "data") : torch_fact;
  gpu.torch_version = get_string(data, "version");
  take_device(gpu, get_object(data, "device"));
  return gpu;
}

Json to_json(const Gpu& gpu) {
  return {{"name", gpu.name},
          {"uuid", gpu.uuid},
          {"capability", {gpu.capability_major, gpu.capability_minor}},
          {"sm_count", gpu.sm_count},
          {"l2_bytes", gpu.l2_bytes},
          {"memory_bytes", gpu.memory_bytes},
          {"memory_clock_khz", gpu.memory_clock_khz},
          {"memory_bus_bits", gpu.memory_bus_bits},
          {"driver", gpu.driver},
          {"torch", gpu.torch_version},
          {"triton", gpu.triton_version},
          {"python", gpu.python_version}};
}

Gpu gpu_from_saved_json(const Json& json) {
  Gpu gpu;
  take_device(gpu, json);
  gpu.driver = get_string(json, "driver");
  gpu.torch_version = get_string(json, "torch");
  gpu.triton_version = get_string(json, "triton");
  gpu.python_version = get_string(json, "python");
  return gpu;
}

std::string measured_on(const std::string& recorded_on, const std::string& gpu_name) {
  return recorded_on.empty() ? gpu_name : "recorded on " + recorded_on;
}

std::string architecture_name(int major, int minor) {
  if (major == 8) return "ampere";
  if (major == 9) return "hopper";
  if (major == 10 || major == 12) return "blackwell";
  return fmt::format("SM {}.{}", major, minor);
}

std::vector<int> capabilities_of(const std::string& architecture) {
  if (architecture == "ampere") return {80};
  if (architecture == "hopper") return {90};
  if (architecture == "blackwell") return {100, 120};
  return {};
}

}  // namespace lwb
