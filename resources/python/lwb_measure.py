"""Op time of captured calls, all sides interleaved sample by sample. One process is one round.
The job and the events are described in README.md; nothing is decided here."""

from __future__ import annotations

import sys
import time

from typing import Any

from lwb_cell import ActiveSide
from lwb_cell import Cell
from lwb_cell import allocated_bytes
from lwb_cell import device_alive
from lwb_cell import free_memory
from lwb_cell import share_tuning
from lwb_clock import NotHeld
from lwb_clock import Quiet
from lwb_clock import Reading
from lwb_clock import SpinLength
from lwb_clock import calibrate
from lwb_clock import kernel_times
from lwb_clock import make_clock
from lwb_clock import rows_in_budget
from lwb_clock import sample_order
from lwb_clock import settle_interpreter
from lwb_clock import take_held
from lwb_common import JobFailure
from lwb_common import Side
from lwb_common import default_device
from lwb_common import emit
from lwb_common import failure_of
from lwb_common import has_backward
from lwb_common import load_side
from lwb_common import main
from lwb_nvml import Nvml

WALL_SAMPLES = 5
COPY_SAMPLES = 10
CLOCK_WARM_UP_S = 0.3


class ContextLost(Exception):
    """The CUDA context is unusable after an error; nothing further can be measured."""


class Measurement:
    def __init__(self, job: dict, begun: float):
        self.job = job
        self.begun = begun
        self.device = job.get("device") or default_device()
        self.samples = int(job.get("samples", 20))
        self.round = int(job.get("round", 0))
        self.seed = int(job.get("seed", 1))
        self.budget_s = float(job.get("budget_s") or 0.0) or float("inf")  # 0: no bound
        self.passes = list(job.get("passes", ["forward", "backward"]))
        self.active = ActiveSide()
        self.sides: list[Side] = []
        self.clock: Any = None

    # ------------------------------------------------------------------------------- whole job

    def run(self) -> None:
        nvml = Nvml()
        self._open_device()
        self.sides = [load_side(description) for description in self.job["sides"]]
        if not self.sides:
            raise JobFailure("bad_job", "The job names no sides.")
        self.clock = make_clock(self.device)
        self._select(nvml)
        emit({"event": "gpu", "when": "start", **nvml.snapshot()})
        settle_interpreter()
        self.clock.warm_up(CLOCK_WARM_UP_S)
        with Quiet():
            for size in self.job.get("copy_sizes") or []:
                self._copy_rate(int(size))
        calls = list(self.job.get("calls", []))
        for index, call in enumerate(calls):
            try:
                self._call(call)
            except ContextLost as lost:
                for later in calls[index + 1 :]:
                    self._not_measured(later, self.passes, "context_lost")
                raise JobFailure("script_raised", str(lost)) from lost
        self.active.switch(None)
        emit({"event": "gpu", "when": "end", **nvml.snapshot()})

    def left_s(self) -> float:
        return self.budget_s - (time.monotonic() - self.begun)

    def _open_device(self) -> None:
        import torch

        if torch.device(self.device).type == "cuda" and not torch.cuda.is_available():
            raise JobFailure("no_gpu", "torch finds no CUDA device in this process.")

    def _select(self, nvml: Nvml) -> None:
        import torch

        if torch.device(self.device).type == "cuda":
            properties = torch.cuda.get_device_properties(torch.device(self.device))
            nvml.select(getattr(properties, "uuid", ""))

    def _not_measured(self, call: dict, passes: list[str], reason: str) -> None:
        for which in passes:
            emit({"event": "not_measured", "call": call["id"], "pass": which, "reason": reason})

    def _failed(self, call: dict, which: str | None, side: int | None, error: Exception) -> None:
        emit(
            {
                "event": "measure_failed",
                "call": call["id"],
                "pass": which,
                "side": None if side is None else self.sides[side].name,
                **failure_of(error),
            }
        )
        if not device_alive(self.device):
            raise ContextLost(
                f"The CUDA context is lost after call '{call['id']}' failed: {error}"
            ) from None

    # -------------------------------------------------------------------------------- one call

    def _call(self, call: dict) -> None:
        runnable = [p for p in self.passes if p == "forward" or has_backward(call)]
        self._not_measured(call, [p for p in self.passes if p not in runnable], "no_backward")
        if self.left_s() <= 0.0:
            self._not_measured(call, runnable, "budget")
            return
        free_memory(self.device)
        done: list[str] = []
        cell = None
        try:
            cell = self._ready(call, runnable)
            if cell is None:
                return
            runnable_now = [p for p in runnable if cell.has(p)]
            self._not_measured(call, [p for p in runnable if p not in runnable_now], "no_backward")
            with Quiet():
                cell.watch_leaks(runnable_now, allocated_bytes(self.device))
                for which in runnable_now:
                    done.append(which)
                    self._pass(cell, which)
                if self.job.get("memory"):
                    for side in range(len(self.sides)):
                        self._memory(cell, side)
        except ContextLost:
            self._not_measured(call, [p for p in runnable if p not in done], "context_lost")
            raise
        finally:
            del cell

    def _ready(self, call: dict, passes: list[str]) -> Cell | None:
        """The cell with every side tried once in each pass; None when one of them fails, for then
        there is nothing to compare."""
        side = None
        which = None
        try:
            cell = Cell(call, self.sides, self.seed, self.device, self.active)
            for side in range(len(self.sides)):
                for which in passes:
                    if cell.has(which):
                        cell.run(side, which)
                        cell.snapshot.restore()
                        self._share_tuning(call, side)
            side = which = None
            cell.learn_modified(passes)
            return cell
        except Exception as error:
            self._failed(call, which, side, error)
            for name in passes:
                if name != which:
                    self._not_measured(call, [name], "failed" if which is None else "side_failed")
            return None

    def _share_tuning(self, call: dict, side: int) -> None:
        if side > 0:
            return
        self.active.switch(None)  # so that modules imported late are in the sides' sets
        for later in self.sides[1:]:
            kernels = share_tuning(self.sides[0], later)
            if kernels:
                names = {"call": call["id"], "side": later.name, "kernels": kernels}
                emit({"event": "tuning_shared", **names})

    def _pass(self, cell: Cell, which: str) -> None:
        call = cell.call
        sides = range(len(self.sides))
        if self.left_s() <= 0.0:
            self._not_measured(call, [which], "budget")
            return
        side = None
        try:
            steps = [cell.step(index, which) for index in sides]
            spin = SpinLength()
            row_s = calibrate(self.clock, spin, steps)
            rows = rows_in_budget(self.samples, row_s, self.left_s())
            if rows == 0:
                self._not_measured(call, [which], "budget")
                return
            order = sample_order(len(steps), rows, self.round)
            readings: list[list[Reading]] = [[] for _ in sides]
            clock = self.clock.name
            try:
                for side in order:
                    readings[side].append(take_held(self.clock, spin, *steps[side]))
            except NotHeld:
                # One clock for all sides: a held time and a sum of kernels do not compare.
                clock = "kernels"
                readings = [[] for _ in sides]
                times = kernel_times(self.clock, [steps[side] for side in order])
                for side, us in zip(order, times):
                    readings[side].append(Reading(us=us, held=False))
            walls: list[list[float]] = [[] for _ in sides]
            for side in sample_order(len(steps), min(WALL_SAMPLES, rows), self.round):
                walls[side].append(self.clock.wall(*steps[side]))
        except Exception as error:
            self._failed(call, which, side, error)
            return
        for side in sides:
            self._emit_samples(call, which, side, clock, readings[side], walls[side])

    def _emit_samples(
        self,
        call: dict,
        which: str,
        side: int,
        clock: str,
        readings: list[Reading],
        walls: list[float],
    ) -> None:
        emit(
            {
                "event": "samples",
                "call": call["id"],
                "pass": which,
                "side": self.sides[side].name,
                "round": self.round,
                "us": [round(r.us, 3) for r in readings],
                "held": clock == "events",
                "clock": clock,
                "sm_mhz": [round(r.sm_mhz, 1) for r in readings if r.sm_mhz is not None],
                "enqueue_us": [round(r.enqueue_us, 1) for r in readings],
                "spin_us": [round(r.spin_us, 1) for r in readings],
                "tail_us": [round(r.tail_us, 1) for r in readings],
                "wall_us": [round(us, 1) for us in walls],
            }
        )

    # ------------------------------------------------------------------------- memory, copy rate

    def _memory(self, cell: Cell, side: int) -> None:
        """Peak above the inputs (incoming gradients count as inputs) of forward plus backward."""
        import torch

        if torch.device(self.device).type != "cuda":
            return
        which = "full" if cell.has("full") else "forward"
        try:
            cell.run(side, which)  # what stays allocated after a first run is not this run's
            prepare, call = cell.step(side, which)
            prepare()
            torch.cuda.synchronize()
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            result = call(None)
            torch.cuda.synchronize()
            peak = torch.cuda.max_memory_allocated() - before
            del result
        except Exception as error:
            self._failed(cell.call, "memory", side, error)
            return
        emit(
            {
                "event": "memory",
                "call": cell.call["id"],
                "side": self.sides[side].name,
                "peak_bytes": int(peak),
            }
        )

    def _copy_rate(self, size: int) -> None:
        """torch's own copy of size/2 bytes, which reads and writes `size` together."""
        import torch

        if self.left_s() <= 0.0:
            emit({"event": "copy_rate", "bytes": size, "us": [], "message": "budget"})
            return
        try:
            words = max(1, size // 2 // 4)
            source = torch.randint(0, 2**31 - 1, (words,), dtype=torch.int32, device=self.device)
            target = torch.empty_like(source)
            step = (lambda: None, lambda _: target.copy_(source))
            spin = SpinLength()
            calibrate(self.clock, spin, [step])
            us = [take_held(self.clock, spin, *step).us for _ in range(COPY_SAMPLES)]
            emit(
                {
                    "event": "copy_rate",
                    "bytes": words * 8,
                    "asked_bytes": size,
                    "us": [round(value, 3) for value in us],
                    "clock": self.clock.name,
                }
            )
        except Exception as error:
            message = failure_of(error)["message"]
            emit({"event": "copy_rate", "bytes": size, "us": [], "message": message})


def run(job: dict) -> None:
    Measurement(job, time.monotonic()).run()


if __name__ == "__main__":
    if sys.flags.optimize:
        print("lwb_measure: asserts of the package are off (-O)", file=sys.stderr)
    main(run)
