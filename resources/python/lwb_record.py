"""Runs host code with its Triton launches written down instead of executed, to learn which
compilations a setting needs before anything is launched."""

from __future__ import annotations

import contextlib

from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from lwb_compile_pool import CompileJob


class LaunchRefused(Exception):
    """Triton refused the launch before compiling: unknown keyword, odd number of warps, …"""


class _NotTuned(Exception):
    pass


@dataclass
class Recording:
    """`launches`: (kernel name, compiled kernel or None, job or None), in launch order. A launch
    by an autotuner that has not tuned for its key is not known beforehand and not listed."""

    launches: list[tuple[str, Any, CompileJob | None]] = field(default_factory=list)
    _work: list[tuple | None] = field(default_factory=list)

    def add(self, name: str, kernel: Any, job: CompileJob | None, grid: Any, given: list) -> None:
        self.launches.append((name, kernel, job))
        scalars = tuple((type(v).__name__, v) for v in given if isinstance(v, (bool, int, float, str)))
        what = job.identity if job is not None else id(kernel) if kernel is not None else None
        known = what is not None and not callable(grid)
        self._work.append((name, what, tuple(grid), scalars) if known else None)

    def work(self) -> tuple | None:
        """Equal for two recordings that do the same on the device: the same kernels with the same
        grids and numbers. None when that is not known."""
        return tuple(self._work) if self._work and None not in self._work else None

    def jobs(self) -> list[CompileJob]:
        return [job for _, _, job in self.launches if job is not None]


def _name(kernel: Any) -> str:
    for _ in range(8):
        name = getattr(kernel, "__name__", None)
        if name:
            return name
        kernel = getattr(kernel, "fn", None)
    return "?"


class Recorder:
    """Replaces `run` of the jit classes while active. Backward host code runs on autograd's own
    thread, so this is global and one recording runs at a time."""

    def __init__(self) -> None:
        self.current: Recording | None = None
        self._captured: CompileJob | None = None

    def record(self, run: Callable[[], Any]) -> Recording:
        self.current = Recording()
        with self._patched():
            run()
        recording, self.current = self.current, None
        return recording

    @contextlib.contextmanager
    def _patched(self) -> Iterator[None]:
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        changes = [(JITFunction, "run", self._compiled_run(JITFunction.run))]
        if hasattr(JITFunction, "_do_compile"):
            changes.append((JITFunction, "_do_compile", self._capture()))
        changes.append((Autotuner, "run", self._tuned_run(Autotuner.run)))
        changes.append((Autotuner, "_bench", _refuse_to_tune))
        with contextlib.suppress(Exception):  # needs NumPy, which a GPU machine may lack
            from triton.runtime.interpreter import InterpretedFunction

            changes.append((InterpretedFunction, "run", self._interpreted_run()))
        before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
        try:
            for owner, name, replacement in changes:
                setattr(owner, name, replacement)
            yield
        finally:
            for owner, name, original in before:
                setattr(owner, name, original)

    def _compiled_run(self, original: Callable) -> Callable:
        recorder = self

        def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            recorder._captured = None
            try:
                # As a warm-up: bound and specialized by Triton itself, nothing launched.
                kernel = original(self, *args, grid=grid, warmup=True, **kwargs)
            except Exception as error:
                raise LaunchRefused(f"{type(error).__name__}: {error}") from error
            given = [*args, *(v for _, v in sorted(kwargs.items()))]
            recorder.current.add(_name(self), kernel, recorder._captured, grid, given)
            return kernel

        return run

    def _capture(self) -> Callable:
        recorder = self

        def _do_compile(
            self: Any,
            key: Any,
            signature: Any,
            device: Any,
            constexprs: Any,
            options: Any,
            attrs: Any,
            warmup: bool,
        ) -> None:
            recorder._captured = CompileJob(
                self, key, signature, device, constexprs, options, attrs
            )

        return _do_compile

    def _interpreted_run(self) -> Callable:
        recorder = self

        def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
            recorder.current.add(_name(self), None, None, grid, [])

        return run

    @staticmethod
    def _tuned_run(original: Callable) -> Callable:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(self, *args, **kwargs)
            except _NotTuned:
                return None

        return run


def _refuse_to_tune(*_args: Any, **_kwargs: Any) -> Any:
    # Timing unlaunched kernels would leave a random choice in the autotuner's cache.
    raise _NotTuned


def load_kernel(job: CompileJob) -> Any:
    """The compiled kernel in this process, from Triton's cache where a worker has put it there,
    stored where the launch will look for it."""
    kernel = job.function._do_compile(
        job.key, job.signature, job.device, job.constexprs, job.options, job.attrs, True
    )
    return kernel.result() if hasattr(kernel, "result") else kernel
