"""What each call launches, pass by pass, and how many bytes it has to move.

Job and events: README.md. How bytes are counted:

- forward reads every tensor argument and writes every output; what it wrote in place into an
  argument is both. If it computes gradients (below), their tensors are written too.
- backward reads the incoming gradients and what was saved for it, and writes the gradients that
  it returns; what it wrote in place elsewhere is written too.
- a tensor counts the elements that its view reaches (a broadcast counts once); views of one
  storage count together at most that storage; each storage counts once per role. Tensors that the
  op saves but that are neither inputs nor outputs are the implementation's choice: backward's read
  of them is counted as it is, forward's write of them is reported as `saved` and not in `written`.

`forward_computes_gradients`: true when some input's gradient is, row by row, a multiple of a tensor
that the forward had computed and saved, and that is neither an output nor an unmodified input. That
is measured on this call with random incoming gradients (cosine of sampled rows above 0.999), so an
op that saves a normalized input, a mask or a derivative and combines it in backward is not taken
for one that has only scaling left to do.
"""

from __future__ import annotations

import contextlib
import math
import sys

from collections.abc import Iterator
from typing import Any

import lwb_common

from lwb_common import Arguments
from lwb_common import Side
from lwb_common import Snapshot
from lwb_common import emit
from lwb_common import failure_of
from lwb_launches import Launch
from lwb_launches import file_of
from lwb_launches import watch_launches
from lwb_values import dtype_name

_SAME_DIRECTION = 0.999  # cosine; bfloat16 rounding of a row stays well above it
_SAMPLED_ROWS = 64


class Storages:
    """Bytes per storage of a set of tensors."""

    def __init__(self, tensors: Any = ()):
        self.bytes: dict[int, int] = {}
        self._limit: dict[int, int] = {}
        self._views: set[tuple] = set()
        for tensor in tensors:
            self.add(tensor)

    def add(self, tensor: Any) -> None:
        key = storage_key(tensor)
        view = (key, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
        if tensor.numel() == 0 or view in self._views:
            return
        self._views.add(view)
        reached = math.prod(n for n, s in zip(tensor.shape, tensor.stride()) if s != 0) * tensor.element_size()
        limit = tensor.untyped_storage().nbytes()
        self.bytes[key] = min(limit, self.bytes.get(key, 0) + reached)

    def total(self) -> int:
        return sum(self.bytes.values())

    def union(self, other: Storages) -> int:
        keys = self.bytes.keys() | other.bytes.keys()
        return sum(max(self.bytes.get(k, 0), other.bytes.get(k, 0)) for k in keys)

    def without(self, other: Storages) -> int:
        return sum(n for key, n in self.bytes.items() if key not in other.bytes)


def storage_key(tensor: Any) -> int:
    return tensor.untyped_storage().data_ptr()


class LaunchWriter:
    """Turns launches into events. Storages are numbered in the order in which they appear."""

    def __init__(self, call: dict):
        self.call = call
        self.numbers: dict[int, int] = {}
        self.index = 0
        self.current_pass = "forward"

    def start(self, pass_name: str) -> None:
        self.current_pass, self.index = pass_name, 0

    def __call__(self, launch: Launch) -> None:
        names = list(getattr(launch.kernel, "arg_names", None) or launch.function.__code__.co_varnames)
        given = dict(zip(names, launch.args))
        options = {}
        for name, value in launch.kwargs.items():
            (given if name in names else options)[name] = value
        bound = {n: given.get(n, default) for n, default in _defaults(launch.function, names).items() | given.items()}
        constexprs = _constexpr_names(launch)
        event = {
            "event": "launch",
            "call": self.call["id"],
            "pass": self.current_pass,
            "index": self.index,
            "kernel": launch.name,
            "file": launch.file,
            "module": launch.function.__module__,
            "grid": _grid(launch.grid, bound),
            **_host(launch.frame),
            **_resources(launch, options),
            "args": {n: self._argument(bound[n]) for n in names if n in bound and n not in constexprs},
            "constexprs": {n: _plain(bound[n]) for n in names if n in bound and n in constexprs},
            "options": {n: _plain(v) for n, v in options.items()},
        }
        self.index += 1
        emit(event)

    def _argument(self, value: Any) -> Any:
        if hasattr(value, "data_ptr") and hasattr(value, "untyped_storage"):
            number = self.numbers.setdefault(storage_key(value), len(self.numbers))
            return {
                "tensor": {
                    "shape": list(value.shape),
                    "stride": list(value.stride()),
                    "dtype": dtype_name(value.dtype),
                    "storage": number,
                    "aligned": value.data_ptr() % 16 == 0,
                }
            }
        if isinstance(value, tuple):
            return {"tuple": [self._argument(item) for item in value]}
        return _plain(value)


@contextlib.contextmanager
def watch_fills(writer: LaunchWriter) -> Iterator[None]:
    """Tell of every buffer that host code asks for filled with a value: a write of all its bytes."""
    import torch

    names = ("zeros", "zeros_like", "ones", "ones_like", "full", "full_like")
    places = [(torch, name) for name in names]
    places += [(torch.Tensor, name) for name in ("new_zeros", "new_ones", "new_full")]
    originals = [getattr(owner, name) for owner, name in places]

    def watched(name: str, allocate: Any) -> Any:
        def allocate_watched(*args: Any, **kwargs: Any) -> Any:
            tensor = allocate(*args, **kwargs)
            frame = sys._getframe(1)
            emit(
                {
                    "event": "fill",
                    "call": writer.call["id"],
                    "pass": writer.current_pass,
                    "function": name,
                    "host_function": frame.f_code.co_name,
                    "host_file": frame.f_code.co_filename,
                    "line": frame.f_lineno,
                    "bytes": tensor.numel() * tensor.element_size(),
                }
            )
            return tensor

        return allocate_watched

    try:
        for (owner, name), original in zip(places, originals):
            setattr(owner, name, watched(name, original))
        yield
    finally:
        for (owner, name), original in zip(places, originals):
            setattr(owner, name, original)


def _defaults(function: Any, names: list[str]) -> dict:
    import inspect

    parameters = inspect.signature(function).parameters
    empty = inspect.Parameter.empty
    return {n: parameters[n].default for n in names if n in parameters and parameters[n].default is not empty}


def _constexpr_names(launch: Launch) -> set[str]:
    parameters = getattr(launch.kernel, "params", None)
    if parameters is not None:
        return {p.name for p in parameters if p.is_constexpr}
    annotations = launch.function.__annotations__
    return {n for n, a in annotations.items() if "constexpr" in (a if isinstance(a, str) else repr(a))}


def _grid(grid: Any, bound: dict) -> list[int] | None:
    try:
        sizes = grid(bound) if callable(grid) else grid
        sizes = [int(n) for n in (sizes if isinstance(sizes, (tuple, list)) else (sizes,))]
        return (sizes + [1, 1])[:3]
    except Exception:
        return None


def _host(frame: Any) -> dict:
    if frame is None:
        return {"host_function": None, "line": None, "host_file": None, "locals": {}}
    import torch

    scope = {
        name: str(value) if isinstance(value, torch.dtype) else value
        for name, value in frame.f_locals.items()
        if isinstance(value, (bool, int, torch.dtype))
    }
    return {
        "host_function": frame.f_code.co_name,
        "line": frame.f_lineno,
        "host_file": frame.f_code.co_filename,
        "locals": scope,
    }


def _resources(launch: Launch, options: dict) -> dict:
    """Settings and resources; null where the interpreter ran the kernel."""
    compiled = launch.compiled
    metadata = getattr(compiled, "metadata", None)
    return {
        "num_warps": getattr(metadata, "num_warps", options.get("num_warps")),
        "num_stages": getattr(metadata, "num_stages", options.get("num_stages")),
        "registers": getattr(compiled, "n_regs", None),
        "spills": getattr(compiled, "n_spills", None),
        "shared_bytes": getattr(metadata, "shared", None),
    }


def _plain(value: Any) -> Any:
    """A scalar as JSON; what is none gets a form of its own that lwb_compile reads back."""
    if type(value).__name__ == "constexpr":
        value = value.value
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    module, kind = type(value).__module__, type(value).__name__
    if kind == "dtype" and module.startswith("triton"):
        return {"triton_dtype": str(value)}
    if kind == "dtype" and module == "torch":
        return {"dtype": dtype_name(value)}
    return {"unsupported": repr(value)[:200]}


class Trace:
    """One call on one side."""

    def __init__(self, call: dict, side: Side, seed: int, device: str):
        self.call, self.side, self.seed, self.device = call, side, seed, device
        self.function = lwb_common.function_of(call, side)
        self.pass_name = "forward"

    def run(self, passes: list[str]) -> None:
        wants_backward = "backward" in passes and lwb_common.has_backward(self.call)
        self._warm_up(wants_backward)
        writer = LaunchWriter(self.call)
        arguments = self._arguments()
        before = Snapshot(arguments.tensors)
        outputs = self._forward(writer if "forward" in passes else None, arguments)
        changed = before.changed()
        forward = self._forward_bytes(arguments, outputs, changed)
        scales = False
        backward = None
        if wants_backward:
            backward, scales = self._backward(writer, arguments, outputs, changed)
        if scales:
            forward["written"] += forward["saved"]
            forward["working_set"] += forward["saved"]
        if "forward" in passes:
            self._emit_bytes("forward", forward, scales)
        if backward is not None:
            self._emit_bytes("backward", backward, scales)

    def _arguments(self) -> Arguments:
        return lwb_common.materialize(self.call, self.side, self.seed, device=self.device)

    def _warm_up(self, with_backward: bool) -> None:
        """Once unrecorded, so that autotuning and its trial launches are over."""
        arguments = self._arguments()
        outputs = lwb_common.run_forward(self.function, arguments, self.side)
        if with_backward:
            self.pass_name = "backward"
            gradients = lwb_common.incoming_gradients(self.call, outputs, self.seed)
            lwb_common.run_backward(outputs, gradients, arguments, side=self.side)
            self.pass_name = "forward"
        lwb_common.synchronize(self.device)

    def _forward(self, writer: LaunchWriter | None, arguments: Arguments) -> tuple:
        with contextlib.ExitStack() as watches:
            if writer:
                watches.enter_context(watch_launches(writer))
                watches.enter_context(watch_fills(writer))
            outputs = lwb_common.run_forward(self.function, arguments, self.side)
        lwb_common.synchronize(self.device)
        return outputs

    def _forward_bytes(self, arguments: Arguments, outputs: tuple, changed: list[str]) -> dict:
        read = Storages(arguments.tensors.values())
        written = Storages(t for t in outputs if _is_tensor(t) and storage_key(t) not in read.bytes)
        for label in changed:
            written.add(arguments.tensors[label])
        saved = Storages(t for t in lwb_common.saved_tensors(outputs) if storage_key(t) not in read.bytes)
        return {
            "read": read.total(),
            "written": written.total(),
            "working_set": read.union(written),
            "saved": saved.without(written),
        }

    def _backward(self, writer: LaunchWriter, arguments: Arguments, outputs: tuple, changed: list[str]) -> Any:
        self.pass_name = "backward"
        gradients = lwb_common.incoming_gradients(self.call, outputs, self.seed)
        saved = lwb_common.saved_tensors(outputs)
        candidates = _computed_in_forward(saved, arguments, outputs, changed)
        read = Storages([*gradients.values(), *saved])
        watched = {f"incoming{i}": g for i, g in gradients.items()}
        watched.update({f"saved{i}": t for i, t in enumerate(saved)})
        watched.update(arguments.tensors)
        before = Snapshot(watched)
        writer.start("backward")
        with watch_launches(writer), watch_fills(writer):
            produced = lwb_common.run_backward(outputs, gradients, arguments, side=self.side)
        lwb_common.synchronize(self.device)
        written = Storages(g for g in produced.values() if g is not None)
        for label in before.changed():
            written.add(watched[label])
        counted = {"read": read.total(), "written": written.total(), "working_set": read.union(written), "saved": 0}
        return counted, _only_scales(candidates, produced, arguments)

    def _emit_bytes(self, pass_name: str, counted: dict, scales: bool) -> None:
        emit(
            {
                "event": "bytes",
                "call": self.call["id"],
                "pass": pass_name,
                **counted,
                "forward_computes_gradients": scales,
            }
        )


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _computed_in_forward(saved: list, arguments: Arguments, outputs: tuple, changed: list[str]) -> list:
    """Sampled rows of the saved tensors that the forward computed and does not return."""
    pristine = {storage_key(t) for label, t in arguments.tensors.items() if label not in changed}
    returned = {storage_key(t) for t in outputs if _is_tensor(t)}
    taken = [t for t in saved if storage_key(t) not in pristine | returned and t.dtype.is_floating_point]
    return [(tuple(t.shape), _sample(t)) for t in taken if t.numel() > 1]


def _sample(tensor: Any) -> Any:
    """Some rows as float64, copied."""
    import torch

    rows = tensor.detach()
    rows = rows.reshape(-1, rows.shape[-1]) if rows.ndim else rows.reshape(1, 1)
    return rows[:: max(1, rows.shape[0] // _SAMPLED_ROWS)][:_SAMPLED_ROWS].to(torch.float64, copy=True)


def _only_scales(candidates: list, produced: dict, arguments: Arguments) -> bool:
    for gradient in produced.values():
        if gradient is None or gradient.numel() < 2:
            continue
        for shape, computed in candidates:
            if math.prod(shape) != gradient.numel():
                continue
            rows = _sample(gradient.reshape(shape))
            if rows.shape[-1] > 1 and _same_direction(rows, computed):
                return True
    return False


def _same_direction(first: Any, second: Any) -> bool:
    import torch

    lengths = first.norm(dim=-1) * second.norm(dim=-1)
    meaningful = lengths > 0
    if not bool(meaningful.any()):
        return False
    cosine = torch.einsum("rc,rc->r", first, second)[meaningful].abs() / lengths[meaningful]
    return bool((cosine > _SAME_DIRECTION).all())


def run(job: dict) -> None:
    side = lwb_common.load_side(job["side"])
    device = job.get("device") or lwb_common.default_device()
    passes = job.get("passes") or ["forward", "backward"]
    for call in job["calls"]:
        trace = None
        try:
            trace = Trace(call, side, int(job.get("seed", 0)), device)
            trace.run(passes)
        except Exception as error:
            where = trace.pass_name if trace is not None else "forward"
            emit({"event": "trace_failed", "call": call.get("id"), "pass": where, **failure_of(error)})
        finally:
            trace = None
            _free(device)


def _free(device: str) -> None:
    import gc

    gc.collect()
    if device != "cpu":
        import torch

        torch.cuda.empty_cache()


__all__ = ["Storages", "Trace", "file_of", "run"]

if __name__ == "__main__":
    lwb_common.main(run)
