#include "core/checkout/checkout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/files.h"
#include "core/checkout/git.h"
#include "core/checkout/preflight.h"
#include "core/checkout/sandbox.h"
#include "core/process/child_environment.h"

namespace lwb {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kSample = fs::path(LWB_SOURCE_DIR) / "resources" / "sample";

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "lwb-checkout-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

PythonTools tools() {
  PythonTools made;
  made.scripts = fs::path(LWB_SOURCE_DIR) / "resources" / "python";
  made.environment = child_environment({}, own_environment());
  made.cwd = fs::temp_directory_path();
  return made;
}

std::vector<KernelEntry> kernels_in(const fs::path& root) {
  SystemRunner runner;
  auto checkout = open_checkout(root);
  EXPECT_TRUE(checkout);
  auto model = parse_package(runner, tools(), root, checkout->package);
  EXPECT_TRUE(model) << (model ? "" : model.error().sentence);
  return model ? list_kernels(*checkout, *model) : std::vector<KernelEntry>{};
}

TEST(OpenCheckout, SaysWhatIsMissing) {
  const Folder folder;
  EXPECT_THAT(open_checkout(folder.path / "nowhere").error().sentence, HasSubstr("not a folder"));
  EXPECT_THAT(open_checkout(folder.path).error().sentence, HasSubstr("no src/<package>/ops"));
  EXPECT_EQ(open_checkout(folder.path).error().kind, ErrorKind::kUsage);
  ASSERT_TRUE(write_file_atomically(folder.path / "src/pkg/ops/__init__.py", ""));
  EXPECT_THAT(open_checkout(folder.path).error().sentence, HasSubstr("benchmark/scripts"));
}

TEST(OpenCheckout, FindsThePackageAndItsVersion) {
  const auto checkout = open_checkout(kSample);
  ASSERT_TRUE(checkout);
  EXPECT_EQ(checkout->package, "liger_kernel");
  EXPECT_FALSE(checkout->version.empty());
}

TEST(ListKernels, TheSample) {
  const auto kernels = kernels_in(kSample);
  std::vector<std::string> ready;
  for (const KernelEntry& kernel : kernels) {
    if (kernel.ready) ready.push_back(kernel.name);
  }
  EXPECT_THAT(ready, ElementsAre("gated_relu", "label_loss", "scale_norm"));
  const auto norm = find_kernel(kernels, "scale_norm");
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->script.filename(), "benchmark_scale_norm.py");
  EXPECT_EQ(norm->tests.front().filename(), "test_scale_norm.py");
}

TEST(ListKernels, NearestNamesAreOffered) {
  const auto wrong = find_kernel(kernels_in(kSample), "scale_nrom");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(wrong.error().sentence, HasSubstr("did you mean scale_norm"));
}

TEST(ListKernels, EveryOpFileOfTheReleaseIsReadyOrHasAReason) {
  const char* root = std::getenv("LWB_TEST_LIGER");
  if (root == nullptr || *root == 0) {
    const char* reason = std::getenv("LWB_TEST_LIGER_REASON");
    GTEST_SKIP() << (reason != nullptr ? reason : "LWB_TEST_LIGER is not set");
  }
  const auto kernels = kernels_in(root);
  EXPECT_GT(kernels.size(), 30u);
  for (const KernelEntry& kernel : kernels) {
    EXPECT_EQ(kernel.ready, kernel.reason.empty()) << kernel.name;
  }
  for (const char* name : {"rms_norm", "swiglu", "softmax", "rope", "cross_entropy"}) {
    EXPECT_TRUE(find_kernel(kernels, name)->ready) << name;
  }
  EXPECT_THAT(find_kernel(kernels, "fused_linear_jsd")->reason, HasSubstr("no kernel of its own"));
  EXPECT_THAT(find_kernel(kernels, "softmax")->dependants, Contains("multi_token_attention"));
}

TEST(Sandbox, HoldsCopiesAndLeavesTheCheckoutAlone) {
  const Folder folder;
  const auto checkout = open_checkout(kSample);
  const auto before = sha256_of_file(checkout->op_file("scale_norm"));
  auto sandbox = Sandbox::create(*checkout, folder.path, "test");
  ASSERT_TRUE(sandbox);
  EXPECT_TRUE(fs::exists(sandbox->tree() / "benchmark/scripts/benchmark_scale_norm.py"));
  EXPECT_TRUE(fs::exists(sandbox->tree() / "pyproject.toml"));
  auto side = sandbox->add_side("v1", "scale_norm", "x = 1\n");
  ASSERT_TRUE(side);
  EXPECT_EQ(*read_file(side->file), "x = 1\n");
  EXPECT_EQ(side->sha256, sha256_hex("x = 1\n"));
  ASSERT_TRUE(sandbox->put_kernel("scale_norm", "y = 2\n"));
  EXPECT_EQ(*read_file(sandbox->tree() / checkout->op_relative("scale_norm")), "y = 2\n");
  EXPECT_EQ(*sha256_of_file(checkout->op_file("scale_norm")), *before);
  sandbox->remove();
  EXPECT_FALSE(fs::exists(sandbox->tree()));
}

TEST(Git, TheWorkspaceIsExcludedOnce) {
  const Folder folder;
  SystemRunner runner;
  const Environment environment = child_environment({}, own_environment());
  ProcessSpec init;
  init.argv = {"git", "init", "-q", folder.path.string()};
  init.env = environment;
  ASSERT_TRUE(runner.run(init)->ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(exclude_workspace(runner, environment, folder.path));
  }
  const auto text = read_file(folder.path / ".git/info/exclude");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("/optimization/\n"), std::string::npos);
  EXPECT_EQ(text->find("/optimization/"), text->rfind("/optimization/"));
  const Folder plain;
  EXPECT_TRUE(exclude_workspace(runner, environment, plain.path));
}

// No GPU answers here: every failure is a check with a sentence and a fix, none ends the others.
TEST(Preflight, ShowsAllChecksWhenTheMachineIsNotReady) {
  class NoPrograms final : public ProcessRunner {
   public:
    Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink&) override {
      labels.push_back(spec.label);
      ProcessOutcome outcome;
      outcome.end = ProcessEnd::kFailedToStart;
      return outcome;
    }
    std::chrono::milliseconds child_wall() const override { return {}; }
    std::vector<std::string> labels;
  };
  const Folder folder;
  const auto checkout = open_checkout(kSample);
  auto sandbox = Sandbox::create(*checkout, folder.path, "test");
  NoPrograms runner;
  const auto preflight = run_preflight(runner, tools(), *checkout, nullptr, {}, *sandbox);
  ASSERT_TRUE(preflight);
  EXPECT_FALSE(preflight->passed());
  for (const Check& check : preflight->checks) {
    EXPECT_FALSE(check.sentence.empty()) << check.id;
    EXPECT_TRUE(check.state != Check::kFailed || !check.fix.empty()) << check.id;
  }
  EXPECT_THAT(runner.labels, Contains("GPU driver"));
  EXPECT_THAT(runner.labels, Contains("version of ruff"));
}

}  // namespace
}  // namespace lwb
