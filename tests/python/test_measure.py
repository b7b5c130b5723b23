"""lwb_measure and what it is made of: order, spin, clocks, budget, restoring, events."""

import json
import os
import subprocess
import sys

import pytest

from measure_support import SCRIPTS
from measure_support import SHIM
from measure_support import SimulatedCall
from measure_support import SimulatedDevice
from measure_support import call
from measure_support import of_kind
from measure_support import run_script
from measure_support import side
from measure_support import write_package

import lwb_clock  # noqa: E402
import lwb_nvml  # noqa: E402

from lwb_clock import EventClock  # noqa: E402
from lwb_clock import NotHeld  # noqa: E402
from lwb_clock import SpinLength  # noqa: E402


def held_clock(**options):
    device = SimulatedDevice(**options)
    return device, EventClock(device, device.flush, now=device.now)


def step_of(device, simulated):
    return (lambda: None, lambda _: device.run(simulated))


# ------------------------------------------------------------------------------------- ordering


def test_two_sides_alternate_in_mirrored_pairs():
    assert lwb_clock.sample_order(2, 4, 0) == [0, 1, 1, 0, 0, 1, 1, 0]
    assert lwb_clock.sample_order(2, 2, 1) == [1, 0, 0, 1]


def test_three_sides_go_forward_and_back_and_the_round_moves_the_start():
    assert lwb_clock.sample_order(3, 2, 0) == [0, 1, 2, 2, 1, 0]
    assert lwb_clock.sample_order(3, 2, 1) == [1, 2, 0, 0, 2, 1]


@pytest.mark.parametrize("sides", [1, 2, 3, 5])
def test_every_side_has_the_same_number_of_samples(sides):
    order = lwb_clock.sample_order(sides, 7, 3)
    assert [order.count(i) for i in range(sides)] == [7] * sides


def test_mean_position_of_two_sides_is_the_same():
    order = lwb_clock.sample_order(2, 20, 0)
    places = [[i for i, s in enumerate(order) if s == which] for which in (0, 1)]
    assert sum(places[0]) == sum(places[1])


def test_budget_gives_all_fewer_or_none():
    assert lwb_clock.rows_in_budget(20, 0.01, 10.0) == 20
    assert lwb_clock.rows_in_budget(20, 1.0, 7.5) == 7
    assert lwb_clock.rows_in_budget(20, 1.0, 4.9) == 0
    assert lwb_clock.rows_in_budget(3, 1.0, 3.5) == 3
    assert lwb_clock.rows_in_budget(20, 0.0, -1.0) == 0
    assert lwb_clock.rows_in_budget(20, 1.0, float("inf")) == 20


# ----------------------------------------------------------------------------- spin, held stream


def test_spins_double_up_to_the_bound():
    assert SpinLength(100.0, most_us=500.0).attempts() == [100.0, 200.0, 400.0, 500.0]


def test_calibration_covers_twice_the_slowest_enqueue():
    spin = SpinLength()
    spin.calibrate([80.0, 120.0])
    assert spin.base_us == 260.0
    spin.calibrate([0.0])
    assert spin.base_us == lwb_clock.SPIN_LEAST_US


def test_one_hiccup_does_not_lengthen_the_spin_for_good_two_do():
    spin = SpinLength(100.0)
    spin.succeeded(1)
    assert spin.base_us == 100.0
    for _ in range(20):
        spin.succeeded(0)
    spin.succeeded(1)
    assert spin.base_us == 100.0
    spin.succeeded(2)
    assert spin.base_us == 200.0


def test_the_clock_finds_the_sm_clock():
    _, clock = held_clock(mhz=1755.0)
    assert clock.mhz == pytest.approx(1755.0, rel=1e-6)
    assert clock.spin_overhead_us == pytest.approx(SimulatedDevice.EVENT_US, abs=0.1)


def test_a_held_sample_is_free_of_launch_cost_and_knows_the_clock():
    device, clock = held_clock(mhz=1980.0)
    simulated = SimulatedCall(device_us=14.0, enqueue_us=150.0)
    step = step_of(device, simulated)
    spin = SpinLength()
    lwb_clock.calibrate(clock, spin, [step])
    assert 300.0 < spin.base_us < 400.0
    readings = [lwb_clock.take_held(clock, spin, *step) for _ in range(10)]
    assert all(reading.held for reading in readings)
    for reading in readings:
        assert reading.us == pytest.approx(14.0 + SimulatedDevice.EVENT_US, abs=0.01)
        assert reading.sm_mhz == pytest.approx(1980.0, rel=0.01)


def test_flush_comes_before_the_spin_and_the_call_right_after():
    device, clock = held_clock()
    device.log.clear()
    clock.read(lambda: device.launch(1.0, "restore"), lambda _: device.launch(5.0, "call"), 100.0)
    assert device.log == ["restore", "flush", "spin", "call"]


def test_a_hiccup_is_taken_again_and_does_not_reach_the_samples():
    device, clock = held_clock()
    hiccups = {10: 5000.0, 15: 700.0}
    step = step_of(device, SimulatedCall(20.0, 100.0, hiccups=hiccups))
    spin = SpinLength()
    lwb_clock.calibrate(clock, spin, [step])
    values = [lwb_clock.take_held(clock, spin, *step).us for _ in range(20)]
    assert max(values) - min(values) < 0.01


def test_a_call_that_waits_for_the_device_is_never_held():
    device, clock = held_clock()
    step = step_of(device, SimulatedCall(20.0, 100.0, synchronizes=True))
    spin = SpinLength()
    lwb_clock.calibrate(clock, spin, [step])
    with pytest.raises(NotHeld):
        lwb_clock.take_held(clock, spin, *step)


def test_work_left_on_the_device_after_the_end_event_shows():
    device, clock = held_clock()

    def late(_):
        device.launch(10.0, "call")

    assert clock.read(lambda: None, late, 500.0).tail_us < 5.0
    synchronize = device.synchronize

    def busy():
        synchronize()
        device.host_us += 300.0  # another stream

    device.synchronize = busy
    assert clock.read(lambda: None, late, 500.0).tail_us == pytest.approx(300.0, abs=5.0)


def test_what_a_call_made_is_freed_before_the_next_sample():
    device, clock = held_clock()
    alive = []

    class Result:
        def __init__(self):
            alive.append(self.__class__.living)
            self.__class__.living += 1

        def __del__(self):
            self.__class__.living -= 1

        living = 0

    for _ in range(3):
        clock.read(lambda: None, lambda _: Result(), 100.0)
    assert alive == [0, 0, 0]


def test_kernel_sums_take_only_what_is_between_two_markers():
    spin = "at::cuda::(anonymous namespace)::spin_kernel(long)"
    records = [
        ("fill", 0.0, 50.0),
        (spin, 60.0, 1.0),
        ("kernel_a", 70.0, 5.0),
        ("kernel_b", 90.0, 7.0),
        (spin, 100.0, 1.0),
        ("restore", 110.0, 3.0),
        (spin, 120.0, 1.0),
        ("kernel_a", 125.0, 6.0),
        (spin, 140.0, 1.0),
    ]
    assert lwb_clock.sums_between_markers(records[::-1]) == [12.0, 6.0]


def test_throttle_bits_have_names():
    assert lwb_nvml.throttle_names(0x4 | 0x40) == ["sw_power_cap", "hw_thermal_slowdown"]


def test_a_machine_without_nvml_says_nothing():
    nvml = lwb_nvml.Nvml(library=object())
    nvml.select("GPU-1")
    assert nvml.snapshot()["processes"] is None


class FakeNvml:
    """One device; the pids are of another namespace, as in a container."""

    def __init__(self):
        self.pids = [41]

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetCount_v2(self, count):
        count._obj.value = 1
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, handle):
        handle._obj.value = 7
        return 0

    def nvmlDeviceGetUUID(self, handle, text, size):
        text.value = b"GPU-AbC"
        return 0

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle, count, infos):
        count._obj.value = len(self.pids)
        for i, pid in enumerate(self.pids):
            infos[i].pid = pid
        return 0

    def nvmlDeviceGetTemperature(self, handle, sensor, value):
        value._obj.value = 44
        return 0


def test_our_own_process_is_told_apart_also_when_its_pid_is_not_ours():
    library = FakeNvml()
    nvml = lwb_nvml.Nvml(library)
    library.pids = [41, 977]
    nvml.select("abc")
    facts = nvml.snapshot()
    assert facts["processes"] == [41]
    assert facts["temperature_c"] == 44
    assert facts["power_w"] is None
    library.pids = [41, 977, 1234, os.getpid()]
    assert nvml.snapshot()["processes"] == [41, 1234]


# ------------------------------------------------------------------------------ the whole script


@pytest.fixture(scope="module")
def src(tmp_path_factory):
    return write_package(tmp_path_factory.mktemp("package"))


def test_events_of_a_run(src):
    job = {
        "sides": [side("v0", src), side("v1", src)],
        "calls": [
            call(),
            call("frozen", requires_grad=False),
            call("broken", function="BrokenFunction"),
        ],
        "passes": ["forward", "backward", "full"],
        "samples": 4,
        "round": 1,
        "seed": 3,
        "budget_s": 100,
        "memory": True,
        "copy_sizes": [4096],
    }
    code, events = run_script("lwb_measure.py", job)
    assert code == 0
    assert events[-1] == {"event": "done"}
    assert [e["side"] for e in of_kind(events, "identity")] == ["v0", "v1"]
    assert all(e["matches"] for e in of_kind(events, "identity"))
    samples = of_kind(events, "samples")
    got = [(e["call"], e["pass"], e["side"]) for e in samples]
    expected = [("rows=3", p, s) for p in job["passes"] for s in ("v0", "v1")]
    expected += [("frozen", "forward", s) for s in ("v0", "v1")]
    assert got == expected
    for event in samples:
        assert event["clock"] == "host" and event["held"] is False and event["sm_mhz"] == []
        assert len(event["us"]) == 4 and min(event["us"]) > 0 and event["round"] == 1
        assert event["wall_us"]
    missing = {(e["call"], e["pass"], e["reason"]) for e in of_kind(events, "not_measured")}
    assert ("frozen", "backward", "no_backward") in missing
    assert ("frozen", "full", "no_backward") in missing
    failed = of_kind(events, "measure_failed")
    assert [e["call"] for e in failed] == ["broken"]
    assert "broken on purpose" in failed[0]["message"]
    rates = of_kind(events, "copy_rate")
    assert rates[0]["bytes"] == 4096 and len(rates[0]["us"]) == 10
    assert [e["when"] for e in of_kind(events, "gpu")] == ["start", "end"]


def test_a_spent_budget_lists_everything(src):
    job = {
        "sides": [side("v0", src), side("v1", src)],
        "calls": [call(), call("second")],
        "passes": ["forward", "backward"],
        "samples": 4,
        "budget_s": 1e-6,
        "copy_sizes": [4096],
    }
    code, events = run_script("lwb_measure.py", job)
    assert code == 0 and not of_kind(events, "samples")
    missing = [(e["call"], e["pass"], e["reason"]) for e in of_kind(events, "not_measured")]
    assert missing == [(c, p, "budget") for c in ("rows=3", "second") for p in job["passes"]]
    assert of_kind(events, "copy_rate")[0]["message"] == "budget"


def test_a_side_that_cannot_be_imported_is_fatal(src, tmp_path):
    broken = write_package(tmp_path, "raise RuntimeError('registered twice')\n")
    job = {"sides": [side("v0", src), side("v1", broken)], "calls": [call()]}
    code, events = run_script("lwb_measure.py", job)
    assert code == 1
    assert events[-1]["event"] == "fatal" and events[-1]["kind"] == "import"
    assert "registered twice" in events[-1]["message"]


def test_two_copies_of_a_tuned_kernel_use_one_choice():
    """Tuning noise must not make two copies of one file differ."""
    from types import SimpleNamespace

    import lwb_cell

    def tuner(source, chosen, configs=("a", "b")):
        cache = {("key",): chosen} if chosen else {}
        return SimpleNamespace(configs=list(configs), cache=cache, fn=SimpleNamespace(src=source))

    def loaded(**kernels):
        return SimpleNamespace(modules={"p.ops": SimpleNamespace(plain=1, **kernels)})

    first = loaded(k=tuner("def k()", "b"), changed=tuner("def c()", "a"), fresh=tuner("x", None))
    second = loaded(
        k=tuner("def k()", "a"), changed=tuner("def c(): 2", "b"), fresh=tuner("x", None)
    )
    assert lwb_cell.share_tuning(first, second) == ["k"]
    module = second.modules["p.ops"]
    assert module.k.cache == {("key",): "b"}
    assert module.changed.cache == {("key",): "b"}


RESTORING = """
import json, sys
job = json.loads(sys.argv[1])
sys.path.insert(0, job["scripts"])
import lwb_cell, lwb_common
lwb_common.load_test_shim()
side = lwb_common.load_side(job["side"], report=False)
cell = lwb_cell.Cell(job["call"], [side, side], 1, "cpu", lwb_cell.ActiveSide())
assert cell.learn_modified(["forward", "backward"]) == ["grad_output0"], cell.snapshot.tensors
first = [t.clone() for t in cell.run(0, "backward")]
assert first[0].abs().max() > 0
for index in (1, 0, 1):
    again = cell.run(index, "backward")
    assert all((a == b).all() for a, b in zip(first, again))
full = cell.run(1, "full")
assert all((a == b).all() for a, b in zip(first, full[1:]))
print("fine")
"""


def test_what_a_call_modifies_is_put_back(src):
    """The op's backward zeroes its incoming gradient; every later run must see the old one."""
    job = {"scripts": str(SCRIPTS), "side": side("v0", src), "call": call()}
    done = subprocess.run(
        [sys.executable, "-c", RESTORING, json.dumps(job)],
        capture_output=True,
        text=True,
        env={**os.environ, "LWB_TEST_SHIM": str(SHIM)},
    )
    assert done.stdout.strip() == "fine", done.stderr


# ------------------------------------------------------------------- what the order is good for


def drifting_medians(first_us, second_us, drift):
    """Medians of two calls whose device gets slower as it works, sampled as lwb_measure does."""
    device, clock = held_clock()
    calls = [SimulatedCall(us, 120.0) for us in (first_us, second_us)]
    begun = device.stream_us

    def run(simulated, us):
        simulated.device_us = us * (1.0 + drift * (device.stream_us - begun) / 1e6)
        device.run(simulated)

    steps = [
        (lambda: None, lambda _, c=c, us=us: run(c, us))
        for c, us in zip(calls, (first_us, second_us))
    ]
    spin = SpinLength()
    lwb_clock.calibrate(clock, spin, steps)
    values = [[], []]
    for which in lwb_clock.sample_order(2, 20, 0):
        values[which].append(lwb_clock.take_held(clock, spin, *steps[which]).us)
    return [lwb_clock.median(v) for v in values]


def test_two_copies_agree_on_a_device_that_drifts():
    first, second = drifting_medians(30.0, 30.0, drift=10.0)
    assert second / first == pytest.approx(1.0, abs=0.002)


def test_three_percent_show_on_a_device_that_drifts():
    first, second = drifting_medians(100.0, 103.0, drift=10.0)
    assert 1.02 < second / first < 1.04


HELD_RUN = """
import json, sys
job = json.loads(sys.argv[1])
sys.path[:0] = [job["scripts"], job["tests"]]
import lwb_common, lwb_clock, lwb_measure
from measure_support import SimulatedDevice
lwb_common.open_channel()
lwb_common.load_test_shim()
device = SimulatedDevice()
clock = lwb_clock.EventClock(device, device.flush, now=device.now)
original = lwb_measure.Cell.step


def step(cell, side, which):
    prepare, call = original(cell, side, which)

    def timed(prepared):
        device.host_us += 100.0
        device.launch({"forward": 20.0, "backward": 60.0, "full": 80.0}[which], "call")
        if which == job["synchronizes"]:
            device.synchronize()
        return call(prepared)

    return prepare, timed


lwb_measure.Cell.step = step
lwb_measure.make_clock = lambda _device: clock
lwb_measure.kernel_times = lambda clock, steps: [float(i) for i in range(len(steps))]
lwb_measure.run(job)
"""


def test_a_call_that_cannot_be_held_is_timed_by_kernels_for_all_sides(src):
    job = {
        "scripts": str(SCRIPTS),
        "tests": os.path.dirname(__file__),
        "device": "cpu",
        "sides": [side("v0", src), side("v1", src)],
        "calls": [call()],
        "passes": ["forward", "backward"],
        "samples": 4,
        "synchronizes": "backward",
    }
    done = subprocess.run(
        [sys.executable, "-c", HELD_RUN, json.dumps(job)],
        capture_output=True,
        text=True,
        env={**os.environ, "LWB_TEST_SHIM": str(SHIM)},
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert not of_kind(events, "measure_failed"), of_kind(events, "measure_failed")[0]["traceback"]
    samples = of_kind(events, "samples")
    held, summed = samples[:2], samples[2:]
    for event in held:
        assert event["clock"] == "events" and event["held"] is True
        assert event["us"] == pytest.approx([21.5] * 4) and len(event["sm_mhz"]) == 4
    # Times 0, 1, 2, … by position show which sample went to which side: A B B A A B B A.
    assert [event["us"] for event in summed] == [[0.0, 3.0, 4.0, 7.0], [1.0, 2.0, 5.0, 6.0]]
    assert all(event["clock"] == "kernels" and event["held"] is False for event in summed)
