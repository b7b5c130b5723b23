"""The channel between a script and its caller: one JSON job in, JSON lines out, and how failures
are reported. The protocol is described in README.md.

Nothing here imports torch, so that a probe can still report why torch cannot be imported.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import math
import os
import sys
import threading
import traceback

from collections.abc import Callable
from typing import Any

_channel = None
_channel_lock = threading.Lock()


class JobFailure(Exception):
    """A failure with one of the kinds that README.md lists for the `fatal` event."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


class NotReplayable(JobFailure):
    """A call holds an argument that JSON cannot carry."""

    def __init__(self, message: str):
        super().__init__("bad_job", message)


def open_channel() -> None:
    """Keep the original standard output for events and send everything else printed to it, by
    Python or by a C library, to standard error. A second call does nothing."""
    global _channel
    if _channel is not None:
        return
    sys.stdout.flush()
    _channel = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    # A child that leaves by os._exit must not take a half written line along.
    os.register_at_fork(after_in_child=_forget_channel_in_child)


def _forget_channel_in_child() -> None:
    global _channel
    _channel = None


def emit(event: dict) -> None:
    """Write one event as one line. Numbers that JSON does not know (NaN, infinities) become null;
    what is not JSON (dtypes, devices, tuples, …) is written by `jsonify`."""
    emit_json(jsonify(event))


def emit_json(event: dict) -> None:
    """The same for an event, large ones above all, that holds nothing but JSON."""
    line = json.dumps(event, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    with _channel_lock:
        if _channel is None:
            return
        _channel.write(line + "\n")
        _channel.flush()


def read_job() -> dict:
    """The job document on standard input."""
    try:
        job = json.loads(sys.stdin.read())
    except ValueError as error:
        raise JobFailure("bad_job", f"The job on standard input is not JSON: {error}.") from error
    if not isinstance(job, dict):
        raise JobFailure("bad_job", "The job on standard input is not a JSON object.")
    return job


def main(run: Callable[[dict], None]) -> None:
    """Read the job, run it, end with `done` and exit code 0, or `fatal` and exit code 1."""
    open_channel()
    try:
        load_test_shim()
        run(read_job())
    except Exception as error:
        emit({"event": "fatal", **failure_of(error)})
        sys.stdout.flush()
        sys.stderr.flush()
        # Not sys.exit: a broken CUDA context can make the interpreter's teardown hang or crash.
        os._exit(1)
    emit({"event": "done"})
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(0)


def load_test_shim() -> None:
    """Import the file named by LWB_TEST_SHIM, which makes a machine without a GPU good enough for
    the tests. Not set outside of tests."""
    path = os.environ.get("LWB_TEST_SHIM")
    if path:
        import_file(path, "lwb_test_shim")


def failure_of(error: BaseException) -> dict:
    """kind, message and traceback of an exception, as the failure events carry them."""
    if isinstance(error, JobFailure):
        kind = error.kind
    elif _is_out_of_memory(error):
        kind = "out_of_memory"
    elif isinstance(error, ModuleNotFoundError) and error.name in ("torch", "triton"):
        kind = "no_" + error.name
    elif isinstance(error, ImportError):
        kind = "import"
    else:
        kind = "internal"
    message = str(error).strip() or type(error).__name__
    if not isinstance(error, JobFailure):
        message = f"{type(error).__name__}: {message}"
    # A failure of ours that was raised from another one: that one's traceback is what helps.
    source = error.__cause__ if isinstance(error, JobFailure) and error.__cause__ is not None else error
    text = "".join(traceback.format_exception(type(source), source, source.__traceback__))
    return {"kind": kind, "message": message, "traceback": text}


def _is_out_of_memory(error: BaseException) -> bool:
    torch = sys.modules.get("torch")
    known = getattr(torch, "OutOfMemoryError", None) if torch else None
    return (known is not None and isinstance(error, known)) or isinstance(error, MemoryError)


# ------------------------------------------------------------------------------ JSON and files


def jsonify(value: Any) -> Any:
    """The value as plain JSON: dtypes as `torch.bfloat16`, unknown objects as their repr."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(jsonify(k)): jsonify(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonify(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonify(getattr(value, f.name)) for f in dataclasses.fields(value)}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, (torch.dtype, torch.device, torch.Size)):
        return list(value) if isinstance(value, torch.Size) else str(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0 and not hasattr(value, "untyped_storage"):
        return jsonify(value.item())  # a NumPy scalar
    return repr(value)


def sha256_of(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def import_file(path: str, name: str) -> Any:
    """Import a file under a name of our own."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise JobFailure("import", f"{path} cannot be imported as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
