"""Tuning results in the T4 format of the autotuning community (results-schema 1.0.0, as Kernel
Tuner writes it): other tools read it. Times are milliseconds."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time

from datetime import datetime
from datetime import timezone
from typing import Any

SCHEMA_VERSION = "1.0.0"
SAVE_EVERY_S = 10.0


def result_of(kernel: str, point: dict, validation_ms: float = 0.0) -> dict:
    """One entry of `results` from a `point` event. The call is part of the configuration, for a
    file holds the points of many calls."""
    measurements = []
    if point.get("median_us") is not None:
        measurements.append({"name": "time", "value": point["median_us"] / 1000.0, "unit": "ms"})
    for name, unit in (("registers", ""), ("spills", ""), ("shared_bytes", "B")):
        if point.get(name) is not None:
            measurements.append({"name": name, "value": point[name], "unit": unit})
    return {
        "timestamp": datetime.now(timezone.utc).isoformat(sep=" "),
        "configuration": {
            "kernel": kernel,
            "hook": point["hook"],
            "call": point["call"],
            **point["settings"],
        },
        "times": {
            "compilation_time": point.get("compile_ms") or 0.0,
            "runtimes": [us / 1000.0 for us in point.get("us") or []],
            "framework": 0.0,
            "search_algorithm": 0.0,
            "validation": validation_ms,
        },
        "invalidity": point["status"],
        "correctness": 1 if point["status"] == "correct" else 0,
        "measurements": measurements,
        "objectives": ["time"],
    }


class ResultsFile:
    """Appends results to a T4 file: what is there stays, the file is replaced as a whole so that
    a reader (or a kill) never sees half of one. A file that is not T4 is left alone."""

    def __init__(self, path: str | None, device_query: dict[str, Any] | None = None):
        self.path = path
        self.added: list[dict] = []
        self.saved = time.monotonic()
        self.document: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "metadata": {
                "hardware": {"operating_system": platform.platform()},
                "environment": {"device_query": device_query or {}, "requirements": []},
            },
            "results": [],
        }
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            if not isinstance(found, dict) or not isinstance(found.get("results"), list):
                raise ValueError(f"{path} is not a T4 results file: it has no list 'results'.")
            self.document = {**self.document, **found}

    def add(self, result: dict) -> None:
        if self.path:
            self.added.append(result)

    def save(self, seldom: bool = False) -> None:
        """Write what was added; with `seldom` only when the last time was a while ago, because
        writing takes from the time of the GPU."""
        if not self.path or not self.added:
            return
        if seldom and time.monotonic() - self.saved < SAVE_EVERY_S:
            return
        self.saved = time.monotonic()
        self.document["results"] += self.added
        self.added = []
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        partial = f"{self.path}.{os.getpid()}.partial"
        try:
            with open(partial, "w", encoding="utf-8") as file:
                # A result a line: to be read by people, and far faster than json's own indenting.
                rest = {key: value for key, value in self.document.items() if key != "results"}
                lines = ",\n".join(json.dumps(result) for result in self.document["results"])
                file.write(f'{json.dumps(rest)[:-1]}, "results": [\n{lines}\n]}}\n')
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial)
