"""Records every `apply` of the package's autograd.Functions: the arguments as they were before the
op could modify them, the outputs, which outputs receive a gradient, and which kernels ran.
"""

from __future__ import annotations

import contextlib
import inspect
import threading

from collections.abc import Iterator
from typing import Any

from lwb_common import Side
from lwb_launches import Launch
from lwb_launches import file_of
from lwb_launches import kernels_of
from lwb_launches import watch_launches
from lwb_values import describe_argument
from lwb_values import dtype_name


class Record:
    """One apply."""

    def __init__(self, function: Any, args: tuple, kwargs: dict):
        self.function = {"module": function.__module__, "qualname": function.__qualname__}
        self.args = [describe_argument(a) for a in args]
        self.kwargs = {name: describe_argument(a) for name, a in kwargs.items()}
        self.outputs: list[dict | None] = []
        self.grads: list[bool] = []
        self.incoming: list[dict | None] = []
        self.kernels: set[str] = set()
        self.failed = False

    def as_call(self) -> dict:
        """The fields of CALL that the apply itself decides."""
        return {
            "function": self.function,
            "args": self.args,
            "kwargs": self.kwargs,
            "grads": self.grads,
            "incoming": self.incoming,
            "outputs": self.outputs,
        }


class ApplyRecorder:
    """Install before the package is imported (code may keep a bound `apply`), tell it the side
    afterwards, and record while inside `recording()`."""

    def __init__(self) -> None:
        self.side: Side | None = None
        self.wanted: set[Any] | None = None  # Functions of the op's module; None: any of the package
        self.kernels: dict[str, Any] = {}
        self.kernels_are_own = True
        self._kernel_files: set[tuple[str, str]] = set()
        self._records: list[Record] | None = None
        self._launched: set[str] | None = None
        self._inside = threading.local()
        self._install()

    def follow(self, side: Side) -> None:
        """Look for the Functions and kernels of this side's op module."""
        import torch

        self.side = side
        classes = [v for v in vars(side.module).values() if inspect.isclass(v)]
        own = {c for c in classes if issubclass(c, torch.autograd.Function) and c.__module__ == side.module_name}
        self.wanted = own or None
        self.kernels, self.kernels_are_own = kernels_of(side.module)
        self._kernel_files = {(f.__name__, file_of(f)) for f in self.kernels.values()}

    @contextlib.contextmanager
    def recording(self) -> Iterator[tuple[list[Record], set[str]]]:
        """The records made and the names of the op's kernels launched inside the block."""
        self._records, self._launched = [], set()
        try:
            with watch_launches(self._on_launch):
                yield self._records, self._launched
        finally:
            self._records = self._launched = None

    def calls_in(self, records: list[Record]) -> list[Record]:
        """The records that are calls of the op: of Functions in its module, or, where it has none,
        of those that launched its kernels."""
        done = [r for r in records if not r.failed]
        if self.wanted is not None:
            return done
        return [r for r in done if r.kernels]

    def _on_launch(self, launch: Launch) -> None:
        if (launch.name, launch.file) not in self._kernel_files or self._launched is None:
            return
        self._launched.add(launch.name)
        for record in self._stack():
            record.kernels.add(launch.name)

    def _stack(self) -> list[Record]:
        if not hasattr(self._inside, "stack"):
            self._inside.stack = []
        return self._inside.stack

    def _records_this(self, function: Any) -> bool:
        if self._records is None or self.side is None or self._stack():
            return False
        if self.wanted is not None:
            return function in self.wanted
        return self.side.owns(function.__module__)

    def _install(self) -> None:
        import torch

        recorder = self
        original = torch.autograd.Function.__dict__["apply"].__func__

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not recorder._records_this(cls):
                return original(cls, *args, **kwargs)
            return recorder._recorded_apply(original, cls, args, kwargs)

        torch.autograd.Function.apply = classmethod(apply)

    def _recorded_apply(self, original: Any, cls: Any, args: tuple, kwargs: dict) -> Any:
        record = Record(cls, args, kwargs)
        self._records.append(record)
        self._watch_backward(cls)
        stack = self._stack()
        stack.append(record)
        try:
            result = original(cls, *args, **kwargs)
        except BaseException:
            record.failed = True
            raise
        finally:
            stack.pop()
        self._describe_outputs(record, result)
        return result

    def _describe_outputs(self, record: Record, result: Any) -> None:
        import torch

        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        for index, output in enumerate(outputs):
            record.grads.append(False)
            record.incoming.append(None)
            if not isinstance(output, torch.Tensor):
                record.outputs.append(None)
                continue
            record.outputs.append({"shape": list(output.shape), "dtype": dtype_name(output.dtype)})
            if output.grad_fn is not None:
                if not hasattr(output.grad_fn, "lwb_record"):
                    output.grad_fn.lwb_record = record
                output.register_hook(_gradient_hook(record, index))

    def _watch_backward(self, cls: Any) -> None:
        """Attribute launches of the backward to the record, on whichever thread it runs."""
        backward = cls.__dict__.get("backward")
        function = getattr(backward, "__func__", None)
        if not isinstance(backward, staticmethod) or getattr(function, "lwb_watched", False):
            return
        recorder = self

        def watched(ctx: Any, *args: Any) -> Any:
            record = getattr(ctx, "lwb_record", None)
            if record is None:
                return function(ctx, *args)
            stack = recorder._stack()
            stack.append(record)
            try:
                return function(ctx, *args)
            finally:
                stack.pop()

        watched.lwb_watched = True
        cls.backward = staticmethod(watched)


def _gradient_hook(record: Record, index: int) -> Any:
    def hook(gradient: Any) -> None:
        if gradient is None:
            return
        record.grads[index] = True
        one = gradient.numel() == 1 and gradient.item() == 1.0
        stride = None if gradient.is_contiguous() else list(gradient.stride())
        if one or stride is not None:
            values = {"kind": "constant", "value": 1.0} if one else {"kind": "normal", "mean": 0.0, "std": 1.0}
            record.incoming[index] = {"stride": stride, "values": values}

    return hook
