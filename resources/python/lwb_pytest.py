"""A pytest plugin for the test gate: `python -m pytest -p lwb_pytest …` with this folder on
PYTHONPATH.

LWB_PYTEST_EVENTS      file to which events are appended, one JSON line each (README.md)
LWB_PYTEST_MODULE      module whose file and SHA-256 are reported as `imported`
LWB_PYTEST_TIMEOUT_S   seconds that one test may take; then every thread's traceback goes to
                       standard error, the test is reported as failed, and the process ends with
                       exit code 124 (a hang inside a driver cannot be interrupted any other way)
LWB_PYTEST_RESUME      1: tests that the events file knows already are not run again, whether they
                       ended or took the process with them
LWB_PYTEST_ONLY        file with a JSON list of test ids: no others are run
LWB_PYTEST_ONLY_DTYPE  run only tests whose parameters hold this torch dtype (`float32`): test ids
                       name dtypes as `dtype0`, so -k cannot select them
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import threading
import time

from typing import Any

import pytest

# Taken now: pytest imports plugins given by -p before it starts to capture descriptor 2.
_stderr = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")

_EXIT_TIMEOUT = 124
_MESSAGE_LIMIT = 4000  # characters of a failure's text


class Events:
    def __init__(self, path: str | None):
        self._file = open(path, "a", encoding="utf-8") if path else None
        self._lock = threading.Lock()

    def write(self, event: dict) -> None:
        if self._file is None:
            return
        with self._lock:
            self._file.write(json.dumps(event) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())


class Watchdog:
    """Ends the process when one test takes too long. A thread of its own, because a test that
    hangs in a C library never comes back to the interpreter's main loop to be told so."""

    def __init__(self, events: Events, limit_s: float):
        self.events = events
        self.limit_s = limit_s
        self._timer: threading.Timer | None = None

    def start(self, test: str) -> None:
        self.stop()
        if self.limit_s > 0:
            self._timer = threading.Timer(self.limit_s, self._expired, (test, time.monotonic()))
            self._timer.daemon = True
            self._timer.start()
            # Should even this timer's thread not get the interpreter lock, the C watchdog does.
            faulthandler.dump_traceback_later(self.limit_s + 10, exit=True, file=_stderr)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            faulthandler.cancel_dump_traceback_later()

    def _expired(self, test: str, started: float) -> None:
        seconds = time.monotonic() - started
        message = f"The test did not end within {self.limit_s:g} s; its process was stopped."
        self.events.write({"event": "test", "id": test, "outcome": "failed", "seconds": seconds,
                           "message": message, "timeout": True})  # fmt: skip
        _stderr.write(f"\n{test}: {message}\n")
        faulthandler.dump_traceback(file=_stderr, all_threads=True)
        _stderr.flush()
        os._exit(_EXIT_TIMEOUT)


class Plugin:
    def __init__(self, events: Events, limit_s: float, module: str | None, dtype: str | None):
        self.events = events
        self.watchdog = Watchdog(events, limit_s)
        self.module = module
        self.dtype = dtype
        self.known: set[str] = set()
        self.only: set[str] | None = None
        self.reported = False
        self.reports: dict[str, list[Any]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list) -> None:
        left_out = [item for item in items if not self._is_wanted(item)]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if self._is_wanted(item)]
        self.events.write({"event": "collected", "tests": len(items)})

    def _is_wanted(self, item: Any) -> bool:
        if item.nodeid in self.known or (self.only is not None and item.nodeid not in self.only):
            return False
        return not self.dtype or self._has_dtype(item)

    def _has_dtype(self, item: Any) -> bool:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        return any(str(value) == f"torch.{self.dtype}" for value in parameters.values())

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)  # the form that pytest 7 knows too
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        self.events.write({"event": "started", "id": item.nodeid})
        self.watchdog.start(item.nodeid)
        try:
            yield
        finally:
            self.watchdog.stop()
            self._finish(item.nodeid)
            self._report_module()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.reports.setdefault(report.nodeid, []).append(report)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.events.write({"event": "test", "id": report.nodeid or "collection", "outcome": "error",
                               "seconds": 0.0, "message": _text(report)})  # fmt: skip

    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> None:
        self._report_module()
        self.events.write({"event": "finished", "exit_code": int(exitstatus)})

    def _finish(self, test: str) -> None:
        reports = self.reports.pop(test, [])
        if not reports:
            return
        last_call = [r for r in reports if r.when == "setup"]
        start = reports.index(last_call[-1]) if last_call else 0  # a rerun: the last try counts
        outcome, message = outcome_of(reports[start:])
        seconds = sum(r.duration for r in reports[start:])
        self.events.write({"event": "test", "id": test, "outcome": outcome, "seconds": seconds,
                           "message": message})  # fmt: skip

    def _report_module(self) -> None:
        """Which file the tests really imported, once it is imported."""
        if self.module is None or self.reported:
            return
        found = sys.modules.get(self.module)
        file = getattr(found, "__file__", None)
        if file is None:
            return
        self.reported = True
        self.events.write({"event": "imported", "module": self.module, "file": os.path.realpath(file),
                           "sha256": _sha256(file)})  # fmt: skip


def known_tests(path: str | None) -> set[str]:
    """Tests that an earlier process of this run finished or started."""
    known: set[str] = set()
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                with contextlib.suppress(ValueError):  # the last line of a killed process
                    event = json.loads(line)
                    if event.get("event") in ("test", "started"):
                        known.add(event["id"])
    return known


def outcome_of(reports: list) -> tuple[str, str]:
    """One outcome for the phases of one test."""
    for report in reports:
        if report.when == "call":
            if hasattr(report, "wasxfail"):
                return ("xfailed" if report.skipped else "xpassed"), str(report.wasxfail)
            if report.failed:
                return "failed", _text(report)
    for report in reports:
        if report.failed:  # in setup or teardown
            return "error", _text(report)
        if report.skipped:
            if hasattr(report, "wasxfail"):
                return "xfailed", str(report.wasxfail)
            return "skipped", _text(report)
    if not any(report.when == "call" for report in reports):
        return "error", "The test interrupted pytest."  # KeyboardInterrupt, pytest.exit()
    return "passed", ""


def _text(report: Any) -> str:
    long = report.longrepr
    text = str(long[2]) if isinstance(long, tuple) else str(long or "")
    # Lone surrogates (bytes that were no UTF-8) are no JSON: the event would be lost to its reader.
    return text.encode("utf-8", "replace").decode("utf-8")[-_MESSAGE_LIMIT:]


def _sha256(path: str) -> str:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def pytest_configure(config: Any) -> None:
    if hasattr(config, "workerinput"):
        return  # a worker of pytest-xdist: its reports reach the main process
    module = os.environ.get("LWB_PYTEST_MODULE")
    events = Events(os.environ.get("LWB_PYTEST_EVENTS"))
    limit = float(os.environ.get("LWB_PYTEST_TIMEOUT_S") or 0)
    plugin = Plugin(events, limit, module, os.environ.get("LWB_PYTEST_ONLY_DTYPE"))
    if os.environ.get("LWB_PYTEST_ONLY"):
        with open(os.environ["LWB_PYTEST_ONLY"], encoding="utf-8") as file:
            plugin.only = set(json.load(file))
    if os.environ.get("LWB_PYTEST_RESUME") == "1":
        plugin.known = known_tests(os.environ.get("LWB_PYTEST_EVENTS"))
    config.pluginmanager.register(plugin, "lwb-gate")
