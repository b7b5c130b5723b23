// The techniques on kernels of our own, on the sample and, where it is unpacked, on a release.
#include <gmock/gmock.h>

#include <cstdlib>

#include "core/kernel/queries.h"
#include "core/variants/builder.h"
#include "tests/kernel/parsing.h"

namespace lwb::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kAll{"round-robin-rows", "loop-pipelining", "programs-per-sm",
                                    "uninitialized-buffers"};

// Every launch ran at three shapes: integers that the host function is likely to have.
LaunchTrace trace_of(const SourceModel& model) {
  LaunchTrace trace;
  for (const Launch& launch : model.launches) {
    for (const auto& [rows, cols] : {std::pair{2048, 4096}, {8192, 4096}, {2048, 1024}}) {
      LaunchRecord record;
      record.kernel = launch.kernel;
      record.host_function = last_part(launch.host_function);
      record.num_warps = cols / 512;
      record.locals = {{"n_rows", rows}, {"n_cols", cols}, {"BLOCK_SIZE", cols},
                       {"m", rows},      {"width", cols},  {"num_warps", cols / 512}};
      record.dtype = "bfloat16";
      record.args = Json::object();
      for (const auto& [formal, argument] : launch.bound) {
        if (argument.value.kind == "Name" && !record.locals.count(argument.value.text)) {
          record.args[formal] = {{"tensor", {{"dtype", "bfloat16"}}}};
        }
      }
      trace.launches.push_back(std::move(record));
    }
  }
  return trace;
}

class Catalog : public Parsing {
 protected:
  std::string build(const SourceModel& model, std::vector<std::string> techniques,
                    std::vector<std::string>* left_out = nullptr) {
    const LaunchTrace trace = trace_of(model);
    const TechniqueContext context{model, trace, "3.6.0"};
    auto built = build_variant(context, {"v2", "v1", std::move(techniques), {}, {}}, left_out);
    EXPECT_TRUE(built) << built.error().sentence;
    if (!built) return {};
    hooks_ = built->hooks;
    return built->text;
  }
  void expect_compiles(const std::string& text) {
    const fs::path file = write("built.py", text);
    const std::string command =
        "python3 -c \"import sys; f=sys.argv[1]; compile(open(f).read(), f,"
        " 'exec')\" " +
        file.string();
    EXPECT_EQ(std::system(command.c_str()), 0) << text;
  }
  void expect_subsets_compile(const SourceModel& model) {
    for (unsigned mask = 0; mask < 16; ++mask) {
      std::vector<std::string> some;
      for (std::size_t i = 0; i < kAll.size(); ++i) {
        if (mask >> i & 1) some.push_back(kAll[i]);
      }
      const std::string text = build(model, some);
      expect_compiles(text);
      EXPECT_THAT(strip_variant_header(text), Not(HasSubstr("Liger Workbench variant")));
    }
  }
  SourceModel file(const fs::path& path, const std::string& module) {
    auto model = parse_source(runner_, tools_, path, module);
    EXPECT_TRUE(model) << model.error().sentence;
    return model ? *model : SourceModel{};
  }
  std::vector<Hook> hooks_;
};

TEST_F(Catalog, RenamedRowKernelGetsAllFour) {
  const SourceModel model =
      file(fs::path(LWB_TEST_DATA) / "fixtures" / "renamed_rows.py", "pack.ops.renamed_rows");
  expect_subsets_compile(model);
  const std::string text = build(model, kAll);
  EXPECT_THAT(text, HasSubstr("begin = lane if ROUND_ROBIN else lane * each"));
  EXPECT_THAT(text, HasSubstr("stop = m if ROUND_ROBIN else min(each * (1 + lane), m)"));
  EXPECT_THAT(text, HasSubstr("in T.range(begin, stop, T.num_programs(0) if ROUND_ROBIN else 1, "
                              "num_stages=LOOP_STAGES):"));
  EXPECT_THAT(text, HasSubstr("units = units * settings.get(\"programs_per_sm\", 1)"));
  EXPECT_THAT(text, HasSubstr("dst = torch.empty_like(src)"));
  ASSERT_EQ(hooks_.size(), 1u);
  EXPECT_EQ(hooks_[0].function, "_walk_settings");
  EXPECT_THAT(hooks_[0].features, ::testing::ElementsAre("m", "width"));
  const auto points = candidates(hooks_[0]);
  EXPECT_TRUE(points.front().empty());
  EXPECT_LE(points.size(), 160u);
}

TEST_F(Catalog, TrapsAreRefusedWithTheirLine) {
  const SourceModel model =
      file(fs::path(LWB_TEST_DATA) / "fixtures" / "traps.py", "pack.ops.traps");
  const LaunchTrace trace = trace_of(model);
  const TechniqueContext context{model, trace, "3.6.0"};
  for (const auto& technique : catalog()) {
    const Applicability found = technique->applicability(context);
    const bool pipelines = technique->id() == "loop-pipelining";
    EXPECT_EQ(found.applies(), pipelines) << technique->id();
    EXPECT_EQ(found.reasons.empty(), pipelines) << technique->id();
    for (const std::string& reason : found.reasons) EXPECT_THAT(reason, HasSubstr("line "));
  }
}

TEST_F(Catalog, SampleGetsAllFour) {
  const SourceModel model =
      file(fs::path(LWB_SOURCE_DIR) / "resources/sample/src/liger_kernel/ops/scale_norm.py",
           "liger_kernel.ops.scale_norm");
  expect_subsets_compile(model);
  const std::string text = build(model, kAll);
  EXPECT_THAT(text, HasSubstr("n_rows if ROUND_ROBIN else tl.minimum("));
  if (const char* keep = std::getenv("LWB_TEST_KEEP")) {
    EXPECT_TRUE(write_file_atomically(fs::path(keep) / "scale_norm.py", text));
  }
  EXPECT_THAT(text, HasSubstr("n_programs = n_programs * settings.get(\"programs_per_sm\", 1)"));
  EXPECT_THAT(text, HasSubstr("grad_x = torch.empty_like(x)"));
  EXPECT_THAT(text, HasSubstr("num_stages=LOOP_STAGES"));
}

TEST_F(Catalog, ReleaseOpsCompileWithEverySubset) {
  const char* release = std::getenv("LWB_TEST_LIGER");
  if (release == nullptr) GTEST_SKIP() << "LWB_TEST_LIGER names no source package of liger-kernel";
  const fs::path ops = fs::path(release) / "src/liger_kernel/ops";
  for (const std::string name : {"rms_norm", "fused_add_rms_norm", "layer_norm"}) {
    const SourceModel model = file(ops / (name + ".py"), "liger_kernel.ops." + name);
    expect_subsets_compile(model);
    const std::string text = build(model, kAll);
    EXPECT_THAT(text, HasSubstr("ROUND_ROBIN")) << name;
    EXPECT_THAT(text, HasSubstr("programs_per_sm")) << name;
    EXPECT_THAT(text, HasSubstr("num_stages=LOOP_STAGES")) << name;
    if (const char* keep = std::getenv("LWB_TEST_KEEP")) {
      EXPECT_TRUE(write_file_atomically(fs::path(keep) / (name + ".py"), text));
    }
  }
}

TEST_F(Catalog, AnOlderTritonThanATechniqueNeedsKeepsItOut) {
  const SourceModel model =
      file(fs::path(LWB_TEST_DATA) / "fixtures" / "renamed_rows.py", "pack.ops.renamed_rows");
  const LaunchTrace trace = trace_of(model);
  const Technique* pipelining = find_technique("loop-pipelining");
  const auto with = [&](const char* triton) {
    return applicability_of(*pipelining, {model, trace, triton});
  };
  EXPECT_TRUE(with("3.0.0").applies());
  EXPECT_TRUE(with("3.10.0+git1234").applies());
  EXPECT_TRUE(with("").applies()) << "not known";
  const Applicability old = with("2.3.1");
  EXPECT_FALSE(old.applies());
  ASSERT_EQ(old.reasons.size(), 1u);
  EXPECT_THAT(old.reasons[0], HasSubstr("Triton 2.3.1, which is older than 3.0.0"));
}

}  // namespace
}  // namespace lwb::test
