"""Correctness facts: a variant's calls beside the original's and beside a float64 reference, with
the same fresh inputs, poisoned allocations and a second call of each (spec section 8).

Only facts are reported; what they mean is decided in C++ (core/measure/smoke.h)."""

from __future__ import annotations

import os
import re
import shutil
import tempfile

from typing import Any

from lwb_common import Arguments
from lwb_common import JobFailure
from lwb_common import Side
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
from lwb_common import same_bits
from lwb_smoke_run import LEFT_AS_IS
from lwb_smoke_run import POISONED
from lwb_smoke_run import Allocations
from lwb_smoke_run import ZEROED
from lwb_smoke_run import Memory
from lwb_smoke_run import Results
from lwb_smoke_run import in_pass
from lwb_smoke_run import kernels_do_nothing
from lwb_smoke_run import run_call
from lwb_smoke_run import tell_failed
from lwb_smoke_static import static_findings

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
        """(kind, message, results) for one call. `own` are the original's results."""
        problems = []
        for kind, produce in (("hand", self._by_hand), ("widened", self._widened)):
            if kind == "hand" and not call.get("reference"):
                continue
            try:
                results = produce(call, arguments, incoming, own)
                problem = unfit(results, own)
            except Exception as error:
                problem = failure_of(error)["message"]
            if not problem:
                return kind, "; ".join(problems + missing(results, own)), results
            problems.append(f"the reference by hand: {problem}" if kind == "hand" else problem)
        message = f"no float64 reference ({'; '.join(problems)}); compared with the original's own result"
        # Run once more, for in `own` what is never written looks like a NaN that was computed.
        return "original", message, run_call(call, self.original, arguments, incoming, ZEROED)

    def _widened(self, call: dict, arguments: Arguments, incoming: list, _own: Results) -> Results:
        if self.side is None:
            raise JobFailure("import", self.problem)
        return run_call(call, self.side, *widened(arguments, incoming), ZEROED)

    def _by_hand(self, call: dict, arguments: Arguments, incoming: list, own: Results) -> Results:
        import torch

        wide, wide_incoming = widened(arguments, incoming)
        results = Results()
        # What the reference imports of the package is the original's.
        with self.original.active():
            result = load_reference(call["reference"])(*wide.args, **wide.kwargs)
            outputs = tuple(result) if isinstance(result, (tuple, list)) else (result,)
            for index, output in enumerate(outputs):
                if isinstance(output, torch.Tensor):
                    results.tensors["forward"][f"output{index}"] = output.detach()
            if not has_backward(call) or unfit(results, own):
                return results
            for label, gradient in run_backward(outputs, dict(wide_incoming), wide).items():
                if gradient is not None:
                    results.tensors["backward"]["grad_" + label] = gradient.detach()
        return results


def widened(arguments: Arguments, incoming: list) -> tuple[Arguments, list]:
    import torch

    return arguments.cast(torch.float64), [(index, tensor.to(torch.float64)) for index, tensor in incoming]


def unfit(results: Results, own: Results) -> str:
    """Why these are no reference for the original's results, or nothing."""
    for pass_name in ("forward", "backward"):
        for label, result in results.tensors[pass_name].items():
            original = own.tensors[pass_name].get(label)
            if original is None:
                continue
            if result.shape != original.shape:
                return f"its {label} is {form_of(result)}, the original's is {form_of(original)}"
            if bool(original.isfinite().all()) and not bool(result.isfinite().all()):
                return f"its {label} is not finite where the original's is"
    return ""


def missing(results: Results, own: Results) -> list[str]:
    labels = [n for p in ("forward", "backward") for n in own.tensors[p] if n not in results.tensors[p]]
    return [f"it has no {', '.join(labels)}: compared with the original's own"] if labels else []


# ------------------------------------------------------------------------------------- compare


def form_of(tensor: Any) -> str:
    return f"{tuple(tensor.shape)} {tensor.dtype}"


def tell_difference(call: dict, pass_name: str, kind: str, message: str) -> None:
    """The variant's results cannot be held beside the original's."""
    emit({"event": "smoke_failed", "call": call["id"], "side": "variant", "pass": pass_name, "kind": kind,
          "message": message, "traceback": ""})


def in_float64(tensor: Any) -> Any:
    import torch

    if tensor.dtype.is_complex:
        return torch.view_as_real(tensor.to(torch.complex128))
    return tensor.to(torch.float64)


class Errors:
    """How far a result is from the reference (both in float64). A NaN where the reference has none is
    counted and not measured; where the reference has NaN, any number is infinitely wrong. What the
    original never writes (`unwritten`) has no right value."""

    def __init__(self, result: Any, reference: Any, unwritten: Any = None):
        import torch

        nan = result.isnan() & ~reference.isnan()
        difference = (result - reference).abs()
        # Equal infinities differ by nothing, and so do two NaN.
        same = (result == reference) | (result.isnan() & reference.isnan())
        difference = torch.where(same, torch.zeros_like(difference), difference)
        difference = torch.where(reference.isnan() & ~same, torch.full_like(difference, float("inf")), difference)
        known = difference[~nan if unwritten is None else ~nan & ~unwritten]
        self.nan = int(nan.sum().item())
        self.nan_elsewhere = self.nan if unwritten is None else int((nan & ~unwritten).sum().item())
        self.largest = known.max().item() if known.numel() else 0.0
        self.rms = known.square().mean().sqrt().item() if known.numel() else 0.0


def largest_of(errors: list[Errors]) -> dict[str, float]:
    """Each number's largest over the calls of a side."""
    names = ("largest", "rms", "nan", "nan_elsewhere")
    return {name: max(getattr(one, name) for one in errors) for name in names}


def compare(call: dict, seed: int, pass_name: str, label: str, tensors: dict) -> None:
    """`tensors`: each side's result in its first and its second call, and the reference."""
    import torch

    original, variant = tensors["original"][0], tensors["variant"][0]
    form = form_of(original)
    for one in tensors["variant"]:
        if form_of(one) != form:
            tell_difference(call, pass_name, "shape", f"{label} is {form_of(one)}, the original's is {form}")
            return
    reference = in_float64(tensors["reference"])
    wide = {
        name: [in_float64(one) for one in tensors[name] if form_of(one) == form] for name in ("original", "variant")
    }
    unwritten = wide["original"][0].isnan() & ~reference.isnan()
    own = largest_of([Errors(one, reference) for one in wide["original"]])
    found = largest_of([Errors(one, reference, unwritten) for one in wide["variant"]])
    finite = reference[reference.isfinite()]
    scale = finite.abs().max().item() if finite.numel() else 0.0
    inexact = variant.dtype.is_floating_point or variant.dtype.is_complex
    epsilon = torch.finfo(variant.dtype).eps if inexact else 0.0
    emit({"event": "compare", "call": call["id"], "seed": seed, "pass": pass_name, "tensor": label,
          "dtype": str(variant.dtype).removeprefix("torch."),
          "original_error": own["largest"], "variant_error": found["largest"],
          "original_error_rms": own["rms"], "variant_error_rms": found["rms"],
          "difference": Errors(wide["variant"][0], wide["original"][0]).largest,
          "scale": scale, "ulp_limit": 4 * epsilon * scale,
          "nan_original": own["nan"], "nan_variant": found["nan"], "nan_elsewhere": found["nan_elsewhere"],
          **repeats(wide)})


def repeats(wide: dict[str, list]) -> dict[str, float]:
    """How far each side's second call is from its first."""
    names = {"variant": "repeat_difference", "original": "repeat_difference_original"}
    return {key: Errors(wide[name][1], wide[name][0]).largest for name, key in names.items() if len(wide[name]) > 1}


class CallCheck:
    """One call of a part, checked with each seed. Each side has its own memory for the inputs."""

    def __init__(self, job: dict, part: dict, call: dict, sides: tuple[Side, Side], reference: Reference):
        self.call = call
        self.dtype = part.get("dtype")
        self.sides = dict(zip(("original", "variant"), sides))
        self.memory = {name: Memory() for name in self.sides}
        self.reference = reference
        self.device = job.get("device") or default_device()
        self.allocations = POISONED if job.get("poison", True) else LEFT_AS_IS

    def check(self, seed: int, times: int, first: bool) -> None:
        """Each side runs `times` times. What a side cannot run is told; the other calls go on."""
        try:
            arguments = materialize(self.call, None, seed, self.dtype, self.device)
            incoming = self._incoming(arguments, seed)
        except Exception as error:
            tell_failed(self.call, "original", error)
            return
        runs: dict[str, list[Results]] = {}
        for name, side in self.sides.items():
            try:
                runs[name] = [
                    run_call(self.call, side, arguments, incoming, self.allocations, self.memory[name])
                    for _ in range(times)
                ]
            except Exception as error:
                tell_failed(self.call, name, error)
                return
        kind, message, expected = self.reference.of(self.call, arguments, incoming, runs["original"][0])
        emit({"event": "reference", "call": self.call["id"], "kind": kind, "message": message})
        for pass_name in ("forward", "backward"):
            self._compare_pass(seed, pass_name, runs, expected)
        if first:
            self._replay_without_kernels(arguments, incoming, runs)

    def _replay_without_kernels(self, arguments: Arguments, incoming: list, runs: dict) -> None:
        """Only where the original's kernels matter can the variant be asked the same: an empty tensor
        needs no launch, and an op may have its kernels in another file."""

        def replay(name: str) -> tuple[bool, str]:
            return changed_without_kernels(
                self.call, self.sides[name], arguments, incoming, self.memory[name], runs[name][0]
            )

        changed: bool | None
        changed, message = replay("variant")
        if not changed and not replay("original")[0]:
            changed, message = None, "the results of the original do not come from this file's kernels, either"
        emit({"event": "noop", "call": self.call["id"], "changed": changed, "message": message})

    def _incoming(self, arguments: Arguments, seed: int) -> list:
        """The original's outputs say which shapes the incoming gradients have."""
        side = self.sides["original"]
        with in_pass("forward"):
            outputs = run_forward(function_of(self.call, side), arguments.clone(), side)
        return list(incoming_gradients(self.call, outputs, seed).items())

    def _compare_pass(self, seed: int, pass_name: str, runs: dict, expected: Results) -> None:
        tensors = {name: [run.tensors[pass_name] for run in pair] for name, pair in runs.items()}
        wanted = sorted(tensors["original"][0])
        for index, one in enumerate(tensors["variant"]):
            if sorted(one) != wanted:
                which = "" if index == 0 else " in the second call"
                tell_difference(self.call, pass_name, "outputs", f"results {sorted(one)} instead of {wanted}{which}")
                return
        for label in wanted:
            chosen = {name: [one[label] for one in pair if label in one] for name, pair in tensors.items()}
            reference = expected.tensors[pass_name].get(label, chosen["original"][0])
            compare(self.call, seed, pass_name, label, {**chosen, "reference": reference})
        emit({"event": "mutated", "call": self.call["id"], "pass": pass_name,
              **{name: pair[0].mutated[pass_name] for name, pair in runs.items()}})


def check_part(job: dict, part: dict, sides: tuple[Side, Side], reference: Reference) -> None:
    for call in part["calls"]:
        check = CallCheck(job, part, call, sides, reference)
        seeds = job.get("seeds") or [1]
        rounds = [(seed, 2) for seed in seeds]
        if len(rounds) == 1:  # results that are remembered show with other data only
            rounds.append((seeds[0] + 1, 1))
        for index, (seed, times) in enumerate(rounds):
            check.check(seed, times, first=index == 0)


# ----------------------------------------------------------------------------------- anti-cheat


def changed_without_kernels(
    call: dict, side: Side, arguments: Arguments, incoming: list, memory: Memory, real: Results
) -> tuple[bool, str]:
    """Whether a call gives something else when the kernels of its side's file do nothing, and what the
    host code raised then: host code that trips over missing results does depend on them.

    Poisoned in any case, for memory freed by the run before may hold its results. Integers are 0: they
    may be used as indices."""
    try:
        with kernels_do_nothing(side):
            empty = run_call(call, side, arguments, incoming, Allocations(integer_byte=0), memory)
    except Exception as error:
        return True, failure_of(error.__cause__ or error)["message"][:300]
    changed = any(
        label not in empty.tensors[p] or not same_bits(empty.tensors[p][label], result)
        for p in ("forward", "backward")
        for label, result in real.tensors[p].items()
    )
    return changed, ""


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


def check_references(job: dict, original: Side) -> None:
    """A reference that is not there is the fault of whoever wrote the call."""
    for call in (call for part in job["parts"] for call in part["calls"]):
        try:
            with original.active():
                load_reference(call.get("reference"))
        except Exception as error:
            message = f"The reference of call '{call.get('id')}' cannot be loaded: {failure_of(error)['message']}"
            raise JobFailure("bad_job", message) from error


def run(job: dict) -> None:
    check_job(job)
    original = load_side(job["original"])
    check_references(job, original)
    variant = load_side(job["variant"])
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
