"""How long a call takes on the GPU, and nothing else: the L2 emptied, the stream held by a spin
kernel while the host enqueues, an event pair around the call. Shared by lwb_measure and lwb_sweep.

The parts that only count and order take a clock object, so that the tests drive them with a
simulated one. All times are microseconds (`_us`) unless a name says otherwise."""

from __future__ import annotations

import gc
import time

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# The spin of a held sample, in µs. The host needs tens to hundreds of µs to enqueue a call; a call
# that 50 ms do not hide synchronizes inside (or launches more than the queue takes).
SPIN_LEAST_US = 40.0
SPIN_MARGIN_US = 20.0
SPIN_MOST_US = 50_000.0
# First guess, before anything is known of a call.
SPIN_FIRST_US = 1_000.0
# An L2 flush writes at least this much, whatever the device says of its L2.
FLUSH_LEAST_BYTES = 128 * 1024 * 1024


class NotHeld(Exception):
    """No spin was long enough: the call waits for the device before it returns."""


class Hung(Exception):
    """Launched work did not end in the time given."""


@dataclass
class Reading:
    """One timed run of a call. `sm_mhz` is None where no spin gives it surely; `tail_us`
    is the time for which the device stayed busy after the end event (work on another stream)."""

    us: float
    held: bool
    enqueue_us: float = 0.0
    spin_us: float = 0.0
    sm_mhz: float | None = None
    tail_us: float = 0.0


# ------------------------------------------------------------------------------------ ordering


def sample_order(sides: int, samples: int, round_index: int) -> list[int]:
    """Which side each sample belongs to: A B B A A B B A … for two; for n, a row of all sides and
    then the row reversed. The starting side moves on with each round. Any prefix of whole rows
    holds each side equally often."""
    row = [(i + round_index) % sides for i in range(sides)]
    order: list[int] = []
    for index in range(samples):
        order += row if index % 2 == 0 else row[::-1]
    return order


def rows_in_budget(samples: int, row_cost_s: float, left_s: float, fewest: int = 5) -> int:
    """How many rows (one sample of each side) the time left allows: `samples`, fewer, or 0 when
    not even `fewest` fit. So a call gets every side or none."""
    fewest = min(fewest, samples)
    if row_cost_s <= 0.0 or left_s == float("inf"):
        return samples if left_s > 0.0 else 0
    fitting = int(left_s / row_cost_s)
    return 0 if fitting < fewest else min(samples, fitting)


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2.0


# ------------------------------------------------------------------------------- length of spin


class SpinLength:
    """How long to hold the stream for one call and pass, the same for all sides.

    A sample that was not held is taken again with the spin doubled; when that keeps happening
    (twice within ten samples) the base itself is doubled, a single hiccup of the host does not
    lengthen all later samples."""

    def __init__(self, base_us: float = SPIN_FIRST_US, most_us: float = SPIN_MOST_US):
        self.most_us = most_us
        self.base_us = min(max(base_us, SPIN_LEAST_US), most_us)
        self._strikes: list[int] = []
        self._taken = 0

    @staticmethod
    def needed(enqueue_us: float) -> float:
        return 2.0 * enqueue_us + SPIN_MARGIN_US

    def calibrate(self, enqueues_us: list[float]) -> None:
        """From the host's times for enqueueing the call, all sides together."""
        if enqueues_us:
            wanted = self.needed(max(enqueues_us))
            self.base_us = min(max(wanted, SPIN_LEAST_US), self.most_us)

    def attempts(self) -> list[float]:
        """The spins to try for one sample, shortest first; the last one is the bound."""
        spins = [self.base_us]
        while spins[-1] < self.most_us:
            spins.append(min(2.0 * spins[-1], self.most_us))
        return spins

    def succeeded(self, attempt: int) -> None:
        self._taken += 1
        if attempt == 0:
            return
        self._strikes = [t for t in self._strikes if self._taken - t < 10] + [self._taken]
        if len(self._strikes) >= 2:
            self.base_us = min(2.0 * self.base_us, self.most_us)
            self._strikes = []


def take_held(
    clock: Any, spin: SpinLength, prepare: Callable[[], Any], call: Callable[[Any], Any]
) -> Reading:
    """One sample that counts. `prepare` runs outside the timed region before every attempt and its
    result goes to `call`. Raises NotHeld when the longest spin did not hide the enqueueing."""
    for attempt, spin_us in enumerate(spin.attempts()):
        reading = clock.read(prepare, call, spin_us)
        if reading.held or not clock.holds:
            spin.succeeded(attempt)
            return reading
    raise NotHeld(
        f"The call had not been enqueued when a spin of {spin.most_us / 1000.0:.0f} ms ended."
    )


def calibrate(
    clock: Any,
    spin: SpinLength,
    steps: list[tuple[Callable[[], Any], Callable[[Any], Any]]],
    warmups: int = 3,
) -> float:
    """Uncounted runs of every side's (prepare, call), which also set the spin. Returns the host
    seconds that one row (one run of each side) took at the end.

    The first run of each compiles and tunes, so the spin is set by the runs after it. A spin long
    enough to cover the call hides the time the host waits for the device, which is not enqueueing;
    so the least of the enqueue times of each side is taken."""
    for prepare, call in steps:
        clock.read(prepare, call, SPIN_LEAST_US)
    least = [float("inf")] * len(steps)
    row_s = 0.0
    for _ in range(max(1, warmups)):
        begin = time.perf_counter()
        for index, (prepare, call) in enumerate(steps):
            reading = clock.read(prepare, call, spin.base_us)
            least[index] = min(least[index], reading.enqueue_us)
        row_s = time.perf_counter() - begin
    spin.calibrate(least)
    return row_s


# --------------------------------------------------------------------------------------- clocks


class HostClock:
    """The clock of a machine without a GPU: host time of the call, reported as `host`."""

    name = "host"
    holds = False

    def read(
        self, prepare: Callable[[], Any], call: Callable[[Any], Any], spin_us: float
    ) -> Reading:
        prepared = prepare()
        begin = time.perf_counter()
        result = call(prepared)
        us = (time.perf_counter() - begin) * 1e6
        del result, prepared
        return Reading(us=us, held=False, enqueue_us=us)

    def wall(self, prepare: Callable[[], Any], call: Callable[[Any], Any]) -> float:
        return self.read(prepare, call, 0.0).us

    def warm_up(self, seconds: float) -> None:
        pass

    def wait(self, limit_s: float) -> None:
        pass


class EventClock:
    """Held stream, cold L2, event pair. `cuda` is torch.cuda (or, in a test, its simulation)."""

    name = "events"
    holds = True

    def __init__(self, cuda: Any, flush: Callable[[], Any], mhz: float = 1_500.0, now: Any = None):
        self.cuda = cuda
        self.flush = flush
        self.mhz = mhz
        self.now = now or time.perf_counter
        self.before, self.start, self.end = (cuda.Event(enable_timing=True) for _ in range(3))
        self.spin_overhead_us = 0.0
        self._settle()

    def _settle(self) -> None:
        """What the event pair adds to a spin, and the SM clock, so that spins come out as asked
        for. Two lengths separate the two."""
        readings = []
        for cycles in (20_000, 20_000, 220_000, 20_000, 220_000, 20_000, 220_000):
            self.cuda._sleep(200_000)  # hides the launches of what is measured
            self.before.record()
            self.cuda._sleep(cycles)
            self.start.record()
            self.start.synchronize()
            readings.append((cycles, self.before.elapsed_time(self.start) * 1000.0))
        short = median([us for cycles, us in readings[1:] if cycles == 20_000])
        long = median([us for cycles, us in readings[1:] if cycles == 220_000])
        if long > short:
            self.mhz = 200_000.0 / (long - short)
            self.spin_overhead_us = max(0.0, short - 20_000.0 / self.mhz)

    def read(
        self, prepare: Callable[[], Any], call: Callable[[Any], Any], spin_us: float
    ) -> Reading:
        prepared = prepare()
        cycles = max(1, int(spin_us * self.mhz))
        self.flush()
        self.before.record()
        self.cuda._sleep(cycles)
        # Where the device had caught up with the host, a launch gap may be in the spin's time.
        gapless = not self.before.query()
        self.start.record()
        begin = self.now()
        result = call(prepared)
        self.end.record()
        enqueue_us = (self.now() - begin) * 1e6
        held = not self.start.query()
        self.end.synchronize()
        ended = self.now()
        self.cuda.synchronize()
        tail_us = (self.now() - ended) * 1e6
        # Freed only now, and before the next sample begins: every sample, of whichever side, finds
        # the caching allocator in the same state and so gets the same addresses.
        del result, prepared
        took_us = self.before.elapsed_time(self.start) * 1000.0 - self.spin_overhead_us
        sm_mhz = cycles / took_us if gapless and took_us > 0.0 else None
        if sm_mhz is not None and 100.0 < sm_mhz < 5000.0:
            self.mhz = sm_mhz
        return Reading(
            us=self.start.elapsed_time(self.end) * 1000.0,
            held=held,
            enqueue_us=enqueue_us,
            spin_us=took_us,
            sm_mhz=sm_mhz,
            tail_us=tail_us,
        )

    def wall(self, prepare: Callable[[], Any], call: Callable[[Any], Any]) -> float:
        """Host time of one call from idle device to idle device, L2 as it is."""
        prepared = prepare()
        self.cuda.synchronize()
        begin = self.now()
        result = call(prepared)
        self.cuda.synchronize()
        us = (self.now() - begin) * 1e6
        del result, prepared
        return us

    def warm_up(self, seconds: float) -> None:
        """Memory traffic until the clocks have left idle."""
        until = self.now() + seconds
        while self.now() < until:
            for _ in range(8):
                self.flush()
            self.cuda.synchronize()

    def wait(self, limit_s: float) -> None:
        """Wait for all enqueued work; raise Hung when it does not end in time. The context is lost
        then: only ending the process stops the kernel."""
        self.end.record()
        until = self.now() + limit_s
        while not self.end.query():
            if self.now() > until:
                raise Hung(f"The launched work did not end within {limit_s:g} s.")
            time.sleep(0.00005)


def make_clock(device: str) -> Any:
    """The clock of a device. On CUDA it holds a flush buffer of twice the L2 (at least 128 MiB)."""
    import torch

    if torch.device(device).type != "cuda":
        return HostClock()
    properties = torch.cuda.get_device_properties(torch.device(device))
    l2_bytes = int(getattr(properties, "L2_cache_size", 0) or 0)
    size = max(2 * l2_bytes, FLUSH_LEAST_BYTES)
    buffer = torch.empty(size // 4, dtype=torch.int32, device=device)
    clock_khz = float(getattr(properties, "clock_rate", 0) or 0)
    return EventClock(torch.cuda, lambda: buffer.fill_(1), clock_khz / 1000.0 or 1_500.0)


# ---------------------------------------------------------- summed kernel time, by the profiler

MARKER = "spin_kernel"  # what torch.cuda._sleep launches


def sums_between_markers(records: list[tuple[str, float, float]]) -> list[float]:
    """Device time between the 1st and 2nd, 3rd and 4th, … marker, from (name, start, duration) of
    every kernel, copy and fill. What stands outside such a pair (restoring, flush) is not the
    call's."""
    sums: list[float] = []
    inside = False
    for name, _, duration in sorted(records, key=lambda record: record[1]):
        if MARKER in name:
            inside = not inside
            if inside:
                sums.append(0.0)
        elif inside:
            sums[-1] += duration
    return sums


def kernel_times(
    clock: EventClock, steps: list[tuple[Callable[[], Any], Callable[[Any], Any]]]
) -> list[float]:
    """The summed device time of each step's call, L2 flushed before each, for calls that cannot be
    held. Gaps between kernels are not in it."""
    import torch

    from torch.autograd import DeviceType

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for prepare, call in steps:
            prepared = prepare()
            clock.flush()
            clock.cuda.synchronize()
            clock.cuda._sleep(1_000)
            result = call(prepared)
            clock.cuda._sleep(1_000)
            clock.cuda.synchronize()
            del result, prepared
    records = [
        (event.name, float(event.time_range.start), float(event.time_range.elapsed_us()))
        for event in profile.events()
        if event.device_type == DeviceType.CUDA and not getattr(event, "is_user_annotation", False)
    ]
    sums = sums_between_markers(records)
    if len(sums) != len(steps):
        raise RuntimeError(
            f"torch.profiler recorded {len(sums)} of {len(steps)} calls: "
            "is another CUPTI client attached to the process?"
        )
    return sums


# ------------------------------------------------------------------------------ quiet interpreter


def settle_interpreter() -> None:
    """Take what is loaded by now out of all later collections, which makes those fast."""
    gc.collect()
    gc.freeze()


class Quiet:
    """No garbage collection while something is timed."""

    def __enter__(self) -> Quiet:
        self._was_enabled = gc.isenabled()
        gc.collect()
        gc.disable()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._was_enabled:
            gc.enable()
