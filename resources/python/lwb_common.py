"""What the scripts beside this file share: the channel to the caller (lwb_channel), values of
tensors (lwb_values), and here the copies of the package ("sides") and calls of an
autograd.Function that are built again from JSON. The protocol is described in README.md.

Nothing here decides anything about a variant. Importing this module does not import torch."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import sys

from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from lwb_channel import JobFailure
from lwb_channel import NotReplayable
from lwb_channel import emit
from lwb_channel import failure_of
from lwb_channel import import_file
from lwb_channel import jsonify
from lwb_channel import load_test_shim
from lwb_channel import main
from lwb_channel import open_channel
from lwb_channel import read_job
from lwb_channel import sha256_of
from lwb_values import clone_strided
from lwb_values import describe_argument
from lwb_values import describe_values
from lwb_values import draw_tensor
from lwb_values import draw_values
from lwb_values import dtype_name
from lwb_values import dtype_of
from lwb_values import overwrite
from lwb_values import same_bits

__all__ = [
    "Arguments",
    "JobFailure",
    "NotReplayable",
    "Side",
    "Snapshot",
    "clone_strided",
    "default_device",
    "describe_argument",
    "describe_values",
    "draw_tensor",
    "draw_values",
    "dtype_name",
    "dtype_of",
    "emit",
    "failure_of",
    "function_of",
    "has_backward",
    "import_file",
    "incoming_gradients",
    "jsonify",
    "load_reference",
    "load_side",
    "load_test_shim",
    "main",
    "materialize",
    "open_channel",
    "overwrite",
    "read_job",
    "run_backward",
    "run_forward",
    "same_bits",
    "saved_tensors",
    "sha256_of",
    "synchronize",
]


def load_reference(reference: str | None) -> Callable | None:
    """The function of `path.py:function`, or None."""
    if not reference:
        return None
    path, separator, name = reference.rpartition(":")
    if not separator:
        raise JobFailure("bad_job", f"The reference '{reference}' is not of the form path.py:function.")
    if not os.path.isfile(path):
        raise JobFailure("no_function", f"The reference file {path} does not exist.")
    module = import_file(path, "lwb_reference_" + hashlib.sha256(path.encode()).hexdigest()[:12])
    function = getattr(module, name, None)
    if not callable(function):
        raise JobFailure("no_function", f"{path} has no function '{name}'.")
    return function


def default_device() -> str:
    """`cuda` where torch has one, else `cpu` (where Triton needs TRITON_INTERPRET=1)."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def synchronize(device: str) -> None:
    import torch

    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


# --------------------------------------------------------------------------------------- sides


class Side:
    """One copy of the package, with the modules that were imported from it.

    Only one side's modules are in sys.modules at a time: those of the innermost `active()`."""

    def __init__(self, description: dict):
        try:
            self.name: str = description["name"]
            self.src: str = os.path.abspath(description["src"])
            self.module_name: str = description["module"]
        except KeyError as error:
            raise JobFailure("bad_job", f"A side lacks the field {error}.") from error
        self.file: str | None = description.get("file")
        self.sha256: str | None = description.get("sha256")
        self.package: str = self.module_name.partition(".")[0]
        self.modules: dict[str, Any] = {}
        self.module: Any = None

    @contextlib.contextmanager
    def active(self) -> Iterator[Side]:
        """Put this side's modules into sys.modules and its src first on sys.path. Nests; on
        leaving, what was there before comes back and modules imported late are kept."""
        before = _take_modules(self.package)
        sys.modules.update(self.modules)
        sys.path.insert(0, self.src)
        try:
            yield self
        finally:
            with contextlib.suppress(ValueError):
                sys.path.remove(self.src)
            self.modules = _take_modules(self.package)
            sys.modules.update(before)

    def activate(self) -> Side:
        """Make this side the active one for the rest of the process."""
        _take_modules(self.package)
        sys.modules.update(self.modules)
        if self.src in sys.path:
            sys.path.remove(self.src)
        sys.path.insert(0, self.src)
        return self

    def identity(self) -> dict:
        """The `identity` event: which file really was imported."""
        file = os.path.realpath(getattr(self.module, "__file__", None) or "")
        digest = sha256_of(file) if os.path.isfile(file) else None
        matches = digest is not None
        if self.file is not None:
            matches = matches and file == os.path.realpath(self.file)
        if self.sha256 is not None:
            matches = matches and digest == self.sha256
        return {
            "event": "identity",
            "side": self.name,
            "file": file,
            "sha256": digest,
            "matches": matches,
        }

    def owns(self, module_name: str | None) -> bool:
        """Whether a module name is of this side's package."""
        return module_name is not None and module_name.partition(".")[0] == self.package


def _take_modules(package: str) -> dict[str, Any]:
    """Remove the package's modules from sys.modules and return them."""
    names = [n for n in sys.modules if n == package or n.startswith(package + ".")]
    return {name: sys.modules.pop(name) for name in names}


def load_side(description: dict, report: bool = True) -> Side:
    """Import a side's module fresh from its src; emits `identity` unless told not to."""
    side = Side(description)
    if not os.path.isdir(side.src):
        raise JobFailure("import", f"The folder {side.src} of side '{side.name}' does not exist.")
    # Python remembers folder listings; a sandbox written a moment ago must be seen.
    importlib.invalidate_caches()
    with side.active():
        try:
            side.module = importlib.import_module(side.module_name)
        except ModuleNotFoundError as error:
            if error.name in ("torch", "triton"):
                raise
            raise JobFailure("import", _import_message(side, error)) from error
        except Exception as error:
            raise JobFailure("import", _import_message(side, error)) from error
    if report:
        emit(side.identity())
    return side


def _import_message(side: Side, error: BaseException) -> str:
    return (
        f"{side.module_name} of side '{side.name}' cannot be imported from {side.src}: {type(error).__name__}: {error}"
    )


def function_of(call: dict, side: Side) -> Any:
    """The autograd.Function class that a call names, from the given side."""
    wanted = call["function"]
    with side.active():
        try:
            found: Any = importlib.import_module(wanted["module"])
            for part in wanted["qualname"].split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise JobFailure(
                "no_function",
                f"Side '{side.name}' has no {wanted['module']}.{wanted['qualname']}: {error}",
            ) from error
    return found


# --------------------------------------------------------------------------------- arguments


@dataclass
class Arguments:
    """The built arguments of a call. `tensors` names each tensor in them: `arg0`, `arg3[1]`,
    `kwarg_name`."""

    args: list
    kwargs: dict
    tensors: dict[str, Any] = field(default_factory=dict)

    def differentiable(self) -> dict[str, Any]:
        return {label: t for label, t in self.tensors.items() if t.requires_grad}

    def cast(self, dtype: Any) -> Arguments:
        """The same values with every floating-point tensor in another dtype, in new memory."""
        import torch

        def convert(tensor: Any) -> Any:
            if not tensor.dtype.is_floating_point:
                return tensor.detach().clone()
            copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=dtype, device=tensor.device)
            if 0 in tensor.stride():
                copy = tensor.detach().to(dtype)
            else:
                copy.copy_(tensor.detach())
            return copy.requires_grad_(tensor.requires_grad)

        return self._rebuilt(convert)

    def clone(self) -> Arguments:
        """The same values in new memory, strides kept."""

        def convert(tensor: Any) -> Any:
            return clone_strided(tensor).requires_grad_(tensor.requires_grad)

        return self._rebuilt(convert)

    def with_tensors(self, tensors: dict[str, Any]) -> Arguments:
        """The same arguments with other tensors in the places of these, by label."""
        others = {id(tensor): tensors[label] for label, tensor in self.tensors.items()}
        return self._rebuilt(lambda tensor: others[id(tensor)])

    def _rebuilt(self, convert: Callable[[Any], Any]) -> Arguments:
        known: dict[int, Any] = {}
        labels = {id(t): label for label, t in self.tensors.items()}
        tensors: dict[str, Any] = {}

        def walk(value: Any) -> Any:
            if id(value) in labels:
                if id(value) not in known:
                    known[id(value)] = convert(value)
                tensors[labels[id(value)]] = known[id(value)]
                return known[id(value)]
            if type(value) in (list, tuple):
                return type(value)(walk(item) for item in value)
            return value

        args = [walk(value) for value in self.args]
        kwargs = {name: walk(value) for name, value in self.kwargs.items()}
        return Arguments(args, kwargs, tensors)


def materialize(
    call: dict, side: Side | None, seed: int, dtype_override: Any = None, device: str = "cuda"
) -> Arguments:
    """Build a call's arguments with fresh data. The same call, seed and dtype give the same data.

    `dtype_override` (a torch.dtype or its name) replaces the dtype of every floating-point tensor;
    arguments that are dtypes themselves stay. Raises NotReplayable for an unsupported argument.
    `side` is accepted for symmetry with `function_of` and not needed."""
    import torch

    if isinstance(dtype_override, str):
        dtype_override = dtype_of(dtype_override)
    tensors: dict[str, Any] = {}

    def build(argument: dict, label: str) -> Any:
        if "tensor" in argument:
            generator = torch.Generator(device=device).manual_seed(seed * 1000003 + len(tensors))
            tensors[label] = draw_tensor(argument["tensor"], generator, dtype_override, device)
            return tensors[label]
        if "value" in argument:
            return argument["value"]
        if "float" in argument:
            return float(argument["float"])
        if "dtype" in argument:
            return dtype_of(argument["dtype"])
        for kind, sequence in (("list", list), ("tuple", tuple)):
            if kind in argument:
                return sequence(build(item, f"{label}[{i}]") for i, item in enumerate(argument[kind]))
        if "unsupported" in argument:
            raise NotReplayable(f"Call '{call.get('id')}' cannot be replayed: {label} is {argument['unsupported']}.")
        raise JobFailure("bad_job", f"Call '{call.get('id')}': {label} is none of the known argument forms.")

    args = [build(a, f"arg{i}") for i, a in enumerate(call.get("args", []))]
    kwargs = {name: build(a, f"kwarg_{name}") for name, a in call.get("kwargs", {}).items()}
    return Arguments(args, kwargs, tensors)


# ----------------------------------------------------------------------------- running a call


def run_forward(function: Any, arguments: Arguments, side: Side | None = None) -> tuple:
    """`function.apply` of the arguments; the outputs always as a tuple."""
    with side.active() if side is not None else contextlib.nullcontext():
        result = function.apply(*arguments.args, **arguments.kwargs)
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def incoming_gradients(call: dict, outputs: tuple, seed: int) -> dict[int, Any]:
    """Fresh gradients for the outputs that receive one, by output index. Normal data, unless the
    call's `incoming` says otherwise (`incoming[i]` = null or {"stride","values"}, as captured)."""
    import torch

    wanted = call.get("grads")
    if wanted is None:
        wanted = [True] * len(outputs)
    incoming = call.get("incoming") or []
    gradients: dict[int, Any] = {}
    for index, output in enumerate(outputs):
        if index >= len(wanted) or not wanted[index]:
            continue
        if not isinstance(output, torch.Tensor) or not output.requires_grad:
            continue
        described = incoming[index] if index < len(incoming) and incoming[index] else {}
        generator = torch.Generator(device=output.device).manual_seed(seed * 1000003 + 500009 + index)
        gradients[index] = draw_tensor(
            {
                "shape": list(output.shape),
                "stride": described.get("stride"),
                "dtype": dtype_name(output.dtype),
                "values": described.get("values") or {"kind": "normal", "mean": 0.0, "std": 1.0},
            },
            generator,
            None,
            str(output.device),
        )
    return gradients


def run_backward(
    outputs: tuple,
    gradients: dict[int, Any],
    arguments: Arguments,
    retain_graph: bool = False,
    side: Side | None = None,
) -> dict[str, Any]:
    """torch.autograd.grad from the given gradients to every argument that requires one. The
    result is by argument label; None where no gradient came."""
    import torch

    wanted = arguments.differentiable()
    if not gradients or not wanted:
        return {}
    with side.active() if side is not None else contextlib.nullcontext():
        produced = torch.autograd.grad(
            [outputs[i] for i in gradients],
            list(wanted.values()),
            list(gradients.values()),
            retain_graph=retain_graph,
            allow_unused=True,
        )
    return dict(zip(wanted, produced))


def has_backward(call: dict) -> bool:
    """Whether a call has a backward pass to run: an input requires and an output receives one."""

    def needs(argument: dict) -> bool:
        if "tensor" in argument:
            return bool(argument["tensor"].get("requires_grad"))
        return any(needs(item) for item in argument.get("list", argument.get("tuple", [])))

    every = list(call.get("args", [])) + list(call.get("kwargs", {}).values())
    return any(call.get("grads") or [True]) and any(needs(a) for a in every)


def saved_tensors(outputs: tuple) -> list:
    """The tensors that the op saved for its backward, each object once."""
    import torch

    found: list = []
    nodes: list = []
    for output in outputs:
        node = output.grad_fn if isinstance(output, torch.Tensor) else None
        if node is None or node in nodes:
            continue
        nodes.append(node)
        with contextlib.suppress(AttributeError, RuntimeError):  # none saved, or freed already
            found += [t for t in node.saved_tensors if isinstance(t, torch.Tensor)]
        # Some ops keep tensors as plain attributes of ctx.
        for value in getattr(node, "__dict__", {}).values():
            items = value if isinstance(value, (list, tuple)) else [value]
            found += [t for t in items if isinstance(t, torch.Tensor)]
    unique: list = []
    for tensor in found:
        if not any(tensor is known for known in unique):
            unique.append(tensor)
    return unique


# ----------------------------------------------------------------- inputs modified in place


class Snapshot:
    """Pristine copies of labelled tensors: find what a call modified in place, and put it back.

    Use: take one before the first call, ask `changed()` after it, `keep(changed)` to free the
    other copies, then `restore()` before each further call. Copies are flat for dense tensors, so
    restoring costs one copy per modified tensor."""

    def __init__(self, tensors: dict[str, Any]):
        self.tensors = dict(tensors)
        self.copies = {label: clone_strided(t) for label, t in self.tensors.items()}

    def changed(self) -> list[str]:
        return [label for label, t in self.tensors.items() if not same_bits(t, self.copies[label])]

    def keep(self, labels: list[str]) -> Snapshot:
        self.tensors = {label: self.tensors[label] for label in labels}
        self.copies = {label: self.copies[label] for label in labels}
        return self

    def restore(self) -> None:
        import torch

        with torch.no_grad():
            for label, tensor in self.tensors.items():
                target, source = tensor.detach(), self.copies[label]
                if 0 in target.stride():
                    compact = tuple(slice(0, 1) if s == 0 else slice(None) for s in target.stride())
                    target, source = target[compact], source[compact]
                target.copy_(source)
