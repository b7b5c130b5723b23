// What is read by NVML, from a library of the same interface.
#include "core/device/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lwb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Nvml, ReadsWhatTheDriverSays) {
  Nvml nvml(LWB_FAKE_NVML);
  ASSERT_EQ(nvml.problem(), "");
  const auto all = nvml.read();
  ASSERT_EQ(all.size(), 1u);
  const GpuReading& gpu = all[0];
  EXPECT_EQ(gpu.name, "NVIDIA Test");
  EXPECT_EQ(gpu.uuid, "GPU-1234");
  EXPECT_EQ(gpu.sm_mhz, 1980);
  EXPECT_EQ(gpu.temperature_c, 61);
  EXPECT_EQ(gpu.power_w, 412.5);
  EXPECT_FALSE(gpu.power_limit_w) << "this driver does not have it";
  EXPECT_EQ(gpu.gpu_percent, 97);
  EXPECT_EQ(gpu.memory_used_bytes, 40);
  EXPECT_EQ(gpu.memory_total_bytes, 100);
  ASSERT_TRUE(gpu.throttle_reasons);
  EXPECT_THAT(*gpu.throttle_reasons, ElementsAre("sw_power_cap"));
  ASSERT_TRUE(gpu.processes);
  ASSERT_EQ(gpu.processes->size(), 2u);
  EXPECT_EQ(gpu.processes->at(0).memory_bytes, 5);
  EXPECT_FALSE(gpu.processes->at(1).memory_bytes);
}

TEST(Nvml, WithoutADriverSaysSo) {
  Nvml nvml("/nonexistent/libnvidia-ml.so.1");
  EXPECT_THAT(nvml.problem(), HasSubstr("There is no NVIDIA driver here"));
  EXPECT_TRUE(nvml.read().empty());
}

TEST(Nvml, ALibraryThatIsNotNvmlDoesNotAnswer) {
  Nvml nvml("libm.so.6");
  EXPECT_THAT(nvml.problem(), HasSubstr("does not answer"));
  EXPECT_TRUE(nvml.read().empty());
}

}  // namespace
}  // namespace lwb
