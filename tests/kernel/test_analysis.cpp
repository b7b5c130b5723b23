#include <gmock/gmock.h>

#include "core/kernel/analysis.h"
#include "tests/kernel/parsing.h"

namespace lwb::test {
namespace {

class Analyse : public Parsing {
 protected:
  SourceAnalysis analyse_text(const std::string& text) {
    return analyse(parse("import torch\nimport triton\nimport triton.language as tl\n" + text));
  }
  static int count(const std::vector<Finding>& findings, const std::string& part) {
    int result = 0;
    for (const Finding& finding : findings) {
      result += finding.message.find(part) != std::string::npos;
    }
    return result;
  }
  static int line_of(const std::vector<Finding>& findings, const std::string& part) {
    for (const Finding& finding : findings) {
      if (finding.message.find(part) != std::string::npos) return finding.line;
    }
    return 0;
  }
};

constexpr const char* kRows = R"(from pack.ops.helpers import row_settings


@triton.jit
def _rows(g_ptr, x_ptr, w_ptr, out_ptr, part_ptr, stride, n_rows, n_cols, per, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    first = pid * per
    cols = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(first, min(first + per, n_rows)):
        g = tl.load(g_ptr + row * stride + cols, mask=cols < n_cols).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=cols < n_cols)
        r = tl.rsqrt(tl.sum(g * g, axis=0))
        total += g * r
        tl.store(out_ptr + row * stride + cols, g * w, mask=cols < n_cols)
    tl.store(part_ptr + pid * n_cols + cols, total, mask=cols < n_cols)


def backward(g, x, w, block, num_warps, in_place):
    n_rows, n_cols = g.shape
    count = 1
    if g.is_cuda:
        count = torch.cuda.get_device_properties(g.device).multi_processor_count
    out = g if in_place else torch.zeros_like(g)
    if in_place:
        out = g
    parts = torch.empty((count, n_cols), dtype=torch.float32, device=g.device)
    extra = torch.zeros(n_rows, device=g.device)
    grid = (count,)
    _rows[grid](g, x, w, extra, parts, g.stride(0), n_rows, n_cols, 4, BLOCK=block, num_warps=num_warps)
    return out, parts.sum(dim=0)


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        block, num_warps = row_settings(x.shape[-1])
        ctx.block = block
        ctx.num_warps = num_warps
        ctx.save_for_backward(x, w)
        return x

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = g.contiguous()
        return backward(g, x, w, ctx.block, ctx.num_warps, True)
)";

TEST_F(Analyse, FollowsSettingsThroughCtxToForward) {
  const SourceAnalysis analysis = analyse_text(kRows);
  ASSERT_EQ(analysis.launches.size(), 1u);
  const LaunchConfiguration& launch = analysis.launches[0];
  EXPECT_EQ(launch.grid, "(count,)");
  EXPECT_TRUE(launch.persistent_grid);
  EXPECT_EQ(launch.block_source, "ctx.block: row_settings(x.shape[-1])");
  EXPECT_EQ(launch.warps_source, "ctx.num_warps: row_settings(x.shape[-1])");
  EXPECT_EQ(launch.stages_source, "Triton's default (3)");
}

TEST_F(Analyse, FindsWhatARowLoopOffers) {
  const SourceAnalysis analysis = analyse_text(kRows);
  EXPECT_EQ(analysis.tier, Tier::kReduction);
  const auto& found = analysis.opportunities;
  EXPECT_EQ(count(found, "names no pipeline depth"), 1);
  EXPECT_EQ(count(found, "round robin"), 1);
  EXPECT_EQ(line_of(found, "round robin"), 13);
  EXPECT_EQ(count(found, "load of w_ptr does not depend on the loop"), 1);
  EXPECT_EQ(count(found, "extra is filled with zeros"), 1);
  EXPECT_EQ(count(found, "counts multiprocessors"), 1);
  EXPECT_EQ(count(found, "parts.sum(dim=0) after the launch"), 1);
  EXPECT_EQ(count(found, "backward: g.contiguous() copies"), 1);
  EXPECT_EQ(count(analysis.patterns, "Rows saves for backward: x, w"), 1);
  EXPECT_EQ(count(analysis.patterns, "rsqrt"), 1);
  EXPECT_EQ(count(analysis.patterns, "casts to float32 (line 14)"), 1);
}

TEST_F(Analyse, WarnsOfAddressesIn32Bits) {
  const SourceAnalysis narrow = analyse_text(kRows);
  EXPECT_EQ(count(narrow.warnings, "pid * n_cols"), 1);
  std::string wide = kRows;
  const std::string id = "tl.program_id(0)";
  wide.replace(wide.find(id), id.size(), id + ".to(tl.int64)");
  EXPECT_TRUE(analyse_text(wide).warnings.empty());
}

TEST_F(Analyse, WarnsOfAutotuneThatLeavesItsTrialsBehind) {
  const std::string kernel =
      "@triton.jit\ndef _k(x_ptr, n, B: tl.constexpr):\n"
      "    tl.atomic_add(x_ptr + tl.arange(0, B), 1.0)\n\n\n"
      "def host(x):\n    _k[lambda m: (1,)](x, 3)\n";
  const std::string tune = "@triton.autotune(configs=[triton.Config({'B': 8})], key=['n']";
  const SourceAnalysis bad = analyse_text(tune + ")\n" + kernel);
  EXPECT_EQ(count(bad.warnings, "without reset_to_zero or restore_value"), 1);
  EXPECT_EQ(bad.launches.at(0).block_source, "autotune");
  EXPECT_EQ(bad.launches.at(0).warps_source, "autotune");
  EXPECT_EQ(bad.launches.at(0).stages_source, "moot: no loop");
  const SourceAnalysis good = analyse_text(tune + ", reset_to_zero=['x_ptr'])\n" + kernel);
  EXPECT_TRUE(good.warnings.empty());
}

TEST_F(Analyse, TellsTheTiersApart) {
  const std::string head =
      "@triton.jit\ndef _k(a, b, n, B: tl.constexpr = 4096):\n    c = tl.arange(0, B)\n";
  const std::string host =
      "\n\ndef host(a, b):\n    kwargs = {'num_warps': 8}\n    _k[(1,)](a, b, 4, **kwargs)\n";
  const auto tier = [&](const std::string& body) { return analyse_text(head + body + host).tier; };
  EXPECT_EQ(tier("    tl.store(b + c, tl.load(a + c) + max(n, 1))"), Tier::kElementwise);
  EXPECT_EQ(tier("    tl.store(b, tl.sum(tl.load(a + c)))"), Tier::kReduction);
  EXPECT_EQ(tier("    tl.store(b, tl.dot(tl.load(a + c), tl.load(a + c)))"),
            Tier::kFusedOrMultiPass);
  EXPECT_EQ(tier("    m = 0.0\n    for i in range(n):\n        m += tl.load(a + i)\n"
                 "    for i in range(n):\n        tl.store(b + i, tl.load(a + i) / m)"),
            Tier::kFusedOrMultiPass);
  const SourceAnalysis analysis = analyse_text(head + "    tl.store(a + c, tl.load(a + c))" + host);
  EXPECT_EQ(analysis.launches.at(0).block_source, "argument default 4096");
  EXPECT_EQ(analysis.launches.at(0).warps_source, "constant 8 (in the unpacked dict)");
  EXPECT_EQ(count(analysis.patterns, "in place, stores to a"), 1);
  EXPECT_FALSE(analysis.launches.at(0).persistent_grid);
}

TEST_F(Analyse, FollowsValuesThroughReturnsAndDefaults) {
  const SourceAnalysis analysis = analyse_text(
      "LIMIT = 65536\n\n\n@triton.jit\ndef _k(a, B: tl.constexpr):\n"
      "    for i in tl.static_range(2):\n        tl.store(a + tl.arange(0, B), i)\n\n\n"
      "def pick(n):\n    block = min(LIMIT, triton.next_power_of_2(n))\n    return block, 32 if "
      "block > 8192 else 4\n\n\n"
      "def host(a, stages=2):\n    block, warps = pick(a.shape[0])\n"
      "    _k[(1,)](a, block, num_warps=warps, num_stages=stages)\n");
  const LaunchConfiguration& launch = analysis.launches.at(0);
  EXPECT_EQ(launch.block_source, "min(LIMIT, triton.next_power_of_2(n))");
  EXPECT_EQ(launch.warps_source, "constant 32 if block > 8192, else constant 4");
  EXPECT_EQ(launch.stages_source, "argument default 2");
}

}  // namespace
}  // namespace lwb::test
