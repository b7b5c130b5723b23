"""Runs lwb_smoke.py on text edits of an op file, each run in a process of its own that is forked
from one with the slow imports behind it; and calls for the ops of the sample and for one op of our
own that modifies its inputs, has several outputs and takes no gradient for some of them."""

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import types

from pathlib import Path

from script_support import SAMPLE
from script_support import SCRIPTS
from script_support import SHIM
from script_support import Run
from script_support import side_of
from script_support import tensor

# One order a line, {"job","out","err"}: files. Answers with the child's exit code. The shim is left to
# the script itself, as in a process that starts from nothing.
FORKING = """
import json, os, runpy, sys
import numpy, torch, triton, triton.runtime.interpreter
import torch.fx.experimental.symbolic_shapes  # with sympy behind it: what the first backward imports

script = sys.argv[1]
sys.path[0] = os.path.dirname(script)
orders = os.fdopen(os.dup(0))
while line := orders.readline():
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, (path, mode) in enumerate(
            ((order["job"], os.O_RDONLY), (order["out"], os.O_WRONLY), (order["err"], os.O_WRONLY))
        ):
            os.dup2(os.open(path, mode | (os.O_CREAT if number else 0)), number)
        sys.stdin, sys.argv, code = open(0), [script], 0
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as error:
            code = error.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class SmokeProcess:
    """Starts with the first run; one for each process of pytest."""

    def __init__(self):
        self.process = None

    def run(self, job, folder):
        if self.process is None:
            self._start()
        paths = {name: str(Path(folder) / f"smoke.{name}") for name in ("job", "out", "err")}
        for path in paths.values():
            Path(path).unlink(missing_ok=True)
        Path(paths["job"]).write_text(json.dumps(job))
        self.process.stdin.write(json.dumps(paths) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        out, err = (Path(paths[name]).read_text() for name in ("out", "err"))
        return Run(types.SimpleNamespace(returncode=code, stdout=out, stderr=err))

    def _start(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("LIGER_", "LWB_", "TRITON_"))}
        env |= {"LWB_TEST_SHIM": str(SHIM), "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
        env |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", FORKING, str(SCRIPTS / "lwb_smoke.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        atexit.register(self._stop)

    def _stop(self):
        self.process.stdin.close()
        self.process.wait(10)


smoke_process = SmokeProcess()


class Smoke(Run):
    """The events of one run, by what they say."""

    def compared(self, label=None, **fields):
        found = [e for e in self.of("compare") if label in (None, e["tensor"])]
        found = [e for e in found if all(e[k] == v for k, v in fields.items())]
        assert found, (label, fields, self.events, self.stderr[-3000:])
        return found

    def failures(self, side="variant"):
        return [e for e in self.of("smoke_failed") if e["side"] == side]

    def findings(self):
        return [e["finding"] for e in self.of("static")]

    def modified(self, pass_name):
        """Both sides' lists, equal for all seeds."""
        found = {(tuple(e["original"]), tuple(e["variant"])) for e in self.of("mutated") if e["pass"] == pass_name}
        assert len(found) == 1, found
        return tuple(list(labels) for labels in found.pop())

    def is_clean(self):
        """What C++ passes: errors within the limits of core/measure/smoke.h, nothing else found."""
        self.healthy()
        assert not self.of("smoke_failed") and not self.of("static"), self.events
        assert all(e["matches"] for e in self.of("identity"))
        for event in self.of("mutated"):
            assert event["original"] == event["variant"], event
        for event in self.of("noop"):
            assert event["changed"] is not False, event
        for event in self.compared():
            assert is_within(event), event
        return self

    def is_found_out(self):
        """By a comparison: the number that C++ holds against its limit."""
        self.healthy()
        assert not all(is_within(event) for event in self.compared()), self.events
        return self


def is_within(event):
    """As core/measure/smoke.cpp has it; an error that is not finite is null."""
    original, variant = event["original_error"], event["variant_error"]
    error_is_fine = original is None if variant is None else variant <= max(2 * (original or 0), event["ulp_limit"])
    repeat, repeat_original = (event.get("repeat_difference" + which, 0) for which in ("", "_original"))
    repeat_is_fine = (
        repeat_original is None if repeat is None else repeat <= max(2 * (repeat_original or 0), event["ulp_limit"])
    )
    return error_is_fine and repeat_is_fine and event["nan_variant"] <= event["nan_original"]


# ------------------------------------------------------------------------------- sides and jobs


def edited(folder, op, *edits, name="v1", checkout=SAMPLE):
    """A side with the op file of the checkout, each edit (old, new) made in it at its one place."""
    copy = Path(folder) / name
    shutil.copytree(Path(checkout) / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    side = side_of(copy, op, name)
    file = Path(side["file"])
    text = file.read_text()
    for old, new in edits:
        assert text.count(old) == 1, f"{text.count(old)} times in {op}.py: {old}"
        text = text.replace(old, new)
    file.write_text(text)
    side["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return side


def smoke(folder, variant, *calls, op=None, checkout=SAMPLE, parts=None, original=None, **fields):
    """One run: the checkout's own file against the variant's, in float32 unless `parts` are given."""
    op = op or variant["module"].rpartition(".")[2]
    job = {
        "original": original or side_of(checkout, op),
        "variant": variant,
        "parts": [{"calls": list(calls), "dtype": "float32"}] if parts is None else parts,
        "seeds": [1],
        "device": "cpu",
        **fields,
    }
    done = smoke_process.run(job, folder)
    done.__class__ = Smoke
    return done


# ---------------------------------------------------------------------------------------- calls


def call_of(module, function, args, name="call", **fields):
    return {
        "id": name,
        "origin": "hand",
        "cell": {},
        "function": {"module": module, "qualname": function},
        "args": args,
        "kwargs": {},
        "grads": [True],
        "reference": None,
        **fields,
    }


def gated(shape=(3, 24), dtype="float32", name="gated", requires_grad=(True, True), stride=None, **fields):
    args = [tensor(list(shape), dtype, grad, stride) for grad in requires_grad]
    return call_of("liger_kernel.ops.gated_relu", "GatedReLUFunction", args, name, **fields)


def norm(shape=(5, 48), dtype="float32", name="norm", requires_grad=(True, True), stride=None, **fields):
    args = [
        tensor(list(shape), dtype, requires_grad[0], stride),
        tensor([shape[-1]], dtype, requires_grad[1]),
        {"value": 1e-6},
    ]
    return call_of("liger_kernel.ops.scale_norm", "ScaleNormFunction", args, name, **fields)


def loss(rows=4, columns=40, dtype="float32", name="loss", labels=None, **fields):
    drawn = {"kind": "randint", "low": 0, "high": columns - 1, "fill": {"value": -100, "share": 0.3}}
    args = [
        tensor([rows, columns], dtype),
        tensor([rows], "int64", False, values=labels or drawn),
        {"value": -100},
    ]
    return call_of("liger_kernel.ops.label_loss", "LabelLossFunction", args, name, **fields)


# ----------------------------------------------------------------------------- an op of our own

PAIR = """
import torch
import triton
import triton.language as tl


@triton.jit
def _pair_kernel(X, R, SUM, PRODUCT, SIGN, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(X + at, mask=inside, other=0.0).to(tl.float32)
    r = tl.load(R + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(SUM + at, x + r, mask=inside)
    tl.store(PRODUCT + at, x * r, mask=inside)
    tl.store(SIGN + at, (x > r).to(tl.int32), mask=inside)


@triton.jit
def _pair_backward_kernel(DS, DP, X, R, DX, DR, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    ds = tl.load(DS + at, mask=inside, other=0.0).to(tl.float32)
    dp = tl.load(DP + at, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(X + at, mask=inside, other=0.0).to(tl.float32)
    r = tl.load(R + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(DX + at, ds + dp * r, mask=inside)
    tl.store(DR + at, ds + dp * x, mask=inside)


class PairFunction(torch.autograd.Function):
    \"\"\"apply(x, r, in_place, dtype): sum, product and which is larger; the gradient of x takes the
    memory of the sum's incoming gradient when in_place.\"\"\"

    @staticmethod
    def forward(ctx, x, r, in_place, dtype=None):
        total = torch.empty_like(x, dtype=dtype)
        product = torch.empty_like(x)
        sign = torch.empty(x.shape, dtype=torch.int32, device=x.device)
        _pair_kernel[(triton.cdiv(x.numel(), 16),)](x, r, total, product, sign, x.numel(), BLOCK=16)
        ctx.in_place = in_place
        ctx.save_for_backward(x, r)
        ctx.mark_non_differentiable(sign)
        return total, product, sign

    @staticmethod
    def backward(ctx, ds, dp, _):
        x, r = ctx.saved_tensors
        ds, dp = ds.contiguous(), dp.contiguous()
        dx = ds if ctx.in_place else torch.empty_like(x)
        dr = torch.empty_like(r)
        _pair_backward_kernel[(triton.cdiv(x.numel(), 16),)](ds, dp, x, r, dx, dr, x.numel(), BLOCK=16)
        return dx, dr, None, None
"""


def write_pair(folder):
    """The checkout `pairpack` under `folder`; returns its root."""
    root = Path(folder) / "pair checkout"
    ops = root / "src" / "pairpack" / "ops"
    ops.mkdir(parents=True)
    (ops.parent / "__init__.py").write_text("")
    (ops / "__init__.py").write_text("")
    (ops / "pair.py").write_text(textwrap.dedent(PAIR))
    return root


def pair(shape=(3, 10), in_place=False, name="pair", grads=(True, True, False), **fields):
    args = [tensor(list(shape)), tensor(list(shape)), {"value": in_place}]
    return call_of("pairpack.ops.pair", "PairFunction", args, name, **{"grads": list(grads), **fields})
