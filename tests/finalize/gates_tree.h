// A small tree with a package of our own, and the Python that the gates start.
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

#include "core/base/files.h"
#include "core/kernel/parse.h"
#include "core/process/child_environment.h"

namespace lwb {

class GatesTree : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    tree_ =
        fs::path(::testing::TempDir()) / "gates" / test->test_suite_name() / test->name() / "tree";
    fs::remove_all(tree_.parent_path());
    put("src/pack/__init__.py", "");
    put("src/pack/op.py", "VALUE = 1\n");
    tools_.python = "python";
    tools_.scripts = fs::path(LWB_SOURCE_DIR) / "resources/python";
  }
  void TearDown() override { fs::remove_all(tree_.parent_path()); }

  // For tests that really start programs.
  void use_real_python() {
    const char* python = std::getenv("LWB_TEST_PYTHON");
    if (python == nullptr || *python == '\0') {
      const char* reason = std::getenv("LWB_TEST_PYTHON_REASON");
      GTEST_SKIP() << "LWB_TEST_PYTHON names no Python with pytest and ruff"
                   << (reason ? ": " + std::string(reason) : std::string());
    }
    tools_.python = python;
    Environment own = own_environment();
    own["PATH"] = fs::path(python).parent_path().string() + ":" + own["PATH"];
    tools_.environment = child_environment({}, own);
  }

  void put(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(write_file_atomically(tree_ / path, text));
  }
  std::string text_of(const std::string& path) const {
    return read_file(tree_ / path).value_or("(no such file)");
  }
  fs::path kernel_file() const { return tree_ / "src/pack/op.py"; }

  fs::path tree_;
  PythonTools tools_;
};

}  // namespace lwb
