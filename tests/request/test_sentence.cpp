// Sentences as people write them: what is understood, what is said to be not, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "core/base/text.h"
#include "core/request/request.h"

namespace lwb {
namespace {

using testing::HasSubstr;

const std::vector<std::string>& kernels() {
  static const std::vector<std::string> names = {
      "cross_entropy", "fused_add_rms_norm", "fused_linear_cross_entropy",
      "rms_norm",      "layer_norm",         "swiglu",
      "memory",        "llama4_rope"};
  return names;
}

// The fields that differ from the default, in one line: "rms_norm goal=speed scope=backward".
std::string summary(const ParsedSentence& parsed) {
  const Request& request = parsed.request;
  std::string text = request.kernel;
  if (request.goal != Goal::kBalanced) text += " goal=" + to_string(request.goal);
  if (to_string(request.scope) != "general") text += " scope=[" + to_string(request.scope) + "]";
  if (request.gpu != TargetGpu::kAuto) text += " gpu=" + to_string(request.gpu);
  if (request.autonomy == Autonomy::kAutonomous) text += " autonomous";
  if (request.max_variants != 8) text += " variants=" + std::to_string(request.max_variants);
  if (request.target) text += " target=[" + to_string(*request.target) + "]";
  if (!request.pull_request) text += " no-pr";
  if (request.budget_s > 0) text += " budget=" + std::to_string(static_cast<int>(request.budget_s));
  if (request.accept_known_failures) text += " known";
  if (!parsed.not_understood.empty()) text += " ?{" + join(parsed.not_understood, "|") + "}";
  return text;
}

struct Understood {
  const char* sentence;
  const char* expected;
};

void PrintTo(const Understood& value, std::ostream* out) {
  *out << value.sentence;
}

class Sentence : public testing::TestWithParam<Understood> {};

TEST_P(Sentence, IsUnderstood) {
  const auto parsed = parse_sentence(GetParam().sentence, kernels());
  ASSERT_TRUE(parsed) << parsed.error().sentence;
  EXPECT_EQ(summary(*parsed), GetParam().expected);
  // What was understood can be written down and read again.
  const auto again = request_from_json(to_json(parsed->request));
  ASSERT_TRUE(again) << again.error().sentence;
  EXPECT_EQ(to_json(*again), to_json(parsed->request));
}

const Understood kKernels[] = {
    {"optimize rms_norm", "rms_norm"},
    {"Please optimize the RMSNorm kernel.", "rms_norm"},
    {"rms-norm", "rms_norm"},
    {"RMS norm", "rms_norm"},
    {"improve LigerRMSNorm", "rms_norm"},
    {"Could you tune src/liger_kernel/ops/rms_norm.py for me?", "rms_norm"},
    {"fused add rms-norm please", "fused_add_rms_norm"},
    {"optimize FusedAddRMSNorm", "fused_add_rms_norm"},
    {"the cross entropy loss", "cross_entropy"},
    {"fused linear cross-entropy", "fused_linear_cross_entropy"},
    {"Llama-4 RoPE", "llama4_rope"},
    {"SwiGLU", "swiglu"},
    {"rms_norm, yes RMSNorm", "rms_norm ?{yes}"},
    {"optimize memory", "memory"},
};
INSTANTIATE_TEST_SUITE_P(Kernels, Sentence, testing::ValuesIn(kKernels));

const Understood kChoices[] = {
    {"make rms_norm faster", "rms_norm goal=speed"},
    {"make rms_norm as fast as possible", "rms_norm goal=speed"},
    {"speed up swiglu", "swiglu goal=speed"},
    {"reduce the peak memory of layer norm", "layer_norm goal=memory"},
    {"optimize rms_norm for memory", "rms_norm goal=memory"},
    {"less memory usage in cross entropy", "cross_entropy goal=memory"},
    {"optimize rms_norm, goal: balanced", "rms_norm"},
    {"optimize rms_norm for both speed and memory", "rms_norm"},
    {"balance speed and memory of rms_norm", "rms_norm"},
    {"rms_norm forward", "rms_norm scope=[forward]"},
    {"the backward pass of rms_norm", "rms_norm scope=[backward]"},
    {"only the bwd of swiglu", "swiglu scope=[backward]"},
    {"rms_norm forward and backward", "rms_norm"},
    {"rms_norm forward/backward", "rms_norm"},
    {"rms_norm on Hopper", "rms_norm gpu=hopper"},
    {"rms_norm for H100", "rms_norm gpu=hopper"},
    {"rms_norm on an H200 or H100", "rms_norm gpu=hopper"},
    {"rms_norm on A100", "rms_norm gpu=ampere"},
    {"rms_norm on B200", "rms_norm gpu=blackwell"},
    {"rms_norm for sm_90", "rms_norm gpu=hopper"},
    {"rms_norm for SM 8.x", "rms_norm gpu=ampere"},
    {"rms_norm for sm120", "rms_norm gpu=blackwell"},
    {"rms_norm for compute capability 8.6", "rms_norm gpu=ampere"},
    {"rms_norm on my RTX 4090", "rms_norm gpu=ampere"},
    {"rms_norm on an rtx5090", "rms_norm gpu=blackwell"},
    {"rms_norm on my 3090", "rms_norm gpu=ampere"},
    {"rms_norm, GPU auto-detect", "rms_norm"},
    {"just optimize rms_norm", "rms_norm autonomous"},
    {"rms_norm: just optimize it", "rms_norm autonomous"},
    {"optimize rms_norm, run without asking me", "rms_norm autonomous"},
    {"optimize rms_norm autonomously", "rms_norm autonomous"},
    {"rms_norm, don't ask", "rms_norm autonomous"},
    {"rms_norm, don\xE2\x80\x99t ask me anything", "rms_norm autonomous"},
    {"optimize rms_norm end-to-end, no questions", "rms_norm autonomous"},
    {"optimize rms_norm, but not autonomously", "rms_norm"},
    {"optimize rms_norm and do not run it autonomously", "rms_norm"},
    {"optimize rms_norm non-interactively", "rms_norm autonomous"},
    {"optimize rms_norm interactively", "rms_norm"},
    {"optimize rms_norm, no PR", "rms_norm no-pr"},
    {"optimize rms_norm without a pull request", "rms_norm no-pr"},
    {"optimize rms_norm and don't open a PR", "rms_norm no-pr"},
    {"optimize rms_norm, accept known failures", "rms_norm known"},
};
INSTANTIATE_TEST_SUITE_P(Choices, Sentence, testing::ValuesIn(kChoices));

const Understood kLimits[] = {
    {"rms_norm, at most 5 variants", "rms_norm variants=5"},
    {"try up to twelve variants of rms_norm", "rms_norm variants=12"},
    {"rms_norm with a budget of twenty-five variants", "rms_norm variants=25"},
    {"rms_norm, only one variant", "rms_norm variants=1"},
    {"rms_norm, a dozen attempts", "rms_norm variants=12"},
    {"rms_norm max_variants=3", "rms_norm variants=3"},
    {"rms_norm, max variants: 3", "rms_norm variants=3"},
    {"rms_norm, no more than 4 different variants", "rms_norm variants=4"},
    {"rms_norm, fewer than 4 variants", "rms_norm variants=3"},
    {"rms_norm, at least 4 variants", "rms_norm ?{least 4 variants}"},
    {"rms_norm, spend at most 10 minutes", "rms_norm budget=600 ?{spend}"},
    {"rms_norm within 90 s of GPU time", "rms_norm budget=90"},
    {"rms_norm for hidden sizes up to 1024", "rms_norm scope=[hidden_size<=1024]"},
    {"rms_norm T>=8192", "rms_norm scope=[T>=8192]"},
    {"rms_norm for T \xE2\x89\xA5 8,192", "rms_norm scope=[T>=8192]"},
    {"rms_norm when seq len is at least 4k", "rms_norm scope=[seq_len>=4096]"},
    {"rms_norm with sequence length above 4 k", "rms_norm scope=[seq_len>4096]"},
    {"rms_norm for more than 2048 tokens", "rms_norm scope=[tokens>2048]"},
    {"rms_norm for 4k tokens or more", "rms_norm scope=[tokens>=4096]"},
    {"rms_norm with hidden size 4096", "rms_norm scope=[hidden_size=4096]"},
    {"rms_norm with hidden size 4096 or smaller", "rms_norm scope=[hidden_size<=4096]"},
    {"rms_norm for hidden sizes between 1k and 4k",
     "rms_norm scope=[hidden_size>=1024 hidden_size<=4096]"},
    {"rms_norm for 1024 <= T <= 8192", "rms_norm scope=[T>=1024 T<=8192]"},
    {"rms_norm for T from 1024 to 8192", "rms_norm scope=[T>=1024 T<=8192]"},
    {"rms_norm, hidden size at least 1024 and at most 4096",
     "rms_norm scope=[hidden_size>=1024 hidden_size<=4096]"},
    {"rms_norm backward where hidden_size<=2048 and T>=4096",
     "rms_norm scope=[backward hidden_size<=2048 T>=4096]"},
    {"cross entropy with vocabulary size over 100000", "cross_entropy scope=[vocab_size>100000]"},
    {"swiglu for my_own_width < 300", "swiglu scope=[my_own_width<300]"},
    {"rms_norm under 0.1 ms at T=8192", "rms_norm target=[full under 100us at T=8192]"},
    {"get rms_norm below 300us", "rms_norm target=[full under 300us]"},
    {"rms_norm, memory under 200MB", "rms_norm target=[memory under 200MB]"},
    {"rms_norm, peak memory at most 1.5 GB", "rms_norm target=[memory under 1536MB]"},
    {"rms_norm, forward under 0.3ms at hidden_size=4096",
     "rms_norm target=[forward under 300us at hidden_size=4096]"},
    {"rms_norm, backward time less than 80 \xC2\xB5s at T=8192 and hidden size 4096",
     "rms_norm target=[backward under 80us at T=8192 hidden_size=4096]"},
    {"rms_norm, at T=8192 the forward should be under 50us",
     "rms_norm target=[forward under 50us at T=8192]"},
    {"rms_norm backward under 60us", "rms_norm scope=[backward] target=[backward under 60us]"},
    {"rms_norm, forward and backward under 1 ms", "rms_norm target=[full under 1000us]"},
    {"rms_norm < 0.2ms", "rms_norm target=[full under 200us]"},
};
INSTANTIATE_TEST_SUITE_P(Limits, Sentence, testing::ValuesIn(kLimits));

const Understood kWhole[] = {
    {"just optimize rms_norm backward on Hopper, at most 5 variants, under 0.1 ms at T=8192",
     "rms_norm scope=[backward] gpu=hopper autonomous variants=5 "
     "target=[backward under 100us at T=8192]"},
    {"On an H100, without asking me, five variants at most: make the cross entropy faster for "
     "T>=4096, no PR",
     "cross_entropy goal=speed scope=[T>=4096] gpu=hopper autonomous variants=5 no-pr"},
    {"kernel=swiglu goal=memory scope=forward gpu=ampere max_variants=2 target=\"memory under "
     "1GB\"",
     "swiglu goal=memory scope=[forward] gpu=ampere variants=2 target=[memory under 1024MB]"},
    {"--kernel rms_norm --goal speed --scope backward", "rms_norm goal=speed scope=[backward]"},
    {"optimize rms_norm and sing a song", "rms_norm ?{sing a song}"},
    {"make rms_norm 2x faster", "rms_norm goal=speed ?{2x}"},
    {"make rms_norm faster without using more memory",
     "rms_norm goal=speed ?{without using more memory}"},
    {"make rms_norm faster but don't slow the forward",
     "rms_norm goal=speed ?{don't slow the forward}"},
    {"the backward of rms_norm, not the forward", "rms_norm scope=[backward] ?{not the forward}"},
    {"optimize layer norm but leave the backward alone", "layer_norm ?{leave the backward alone}"},
    {"rms_norm for our H200s, I do not want to be asked", "rms_norm gpu=hopper autonomous"},
    {"rms_norm; the target is backward under 60us at hidden_size=4096, T=8192",
     "rms_norm target=[backward under 60us at hidden_size=4096 T=8192]"},
    {"rms_norm for T>=2048, a 60 seconds budget", "rms_norm scope=[T>=2048] budget=60"},
    {"rms_norm is memory-bound, speed it up", "rms_norm goal=speed ?{memory-bound}"},
    {"rms_norm for long inputs", "rms_norm ?{long}"},
};
INSTANTIATE_TEST_SUITE_P(Whole, Sentence, testing::ValuesIn(kWhole));

struct Refused {
  const char* sentence;
  std::vector<const char*> parts;  // of the error
};

TEST(RefusedSentences, NameWhatIsWrong) {
  const Refused all[] = {
      {"", {"empty"}},
      {"make it faster", {"names no kernel", "rms_norm"}},
      {"optimize rsm_norm", {"names no kernel", "rms_norm"}},
      {"optimize rms_norm and layer norm", {"two kernels", "rms_norm", "layer_norm"}},
      {"rms_norm for speed, and for memory", {"two goals", "speed", "memory"}},
      {"balanced rms_norm, but faster", {"two goals", "balanced", "faster"}},
      {"rms_norm on A100, H100", {"target_gpu", "ampere", "hopper"}},
      {"rms_norm on V100", {"V100", "ampere", "hopper", "blackwell"}},
      {"rms_norm on an AMD card", {"AMD", "NVIDIA"}},
      {"rms_norm autonomously, but ask me first", {"autonomy", "autonomously", "ask me"}},
      {"rms_norm, 5 variants, at most 6 variants", {"max_variants", "5", "6"}},
      {"rms_norm, 0 variants", {"0 variants", "1 or more"}},
      {"rms_norm, -3 variants", {"-3 variants", "1 or more"}},
      {"rms_norm, 2.5 variants", {"2.5 variants", "whole number"}},
      {"rms_norm only forward, then only backward", {"two scopes", "forward", "backward"}},
      {"rms_norm T>=8192 and T<=1024", {"T>=8192 and T<=1024"}},
      {"rms_norm T>=many", {"T>=many", "hidden_size<=1024"}},
      {"rms_norm T>=", {"T>=", "hidden_size<=1024"}},
      {"rms_norm T>=2^13", {"T>=2^13", "hidden_size<=1024"}},
      {"rms_norm under 0.1 parsecs", {"under 0.1 parsecs", "memory under 200MB"}},
      {"rms_norm memory under 3 ms", {"memory under 3 ms", "memory under 200MB"}},
      {"rms_norm, forward over 0.3 ms", {"over 0.3 ms", "forward under 0.3ms"}},
      {"rms_norm, forward under 0 ms", {"under 0 ms", "above 0"}},
      {"rms_norm, under 1 ms, below 2 ms", {"target_metric", "1000us", "2000us"}},
      {"rms_norm with a PR, no, no PR", {"pull_request", "with a PR", "no PR"}},
  };
  for (const Refused& refused : all) {
    const auto parsed = parse_sentence(refused.sentence, kernels());
    ASSERT_FALSE(parsed) << refused.sentence << ": " << summary(*parsed);
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage);
    for (const char* part : refused.parts) {
      EXPECT_THAT(parsed.error().sentence, HasSubstr(part)) << refused.sentence;
    }
  }
}

TEST(RefusedSentences, WithoutAnyKernelInTheCheckout) {
  const auto parsed = parse_sentence("optimize rms_norm", {});
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().sentence, HasSubstr("none were found"));
}

TEST(Description, ShowsEveryFieldWithItsWords) {
  const auto parsed =
      parse_sentence("just optimize RMSNorm backward for T>=4k and whistle", kernels());
  ASSERT_TRUE(parsed);
  ASSERT_GE(parsed->fields.size(), 7u);
  EXPECT_EQ(parsed->fields[0].name, "target_kernel");
  EXPECT_EQ(parsed->fields[0].words, "RMSNorm");
  EXPECT_EQ(parsed->fields[2].value, "backward T>=4096");
  EXPECT_EQ(parsed->fields[2].words, "T>=4k, backward");
  EXPECT_EQ(parsed->fields[5].words, "");
  const std::string table = describe(*parsed);
  for (const char* part :
       {"target_kernel", "from \"RMSNorm\"", "autonomous", "from \"just optimize\"", "max_variants",
        "default", "not understood: \"whistle\""}) {
    EXPECT_THAT(table, HasSubstr(part));
  }
}

// Whatever is typed, the answer is a request or one sentence: no crash, and always the same.
TEST(AnySentence, EveryCutOfASentenceIsAnswered) {
  const std::string whole =
      "Just optimize \xE2\x80\x9CRMSNorm\xE2\x80\x9D backward (H100), 1k <= T <= 8,192; <= 5 "
      "variants, peak memory \xE2\x89\xA4 0.2GB at hidden-size=4096 and don't open a PR -- ok?!";
  for (std::size_t begin = 0; begin < whole.size(); ++begin) {
    for (std::size_t end = begin; end <= whole.size(); end += 5) {
      const auto text = std::string_view(whole).substr(begin, end - begin);
      const auto parsed = parse_sentence(text, kernels());
      const auto again = parse_sentence(text, kernels());
      ASSERT_EQ(parsed.has_value(), again.has_value());
      if (parsed) {
        EXPECT_EQ(describe(*parsed), describe(*again));
      } else {
        EXPECT_FALSE(parsed.error().sentence.empty());
      }
    }
  }
}

}  // namespace
}  // namespace lwb
