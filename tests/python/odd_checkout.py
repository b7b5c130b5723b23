"""A checkout of our own in which everything is a little different from the common case: kernels in
another file, an op that is called twice, one that modifies its input, gradients computed in
forward, scripts with another command line or that break."""

import textwrap

KERNELS = """
import triton
import triton.language as tl
from triton.language.extra.libdevice import rsqrt


@triton.jit
def _shared_kernel(X, Y, scale, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(Y + row * n_cols + cols, x * scale, mask=cols < n_cols)


@triton.jit
def _inverse_root_kernel(X, Y, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * n_cols + cols, mask=cols < n_cols, other=1.0)
    tl.store(Y + row * n_cols + cols, rsqrt(x), mask=cols < n_cols)
"""

# The Function stands here, its kernel in kernels.py.
BORROWER = """
import torch
import triton

from oddpack.ops.kernels import _shared_kernel


def run(x, scale):
    y = torch.empty_like(x)
    _shared_kernel[(x.shape[0],)](x, y, scale, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=2)
    return y


class BorrowerFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, offsets=None):
        ctx.scale = scale
        return run(x, scale)

    @staticmethod
    def backward(ctx, dy):
        return run(dy.contiguous(), ctx.scale), None, None
"""

# Forward computes the gradient into a buffer of its own; backward only scales it.
EAGER_LOSS = """
import torch
import triton
import triton.language as tl


@triton.jit
def _square_loss_kernel(X, DX, LOSS, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    tl.store(DX + row * n_cols + cols, 2 * x, mask=cols < n_cols)
    tl.store(LOSS + row, tl.sum(x * x, axis=0))


class EagerLossFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, in_place):
        gradient = x if in_place else torch.empty_like(x)
        loss = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
        _square_loss_kernel[(x.shape[0],)](x, gradient, loss, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        ctx.save_for_backward(gradient.detach())
        return loss.sum()

    @staticmethod
    def backward(ctx, d_loss):
        (gradient,) = ctx.saved_tensors
        return gradient * d_loss, None
"""

UTILS = """
from dataclasses import dataclass
from typing import Any

import torch
import triton


@dataclass
class SingleBenchmarkRunInput:
    x: Any
    kernel_provider: str
    kernel_operation_mode: str = ""
    extra_benchmark_config: dict = None


def run_benchmarks(bench_test_fn, kernel_name, metric_name, metric_unit, x_name, x_label, x_values,
                   kernel_providers, kernel_operation_modes=[None], extra_benchmark_configs=None, overwrite=False):
    raise AssertionError("a capture must never run the benchmark")


def speed(setup):
    def bench(input):
        call, tensors = setup(input)
        def full():
            out = call()
            out = out.sum() if input.kernel_operation_mode != "forward" else out
            if input.kernel_operation_mode == "full":
                out.backward()
        assert triton.testing.do_bench(full, quantiles=[0.5, 0.2, 0.8]) == [1.0, 1.0, 1.0]
        assert triton.testing.do_bench(lambda: None) == 1.0
    return bench
"""

SCRIPT = """
import os
import sys

sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "../..")))

import torch

from utils import SingleBenchmarkRunInput, run_benchmarks, speed

from oddpack.ops.borrower import BorrowerFunction
from test.support import reference


def setup(input):
    x = torch.randn(input.x, input.extra_benchmark_config["width"], requires_grad=True)
    offsets = torch.tensor([0, 2, 4])
    if input.kernel_provider == "ours":
        # Twice, the second time on a transposed view.
        return lambda: BorrowerFunction.apply(BorrowerFunction.apply(x, 2.0, offsets), 3.0, offsets), [x]
    if input.kernel_provider == "plain":
        return lambda: reference(x), [x]
    raise RuntimeError("this provider needs a package that is absent")


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--fast", action="store_true")
    parser.parse_args()
    print("noise on standard output")
    common = dict(kernel_name="borrowed", x_name="B", x_label="batch", x_values=[2, 4],
                  kernel_providers=["plain", "ours", "absent"])
    for width in (4, 8):
        run_benchmarks(speed(setup), metric_name="speed", metric_unit="ms",
                       kernel_operation_modes=["forward", "full"],
                       extra_benchmark_configs=[{"width": width, "dtype": torch.float32}], **common)
    run_benchmarks(bench_test_fn=speed(setup), metric_name="memory", metric_unit="MB",
                   kernel_operation_modes=["full"], extra_benchmark_configs=[{"width": 4}], **common)
"""

# A registry of models, and a script that knows --sweep-mode but not --model.
MODELS = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    name: str
    width: int
    kind: str = "dense"


MODEL_REGISTRY = {m.name: m for m in (Model("middle", 8), Model("large", 16), Model("tiny", 4))}
DEFAULT_MODEL = "middle"
"""

REGISTRY_SCRIPT = SCRIPT.replace("from utils import", "from models import MODEL_REGISTRY\nfrom utils import").replace(
    'parser.add_argument("--fast", action="store_true")',
    'parser.add_argument("--sweep-mode", choices=["token_length"])',
).replace("for width in (4, 8):", 'for width in (MODEL_REGISTRY["middle"].width,):')


def write_checkout(folder):
    """The checkout under `folder`; returns its root."""
    files = {
        "src/oddpack/__init__.py": "",
        "src/oddpack/ops/__init__.py": "",
        "src/oddpack/ops/kernels.py": KERNELS,
        "src/oddpack/ops/borrower.py": BORROWER,
        "src/oddpack/ops/eager_loss.py": EAGER_LOSS,
        "test/__init__.py": "",
        "test/support.py": "def reference(x):\n    return x * 6\n",
        "benchmark/scripts/utils.py": UTILS,
        "benchmark/scripts/benchmark_borrower.py": SCRIPT,
        "benchmark/scripts/models.py": MODELS,
        "benchmark/scripts/benchmark_registry.py": REGISTRY_SCRIPT,
        "benchmark/scripts/benchmark_broken.py": "from utils import run_benchmarks\nraise KeyError('gone')\n",
        "benchmark/scripts/benchmark_silent.py": "from utils import run_benchmarks\n",
        "benchmark/scripts/benchmark_late.py": SCRIPT + "\n    raise OSError('after the plan')\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder
