#include <gmock/gmock.h>

#include "tests/kernel/parsing.h"

namespace lwb::test {
namespace {

using ::testing::ElementsAre;

constexpr const char* kRowKernel = R"(import torch
import triton
import triton.language as tl
from .helpers import row_settings


@triton.jit
def _double_rows(
    x_ptr,
    out_ptr,
    stride,
    n_rows,
    n_cols,
    rows_each,
    BLOCK: tl.constexpr,  # a power of two )
):
    """Doc."""
    first = tl.program_id(0).to(tl.int64) * rows_each
    cols = tl.arange(0, BLOCK)
    for row in range(first, tl.minimum(first + rows_each, n_rows)):
        base = x_ptr + row * stride
        x = tl.load(base + cols, mask=cols < n_cols, other=0.0)
        tl.store(out_ptr + row * stride + cols, x + x, mask=cols < n_cols)  # é


def double_rows(x):
    n_rows, n_cols = x.shape
    block, num_warps = row_settings(n_cols)
    out = torch.zeros_like(x)
    grid = (4,)
    _double_rows[grid](
        x,
        out,
        x.stride(0),
        n_rows,
        n_cols,
        triton.cdiv(n_rows, 4),
        BLOCK=block,
        num_warps=num_warps,  # by width
    )
    return out
)";

class ParseSource : public Parsing {};
class ParsePackage : public Parsing {};

TEST_F(ParseSource, FindsKernelsLaunchesAndAccesses) {
  const SourceModel model = parse(kRowKernel);
  ASSERT_EQ(model.kernels().size(), 1u);
  const Function& kernel = *model.kernels().front();
  EXPECT_EQ(kernel.name, "_double_rows");
  EXPECT_TRUE(kernel.signature_trailing_comma);
  EXPECT_EQ(at(model, kernel.signature_close), ")");
  EXPECT_EQ(model.text.substr(kernel.signature_close.end, 2), ":\n");
  EXPECT_TRUE(kernel.parameters.back().constexpr_);
  EXPECT_EQ(at(model, kernel.parameters.back().span), "BLOCK: tl.constexpr");
  EXPECT_EQ(at(model, kernel.body).substr(0, 5), "first");

  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].variable, "row");
  EXPECT_EQ(kernel.loops[0].iterator.callee, "range");
  ASSERT_EQ(kernel.accesses.size(), 2u);
  const MemoryAccess& load = kernel.accesses[0];
  EXPECT_EQ(load.kind, MemoryAccess::Kind::kLoad);
  EXPECT_THAT(load.base_parameters, ElementsAre("x_ptr"));
  EXPECT_THAT(load.loops, ElementsAre(0));
  EXPECT_EQ(load.mask->text, "cols < n_cols");
  EXPECT_THAT(load.mask->names, ElementsAre("cols", "n_cols"));
  const MemoryAccess& store = kernel.accesses[1];
  EXPECT_EQ(store.kind, MemoryAccess::Kind::kStore);
  EXPECT_EQ(store.value->text, "x + x");
  EXPECT_EQ(store.value->op, "+");
  EXPECT_THAT(store.base_parameters, ElementsAre("out_ptr"));

  ASSERT_EQ(model.launches.size(), 1u);
  const Launch& launch = model.launches[0];
  EXPECT_EQ(launch.host_function, "double_rows");
  EXPECT_EQ(launch.grid.text, "grid");
  EXPECT_EQ(launch.grid_value.text, "(4,)");
  EXPECT_EQ(launch.bound.at("stride").value.text, "x.stride(0)");
  EXPECT_EQ(launch.bound.at("num_warps").value.text, "num_warps");
  EXPECT_TRUE(launch.call.trailing_comma);
  EXPECT_EQ(launch.call.keyword("BLOCK")->text, "block");
  EXPECT_EQ(launch.call.positional(1)->text, "out");
  EXPECT_EQ(launch.call.positional(6), nullptr);
}

TEST_F(ParseSource, PositionsHoldWithCrlfAndByteOrderMark) {
  std::string text = "\xEF\xBB\xBF# übel\n" + std::string(kRowKernel);
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? "\r\n" : std::string(1, c);
  const SourceModel model = parse(crlf);
  EXPECT_EQ(model.newline, "\r\n");
  ASSERT_EQ(model.launches.size(), 1u);
  EXPECT_EQ(at(model, model.launches[0].call.close), ")");
  EXPECT_EQ(model.launches[0].bound.at("BLOCK").value.text, "block");
  EXPECT_EQ(at(model, model.last_import), "from .helpers import row_settings");
  for (const Function& function : model.functions) {
    for (const Statement& statement : function.statements) {
      if (statement.header.end == 0) continue;
      EXPECT_EQ(model.text[statement.header.end - 1], ':');
    }
  }
}

TEST_F(ParseSource, ResolvesAliasesAndRelativeImports) {
  const SourceModel model = parse(kRowKernel);
  const Function& host = *model.function("double_rows");
  ASSERT_FALSE(host.calls.empty());
  EXPECT_EQ(host.calls[0].callee, "pack.ops.helpers.row_settings");
  EXPECT_EQ(model.imports.back().module, "pack.ops.helpers");
  EXPECT_EQ(model.imports.back().name, "row_settings");
}

TEST_F(ParseSource, BindsTheParametersOfAKernelInAnotherFile) {
  write("src/pack/__init__.py", "");
  write("src/pack/ops/__init__.py", "");
  write("src/pack/ops/rows.py", kRowKernel);
  const SourceModel model = parse(
      "from pack.ops.rows import _double_rows as k\n\n\n"
      "def again(x, out):\n    k[(7,)](x, out, 1, 2, 3, 4, 16)\n");
  ASSERT_EQ(model.launches.size(), 1u);
  EXPECT_EQ(model.launches[0].kernel, "_double_rows");
  EXPECT_EQ(model.launches[0].kernel_module, "pack.ops.rows");
  EXPECT_EQ(model.launches[0].bound.at("BLOCK").value.text, "16");
  EXPECT_TRUE(model.kernels().empty());
}

TEST_F(ParseSource, AKernelLaunchedOnlyFromAnotherFileIsLaunched) {
  write("src/pack/user.py",
        "from pack.ops.thing import _only\n\n\ndef use(x):\n    _only[(1,)](x)\n");
  const SourceModel model = parse(
      "import triton\n\n\n@triton.jit\ndef _only(x_ptr):\n    _inner(x_ptr)\n\n\n"
      "@triton.jit\ndef _inner(x_ptr):\n    pass\n");
  ASSERT_EQ(model.kernels().size(), 1u);
  EXPECT_EQ(model.kernels()[0]->name, "_only");
}

TEST_F(ParseSource, AVariantInTheWorkspaceIsReadAsTheModuleItReplaces) {
  write("src/pack/ops/rows.py", kRowKernel);
  write("src/pack/ops/thing.py", "");
  const fs::path file =
      write("optimization/thing/thing_v1.py",
            "from .rows import _double_rows\n\n\n"
            "def again(x, out):\n    _double_rows[(7,)](x, out, 1, 2, 3, 4, 16)\n");
  const auto model = parse_source(runner_, tools_, file, "pack.ops.thing");
  ASSERT_TRUE(model) << model.error().sentence;
  ASSERT_EQ(model->launches.size(), 1u);
  EXPECT_EQ(model->launches[0].bound.at("BLOCK").value.text, "16");
}

TEST_F(ParseSource, SaysWhereAFileDoesNotParse) {
  const fs::path file = write("src/pack/ops/bad.py", "def f(:\n    pass\n");
  const auto model = parse_source(runner_, tools_, file, "pack.ops.bad");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::kPreflight);
  EXPECT_NE(model.error().sentence.find("line 1"), std::string::npos) << model.error().sentence;
}

TEST_F(ParseSource, SaysThatPythonIsMissing) {
  tools_.python = "no-such-python";
  const fs::path file = write("src/pack/ops/a.py", "x = 1\n");
  const auto model = parse_source(runner_, tools_, file, "pack.ops.a");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::kPreflight);
  EXPECT_NE(model.error().sentence.find("no-such-python"), std::string::npos);
}

TEST_F(ParsePackage, HoldsModulesScriptsAndTests) {
  write("src/pack/__init__.py", "");
  write("src/pack/ops/__init__.py", "from .rows import double_rows\n");
  write("src/pack/ops/helpers.py", "def row_settings(n):\n    return n, 4\n");
  write("src/pack/ops/rows.py", kRowKernel);
  write("src/pack/ops/shared.py",
        "from pack.ops.rows import _double_rows\n\n\n"
        "def again(x, out):\n    _double_rows[(7,)](x, out, 1, 2, 3, 4, 16)\n");
  write("src/pack/other.py", "class Plain:\n    def run(self):\n        return 1\n");
  write("src/pack/broken.py", "x = (\n");
  write("benchmark/scripts/benchmark_rows.py",
        "from pack.ops import double_rows\nfrom utils import run_benchmarks\n\n"
        "if __name__ == \"__main__\":\n"
        "    run_benchmarks(kernel_name=\"rows\", providers=[\"pack\", \"torch\"])\n");
  write("test/ops/test_rows.py",
        "from pack.ops import double_rows as d\n\n\ndef test_rows():\n    d(1)\n");
  const auto package = parse_package(runner_, tools_, root_, "pack");
  ASSERT_TRUE(package) << package.error().sentence;

  const SourceModel* rows = package->module("pack.ops.rows");
  ASSERT_NE(rows, nullptr);
  EXPECT_FALSE(rows->outline);
  EXPECT_EQ(rows->text, kRowKernel);
  ASSERT_NE(package->module("pack.ops.shared"), nullptr);
  EXPECT_EQ(package->module("pack.ops.shared")->launches.size(), 1u);
  EXPECT_FALSE(package->module("pack.ops.helpers")->outline);
  EXPECT_TRUE(package->module("pack.other")->outline);
  EXPECT_EQ(package->module("pack.other")->functions.at(0).qualified_name, "Plain.run");

  const SourceModel* script = package->module("benchmark.scripts.benchmark_rows");
  ASSERT_NE(script, nullptr);
  EXPECT_TRUE(script->outline);
  EXPECT_THAT(script->keyword_strings.at("kernel_name"), ElementsAre("rows"));
  EXPECT_THAT(script->keyword_strings.at("providers"), ElementsAre("pack", "torch"));
  const SourceModel* test = package->module("test.ops.test_rows");
  ASSERT_NE(test, nullptr);
  EXPECT_THAT(test->functions.at(0).references, ElementsAre("pack.ops.double_rows"));

  ASSERT_EQ(package->unparsable.size(), 1u);
  EXPECT_NE(package->unparsable.begin()->second.find("line 1"), std::string::npos);
}

TEST_F(ParsePackage, SaysThatThereIsNoPackage) {
  const auto package = parse_package(runner_, tools_, root_, "pack");
  ASSERT_FALSE(package);
  EXPECT_EQ(package.error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace lwb::test
