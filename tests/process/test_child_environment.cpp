// The children's environment (field-notes C15, C19, C20, C24, I6, R2).

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/process/child_environment.h"

namespace lwb {
namespace {

TEST(ChildEnvironment, KeepsWhatChildrenNeed) {
  const Environment own = {
      {"PATH", "/opt/bin:/bin"}, {"HOME", "/home/me"},   {"LC_ALL", "de_DE.UTF-8"},
      {"HF_HOME", "/hf"},        {"https_proxy", "p"},   {"HTTP_PROXY", "q"},
      {"VIRTUAL_ENV", "/venv"},  {"CONDA_PREFIX", "/c"}, {"CC", "gcc-12"},
      {"TRITON_INTERPRET", "1"}, {"LWB_TEST_X", "y"},    {"CUDA_HOME", "/cuda"}};
  const Environment child = child_environment({}, own);
  for (const auto& [name, value] : own) EXPECT_EQ(child.at(name), value) << name;
}

TEST(ChildEnvironment, DropsWhatWouldChangeTheResult) {
  Environment own = {{"PATH", "/bin"}};
  for (const char* name :
       {"PYTHONHOME", "PYTHONSAFEPATH", "PYTHONPATH", "QT_PLUGIN_PATH", "LIGER_KERNEL_IMPL",
        "LIGER_KERNEL_IMPL_LAYER_NORM", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
        "TRITON_CACHE_DIR", "TRITON_STORE_BINARY_ONLY", "LD_PRELOAD", "CUDA_LAUNCH_BLOCKING"}) {
    own[name] = "/x";
  }
  const Environment child = child_environment({}, own);
  for (const auto& [name, value] : own) {
    if (name != "PATH") {
      EXPECT_FALSE(child.contains(name)) << name;
    }
  }
}

TEST(ChildEnvironment, ForcesTritonAndOneGpu) {
  ChildEnvironmentFacts facts;
  facts.python_path = {"/sandbox/src", "/scripts"};
  facts.triton_cache = "/cache";
  facts.tmp = "/private";
  facts.gpu_uuid = "GPU-1234";
  const Environment child = child_environment(facts, {{"CUDA_VISIBLE_DEVICES", "3"}});
  EXPECT_EQ(child.at("LIGER_KERNEL_BACKEND"), "nvidia-triton");
  EXPECT_EQ(child.at("PYTHONPATH"), "/sandbox/src:/scripts");
  EXPECT_EQ(child.at("TRITON_CACHE_DIR"), "/cache");
  EXPECT_EQ(child.at("TMPDIR"), "/private");
  EXPECT_EQ(child.at("CUDA_VISIBLE_DEVICES"), "GPU-1234");
  EXPECT_EQ(child.at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(child.at("GIT_TERMINAL_PROMPT"), "0");
  EXPECT_EQ(child.at("MPLBACKEND"), "Agg");
}

TEST(ChildEnvironment, KeepsTheUsersChoiceOfGpuUntilOneIsKnown) {
  const Environment child = child_environment({}, {{"CUDA_VISIBLE_DEVICES", "3"}});
  EXPECT_EQ(child.at("CUDA_VISIBLE_DEVICES"), "3");
}

TEST(ChildEnvironment, LeavesAnAppImagesFoldersOut) {
  const Environment own = {{"APPDIR", "/run/image"},
                           {"PATH", "/run/image/usr/bin:/tmp/.mount_LigerX/bin:/usr/bin"},
                           {"LD_LIBRARY_PATH", "/run/image/usr/lib:/usr/local/cuda/lib64"}};
  const Environment child = child_environment({}, own);
  EXPECT_EQ(child.at("PATH"), "/usr/bin");
  EXPECT_EQ(child.at("LD_LIBRARY_PATH"), "/usr/local/cuda/lib64");
  EXPECT_FALSE(child_environment({}, {{"APPDIR", "/i"}, {"LD_LIBRARY_PATH", "/i/lib"}})
                   .contains("LD_LIBRARY_PATH"));
}

TEST(ChildEnvironment, ReadsOurOwn) {
  ::setenv("LWB_TEST_OWN", "a=b", 1);
  EXPECT_EQ(own_environment().at("LWB_TEST_OWN"), "a=b");
}

}  // namespace
}  // namespace lwb
