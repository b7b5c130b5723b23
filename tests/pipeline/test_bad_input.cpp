// What `lwb` refuses: one exact sentence, the exit code, and nothing changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "app/lwb_program.h"
#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;

struct Refusal {
  const char* name;
  std::vector<std::string> arguments;  // CHECKOUT stands for the sample's copy, FILE for a bad file
  int exit_code;
  const char* says;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

class BadInput : public ::testing::TestWithParam<Refusal> {
 protected:
  void SetUp() override {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(::testing::TempDir()) / ("bad-" + replace_all(name, "/", "-"));
    fs::remove_all(folder_);
    ASSERT_TRUE(copy_tree(fs::path(LWB_SOURCE_DIR) / "resources/sample", checkout()));
    fs::remove(checkout() / "benchmark/scripts/benchmark_gated_relu.py");
    fs::remove(checkout() / "test/transformers/test_label_loss.py");
    ASSERT_TRUE(write_file_atomically(folder_ / "bad.json", "{\"calls\": ["));
  }
  fs::path checkout() const { return folder_ / "checkout"; }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      all[entry.path().string()] = entry.is_regular_file() ? *sha256_of_file(entry.path()) : "";
    }
    return all;
  }
  fs::path folder_;
};

TEST_P(BadInput, IsOneSentenceAndChangesNothing) {
  const Refusal& refusal = GetParam();
  std::vector<std::string> words{"lwb"};
  for (const std::string& argument : refusal.arguments) {
    words.push_back(replace_all(replace_all(argument, "CHECKOUT", checkout().string()), "FILE",
                                (folder_ / "bad.json").string()));
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const auto before = files();
  ::testing::internal::CaptureStderr();
  const int code = run_lwb(static_cast<int>(argv.size()), argv.data());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, refusal.exit_code) << said;
  EXPECT_THAT(said, HasSubstr(refusal.says));
  // Details may follow in lines of their own.
  ASSERT_FALSE(said.empty());
  const std::string sentence = split_lines(said).front();
  EXPECT_TRUE(sentence.starts_with("lwb: ")) << said;
  EXPECT_TRUE(sentence.ends_with('.') || sentence.ends_with('?')) << said;
  EXPECT_EQ(files(), before);
}

std::vector<std::string> run_with(std::vector<std::string> more) {
  std::vector<std::string> all{"run", "--checkout", "CHECKOUT"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const std::vector<std::string> kKernel{"--kernel", "scale_norm"};

std::vector<std::string> scale_norm(std::vector<std::string> more) {
  more.insert(more.begin(), kKernel.begin(), kKernel.end());
  return run_with(more);
}

INSTANTIATE_TEST_SUITE_P(
    Program, BadInput,
    ::testing::Values(
        Refusal{"NoSuchFolder", {"kernels", "--checkout", "/nonexistent"}, 2, "/nonexistent"},
        Refusal{
            "NotACheckout", {"kernels", "--checkout", "/usr"}, 2, "is not a Liger-Kernel checkout"},
        Refusal{"AFileAsCheckout", {"doctor", "--checkout", "FILE"}, 2, "bad.json"},
        Refusal{"UnknownKernel", run_with({"--kernel", "scale_nrm"}), 2,
                "did you mean scale_norm?"},
        Refusal{"WithoutJitCode", run_with({"--kernel", "utils"}), 3, "no @triton.jit kernel"},
        Refusal{"WithoutScript", run_with({"--kernel", "gated_relu"}), 3, "script"},
        Refusal{"WithoutTest", run_with({"--kernel", "label_loss"}), 3, "test"},
        Refusal{"Goal", scale_norm({"--goal", "fast"}), 2, "speed, memory, balanced"},
        Refusal{"Target", scale_norm({"--target", "backward fast"}), 2, "'backward fast'"},
        Refusal{"Scope", scale_norm({"--scope", "hidden_size<="}), 2, "hidden_size<="},
        Refusal{"Gpu", scale_norm({"--gpu", "pascal"}), 2, "pascal"},
        Refusal{"Sizes", scale_norm({"--x", "many"}), 2, "many"},
        Refusal{"NoVariants", scale_norm({"--max-variants", "0"}), 2, "--max-variants"},
        Refusal{"NoCallsFile", scale_norm({"--calls", "/nonexistent"}), 2, "/nonexistent"},
        Refusal{"MalformedCallsFile", scale_norm({"--calls", "FILE"}), 2, "bad.json"},
        Refusal{"MalformedRecording", scale_norm({"--replay", "FILE"}), 2, "bad.json"},
        Refusal{"RecordAndReplay", scale_norm({"--replay", "FILE", "--record", "FILE"}), 2, "--re"},
        Refusal{"Sentence", run_with({"--request", "make tea"}), 2, "names no kernel"},
        Refusal{"NoKernelAtAll", run_with({}), 2, "--kernel"},
        Refusal{"UnknownOption", scale_norm({"--fast"}), 2, "--fast"},
        Refusal{"UnknownCommand", {"optimise"}, 2, "optimise"},
        Refusal{"FinalizeWithoutWinner",
                {"finalize", "--checkout", "CHECKOUT", "--kernel", "scale_norm"},
                2,
                "winner"},
        Refusal{"ShowWithoutRun",
                {"show", "--checkout", "CHECKOUT", "--kernel", "scale_norm"},
                2,
                "lwb run"},
        Refusal{"OfferWithoutRun",
                {"offer", "--checkout", "CHECKOUT", "--kernel", "scale_norm", "--variant", "FILE",
                 "--title", "t"},
                2,
                "no run of this kernel"},
        Refusal{"OfferWithoutTitle",
                {"offer", "--checkout", "CHECKOUT", "--kernel", "scale_norm", "--variant", "FILE"},
                2,
                "--title"},
        Refusal{"MeasureNoFile",
                {"measure", "--checkout", "CHECKOUT", "--kernel", "scale_norm", "--variant",
                 "/nonexistent.py"},
                2,
                "/nonexistent.py"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace lwb
