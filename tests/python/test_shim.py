"""triton_cpu: kernels run in the interpreter and agree with torch, on several multiprocessors."""

import os
import subprocess
import sys
import textwrap

import pytest

from odd_checkout import write_checkout
from script_support import RELEASE
from script_support import SCRIPTS
from script_support import SHIM
from script_support import needs_release


def run_shimmed(src, code, **environment):
    """Run code with the shim loaded and `src` importable; it asserts for itself."""
    start = f"import sys\nsys.path[:0] = [{str(SCRIPTS)!r}, {str(src)!r}]\n"
    start += "import lwb_channel\nlwb_channel.load_test_shim()\nimport torch\ntorch.manual_seed(0)\n"
    env = {**os.environ, "LWB_TEST_SHIM": str(SHIM), "CUDA_VISIBLE_DEVICES": "", **environment}
    done = subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(code)], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_float_arguments_and_libdevice(tmp_path):
    write_checkout(tmp_path)
    run_shimmed(
        tmp_path / "src",
        """
        from oddpack.ops.borrower import run
        from oddpack.ops.kernels import _inverse_root_kernel
        x = torch.rand(3, 5) + 0.1
        torch.testing.assert_close(run(x, 0.25), x * 0.25)
        y = torch.empty_like(x)
        _inverse_root_kernel[(3,)](x, y, 5, BLOCK=8)
        torch.testing.assert_close(y, x.rsqrt())
        """,
    )


COUNTING = """
import torch


def count(x):
    "How many programs to start."
    programs = 1
    if x.device.type == "cuda":
        programs = torch.cuda.get_device_properties(x.device).multi_processor_count
    return programs


def other(x):
    programs = 1
    return programs
"""


@pytest.mark.parametrize("count", ["3", "7"])
def test_the_number_of_multiprocessors_is_settable_and_nothing_else_changes(tmp_path, count):
    (tmp_path / "counting.py").write_text(COUNTING)
    output = run_shimmed(
        tmp_path,
        """
        import counting, inspect
        x = torch.zeros(1)
        print(counting.count(x), counting.other(x), torch.cuda.get_device_properties(0).multi_processor_count)
        assert "programs = 1" in inspect.getsource(counting.count)
        """,
        LWB_TEST_SM_COUNT=count,
    )
    assert output.split() == [count, "1", count]
    assert not list(tmp_path.rglob("*.pyc")), "a changed module must not be cached for others"


@needs_release
def test_ops_of_the_release_agree_with_torch():
    run_shimmed(
        RELEASE / "src",
        """
        import torch.nn.functional as F
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction as RMS
        from liger_kernel.ops.layer_norm import LigerLayerNormFunction as LN
        from liger_kernel.ops.geglu import LigerGELUMulFunction as GEGLU
        from liger_kernel.ops.softmax import LigerSoftmaxFunction as Softmax
        from liger_kernel.ops.dyt import LigerDyTFunction as DyT

        def matrix():
            return torch.randn(10, 33, requires_grad=True)

        def check(ours, theirs, inputs):
            g = torch.randn(10, 33)
            torch.testing.assert_close(ours, theirs)
            got = torch.autograd.grad(ours, inputs, g.clone())
            torch.testing.assert_close(got, torch.autograd.grad(theirs, inputs, g), rtol=1e-4, atol=1e-5)

        x, y = matrix(), matrix()
        w, b = (torch.randn(33, requires_grad=True) for _ in range(2))
        a = torch.tensor([0.5], requires_grad=True)
        check(RMS.apply(x, w, 1e-6, 0.0, "llama", False, None), F.rms_norm(x, (33,), w, 1e-6), [x, w])
        check(LN.apply(x, w, b, 1e-6), F.layer_norm(x, (33,), w, b, 1e-6), [x, w, b])
        check(Softmax.apply(x), x.softmax(-1), [x])
        check(DyT.apply(x, a, w, b), w * torch.tanh(a * x) + b, [x, a, w, b])
        u, v = matrix(), matrix()
        check(GEGLU.apply(u.clone(), v.clone()), F.gelu(u, approximate="tanh") * v, [u, v])
        """,
    )
