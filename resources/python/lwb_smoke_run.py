"""One run of a call with poisoned allocations, and one in which the kernels do nothing: what
lwb_smoke compares."""

from __future__ import annotations

import contextlib
import os

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lwb_common import Arguments
from lwb_common import Side
from lwb_common import Snapshot
from lwb_common import clone_strided
from lwb_common import emit
from lwb_common import failure_of
from lwb_common import function_of
from lwb_common import has_backward
from lwb_common import overwrite
from lwb_common import run_backward
from lwb_common import run_forward
from lwb_common import synchronize
from lwb_launches import file_of
from lwb_launches import python_function

_POISON_INTEGER = 0x5A  # repeated in every byte: far outside of any index or count


# ------------------------------------------------------------------------------------- poison


@dataclass(frozen=True)
class Allocations:
    """What memory holds that a call asked for without saying so."""

    enabled: bool = True
    floats: float = float("nan")
    integer_byte: int = _POISON_INTEGER

    def fill(self, tensor: Any) -> None:
        import torch

        with torch.no_grad():
            if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
                tensor.fill_(self.floats)
            elif tensor.dtype != torch.bool:
                tensor.fill_(int.from_bytes(bytes([self.integer_byte]) * tensor.dtype.itemsize, "big"))


POISONED = Allocations()
LEFT_AS_IS = Allocations(enabled=False)
ZEROED = Allocations(floats=0.0, integer_byte=0)  # a reference must not depend on what was there before


@contextlib.contextmanager
def poisoned(how: Allocations = POISONED) -> Iterator[None]:
    """Uninitialized allocations hold NaN (floats) or a large pattern (integers), so that an element
    that is never written shows in the result instead of by luck in what the memory held before."""
    import torch

    if not how.enabled:
        yield
        return
    owners = [(torch, name) for name in ("empty", "empty_like", "empty_strided", "empty_permuted")]
    owners += [(torch.Tensor, name) for name in ("new_empty", "new_empty_strided")]
    originals = [getattr(owner, name) for owner, name in owners]

    def poisoning(allocate: Any) -> Any:
        def allocate_poisoned(*args: Any, **kwargs: Any) -> Any:
            tensor = allocate(*args, **kwargs)
            how.fill(tensor)
            return tensor

        return allocate_poisoned

    try:
        for (owner, name), original in zip(owners, originals):
            setattr(owner, name, poisoning(original))
        yield
    finally:
        for (owner, name), original in zip(owners, originals):
            setattr(owner, name, original)


# ---------------------------------------------------------------------------------- running one


class PassFailed(Exception):
    """An exception of the op (its cause), and the pass in which it was raised."""

    def __init__(self, pass_name: str):
        super().__init__(pass_name)
        self.pass_name = pass_name


@contextlib.contextmanager
def in_pass(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise PassFailed(name) from error


def tell_failed(call: dict, side: str, error: Exception) -> None:
    pass_name = ""
    if isinstance(error, PassFailed) and isinstance(error.__cause__, Exception):
        pass_name, error = error.pass_name, error.__cause__
    emit({"event": "smoke_failed", "call": call["id"], "side": side, "pass": pass_name, **failure_of(error)})


class Results:
    """What one run of a call gave: outputs and gradients by label, inputs modified by pass."""

    def __init__(self) -> None:
        self.tensors: dict[str, dict[str, Any]] = {"forward": {}, "backward": {}}
        self.mutated: dict[str, list[str]] = {"forward": [], "backward": []}


class Memory:
    """Where the runs of a call find their inputs: all at the same addresses and, unless a run made one
    part of its graph, in the same tensor objects. What is remembered by either meets other data there."""

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}

    def filled(self, label: str, fresh: Any) -> Any:
        mine = self.tensors.get(label)
        if mine is None or (mine.shape, mine.stride(), mine.dtype) != (fresh.shape, fresh.stride(), fresh.dtype):
            mine = clone_strided(fresh)
        else:
            mine = mine if mine.is_leaf else mine.detach()
            overwrite(mine, fresh)
        self.tensors[label] = mine.requires_grad_(fresh.requires_grad)
        return mine


def run_call(
    call: dict,
    side: Side,
    arguments: Arguments,
    incoming: list,
    allocations: Allocations,
    memory: Memory | None = None,
) -> Results:
    """One forward and backward on copies of the given inputs and incoming gradients."""
    import torch

    results = Results()
    memory = memory or Memory()
    mine = arguments.with_tensors({label: memory.filled(label, t) for label, t in arguments.tensors.items()})
    snapshot = Snapshot(mine.tensors)
    function = function_of(call, side)
    device = next((t.device.type for t in mine.tensors.values()), "cpu")
    with in_pass("forward"), poisoned(allocations):
        outputs = run_forward(function, mine, side)
        synchronize(device)
    results.mutated["forward"] = snapshot.changed()
    for index, output in enumerate(outputs):
        if isinstance(output, torch.Tensor):
            results.tensors["forward"][f"output{index}"] = output.detach().clone()
    if not has_backward(call) or not incoming:
        return results
    gradients = {index: memory.filled(f"incoming{index}", tensor) for index, tensor in incoming}
    labelled = {f"incoming{index}": tensor for index, tensor in gradients.items()}
    before = Snapshot({**mine.tensors, **labelled})
    with in_pass("backward"), poisoned(allocations):
        produced = run_backward(outputs, gradients, mine, side=side)
        synchronize(device)
    results.mutated["backward"] = before.changed()
    for label, gradient in produced.items():
        if gradient is not None:
            results.tensors["backward"]["grad_" + label] = gradient.detach().clone()
    return results


# ------------------------------------------------------------------------------ without kernels


@contextlib.contextmanager
def kernels_do_nothing(side: Side) -> Iterator[None]:
    """Launches of the kernels of the side's own file are left out."""
    from triton.runtime.jit import JITFunction

    classes: list[Any] = [JITFunction]
    with contextlib.suppress(Exception):
        from triton.runtime.interpreter import InterpretedFunction

        classes.append(InterpretedFunction)
    home = os.path.realpath(side.module.__file__)
    originals = [cls.run for cls in classes]

    def skipping(original: Any) -> Any:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            function = python_function(self)
            if function is not None and file_of(function) == home:
                return None
            return original(self, *args, **kwargs)

        return run

    try:
        for cls, original in zip(classes, originals):
            cls.run = skipping(original)
        yield
    finally:
        for cls, original in zip(classes, originals):
            cls.run = original
