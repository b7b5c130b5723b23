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
from sweep_support import COMPILED_OP
from sweep_support import COMPILING
from sweep_support import PRETENDING

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


def pretend(tmp_path, candidates, **more):
    src = write_package(tmp_path, COMPILED_OP)
    job = {
        "scripts": str(SCRIPTS),
        "cache": str(tmp_path / "cache"),
        "device": "cpu",
        "side": side("v1", src),
        "calls": [call(function="DoubleFunction", rows=2, columns=8)],
        "hooks": [
            {
                "function": "_settings",
                "kernel": "_kernel",
                "pass": "forward",
                "calls": ["rows=3"],
                "candidates": candidates,
            }
        ],
        "samples": 3,
        "compile_jobs": 2,
        "max_spills": 0,
        "loses_context": False,
        "cache_file": str(tmp_path / "tuning.json"),
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-c", PRETENDING, json.dumps(job)],
        capture_output=True,
        text=True,
        timeout=280,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return done, events, {json.dumps(e["settings"]): e for e in of_kind(events, "point")}


def test_compiled_points_are_classed_before_they_are_launched(tmp_path):
    candidates = [{}, {"num_warps": 8}, {"num_warps": 1}, {"num_warps": 16}, {"num_warps": 3}]
    candidates += [{"loops": 13}, {"loops": 2, "num_warps": 2}]
    done, events, points = pretend(tmp_path, candidates)
    assert done.returncode == 0, done.stderr[-3000:]
    status = {settings: point["status"] for settings, point in points.items()}
    assert status == {
        "{}": "correct",
        '{"num_warps": 8}': "correct",
        '{"num_warps": 1}': "constraints",
        '{"num_warps": 16}': "constraints",
        '{"num_warps": 3}': "compile",
        '{"loops": 13}': "compile",
        '{"loops": 2, "num_warps": 2}': "correct",
    }
    assert (
        points['{"num_warps": 16}']["message"] == "shared memory: Required: 300000, limit: 232448"
    )
    assert "spills 8, limit: 0" in points['{"num_warps": 1}']["message"]
    assert "power of 2" in points['{"num_warps": 3}']["message"]
    assert "CompileTimeAssertionFailure" in points['{"loops": 13}']["message"]
    good = points['{"num_warps": 8}']
    assert good["registers"] == 40 and good["spills"] == 0 and good["compile_ms"] > 0
    assert points["{}"]["registers"] == 40
    tried = [json.dumps(e["settings"]) for e in of_kind(events, "trying")]
    assert '{"num_warps": 16}' not in tried and '{"num_warps": 1}' not in tried


def test_a_lost_context_ends_with_code_3_and_what_there_is(tmp_path):
    candidates = [{}, {"num_warps": 8}, {"grid": 2}]
    done, events, points = pretend(tmp_path, candidates, loses_context=True)
    assert done.returncode == 3, done.stderr[-3000:]
    assert points['{"grid": 2}']["status"] == "runtime"
    assert "illegal memory access" in points['{"grid": 2}']["message"]
    assert of_kind(events, "trying")[-1]["settings"] == {"grid": 2}
    assert not of_kind(events, "done")
    saved = json.loads((tmp_path / "tuning.json").read_text())
    assert len(saved["results"]) == len(points) and len(points) >= 2
