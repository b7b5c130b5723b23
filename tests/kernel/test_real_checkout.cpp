// The real package, where LWB_TEST_LIGER names it (packaging/test.sh fetches it).
#include <algorithm>

#include "core/base/text.h"
#include "core/kernel/analysis.h"
#include "tests/kernel/parsing.h"

namespace lwb::test {
namespace {

// Counted without the parser: lines that are a decorator @triton.jit or @jit.
std::size_t jit_lines(const std::string& text) {
  std::size_t count = 0;
  for (const std::string& line : split_lines(text)) {
    const std::string code = trim(line);
    count += code == "@triton.jit" || code == "@jit" || code.starts_with("@triton.jit(");
  }
  return count;
}

void print(const SourceModel& model, const SourceAnalysis& analysis) {
  std::printf("\n%s: tier %s\n", model.module.c_str(), to_string(analysis.tier).c_str());
  for (const LaunchConfiguration& launch : analysis.launches) {
    std::printf("  launch %s:%d %s grid %s%s\n    block: %s\n    warps: %s\n    stages: %s\n",
                launch.host_function.c_str(), launch.line, launch.kernel.c_str(),
                launch.grid.c_str(), launch.persistent_grid ? " (persistent)" : "",
                launch.block_source.c_str(), launch.warps_source.c_str(),
                launch.stages_source.c_str());
  }
  const auto list = [](const char* title, const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      std::printf("  %s %d %s\n", title, finding.line, finding.message.c_str());
    }
  };
  list("pattern", analysis.patterns);
  list("opportunity", analysis.opportunities);
  list("warning", analysis.warnings);
}

class RealCheckout : public Parsing {
 protected:
  void SetUp() override {
    Parsing::SetUp();
    if (IsSkipped()) return;
    const char* named = std::getenv("LWB_TEST_LIGER");
    if (named == nullptr) GTEST_SKIP() << "LWB_TEST_LIGER names no source package of liger-kernel";
    checkout_ = named;
  }
  fs::path checkout_;
};

TEST_F(RealCheckout, EveryFileParsesAndEveryPointerHasOneParameter) {
  const auto start = std::chrono::steady_clock::now();
  const auto package = parse_package(runner_, tools_, checkout_, "liger_kernel");
  ASSERT_TRUE(package) << package.error().sentence << package.error().details;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("%zu modules in %.1f s, of them lwb_parse.py %.1f s\n", package->modules.size(),
              taken.count(), static_cast<double>(runner_.child_wall().count()) / 1000);
  EXPECT_TRUE(package->unparsable.empty());
  std::size_t ops = 0;
  for (const SourceModel& model : package->modules) {
    if (!model.module.starts_with("liger_kernel.ops.") ||
        std::count(model.module.begin(), model.module.end(), '.') != 2) {
      continue;
    }
    std::size_t jit = 0, autotuned = 0;
    for (const Function& function : model.functions) {
      jit += function.jit;
      autotuned += function.autotuned;
      for (const MemoryAccess& access : function.accesses) {
        EXPECT_EQ(access.base_parameters.size(), 1u)
            << model.module << ":" << access.call.span.line << " " << access.pointer.text;
      }
    }
    ops += !model.outline;
    EXPECT_EQ(jit, model.outline ? 0 : jit_lines(model.text)) << model.module;
    const SourceAnalysis analysis = analyse(model);
    EXPECT_EQ(analysis.launches.size(), model.launches.size());
    EXPECT_EQ(analysis.kernels.size(), model.kernels().size());
    if (std::getenv("LWB_PRINT_ANALYSIS")) print(model, analysis);
    std::printf("%-52s jit %2zu (%zu) kernels %2zu launches %2zu functions %zu\n",
                model.module.c_str(), jit, autotuned, model.kernels().size(), model.launches.size(),
                model.autograd_functions.size());
  }
  EXPECT_GT(ops, 20u);
}

}  // namespace
}  // namespace lwb::test
