// The fixture of whole runs: a copy of the sample, the seam of simulated_gpu.h, an autonomous
// request.
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>

#include "core/pipeline/pipeline.h"
#include "core/process/child_environment.h"
#include "core/run/state.h"
#include "tests/pipeline/simulated_gpu.h"

namespace lwb {

inline const fs::path kSample = fs::path(LWB_SOURCE_DIR) / "resources/sample";

class WholeRun : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("LWB_TEST_PYTHON");
    if (python == nullptr) GTEST_SKIP() << "LWB_TEST_PYTHON names no Python with torch and triton";
    ::setenv("TRITON_INTERPRET", "1", 1);
    for (const char* who : {"GIT_AUTHOR", "GIT_COMMITTER"}) {
      ::setenv((std::string(who) + "_NAME").c_str(), "T", 1);
      ::setenv((std::string(who) + "_EMAIL").c_str(), "t@example.com", 1);
    }
    ::setenv("LWB_TEST_SHIM", (fs::path(LWB_SOURCE_DIR) / "tests/python/triton_cpu.py").c_str(), 1);
    folder_ =
        fs::path(::testing::TempDir()) /
        ("run-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    ASSERT_TRUE(copy_tree(kSample, folder_ / "checkout"));
    file_ = folder_ / "checkout/src/liger_kernel/ops/scale_norm.py";
    workspace_ = folder_ / "checkout/optimization/scale_norm";
    original_ = *read_file(file_);
    options_.checkout = (folder_ / "checkout").string();
    options_.kernel = "scale_norm";
    options_.goal = "speed";
    options_.autonomous = true;
    options_.import_from_source = true;
    options_.python = python;
    options_.work_area = (folder_ / "area").string();
    options_.x_values = {32};
    options_.seam = &gpu_;
    listener_.say = [this](const std::string& text) { said_ += text + "\n"; };
    listener_.progress = [](const Progress&) {};
  }
  Result<RunOutcome> run(LastStage last = LastStage::kFinalize) {
    CancelToken cancel;
    gpu_.cancel = &cancel;
    cancel_ = &cancel;
    return run_pipeline(options_, last, cancel, listener_);
  }
  RunState state() const {
    auto events = read_journal(workspace_ / "journal.jsonl");
    EXPECT_TRUE(events);
    return fold(*events);
  }
  // The checkout without the workspace and the kernel file.
  std::map<std::string, std::string> rest_of_checkout() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "checkout")) {
      const std::string name = fs::relative(entry.path(), folder_ / "checkout").string();
      if (!entry.is_regular_file() || name.rfind("optimization/", 0) == 0) continue;
      if (name.rfind(".git/", 0) == 0) continue;
      if (entry.path() != file_) files[name] = *sha256_of_file(entry.path());
    }
    return files;
  }
  // Standard output of git in the checkout.
  std::string git(const std::string& arguments) const {
    ProcessSpec spec;
    spec.argv = {"git",
                 "-c",
                 "user.name=T",
                 "-c",
                 "user.email=t@example.com",
                 "-C",
                 (folder_ / "checkout").string()};
    for (const std::string& argument : split(arguments, ' ')) spec.argv.push_back(argument);
    spec.env = own_environment();
    SystemRunner runner;
    auto outcome = runner.run(spec);
    EXPECT_TRUE(outcome && outcome->ok()) << arguments << (outcome ? outcome->err : "");
    return outcome ? outcome->out : "";
  }
  fs::path folder_, file_, workspace_;
  std::string original_, said_;
  SimulatedGpu gpu_;
  RunOptions options_;
  Listener listener_;
  CancelToken* cancel_ = nullptr;
};

}  // namespace lwb
