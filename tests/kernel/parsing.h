// Parses sources that a test writes, with the python3 on PATH and the real lwb_parse.py.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "core/base/files.h"
#include "core/kernel/parse.h"

namespace lwb::test {

// A checkout in a temporary folder that is removed with it.
class Parsing : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null")) {
      GTEST_SKIP() << "no python3 (3.10 or newer) on PATH";
    }
    std::string name = (fs::temp_directory_path() / "lwb-parse-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    tools_.scripts = fs::path(LWB_SOURCE_DIR) / "resources" / "python";
    tools_.environment["PATH"] = std::getenv("PATH");
    tools_.environment["PYTHONDONTWRITEBYTECODE"] = "1";
  }
  void TearDown() override {
    std::error_code ignored;
    if (!root_.empty()) fs::remove_all(root_, ignored);
  }

  fs::path write(const std::string& relative, const std::string& text) {
    const fs::path file = root_ / relative;
    EXPECT_TRUE(write_file_atomically(file, text));
    return file;
  }

  // Writes and parses src/pack/ops/<name>.py.
  SourceModel parse(const std::string& text, const std::string& name = "thing") {
    const fs::path file = write("src/pack/ops/" + name + ".py", text);
    auto model = parse_source(runner_, tools_, file, "pack.ops." + name);
    EXPECT_TRUE(model) << model.error().sentence << "\n" << model.error().details;
    return model ? *model : SourceModel{};
  }

  fs::path root_;
  SystemRunner runner_;
  PythonTools tools_;
};

inline std::string at(const SourceModel& model, const Span& span) {
  return model.text.substr(span.begin, span.end - span.begin);
}

}  // namespace lwb::test
