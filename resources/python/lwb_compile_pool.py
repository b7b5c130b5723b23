"""Compiles kernels in worker processes, so that sixteen cores work while one thread times.

Threads would share one interpreter lock, of which Triton's front end (Python) takes a large part,
and an aborting compiler would take the whole sweep with it. The workers are forked before CUDA is
initialized and never touch the device: they get the target from their parent, compile, and leave
the result in Triton's cache folder, where the parent's own `_do_compile` finds it. So a worker
only ever saves time; what is launched is what Triton itself would have launched."""

from __future__ import annotations

import contextlib
import ctypes
import io
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import time

from collections import deque
from dataclasses import dataclass
from typing import Any

PR_SET_PDEATHSIG = 1  # from linux/prctl.h
COMPILE_LIMIT_S = 60.0


@dataclass
class CompileJob:
    """One distinct compilation, as JITFunction._do_compile was asked for it."""

    function: Any  # the JITFunction
    key: Any
    signature: Any
    device: Any
    constexprs: Any
    options: Any
    attrs: Any

    @property
    def identity(self) -> tuple:
        return (id(self.function), self.key)


@dataclass
class Outcome:
    ok: bool
    ms: float = 0.0
    status: str = ""  # of a failure: compile or timeout
    message: str = ""


def kernel_registry(modules: dict[str, Any]) -> list[Any]:
    """Every JITFunction that the modules hold as a global, so that both sides of a fork can name
    it by its place in this list."""
    from triton.runtime.jit import JITFunction

    found: dict[int, Any] = {}
    for module in list(modules.values()):
        for value in list(getattr(module, "__dict__", {}).values()):
            for _ in range(8):  # inside autotune and heuristics
                if isinstance(value, JITFunction):
                    found[id(value)] = value
                    break
                value = value.__dict__.get("fn") if hasattr(value, "__dict__") else None
                if value is None:
                    break
    return list(found.values())


class _Pickler(pickle.Pickler):
    def __init__(self, file: Any, places: dict[int, int]):
        super().__init__(file)
        self.places = places

    def persistent_id(self, value: Any) -> int | None:
        return self.places.get(id(value))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, kernels: list[Any]):
        super().__init__(file)
        self.kernels = kernels

    def persistent_load(self, place: int) -> Any:
        return self.kernels[place]


class _Worker:
    def __init__(self, context: Any, kernels: list[Any]):
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_work, args=(theirs, kernels, os.getpid()), daemon=True
        )
        self.process.start()
        theirs.close()
        self.job: tuple | None = None
        self.since = 0.0


class CompilePool:
    """Submit jobs, then `poll` and look at `outcomes` (by job identity). Without workers (a count
    of 0, no fork on this platform) every submitted job counts as done at once, and the parent
    compiles it when it loads it."""

    def __init__(self, workers: int, kernels: list[Any], limit_s: float = COMPILE_LIMIT_S):
        self.kernels = kernels
        self.places = {id(kernel): place for place, kernel in enumerate(kernels)}
        self.limit_s = limit_s
        self.outcomes: dict[tuple, Outcome] = {}
        self.known: set[tuple] = set()
        self.waiting: deque[tuple[tuple, bytes]] = deque()
        self.workers: list[_Worker] = []
        if workers > 0 and kernels and "fork" in multiprocessing.get_all_start_methods():
            context = multiprocessing.get_context("fork")
            _warm_front_end()
            sys.stdout.flush()
            sys.stderr.flush()
            self.workers = [_Worker(context, kernels) for _ in range(workers)]

    def submit(self, job: CompileJob, target: Any) -> None:
        if job.identity in self.known:
            return
        self.known.add(job.identity)
        parcel = self._pack(job, target) if self.workers else None
        if parcel is None:
            self.outcomes[job.identity] = Outcome(ok=True)
            return
        self.waiting.append((job.identity, parcel))
        self._feed()

    def done(self, identity: tuple) -> bool:
        return identity in self.outcomes

    def poll(self, timeout_s: float) -> None:
        """Take what has finished, waiting at most this long for a first one."""
        busy = {worker.pipe: worker for worker in self.workers if worker.job is not None}
        if busy:
            for pipe in multiprocessing.connection.wait(list(busy), timeout_s):
                self._receive(busy[pipe])
        for worker in list(self.workers):
            if worker.job is not None and time.monotonic() - worker.since > self.limit_s:
                message = f"The compiler did not end within {self.limit_s:g} s."
                self._lose(worker, Outcome(ok=False, status="timeout", message=message))
        self._feed()
        if not self.workers:
            for identity, _ in self.waiting:
                self.outcomes[identity] = Outcome(ok=True)
            self.waiting.clear()

    def close(self) -> None:
        for worker in self.workers:
            _end(worker)
        self.workers = []

    # ------------------------------------------------------------------------------- inside

    def _pack(self, job: CompileJob, target: Any) -> bytes | None:
        """None when the job holds what cannot travel: the parent compiles that itself."""
        if id(job.function) not in self.places:
            return None
        buffer = io.BytesIO()
        parts = (job.function, job.signature, job.constexprs, job.attrs, job.options, target)
        try:
            _Pickler(buffer, self.places).dump(parts)
        except Exception:
            return None
        return buffer.getvalue()

    def _feed(self) -> None:
        for worker in list(self.workers):
            if worker.job is None and self.waiting:
                identity, parcel = self.waiting.popleft()
                worker.job, worker.since = identity, time.monotonic()
                try:
                    worker.pipe.send_bytes(parcel)
                except OSError:
                    self._lose(worker, _death(worker))

    def _receive(self, worker: _Worker) -> None:
        try:
            outcome = Outcome(**worker.pipe.recv())
        except (EOFError, OSError):
            self._lose(worker, _death(worker))
            return
        self.outcomes[worker.job] = outcome
        worker.job = None

    def _lose(self, worker: _Worker, outcome: Outcome) -> None:
        self.outcomes[worker.job] = outcome
        _end(worker)
        self.workers.remove(worker)


def _warm_front_end() -> None:
    """Triton hashes its whole installation once a process: done before the fork, the workers have
    the answer too."""
    with contextlib.suppress(Exception):
        import triton.backends.nvidia.compiler  # noqa: F401

        from triton.runtime.cache import triton_key

        triton_key()


def _death(worker: _Worker) -> Outcome:
    worker.process.join(1.0)
    code = worker.process.exitcode
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with {code}"
    return Outcome(ok=False, status="compile", message=f"The compiler's process {how}.")


def _end(worker: _Worker) -> None:
    with contextlib.suppress(Exception):
        worker.process.kill()
        worker.process.join(1.0)
        worker.pipe.close()


# ------------------------------------------------------------------------------- in the worker


class _NoDevice:
    """Answers what Triton's front end asks of a driver, without a driver."""

    def __init__(self, target: Any):
        self.target = target

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int = 0) -> int:
        return 0


def _work(pipe: Any, kernels: list[Any], parent: int) -> None:
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    import triton

    while True:
        try:
            parcel = pipe.recv_bytes()
        except (EOFError, OSError):
            os._exit(0)
        begin = time.perf_counter()
        answer: dict[str, Any] = {"ok": True}
        try:
            parts = _Unpickler(io.BytesIO(parcel), kernels).load()
            function, signature, constexprs, attrs, options, target = parts
            triton.runtime.driver.set_active(_NoDevice(target))
            source = triton.compiler.ASTSource(function, signature, constexprs, attrs)
            triton.compiler.compile(source, target=target, options=options.__dict__)
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
            answer = {"ok": False, "status": "compile", "message": text[-2000:]}
        answer["ms"] = (time.perf_counter() - begin) * 1000.0
        try:
            pipe.send(answer)
        except OSError:
            os._exit(0)
