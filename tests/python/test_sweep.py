"""lwb_sweep and what it is made of: recording, screening, classing, skipping, the T4 file."""

import json
import subprocess
import sys
import time

import pytest

from measure_support import SCRIPTS
from measure_support import call
from measure_support import of_kind
from measure_support import run_script
from measure_support import side
from measure_support import write_package

import lwb_points  # noqa: E402
import lwb_t4  # noqa: E402


@pytest.fixture(scope="module")
def src(tmp_path_factory):
    return write_package(tmp_path_factory.mktemp("package"))


def hook(function, which, candidates, calls=("rows=3",)):
    return {
        "function": function,
        "kernel": "_scale_kernel",
        "pass": which,
        "calls": list(calls),
        "candidates": candidates,
    }


# --------------------------------------------------------------------------------------- classing


class OutOfResources(Exception):
    def __init__(self, required, limit, name):
        super().__init__(f"out of resource: {name}, Required: {required}, Hardware limit: {limit}.")
        self.required, self.limit, self.name = required, limit, name


class CompilationError(Exception):
    pass


class Hung(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "status", "part"),
    [
        (
            OutOfResources(300000, 232448, "shared memory"),
            "constraints",
            "Required: 300000, limit: 232448",
        ),
        (RuntimeError("too many resources requested for launch"), "constraints", "too many"),
        (CompilationError("at 3:4: no"), "compile", "at 3:4"),
        (Hung("did not end"), "timeout", "did not end"),
        (RuntimeError("CUDA error: an illegal memory access"), "runtime", "illegal memory"),
        (ValueError(""), "runtime", "ValueError"),
    ],
)
def test_exceptions_are_classed(error, status, part):
    found, message = lwb_points.classify(error)
    assert found == status
    assert part in message


def test_required_and_limit_are_found_in_text_alone():
    text = "out of resource: shared memory, Required: 5, Hardware limit: 3. Reducing may help."
    assert lwb_points.resources_message(Exception(text), text) == "resources: Required: 5, limit: 3"


def test_progress_is_told_five_times_a_second_and_at_the_end():
    now, events = [0.0], []
    progress = lwb_points.Progress(101, events.append, now=lambda: now[0])
    for _ in range(101):
        progress.step()
        now[0] += 0.01
    assert 5 <= len(events) <= 7
    assert events[-1]["done"] == 101


def test_mismatch_sees_unwritten_parts_and_lets_rounding_pass():
    torch = pytest.importorskip("torch")
    wanted = torch.randn(64, 64, dtype=torch.float32)
    reference = lwb_points.Reference([wanted])
    assert reference.mismatch([wanted * (1 + 1e-5)]) is None
    bad = wanted.clone()
    bad[3, 3] = float("nan")
    assert "result 0" in reference.mismatch([bad])
    assert reference.mismatch([wanted, wanted]) == "2 results instead of 1"
    assert "instead of" in reference.mismatch([wanted.double()])
    holey = torch.tensor([float("nan"), float("inf"), 1.0])
    assert lwb_points.Reference([holey]).mismatch([holey.clone()]) is None
    whole = torch.tensor([1, 2, 3])
    assert lwb_points.Reference([whole]).mismatch([torch.tensor([1, 2, 4])]) is not None
    rough = torch.randn(32, 32).to(torch.bfloat16)
    assert (
        lwb_points.Reference([rough]).mismatch([(rough.float() * 1.004).to(torch.bfloat16)]) is None
    )


# -------------------------------------------------------------------------------------- T4 results


def check_t4(document):
    """What results-schema 1.0.0 of T4 demands."""
    assert document["schema_version"].count(".") == 2
    for result in document["results"]:
        assert {"configuration", "times", "invalidity", "correctness"} <= set(result)
        assert result["invalidity"] in (
            "timeout",
            "compile",
            "runtime",
            "correctness",
            "constraints",
            "correct",
        )
        assert isinstance(result["correctness"], (int, float))
        assert isinstance(result["times"]["compilation_time"], float)
        assert isinstance(result["times"]["runtimes"], list)
        for measurement in result["measurements"]:
            assert isinstance(measurement["unit"], str)


def test_results_are_appended_and_foreign_files_left_alone(tmp_path):
    path = str(tmp_path / "deep" / "tuning.json")
    point = {
        "hook": "f",
        "call": "c",
        "settings": {"num_warps": 4},
        "status": "correct",
        "us": [10.0, 12.0, 11.0],
        "median_us": 11.0,
        "registers": 40,
        "spills": 0,
        "shared_bytes": 0,
        "compile_ms": 300.0,
    }
    for _ in range(2):
        results = lwb_t4.ResultsFile(path)
        results.add(lwb_t4.result_of("k", point))
        results.save()
    document = json.loads(open(path).read())
    check_t4(document)
    assert len(document["results"]) == 2
    first = document["results"][0]
    assert first["times"]["runtimes"] == [0.01, 0.012, 0.011]
    assert first["configuration"] == {"kernel": "k", "hook": "f", "call": "c", "num_warps": 4}
    assert {"name": "time", "value": 0.011, "unit": "ms"} in first["measurements"]
    other = tmp_path / "other.json"
    other.write_text("[1]")
    with pytest.raises(ValueError, match="not a T4 results file"):
        lwb_t4.ResultsFile(str(other))
    assert other.read_text() == "[1]"


# ------------------------------------------------------------------------------ the whole script


def test_points_of_both_passes(src, tmp_path):
    cache = tmp_path / "tuning.json"
    job = {
        "side": side("v1", src),
        "calls": [call(), call("rows=5", rows=5)],
        "hooks": [
            hook(
                "_forward_settings",
                "forward",
                [{}, {"num_warps": 8}, {"factor": 2}, {"skip": 1}, {"raises": 1}, {"num_warps": 2}],
                ("rows=3", "rows=5"),
            ),
            hook("_backward_settings", "backward", [{"num_warps": 8}, {"factor": 3}, {"skip": 1}]),
            hook("_no_such_settings", "backward", [{}]),
        ],
        "samples": 4,
        "seed": 1,
        "budget_s": 100,
        "compile_jobs": 0,
        "max_spills": 0,
        "cache_file": str(cache),
        "skip": [{"hook": "_forward_settings", "call": "rows=3", "settings": {"num_warps": 2}}],
    }
    code, events = run_script("lwb_sweep.py", job)
    assert code == 0 and events[-1] == {"event": "done"}, events[-1]
    points = of_kind(events, "point")
    got = {
        (p["hook"], p["call"], json.dumps(p["settings"], sort_keys=True)): p["status"]
        for p in points
    }
    forward = {
        "{}": "correct",
        '{"num_warps": 8}': "correct",
        '{"factor": 2}': "correctness",
        '{"skip": 1}': "correctness",
        '{"raises": 1}': "runtime",
        '{"num_warps": 2}': "correct",
    }
    expected = {("_forward_settings", "rows=5", k): v for k, v in forward.items()}
    expected |= {("_forward_settings", "rows=3", k): v for k, v in list(forward.items())[:-1]}
    backward = {"{}": "correct", '{"num_warps": 8}': "correct"}
    backward |= {'{"factor": 3}': "correctness", '{"skip": 1}': "correctness"}
    expected |= {("_backward_settings", "rows=3", k): v for k, v in backward.items()}
    assert got == expected
    assert len(points) == len(expected)
    originals = [p for p in points if not p["settings"]]
    first_of = {}
    for point in points:
        first_of.setdefault((point["hook"], point["call"]), point["settings"])
    assert all(settings == {} for settings in first_of.values()) and len(originals) == 3
    for point in points:
        if point["status"] == "correct":
            assert point["median_us"] > 0 and 2 <= len(point["us"]) <= 4
            assert point["clock"] == "host" and point["registers"] is None
        else:
            assert point["median_us"] is None and point["us"] == [] and point["message"]
    assert [e["kind"] for e in of_kind(events, "sweep_failed")] == ["no_function"]
    assert of_kind(events, "progress")[-1] == {"event": "progress", "done": 15, "total": 15}
    tried = [(e["hook"], e["call"], json.dumps(e["settings"])) for e in of_kind(events, "trying")]
    assert ("_forward_settings", "rows=3", '{"num_warps": 8}') in tried
    assert not any(t[1] == "rows=3" and t[2] == '{"num_warps": 2}' for t in tried)
    document = json.loads(cache.read_text())
    check_t4(document)
    assert len(document["results"]) == 15


def test_a_spent_budget_lists_every_point(src):
    job = {
        "side": side("v1", src),
        "calls": [call()],
        "hooks": [hook("_forward_settings", "forward", [{}, {"num_warps": 8}])],
        "budget_s": 1e-6,
    }
    code, events = run_script("lwb_sweep.py", job)
    assert code == 0 and not of_kind(events, "point")
    missing = of_kind(events, "not_measured")
    assert missing[0]["reason"] == "budget"
    assert missing[0]["settings"] == [{}, {"num_warps": 8}]


# ----------------------------------------------- recording and compiling for real, without a GPU

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


def test_launches_are_recorded_and_compiled_in_workers(src, tmp_path):
    cache = str(tmp_path / "cache")
    job = {"scripts": str(SCRIPTS), "src": src, "cache": cache}
    done = subprocess.run(
        [sys.executable, "-c", COMPILING, json.dumps(job)],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.stdout.strip() == "fine", done.stderr[-3000:]


def test_workers_end_with_their_parent(src, tmp_path):
    """Killed, the parent leaves no compilers behind."""
    code = COMPILING.split("triton.runtime.driver.set_active")[0] + (
        "print(*[w.process.pid for w in pool.workers], flush=True)\ntime.sleep(100)\n"
    )
    job = {"scripts": str(SCRIPTS), "src": src, "cache": str(tmp_path)}
    child = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(job)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    pids = [int(text) for text in child.stdout.readline().split()]
    assert len(pids) == 2
    child.kill()
    child.wait()
    until = time.monotonic() + 10
    while time.monotonic() < until and any(_running(pid) for pid in pids):
        time.sleep(0.05)
    assert not any(_running(pid) for pid in pids)


def _running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False
