"""Programs that the tests of the sweep run in processes of their own."""

# Recording and compiling for real; nothing is launched.
COMPILING = """
import json, os, sys, time
job = json.loads(sys.argv[1])
sys.path.insert(0, job["scripts"])
sys.path.insert(0, job["src"])
os.environ["TRITON_CACHE_DIR"] = job["cache"]
import torch, triton
from triton.backends.compiler import GPUTarget
from lwb_compile_pool import CompilePool, kernel_registry
from lwb_record import LaunchRefused, Recorder, load_kernel
import tinykernels.ops.scale as op

target = GPUTarget("cuda", 90, 32)


class NoDevice:
    def get_current_target(self):
        return target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=0):
        return 0


pool = CompilePool(2, kernel_registry({"tinykernels.ops.scale": op}))
triton.runtime.driver.set_active(NoDevice())
recorder = Recorder()
x = torch.randn(4, 64, requires_grad=True)
w = torch.randn(64, requires_grad=True)
recordings = []
before = triton.runtime.jit.JITFunction.run
for settings in ({"num_warps": 1}, {"num_warps": 2}, {"num_warps": 2}, {"num_warps": 4, "factor": 3}):
    op._forward_settings = lambda *_: settings
    recordings.append(recorder.record(lambda: op.ScaleFunction.apply(x, w)))
assert triton.runtime.jit.JITFunction.run is before
for recording in recordings:
    assert [name for name, _, _ in recording.launches] == ["_scale_kernel"]
    for compile_job in recording.jobs():
        pool.submit(compile_job, target)
assert len(pool.known) == 3, pool.known
until = time.monotonic() + 100
while len(pool.outcomes) < 3 and time.monotonic() < until:
    pool.poll(0.1)
assert all(o.ok and o.ms > 0 for o in pool.outcomes.values()), pool.outcomes
begin = time.perf_counter()
kernel = load_kernel(recordings[3].jobs()[0])
assert time.perf_counter() - begin < 2.0
assert kernel.metadata.num_warps == 4
# Known now: recording it again needs no compilation.
again = recorder.record(lambda: op.ScaleFunction.apply(x, w))
assert again.jobs() == [] and again.launches[0][1] is kernel
op._forward_settings = lambda *_: {"num_warps": 3}
try:
    recorder.record(lambda: op.ScaleFunction.apply(x, w))
    raise SystemExit("three warps were accepted")
except LaunchRefused as error:
    assert "power of 2" in str(error)
# The backward runs on a thread of autograd's (on CPU the same thread) and is recorded alike.
op._forward_settings = lambda *_: {"num_warps": 4, "factor": 3}
op._backward_settings = lambda *_: {"num_warps": 8}
y = []
recorder.record(lambda: y.append(op.ScaleFunction.apply(x, w)))
back = recorder.record(lambda: torch.autograd.grad(y, [x, w], [torch.ones_like(y[0])]))
assert len(back.jobs()) == 1
# A worker that dies costs its job, not the sweep.
pool.submit(back.jobs()[0], target)
victim = next(worker for worker in pool.workers if worker.job is not None)
victim.process.kill()
until = time.monotonic() + 100
while back.jobs()[0].identity not in pool.outcomes and time.monotonic() < until:
    pool.poll(0.1)
outcome = pool.outcomes[back.jobs()[0].identity]
assert not outcome.ok and outcome.status == "compile" and "signal 9" in outcome.message, outcome
assert len(pool.workers) == 1
pool.close()
print("fine")
"""


# The whole sweep with Triton's real compiler; only the launch itself and the device are pretended.
PRETENDING = """
import json, os, sys, types
job = json.loads(sys.argv[1])
sys.path.insert(0, job["scripts"])
os.environ["TRITON_CACHE_DIR"] = job["cache"]
import torch, triton
import lwb_common, lwb_clock, lwb_sweep
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import CompiledKernel
from triton.runtime.errors import OutOfResources

lwb_common.open_channel()
target = GPUTarget("cuda", 90, 32)
driver = types.SimpleNamespace(
    get_current_target=lambda: target,
    get_current_device=lambda: 0,
    get_current_stream=lambda device=0: 0,
)
triton.runtime.driver.set_active(driver)


def handles(kernel):
    kernel.module, kernel.function = True, None
    kernel.n_regs, kernel.n_spills = 40, 8 if kernel.metadata.num_warps == 1 else 0
    if kernel.metadata.num_warps == 16:
        raise OutOfResources(300000, 232448, "shared memory")
    kernel._run = launched


def launched(*args):
    if job["loses_context"] and args[0] == 2:
        lwb_sweep.device_alive = lambda device: False
        raise RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")


CompiledKernel._init_handles = handles
torch.cuda.is_available = lambda: True
torch.cuda.get_device_name = lambda: "pretended"
lwb_sweep.make_clock = lambda device: lwb_clock.HostClock()
lwb_sweep.Sweep._on_gpu = lambda sweep: True
lwb_sweep.run(job)
"""

COMPILED_OP = """
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(X, Y, LOOPS: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(LOOPS != 13)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at) * LOOPS)


def _settings(n):
    return None


class DoubleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        settings = _settings(x.numel()) or {}
        y = torch.empty_like(x)
        grid = (settings.get("grid", 1),)
        _kernel[grid](x, y, LOOPS=settings.get("loops", 1), BLOCK=16,
                      num_warps=settings.get("num_warps", 4))
        return y.copy_(x * 2)
"""
