"""What a sweep says of one point, apart from running it: how an exception is classed, whether the
results agree with the original path's, how often progress is told."""

from __future__ import annotations

import re
import time

from collections.abc import Callable
from typing import Any

# Largest difference from the original path's result, over the largest magnitude of that result. A
# screen for wrong settings (races, unwritten parts), not the correctness gate: a changed order of
# summation must pass.
TOLERANCES = {
    "torch.float64": 1e-7,
    "torch.float32": 1e-3,
    "torch.float16": 1e-2,
    "torch.bfloat16": 4e-2,
}
FLOAT8_TOLERANCE = 0.3
# A point this much slower than the best so far is not timed to the end.
HOPELESS = 1.25
SCREENING_SAMPLES = 2

_COMPILE_ERRORS = (
    "CompilationError",
    "CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct",
    "PTXASError",
    "LaunchRefused",
    "MLIRError",
)
_NUMBERS = re.compile(r"Required: (\d+),\s*(?:Hardware )?limit: (\d+)", re.IGNORECASE)
_TOO_MUCH = ("too many resources requested", "out of resources")


def classify(error: BaseException) -> tuple[str, str]:
    """(status, message) of a point whose run raised."""
    name = type(error).__name__
    text = str(error).strip() or name
    if name == "OutOfResources":
        return "constraints", resources_message(error, text)
    if name == "Hung":
        return "timeout", text
    if name in _COMPILE_ERRORS:
        return "compile", text if name == "LaunchRefused" else f"{name}: {text}"[-2000:]
    if any(words in text.lower() for words in _TOO_MUCH):
        return "constraints", text
    return "runtime", f"{name}: {text}"[:2000]


def resources_message(error: BaseException, text: str) -> str:
    """`shared memory: Required: N, limit: M`, from the exception's fields or its text."""
    required, limit = getattr(error, "required", None), getattr(error, "limit", None)
    found = _NUMBERS.search(text)
    if required is None and found:
        required, limit = found.group(1), found.group(2)
    what = getattr(error, "name", None) or "resources"
    return f"{what}: Required: {required}, limit: {limit}" if required is not None else text


class Reference:
    """The results of the original path, to hold other settings against."""

    def __init__(self, tensors: list):
        self.tensors = [t.detach().clone() for t in tensors]
        self.scales: list[Any] = []
        for tensor in self.tensors:
            if not tensor.is_floating_point() or tensor.numel() == 0:
                self.scales.append(None)
                continue
            magnitude = tensor.float().abs().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0).max()
            self.scales.append(magnitude.clamp_min(1e-30).item())

    def mismatch(self, tensors: list) -> str | None:
        """None, or which result differs and by how much."""
        if len(tensors) != len(self.tensors):
            return f"{len(tensors)} results instead of {len(self.tensors)}"
        for index, (got, wanted) in enumerate(zip(tensors, self.tensors)):
            if got.shape != wanted.shape or got.dtype != wanted.dtype:
                return (
                    f"result {index} is {got.dtype} {tuple(got.shape)} "
                    f"instead of {wanted.dtype} {tuple(wanted.shape)}"
                )
            difference = self._difference(got.detach(), wanted, self.scales[index])
            allowed = self._tolerance(wanted)
            if not difference <= allowed:
                return (
                    f"result {index} differs from the original path's by {difference:.3g} of its "
                    f"largest magnitude (allowed {allowed:.3g})"
                )
        return None

    @staticmethod
    def _tolerance(tensor: Any) -> float:
        if not tensor.is_floating_point():
            return 0.0
        return TOLERANCES.get(str(tensor.dtype), FLOAT8_TOLERANCE)

    @staticmethod
    def _difference(got: Any, wanted: Any, scale: float | None) -> float:
        if wanted.numel() == 0:
            return 0.0
        if scale is None:
            return float((got != wanted).sum().item())
        if wanted.dtype.itemsize < 2:
            got, wanted = got.float(), wanted.float()
        difference = (got - wanted).abs_()
        # Equal infinities and NaN in the same places agree.
        same = (got == wanted) | ((got != got) & (wanted != wanted))
        return float(difference.masked_fill_(same, 0.0).max().item()) / scale


class Progress:
    """At most five progress events a second, and one at the end."""

    def __init__(
        self, total: int, emit: Callable[[dict], None], now: Callable[[], float] = time.monotonic
    ):
        self.total, self.done = total, 0
        self.emit, self.now = emit, now
        self.last = float("-inf")

    def step(self) -> None:
        self.done += 1
        now = self.now()
        if now - self.last >= 0.2 or self.done == self.total:
            self.last = now
            self.emit({"event": "progress", "done": self.done, "total": self.total})


def settings_key(hook: str, call: str, settings: dict | None) -> tuple:
    return hook, call, tuple(sorted((k, repr(v)) for k, v in (settings or {}).items()))
