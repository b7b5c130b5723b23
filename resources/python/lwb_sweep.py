"""Settings sweep in one warm process: every candidate of every hook on every call is recorded,
compiled in parallel, screened against the original path and timed. The job and the events are
described in README.md; which settings win is decided by the caller."""

from __future__ import annotations

import os
import sys
import time

from dataclasses import dataclass
from dataclasses import field
from typing import Any

from lwb_cell import ActiveSide
from lwb_cell import Cell
from lwb_cell import allocated_bytes
from lwb_cell import device_alive
from lwb_cell import free_memory
from lwb_clock import Hung
from lwb_clock import NotHeld
from lwb_clock import Quiet
from lwb_clock import SpinLength
from lwb_clock import calibrate
from lwb_clock import kernel_times
from lwb_clock import make_clock
from lwb_clock import median
from lwb_clock import settle_interpreter
from lwb_clock import take_held
from lwb_common import JobFailure
from lwb_common import default_device
from lwb_common import emit
from lwb_common import failure_of
from lwb_common import load_side
from lwb_common import main
from lwb_compile_pool import CompilePool
from lwb_compile_pool import kernel_registry
from lwb_points import HOPELESS
from lwb_points import SCREENING_SAMPLES
from lwb_points import Progress
from lwb_points import Reference
from lwb_points import classify
from lwb_points import settings_key
from lwb_record import Recorder
from lwb_record import Recording
from lwb_record import load_kernel
from lwb_smoke_run import poisoned
from lwb_t4 import ResultsFile
from lwb_t4 import result_of

LAUNCH_LIMIT_S = 10.0  # a first launch that takes longer hangs
EXIT_RESTART = 3  # the CUDA context is lost; the caller starts again with this point in `skip`


class Restart(Exception):
    """This process can launch nothing more."""


@dataclass
class Point:
    settings: dict
    recording: Recording = field(default_factory=Recording)
    refused: tuple[str, str] | None = None  # status and message, when recording already failed
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None
    compile_ms: float = 0.0
    twin: Point | None = None  # an earlier point that does the same on the device
    event: dict | None = None  # what was told of it

    def facts(self) -> dict:
        return {
            "registers": self.registers,
            "spills": self.spills,
            "shared_bytes": self.shared_bytes,
            "compile_ms": round(self.compile_ms, 1),
        }


@dataclass
class Plan:
    """One hook on one call."""

    hook: dict
    call: dict
    points: list[Point]
    skipped: set[tuple]
    by_work: dict[tuple, Point] = field(default_factory=dict)

    def key(self, point: Point) -> tuple:
        return settings_key(self.hook["function"], self.call["id"], point.settings)


class Sweep:
    def __init__(self, job: dict, begun: float):
        self.job = job
        self.begun = begun
        self.device = job.get("device") or default_device()
        self.samples = max(1, int(job.get("samples", 5)))
        self.seed = int(job.get("seed", 1))
        self.budget_s = float(job.get("budget_s") or 0.0) or float("inf")  # 0: no bound
        self.max_spills = job.get("max_spills", 0)
        self.skip = {
            settings_key(s["hook"], s["call"], s.get("settings")) for s in job.get("skip") or []
        }
        self.active = ActiveSide()
        self.recorder = Recorder()
        self.clock: Any = None
        self.target: Any = None
        self.results: ResultsFile | None = None

    def left_s(self) -> float:
        return self.budget_s - (time.monotonic() - self.begun)

    # ------------------------------------------------------------------------------- whole job

    def run(self) -> None:
        self.side = load_side(self.job["side"])
        on_gpu = self._on_gpu()
        # Forked before anything below touches the device.
        kernels = kernel_registry(self.side.modules) if on_gpu else []
        self.pool = CompilePool(self._workers() if on_gpu else 0, kernels)
        try:
            self._sweep(on_gpu)
        except Restart:
            self._save()
            self.pool.close()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(EXIT_RESTART)
        finally:
            self._save()
            self.pool.close()

    def _save(self) -> None:
        if self.results is not None:
            self.results.save()

    def _on_gpu(self) -> bool:
        import torch

        return torch.device(self.device).type == "cuda"

    def _workers(self) -> int:
        """All cores but the one that times."""
        asked = int(self.job.get("compile_jobs", 0) or 0)
        return asked if asked > 0 else max(1, len(os.sched_getaffinity(0)) - 1)

    def _sweep(self, on_gpu: bool) -> None:
        import torch

        device_query: dict[str, Any] = {}
        if on_gpu:
            import triton

            if not torch.cuda.is_available():
                raise JobFailure("no_gpu", "torch finds no CUDA device in this process.")
            self.target = triton.runtime.driver.active.get_current_target()
            device_query = {"name": torch.cuda.get_device_name()}
        try:
            self.results = ResultsFile(self.job.get("cache_file"), device_query)
        except ValueError as error:
            raise JobFailure("bad_job", str(error)) from error
        self.clock = make_clock(self.device)
        settle_interpreter()
        self.clock.warm_up(0.2)
        self.active.switch(self.side)
        calls = {call["id"]: call for call in self.job.get("calls", [])}
        plans = [
            plan
            for hook in self.job["hooks"]
            for plan in self._plans_of(hook, calls)
            if self._record(plan)
        ]
        self.progress = Progress(sum(len(plan.points) for plan in plans), emit)
        for plan in plans:
            with Quiet():
                self._run_plan(plan)
            self.results.save(seldom=True)
        self.active.switch(None)

    def _plans_of(self, hook: dict, calls: dict[str, dict]) -> list[Plan]:
        name = hook["function"]
        if not callable(getattr(self.side.module, name, None)):
            message = f"{self.side.module_name} has no function '{name}' to set."
            self._failed(name, None, {"kind": "no_function", "message": message})
            return []
        candidates = [{}] + [c for c in hook.get("candidates", []) if c]
        plans = []
        for call_id in hook.get("calls") or list(calls):
            if call_id not in calls:
                message = f"The job has no call '{call_id}'."
                self._failed(name, call_id, {"kind": "bad_job", "message": message})
                continue
            plan = Plan(hook, calls[call_id], [Point(dict(c)) for c in candidates], set())
            # The original path runs in any case: everything is held against it.
            plan.skipped = {plan.key(p) for p in plan.points} & self.skip
            plan.points = [p for p in plan.points if plan.key(p) not in plan.skipped]
            plans.append(plan)
        return plans

    def _failed(self, hook: str, call: str | None, failure: dict) -> None:
        emit({"event": "sweep_failed", "hook": hook, "call": call, **failure})

    def _set(self, hook: dict, settings: dict | None) -> None:
        """Make the hook function answer with these settings, for host code of either thread."""
        answer = dict(settings) if settings else None

        def replacement(*_args: Any, **_kwargs: Any) -> dict | None:
            return None if answer is None else dict(answer)

        setattr(self.side.module, hook["function"], replacement)

    # ------------------------------------------------------------------------------ recording

    def _record(self, plan: Plan) -> bool:
        """Learn and submit every compilation that the plan needs."""
        if self.left_s() <= 0.0:
            self._not_measured(plan, plan.points, "budget")
            return False
        original = getattr(self.side.module, plan.hook["function"])
        try:
            self._trying(plan, {})
            self._set(plan.hook, None)
            cell = Cell(plan.call, [self.side], self.seed, self.device, self.active)
            which = plan.hook.get("pass", "full")
            if not cell.has(which):
                self._not_measured(plan, plan.points, "no_backward")
                return False
            cell.run(0, which)  # also lets autotuners of other kernels settle
            step = cell.step(0, which)
            for point in plan.points:
                self._record_point(plan, point, step)
                self.pool.poll(0.0)
            del step, cell
        except Restart:
            raise
        except Exception as error:
            self._failed(plan.hook["function"], plan.call["id"], failure_of(error))
            self._not_measured(plan, plan.points, "failed")
            self._stop_if_lost()
            return False
        finally:
            setattr(self.side.module, plan.hook["function"], original)
            free_memory(self.device)
        return True

    def _record_point(self, plan: Plan, point: Point, step: Any) -> None:
        prepare, call = step
        try:
            # A graph of its own for each: host code may modify what the graph has saved.
            self._set(plan.hook, None)
            prepared = prepare()
            self._set(plan.hook, point.settings)
            point.recording = self.recorder.record(lambda: call(prepared))
        except Exception as error:
            point.refused = classify(error)
            self._stop_if_lost()
            return
        work = point.recording.work()
        if work is not None:
            twin = plan.by_work.setdefault(work, point)
            point.twin = twin if twin is not point else None
        for job in point.recording.jobs():
            self.pool.submit(job, self.target)

    # --------------------------------------------------------------------------------- timing

    def _run_plan(self, plan: Plan) -> None:
        hook_before = getattr(self.side.module, plan.hook["function"])
        pending = list(plan.points)
        try:
            self._set(plan.hook, None)
            bench = Bench(self, plan)
            while pending:
                if self.left_s() <= 0.0:
                    self._not_measured(plan, pending, "budget")
                    return
                for twin in [p for p in pending if p.twin is not None and p.twin.event is not None]:
                    pending.remove(twin)
                    self._tell(plan, twin, {**twin.twin.event, "settings": twin.settings})
                ready = [p for p in pending if p.twin is None and self._compiled(p)]
                if not pending:
                    break
                # The original path comes first: the others are held against it.
                if not ready or (pending[0] is plan.points[0] and ready[0] is not pending[0]):
                    self.pool.poll(0.05)
                    continue
                self.pool.poll(0.0)  # hand further work to the workers before timing
                pending.remove(ready[0])
                self._run_point(plan, ready[0], bench)
        except Restart:
            raise
        except Exception as error:
            self._failed(plan.hook["function"], plan.call["id"], failure_of(error))
            self._not_measured(plan, pending, "failed")
            self._stop_if_lost()
        finally:
            setattr(self.side.module, plan.hook["function"], hook_before)
            bench = None
            free_memory(self.device)

    def _compiled(self, point: Point) -> bool:
        return all(self.pool.done(job.identity) for job in point.recording.jobs())

    def _run_point(self, plan: Plan, point: Point, bench: Bench) -> None:
        status, message, readings, validation_ms = "correct", None, [], 0.0
        clock = None
        poisoned = None
        try:
            refused = point.refused or self._load(plan, point)
            if refused is not None:
                status, message = refused
            else:
                self._trying(plan, point.settings)
                self._set(plan.hook, point.settings)
                begin = time.perf_counter()
                message = bench.screen()
                validation_ms = (time.perf_counter() - begin) * 1000.0
                if message is not None:
                    status = "correctness"
                else:
                    readings, clock = bench.time()
        except Exception as error:
            status, message = classify(error)
            poisoned = error if isinstance(error, Hung) or not self._alive() else None
        event = {
            "event": "point",
            "hook": plan.hook["function"],
            "call": plan.call["id"],
            "settings": point.settings,
            "status": status,
            "us": [round(us, 3) for us in readings] if status == "correct" else [],
            "median_us": round(median(readings), 3) if readings and status == "correct" else None,
            "clock": clock,
            **point.facts(),
        }
        if message is not None:
            event["message"] = message
        self._tell(plan, point, event, validation_ms)
        if poisoned is not None:
            raise Restart from poisoned

    def _tell(self, plan: Plan, point: Point, event: dict, validation_ms: float = 0.0) -> None:
        point.event = event
        emit(event)
        self.progress.step()
        self.results.add(result_of(plan.hook.get("kernel") or "", event, validation_ms))

    def _load(self, plan: Plan, point: Point) -> tuple[str, str] | None:
        """Load the point's kernels and read what the compiler made of them. (status, message) when
        the point is dropped."""
        named = plan.hook.get("kernel")
        everything = named not in [name for name, _, _ in point.recording.launches]
        for name, kernel, job in point.recording.launches:
            if job is not None:
                outcome = self.pool.outcomes[job.identity]
                point.compile_ms += outcome.ms
                if not outcome.ok:
                    return outcome.status, outcome.message
                begin = time.perf_counter()
                kernel = load_kernel(job)
                if outcome.ms == 0.0:  # no worker did it
                    point.compile_ms += (time.perf_counter() - begin) * 1000.0
            if kernel is None:
                continue
            if everything or name == named:
                self._note(point, kernel)  # the shared memory of a kernel that does not fit, too
                kernel._init_handles()
                self._note(point, kernel)
            else:
                kernel._init_handles()
        is_original = not point.settings
        too_many = self.max_spills is not None and (point.spills or 0) > self.max_spills
        if too_many and not is_original:
            return "constraints", f"The kernel spills {point.spills}, limit: {self.max_spills}"
        return None

    @staticmethod
    def _note(point: Point, kernel: Any) -> None:
        """The worst of the hook's kernels, where there are several."""
        for field_name, value in (
            ("registers", getattr(kernel, "n_regs", None)),
            ("spills", getattr(kernel, "n_spills", None)),
            ("shared_bytes", getattr(kernel.metadata, "shared", None)),
        ):
            if value is not None:
                setattr(point, field_name, max(getattr(point, field_name) or 0, int(value)))

    # ------------------------------------------------------------------------------- telling

    def _trying(self, plan: Plan, settings: dict) -> None:
        emit(
            {
                "event": "trying",
                "hook": plan.hook["function"],
                "call": plan.call["id"],
                "settings": settings,
            }
        )

    def _not_measured(self, plan: Plan, points: list[Point], reason: str) -> None:
        if points:
            emit(
                {
                    "event": "not_measured",
                    "hook": plan.hook["function"],
                    "call": plan.call["id"],
                    "settings": [p.settings for p in points],
                    "reason": reason,
                }
            )

    def _alive(self) -> bool:
        return device_alive(self.device)

    def _stop_if_lost(self) -> None:
        if not self._alive():
            raise Restart


class Bench:
    """The call of one plan, ready to be screened and timed under whatever settings are set."""

    def __init__(self, sweep: Sweep, plan: Plan):
        self.sweep = sweep
        self.clock = sweep.clock
        self.which = plan.hook.get("pass", "full")
        cell = Cell(plan.call, [sweep.side], sweep.seed, sweep.device, sweep.active)
        cell.learn_modified([self.which])
        cell.watch_leaks([self.which], allocated_bytes(sweep.device))
        self.cell = cell
        self.reference = Reference(cell.run(0, self.which))
        self.step = cell.step(0, self.which)
        self.spin = SpinLength()
        calibrate(self.clock, self.spin, [self.step], warmups=2)
        self.held = True
        self.best_us = float("inf")

    def screen(self) -> str | None:
        """The first launch under the present settings: does it end, and with the right results?"""
        prepare, call = self.step
        prepared = prepare()
        self.clock.wait(LAUNCH_LIMIT_S)
        with poisoned():  # what is left unwritten must not hold the run before's results
            result = call(prepared)
        self.clock.wait(LAUNCH_LIMIT_S)
        return self.reference.mismatch(_flat(result))

    def time(self) -> tuple[list[float], str]:
        """Samples of the present settings. A point that the first two show to be hopeless gets no
        more."""
        # With the screen, three runs that do not count; the spin is set anew, for host code may do
        # more under other settings, and a hiccup at one point must not slow all that follow.
        self.spin = SpinLength()
        calibrate(self.clock, self.spin, [self.step], warmups=1)
        readings = self._samples(min(SCREENING_SAMPLES, self.sweep.samples))
        if median(readings) <= HOPELESS * self.best_us:
            readings += self._samples(self.sweep.samples - len(readings))
        self.best_us = min(self.best_us, median(readings))
        return readings, self.clock.name if self.held else "kernels"

    def _samples(self, count: int) -> list[float]:
        if count <= 0:
            return []
        if self.held:
            try:
                return [take_held(self.clock, self.spin, *self.step).us for _ in range(count)]
            except NotHeld:
                self.held = False
        return kernel_times(self.clock, [self.step] * count)


def _flat(value: Any) -> list:
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _flat(item)]
    return []


def run(job: dict) -> None:
    Sweep(job, time.monotonic()).run()


if __name__ == "__main__":
    main(run)
