"""One call made ready for many runs: inputs and incoming gradients built once and shared by all
sides (the same addresses), what a run modifies put back before the next, and for each pass the
pair (prepare, call) of which only the second is timed."""

from __future__ import annotations

import contextlib
import gc

from collections.abc import Callable
from typing import Any

from lwb_common import Arguments
from lwb_common import JobFailure
from lwb_common import NotReplayable
from lwb_common import Side
from lwb_common import Snapshot
from lwb_common import function_of
from lwb_common import has_backward
from lwb_common import incoming_gradients
from lwb_common import materialize

PASSES = ("forward", "backward", "full")

Step = tuple[Callable[[], Any], Callable[[Any], Any]]


class ActiveSide:
    """Which side's modules are in sys.modules. Switching costs a walk over sys.modules, so it is
    done outside of timed regions and only when the side really changes."""

    def __init__(self) -> None:
        self.side: Side | None = None
        self._context: Any = None

    def switch(self, side: Side | None) -> None:
        if side is self.side:
            return
        if self._context is not None:
            self._context.__exit__(None, None, None)
            self._context = None
        self.side = side
        if side is not None:
            self._context = side.active()
            self._context.__enter__()


class Cell:
    """A call on one set of inputs, for any number of sides.

    The backward pass runs on a graph that is built anew (untimed) for each sample. So no side
    keeps one set of addresses for its saved tensors while another side has others, and an op whose
    backward overwrites what it saved gets fresh values every time."""

    def __init__(self, call: dict, sides: list[Side], seed: int, device: str, active: ActiveSide):
        _refuse_unsupported(call)
        self.call = call
        self.sides = sides
        self.active = active
        self.device = device
        self.functions = [function_of(call, side) for side in sides]
        self.arguments: Arguments = materialize(call, sides[0], seed, device=device)
        self.differentiable = has_backward(call) and bool(self.arguments.differentiable())
        self.inputs = list(self.arguments.differentiable().values())
        self.gradients: dict[int, Any] = {}
        self.snapshot = Snapshot(self.arguments.tensors)
        self.collects = False
        if self.differentiable:
            self._draw_gradients(seed)

    def _draw_gradients(self, seed: int) -> None:
        """Incoming gradients need the outputs' shapes; the first side's forward gives them."""
        outputs = self._apply(0)
        self.gradients = incoming_gradients(self.call, outputs, seed)
        del outputs
        self.snapshot.restore()
        named = {f"grad_output{i}": g for i, g in self.gradients.items()}
        self.snapshot = Snapshot({**self.arguments.tensors, **named})
        self.differentiable = bool(self.gradients)

    def _apply(self, side: int) -> tuple:
        self.active.switch(self.sides[side])
        return self._forward(side)

    def _forward(self, side: int) -> tuple:
        result = self.functions[side].apply(*self.arguments.args, **self.arguments.kwargs)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    def _backward(self, outputs: tuple, retain_graph: bool) -> tuple:
        import torch

        return torch.autograd.grad(
            [outputs[i] for i in self.gradients],
            self.inputs,
            list(self.gradients.values()),
            retain_graph=retain_graph,
            allow_unused=True,
        )

    def has(self, which: str) -> bool:
        if which not in PASSES:
            raise JobFailure("bad_job", f"There is no pass '{which}': use one of {PASSES}.")
        return which == "forward" or self.differentiable

    def step(self, side: int, which: str) -> Step:
        """(prepare, call) of a pass on a side. `call` takes what `prepare` returned and returns
        everything it made, so that the caller decides when it is freed."""

        def begin() -> None:
            self.active.switch(self.sides[side])
            if self.collects:
                gc.collect()
            self.snapshot.restore()

        def begin_backward() -> tuple:
            begin()
            return self._forward(side)

        if which == "forward":
            return begin, lambda _: self._forward(side)
        if which == "backward":
            return begin_backward, lambda outputs: self._backward(outputs, retain_graph=True)

        def full(_: Any) -> tuple:
            outputs = self._forward(side)
            return outputs, self._backward(outputs, retain_graph=False)

        return begin, full

    def run(self, side: int, which: str) -> list:
        """One untimed run; the tensors of the result (outputs, then gradients)."""
        import torch

        prepare, call = self.step(side, which)
        flat: list = []

        def walk(value: Any) -> None:
            if isinstance(value, torch.Tensor):
                flat.append(value)
            elif isinstance(value, (tuple, list)):
                for item in value:
                    walk(item)

        walk(call(prepare()))
        return flat

    def learn_modified(self, passes: list[str]) -> list[str]:
        """Run every side once in each pass, find which inputs and gradients a run modifies, keep
        pristine copies of just those (for all sides alike), and free the rest."""
        labels: set[str] = set()
        for side in range(len(self.sides)):
            for which in passes:
                if self.has(which):
                    self.run(side, which)
                    labels |= set(self.snapshot.changed())
        self.snapshot.restore()
        modified = [label for label in self.snapshot.tensors if label in labels]
        self.snapshot.keep(modified)
        return modified

    def watch_leaks(self, passes: list[str], allocated: Callable[[], int]) -> None:
        """With the collector off, an op that ties its context and outputs into a cycle keeps
        memory, and later samples get other addresses. Such a call gets a collection a sample."""
        for side in range(len(self.sides)):
            for which in passes:
                if self.has(which):
                    before = allocated()
                    self.run(side, which)
                    if allocated() > before:
                        self.collects = True
        if self.collects:
            gc.collect()

    def tensors(self) -> list:
        return list(self.arguments.tensors.values()) + list(self.gradients.values())


def share_tuning(first: Side, second: Side) -> list[str]:
    """Give the second side what autotuners of the first have chosen, wherever kernel source and
    configurations are the same. Otherwise two copies of one file may settle on different
    configurations by the noise of the tuning alone, and differ ever after. The names of the kernels
    for which there was something to share."""
    shared = []
    for module_name, module in first.modules.items():
        twin = second.modules.get(module_name)
        for name, tuner in list(vars(module).items()):
            other = getattr(twin, name, None)
            if other is tuner or not (_is_tuner(tuner) and _is_tuner(other)):
                continue
            configs = {str(config): config for config in other.configs}
            if _source(tuner) != _source(other) or list(configs) != [str(c) for c in tuner.configs]:
                continue
            if tuner.cache:
                shared.append(name)
            for key, config in tuner.cache.items():
                other.cache[key] = configs[str(config)]
    return sorted(shared)


def _is_tuner(value: Any) -> bool:
    return all(
        isinstance(getattr(value, n, None), t) for n, t in (("configs", list), ("cache", dict))
    )


def _source(tuner: Any) -> Any:
    kernel = tuner
    for _ in range(8):
        kernel = getattr(kernel, "fn", None)
        source = getattr(kernel, "src", None)
        if isinstance(source, str):
            return source
    return object()  # unknown: equal to nothing


def allocated_bytes(device: str) -> Callable[[], int]:
    import torch

    if torch.device(device).type != "cuda":
        return lambda: 0
    return torch.cuda.memory_allocated


def device_alive(device: str) -> bool:
    """Whether the CUDA context survived an error."""
    import torch

    if torch.device(device).type != "cuda":
        return True
    try:
        torch.cuda.synchronize()
    except Exception:
        return False
    return True


def free_memory(device: str) -> None:
    """Give cached blocks back between calls, so that each call begins alike."""
    import torch

    gc.collect()
    if torch.device(device).type == "cuda":
        with contextlib.suppress(Exception):
            torch.cuda.empty_cache()


def _refuse_unsupported(call: dict) -> None:
    """Before anything is allocated."""

    def walk(argument: Any) -> None:
        if "unsupported" in argument:
            raise NotReplayable(
                f"Call '{call.get('id')}' cannot be replayed: "
                f"an argument is {argument['unsupported']}."
            )
        for item in argument.get("list", argument.get("tuple", [])):
            walk(item)

    for argument in list(call.get("args", [])) + list(call.get("kwargs", {}).values()):
        walk(argument)
