// GPU facts and architecture names.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace lwb {

// From lwb_probe.py's `torch` fact; zero where not known.
struct Gpu {
  std::string name;
  std::string uuid;
  int capability_major = 0, capability_minor = 0;
  int sm_count = 0;
  long long l2_bytes = 0;
  long long memory_bytes = 0;
  double memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::string driver;
  std::string torch_version, triton_version, python_version;

  int capability() const { return 10 * capability_major + capability_minor; }
  // Bytes per second: two transfers a clock over the bus; 0 when the clock or width is not known.
  double theoretical_dram_rate() const {
    return 2.0 * memory_clock_khz * 1e3 * memory_bus_bits / 8.0;
  }
};

Gpu gpu_from_json(const Json& torch_fact);
Json to_json(const Gpu& gpu);
Gpu gpu_from_saved_json(const Json&);  // what to_json wrote

// What a number is labelled with: the GPU's name, "recorded on NVIDIA H200" where it was not
// measured in this run (ProcessRunner::recorded_on()).
std::string measured_on(const std::string& recorded_on, const std::string& gpu_name);

// "ampere" (8.x), "hopper" (9.0), "blackwell" (10.x, 12.x), "SM 7.5" otherwise.
std::string architecture_name(int capability_major, int capability_minor);
// The capabilities that a requested architecture is compile-checked for: ampere {80}, hopper {90},
// blackwell {100, 120}.
std::vector<int> capabilities_of(const std::string& architecture);

}  // namespace lwb
