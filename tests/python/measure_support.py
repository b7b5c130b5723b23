"""A small package of our own with a settings function, and a way to run the measuring scripts on
it without a GPU. Also a clock whose device and host are only numbers."""

import json
import os
import subprocess
import sys
import textwrap

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "resources" / "python"
SHIM = ROOT / "tests" / "python" / "triton_cpu.py"
if str(SCRIPTS) not in sys.path:
    sys.path.insert(0, str(SCRIPTS))

OP = """
import torch
import triton
import triton.language as tl


@triton.jit
def _scale_kernel(X, Y, W, n_cols, FACTOR: tl.constexpr, SKIP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * n_cols + cols, mask=mask, other=0.0)
    w = tl.load(W + cols, mask=mask, other=0.0)
    if SKIP == 0:
        tl.store(Y + row * n_cols + cols, x * w * FACTOR, mask=mask)


def _forward_settings(n_rows, n_cols):
    return None


def _backward_settings(n_rows, n_cols):
    return None


def _run(x, w, settings):
    settings = {} if settings is None else settings
    n_rows, n_cols = x.shape
    if settings.get("raises"):
        raise ValueError("no such settings")
    y = torch.empty_like(x)
    _scale_kernel[(n_rows,)](
        x, y, w, n_cols, FACTOR=settings.get("factor", 1), SKIP=settings.get("skip", 0),
        BLOCK=triton.next_power_of_2(n_cols), num_warps=settings.get("num_warps", 4),
    )
    return y


class ScaleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return _run(x, w, _forward_settings(*x.shape))

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx = _run(dy, w, _backward_settings(*dy.shape))
        dw = (dy * x).sum(0)
        dy.zero_()
        return dx, dw


class BrokenFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        raise ValueError("broken on purpose")
"""


def write_package(folder, op=OP):
    """A package `tinykernels` with one op module; returns its src folder."""
    ops = Path(folder) / "src" / "tinykernels" / "ops"
    ops.mkdir(parents=True)
    (ops.parent / "__init__.py").write_text("")
    (ops / "__init__.py").write_text("")
    (ops / "scale.py").write_text(textwrap.dedent(op))
    return str(ops.parents[1])


def side(name, src):
    file = os.path.join(src, "tinykernels", "ops", "scale.py")
    return {"name": name, "src": src, "module": "tinykernels.ops.scale", "file": file}


def tensor(shape, requires_grad=True):
    stride = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        stride[i] = stride[i + 1] * shape[i + 1]
    values = {"kind": "normal", "mean": 0.0, "std": 1.0}
    return {
        "tensor": {
            "shape": shape,
            "stride": stride,
            "dtype": "float32",
            "requires_grad": requires_grad,
            "values": values,
        }
    }


def call(name="rows=3", rows=3, columns=8, function="ScaleFunction", requires_grad=True):
    return {
        "id": name,
        "origin": "hand",
        "cell": {},
        "function": {"module": "tinykernels.ops.scale", "qualname": function},
        "args": [tensor([rows, columns], requires_grad), tensor([columns], requires_grad)],
        "kwargs": {},
        "grads": [True],
        "outputs": [{"shape": [rows, columns], "dtype": "float32"}],
        "reference": None,
    }


def run_script(name, job, timeout=180):
    """(exit code, events) of a script on a machine that has no GPU."""
    environment = {**os.environ, "LWB_TEST_SHIM": str(SHIM), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-u", str(SCRIPTS / name)],
        input=json.dumps({"device": "cpu", **job}),
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events, done.stderr
    return done.returncode, events


def of_kind(events, kind):
    return [event for event in events if event["event"] == kind]


class SimulatedCall:
    """Takes `device_us` on the device and `enqueue_us` of the host; one that synchronizes waits
    for the device before it returns. `hiccups` lengthen single enqueues, by index."""

    def __init__(self, device_us, enqueue_us, synchronizes=False, hiccups=None):
        self.device_us, self.enqueue_us = device_us, enqueue_us
        self.synchronizes, self.hiccups = synchronizes, hiccups or {}
        self.runs = 0


class SimulatedDevice:
    """torch.cuda as far as EventClock uses it: one stream, a host, both only counting µs. The
    device works through what the host has enqueued; an event is over when the device has passed
    it; the host moves on by LAUNCH_US with each launch."""

    LAUNCH_US = 4.0
    EVENT_US = 1.5  # what an event pair adds to what is between

    def __init__(self, mhz=2000.0, flush_us=50.0):
        self.host_us = 0.0
        self.stream_us = 0.0
        self.mhz, self.flush_us = mhz, flush_us
        self.log = []

    def launch(self, device_us, what):
        self.host_us += self.LAUNCH_US
        self.stream_us = max(self.stream_us, self.host_us) + device_us
        self.log.append(what)

    def flush(self):
        self.launch(self.flush_us, "flush")

    def _sleep(self, cycles):
        self.launch(cycles / self.mhz, "spin")

    def synchronize(self):
        self.host_us = max(self.host_us, self.stream_us)

    def now(self):
        return self.host_us / 1e6

    def run(self, call):
        call.runs += 1
        self.host_us += call.enqueue_us + call.hiccups.get(call.runs - 1, 0.0)
        self.launch(call.device_us, "call")
        if call.synchronizes:
            self.synchronize()

    def Event(self, enable_timing):
        assert enable_timing
        return SimulatedEvent(self)


class SimulatedEvent:
    def __init__(self, device):
        self.device = device
        self.at_us = None

    def record(self):
        self.device.host_us += 1.0
        # Recording is work of the stream, too.
        self.device.stream_us = (
            max(self.device.stream_us, self.device.host_us) + self.device.EVENT_US
        )
        self.at_us = self.device.stream_us

    def query(self):
        return self.device.host_us >= self.at_us

    def synchronize(self):
        self.device.host_us = max(self.device.host_us, self.at_us)

    def elapsed_time(self, other):
        return (other.at_us - self.at_us) / 1000.0
