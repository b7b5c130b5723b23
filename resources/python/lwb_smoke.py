"""Correctness facts: a variant's calls beside the original's and beside a float64 reference, with
the same fresh inputs, poisoned allocations and a second call of each (spec section 8).

Only facts are reported; what they mean is decided in C++ (core/measure/smoke.h)."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile

from collections.abc import Iterator
from typing import Any

from lwb_common import Arguments
from lwb_common import JobFailure
from lwb_common import NotReplayable
from lwb_common import Side
from lwb_common import Snapshot
from lwb_common import default_device
from lwb_common import dtype_of
from lwb_common import emit
from lwb_common import failure_of
from lwb_common import function_of
from lwb_common import has_backward
from lwb_common import incoming_gradients
from lwb_common import load_reference
from lwb_common import load_side
from lwb_common import main
from lwb_common import materialize
from lwb_common import run_backward
from lwb_common import run_forward
from lwb_common import synchronize
from lwb_launches import file_of
from lwb_launches import python_function
from lwb_smoke_static import static_findings

_POISON_INTEGER = 0x5A  # repeated in every byte: far outside of any index or count


# ------------------------------------------------------------------------------------- poison


@contextlib.contextmanager
def poisoned(enabled: bool) -> Iterator[None]:
    """Uninitialized allocations hold NaN (floats) or a large pattern (integers), so that an element
    that is never written shows in the result instead of by luck in what the memory held before."""
    import torch

    if not enabled:
        yield
        return
    owners = [(torch, name) for name in ("empty", "empty_like", "empty_strided")]
    owners += [(torch.Tensor, name) for name in ("new_empty", "new_empty_strided")]
    originals = [getattr(owner, name) for owner, name in owners]

    def poisoning(allocate: Any) -> Any:
        def allocate_poisoned(*args: Any, **kwargs: Any) -> Any:
            tensor = allocate(*args, **kwargs)
            with torch.no_grad():
                if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
                    tensor.fill_(float("nan"))
                elif tensor.dtype != torch.bool:
                    pattern = int.from_bytes(bytes([_POISON_INTEGER]) * tensor.dtype.itemsize, "big")
                    tensor.fill_(pattern)
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


class Results:
    """What one run of a call gave: outputs and gradients by label, inputs modified by pass."""

    def __init__(self) -> None:
        self.tensors: dict[str, dict[str, Any]] = {"forward": {}, "backward": {}}
        self.mutated: dict[str, list[str]] = {"forward": [], "backward": []}


def run_call(call: dict, side: Side, arguments: Arguments, incoming: list, poison: bool) -> Results:
    """One forward and backward on copies of the given inputs and incoming gradients."""
    import torch

    results = Results()
    mine = arguments.clone()
    snapshot = Snapshot(mine.tensors)
    with poisoned(poison):
        outputs = run_forward(function_of(call, side), mine, side)
    device = next((t.device.type for t in mine.tensors.values()), "cpu")
    synchronize(device)
    results.mutated["forward"] = snapshot.changed()
    for index, output in enumerate(outputs):
        if isinstance(output, torch.Tensor):
            results.tensors["forward"][f"output{index}"] = output.detach().clone()
    if not has_backward(call) or not incoming:
        return results
    gradients = {index: tensor.clone() for index, tensor in incoming}
    labelled = {f"incoming{index}": tensor for index, tensor in gradients.items()}
    before = Snapshot({**mine.tensors, **labelled})
    with poisoned(poison):
        produced = run_backward(outputs, gradients, mine, side=side)
    synchronize(device)
    results.mutated["backward"] = before.changed()
    for label, gradient in produced.items():
        if gradient is not None:
            results.tensors["backward"]["grad_" + label] = gradient.detach().clone()
    return results


# ----------------------------------------------------------------------------------- reference


def widened_side(original: Side, folder: str) -> Side:
    """A copy of the package whose op modules compute in float64 where they said float32."""
    src = os.path.join(folder, "src")
    shutil.copytree(original.src, src, ignore=shutil.ignore_patterns("__pycache__"))
    module_file = os.path.join(src, *original.module_name.split(".")) + ".py"
    home = os.path.dirname(module_file)
    for name in os.listdir(home):
        path = os.path.join(home, name)
        if not name.endswith(".py") or not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        wide = re.sub(r"\b(tl|torch|triton\.language)\.float32\b", r"\1.float64", text)
        wide = re.sub(r"\.float\(\)", ".double()", wide)
        if wide != text:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(wide)
    return load_side({"name": "widened", "src": src, "module": original.module_name}, report=False)


class Reference:
    """The float64 result that both errors are taken against; which kind it is, is reported."""

    def __init__(self, original: Side):
        self.original = original
        self.folder = tempfile.mkdtemp(prefix="lwb-widened-")
        self.side: Side | None = None
        self.problem = ""
        try:
            self.side = widened_side(original, self.folder)
        except Exception as error:
            self.problem = failure_of(error)["message"]

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def of(self, call: dict, arguments: Arguments, incoming: list, own: Results) -> tuple:
        """(kind, message, results) for one call."""
        import torch

        wide = arguments.cast(torch.float64)
        wide_incoming = [(index, tensor.to(torch.float64)) for index, tensor in incoming]
        if call.get("reference"):
            return "hand", "", self._by_hand(call, wide, wide_incoming)
        if self.side is not None:
            try:
                results = run_call(call, self.side, wide, wide_incoming, poison=False)
                if all(bool(t.isfinite().all()) or not bool(o.isfinite().all())
                       for p in ("forward", "backward")
                       for t, o in _pairs(results.tensors[p], own.tensors[p])):
                    return "widened", "", results
                self.problem = "its float64 result is not finite where the original's is"
            except Exception as error:
                self.problem = failure_of(error)["message"]
        message = f"no float64 reference ({self.problem}); compared with the original's own result"
        return "original", message, own

    def _by_hand(self, call: dict, arguments: Arguments, incoming: list) -> Results:
        import torch

        results = Results()
        result = load_reference(call["reference"])(*arguments.args, **arguments.kwargs)
        outputs = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        for index, output in enumerate(outputs):
            if isinstance(output, torch.Tensor):
                results.tensors["forward"][f"output{index}"] = output.detach()
        for label, gradient in run_backward(outputs, dict(incoming), arguments).items():
            if gradient is not None:
                results.tensors["backward"]["grad_" + label] = gradient.detach()
        return results


def _pairs(first: dict, second: dict) -> list:
    return [(first[label], second[label]) for label in first if label in second]


# ------------------------------------------------------------------------------------- compare


def errors_of(result: Any, reference: Any) -> tuple[float, float, int]:
    """Largest and root-mean-square error over the elements that are no NaN, and how many are."""
    import torch

    bad = result.isnan() & ~reference.isnan() if result.dtype.is_floating_point else None
    difference = (result.to(torch.float64) - reference.to(torch.float64)).abs()
    # Equal infinities differ by nothing.
    difference = torch.where(result == reference, torch.zeros_like(difference), difference)
    known = difference[~difference.isnan()]
    if known.numel() == 0:
        return 0.0, 0.0, int(bad.sum().item()) if bad is not None else 0
    return (
        known.max().item(),
        known.square().mean().sqrt().item(),
        int(bad.sum().item()) if bad is not None else 0,
    )


def compare(call: dict, seed: int, pass_name: str, label: str, tensors: dict) -> None:
    import torch

    original, variant = tensors["original"], tensors["variant"]
    reference = tensors["reference"].to(torch.float64)
    if original.shape != variant.shape or original.dtype != variant.dtype:
        emit({"event": "smoke_failed", "call": call["id"], "side": "variant", "pass": pass_name,
              "kind": "shape", "traceback": "",
              "message": f"{label} is {tuple(variant.shape)} {variant.dtype}, the original's is "
                         f"{tuple(original.shape)} {original.dtype}"})
        return
    original_error, original_rms, original_nan = errors_of(original, reference)
    variant_error, variant_rms, variant_nan = errors_of(variant, reference)
    finite = reference[reference.isfinite()]
    scale = finite.abs().max().item() if finite.numel() else 0.0
    epsilon = torch.finfo(variant.dtype).eps if variant.dtype.is_floating_point else 0.0
    difference, _, _ = errors_of(variant, original)
    repeat, _, _ = errors_of(tensors["again"], variant)
    original_repeat, _, _ = errors_of(tensors["original_again"], original)
    emit({"event": "compare", "call": call["id"], "seed": seed, "pass": pass_name, "tensor": label,
          "dtype": str(variant.dtype).removeprefix("torch."),
          "original_error": original_error, "variant_error": variant_error,
          "original_error_rms": original_rms, "variant_error_rms": variant_rms,
          "difference": difference, "scale": scale, "ulp_limit": 4 * epsilon * scale,
          "nan_original": original_nan, "nan_variant": variant_nan,
          "repeat_difference": repeat, "repeat_difference_original": original_repeat})


def check_call(job: dict, part: dict, call: dict, seed: int, sides: tuple[Side, Side], reference: Reference) -> None:
    original, variant = sides
    device = job.get("device") or default_device()
    poison = bool(job.get("poison", True))
    arguments = materialize(call, None, seed, part.get("dtype"), device)
    shape_run = run_forward(function_of(call, original), arguments.clone(), original)
    incoming = list(incoming_gradients(call, shape_run, seed).items())
    del shape_run
    runs: dict[str, list[Results]] = {}
    for name, side in (("original", original), ("variant", variant)):
        try:
            runs[name] = [run_call(call, side, arguments, incoming, poison) for _ in range(2)]
        except Exception as error:
            emit({"event": "smoke_failed", "call": call["id"], "side": name, "pass": "",
                  **failure_of(error)})
            return
    kind, message, expected = reference.of(call, arguments, incoming, runs["original"][0])
    emit({"event": "reference", "call": call["id"], "kind": kind, "message": message})
    for pass_name in ("forward", "backward"):
        first = {name: run[0].tensors[pass_name] for name, run in runs.items()}
        if set(first["original"]) != set(first["variant"]):
            emit({"event": "smoke_failed", "call": call["id"], "side": "variant", "pass": pass_name,
                  "kind": "outputs", "traceback": "",
                  "message": f"results {sorted(first['variant'])} instead of {sorted(first['original'])}"})
            continue
        for label in first["original"]:
            wanted = expected.tensors[pass_name].get(label, first["original"][label])
            compare(call, seed, pass_name, label,
                    {"original": first["original"][label], "variant": first["variant"][label],
                     "reference": wanted, "again": runs["variant"][1].tensors[pass_name][label],
                     "original_again": runs["original"][1].tensors[pass_name][label]})
        emit({"event": "mutated", "call": call["id"], "pass": pass_name,
              "original": runs["original"][0].mutated[pass_name],
              "variant": runs["variant"][0].mutated[pass_name]})
    if seed == job.get("seeds", [1])[0]:
        replay_without_kernels(call, variant, arguments, incoming, runs["variant"][0], poison)


def check_part(job: dict, part: dict, sides: tuple[Side, Side], reference: Reference) -> None:
    for call in part["calls"]:
        for seed in job.get("seeds", [1]):
            try:
                check_call(job, part, call, seed, sides, reference)
            except NotReplayable as error:
                emit({"event": "smoke_failed", "call": call["id"], "side": "original", "pass": "",
                      **failure_of(error)})


# ----------------------------------------------------------------------------------- anti-cheat


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


def replay_without_kernels(
    call: dict, side: Side, arguments: Arguments, incoming: list, real: Results, poison: bool
) -> None:
    import torch

    try:
        with kernels_do_nothing(side):
            empty = run_call(call, side, arguments, incoming, poison)
    except Exception as error:
        # Host code that trips over missing results does depend on the kernels.
        emit({"event": "noop", "call": call["id"], "changed": True, "message": str(error)[:300]})
        return
    changed = any(
        not torch.equal(t, o)
        for p in ("forward", "backward")
        for t, o in _pairs(empty.tensors[p], real.tensors[p])
    )
    emit({"event": "noop", "call": call["id"], "changed": changed})


def report_static(original: Side, variant: Side) -> None:
    """What the variant's file has more of than the original's."""
    texts = []
    for side in (original, variant):
        with open(side.module.__file__, encoding="utf-8") as file:
            texts.append(static_findings(file.read()))
    before, after = texts
    for kind, places in after.items():
        if len(places) > len(before.get(kind, [])):
            line, message = places[-1]
            emit({"event": "static", "finding": kind, "line": line, "message": message})


def check_job(job: dict) -> None:
    """What the job lacks is said before anything is imported: no failure of the variant."""
    for name in ("original", "variant"):
        if not isinstance(job.get(name), dict):
            raise JobFailure("bad_job", f"The job lacks the side '{name}'.")
    parts = job.get("parts")
    if not isinstance(parts, list):
        raise JobFailure("bad_job", "The job lacks its parts: a list of {\"calls\":[…],\"dtype\":…}.")
    for index, part in enumerate(parts):
        if not isinstance(part, dict) or not isinstance(part.get("calls"), list):
            raise JobFailure("bad_job", f"Part {index} of the job has no list of calls.")
        if part.get("dtype") is not None:
            dtype_of(part["dtype"])


def run(job: dict) -> None:
    check_job(job)
    original, variant = load_side(job["original"]), load_side(job["variant"])
    report_static(original, variant)
    reference = Reference(original)
    try:
        for index, part in enumerate(job["parts"]):
            emit({"event": "part", "index": index})
            check_part(job, part, (original, variant), reference)
    finally:
        reference.close()


if __name__ == "__main__":
    main(run)
