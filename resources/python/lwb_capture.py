"""What a benchmark script plans, and the calls of the op's autograd.Function that its cells make.

Job and events: README.md.
"""

from __future__ import annotations

import contextlib
import gc
import os

from dataclasses import dataclass
from typing import Any

import lwb_common
import lwb_scripts

from lwb_applies import ApplyRecorder
from lwb_applies import Record
from lwb_common import JobFailure
from lwb_common import emit
from lwb_common import failure_of
from lwb_common import jsonify
from lwb_scripts import BenchmarkScript
from lwb_scripts import Plan
from lwb_scripts import ScriptRaised

# An extra x is used when it is within the script's own sweep or at most this many times beyond its
# end: 8192 tokens are a cell of a sweep that ends at 2048, and 2048 are none of one over 2…16 batches.
_BEYOND_SWEEP = 8

# A cell that makes more identical calls than this loops by itself; the calls are reported once.
_MOST_IDENTICAL_CALLS = 8


@dataclass
class Cell:
    plan: Plan
    provider: str
    x: Any
    config: dict
    model: str | None
    identity: str = ""

    def event(self) -> dict:
        return {
            "kernel_name": self.plan.kernel_name,
            "provider": self.provider,
            "x_name": self.plan.x_name,
            "x": self.x,
            "config": jsonify(self.config),
            "model": self.model,
        }


class Capture:
    def __init__(self, job: dict):
        self.job = job
        self.seed = int(job.get("seed", 0))
        self.recorder = ApplyRecorder()
        self.side = lwb_common.load_side(job["side"]).activate()
        self.recorder.follow(self.side)
        self.device = job.get("device") or lwb_common.default_device()
        if self.device == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
            raise JobFailure("no_gpu", "torch sees no CUDA GPU, so no benchmark cell can run.")
        lwb_scripts.replace_timers()
        self.script = BenchmarkScript(job["script"], job["root"])
        self.rejected_model_option = False

    def run(self) -> None:
        plans = self._own_plans()
        registry, default = self.script.registry()
        width = self._width_key(plans, registry)
        self._emit_registry(registry, default, width)
        for plan in plans:
            self._name_model(plan, registry, default)
            emit(plan.event())
        speed = [p for p in plans if p.metric == "speed"] or plans
        under_test = self._probe_providers(speed)
        cells = self._cells(speed, registry, width, under_test)
        self._name_cells(cells, width)
        for cell in cells:
            self._capture_cell(cell)

    # -------------------------------------------------------------------------------- plans

    def _own_plans(self) -> list[Plan]:
        """The plans of every asked sweep mode; fatal only when no sweep gives one."""
        plans: list[Plan] = []
        failures: list[ScriptRaised] = []
        for mode in self.job.get("sweep_modes") or ["token_length"]:
            found, failure = self._plans_of(mode)
            plans += found
            if failure is not None:
                failures.append(failure)
                emit({"event": "sweep_failed", "sweep_mode": mode, **_script_failure(failure)})
        if not plans:
            if failures:
                raise failures[0]
            raise JobFailure(
                "script_raised", f"{self.script.path} ended without planning a benchmark through run_benchmarks."
            )
        return plans

    def _plans_of(self, mode: str) -> tuple[list[Plan], ScriptRaised | None]:
        try:
            return self.script.plan(mode), None
        except ScriptRaised as failure:
            rejected = failure.exit_code == 2  # argparse: an option that it does not know
            if not rejected or mode != "token_length":
                return list(self.script.partial), failure
        try:
            return self.script.plan(None), None
        except ScriptRaised as failure:
            return list(self.script.partial), failure

    def _name_model(self, plan: Plan, registry: dict, default: str | None) -> None:
        """The default model, where the configuration really carries its numbers."""
        if plan.model is not None or default is None or not plan.configs:
            return
        shared = {k: v for k, v in plan.configs[0].items() if _is_number(getattr(registry[default], k, None))}
        if shared and all(getattr(registry[default], k) == v for k, v in shared.items()):
            plan.model = default

    def _width_key(self, plans: list[Plan], registry: dict) -> str | None:
        """The first number of the configuration, in the script's order, that the registry's models
        differ in."""
        for plan in plans:
            for config in plan.configs:
                for key, value in config.items():
                    values = {getattr(m, key, None) for m in registry.values()}
                    if _is_number(value) and all(_is_number(v) for v in values) and len(values) > 1:
                        return key
        return None

    def _emit_registry(self, registry: dict, default: str | None, width: str | None) -> None:
        models = {name: jsonify(model) for name, model in registry.items()}
        emit({"event": "registry", "models": models, "default": default, "width_key": width})

    # ---------------------------------------------------------------------------- providers

    def _probe_providers(self, plans: list[Plan]) -> dict[str, list[str]]:
        """kernel_name → providers whose smallest cell reaches the op's kernels (or, for an op
        without kernels, its Function)."""
        under_test: dict[str, list[str]] = {}
        event: dict[str, Any] = {"by_kernel_name": {}, "failed": []}
        for plan in plans:
            if plan.kernel_name in under_test:
                continue
            reached: list[str] = []
            kernels: dict[str, list[str]] = {}
            reference: list[str] = []
            for provider in plan.providers:
                cell = Cell(plan, provider, self._smallest_x(plan), plan.configs[0], plan.model)
                try:
                    with _eager():
                        records, launched = self._run_cell(cell, plan.modes)
                except Exception as error:
                    event["failed"].append({"provider": provider, **_cell_failure(error)})
                    continue
                has_kernels = bool(self.recorder.kernels)
                if launched or (not has_kernels and self.recorder.calls_in(records)):
                    reached.append(provider)
                    kernels[provider] = sorted(launched)
                else:
                    reference.append(provider)
            under_test[plan.kernel_name] = reached
            event["by_kernel_name"][plan.kernel_name] = {
                "under_test": reached,
                "reference": reference,
                "kernels": kernels,
            }
        named = event["by_kernel_name"].values()
        event["under_test"] = _unique(p for entry in named for p in entry["under_test"])
        event["reference"] = _unique(p for entry in named for p in entry["reference"])
        emit({"event": "providers", **event})
        return under_test

    def _smallest_x(self, plan: Plan) -> Any:
        candidates = self.job.get("x") or plan.x_values
        numbers = [x for x in candidates if _is_number(x)]
        return min(numbers) if numbers and _is_number(plan.x_values[0]) else plan.x_values[0]

    # -------------------------------------------------------------------------------- cells

    def _cells(self, plans: list[Plan], registry: dict, width: str | None, under_test: dict) -> list[Cell]:
        chosen_x, chosen_models = self.job.get("x"), self.job.get("models")
        cells: list[Cell] = []
        if chosen_models:
            for model in chosen_models:
                if model not in registry:
                    emit(
                        {
                            "event": "sweep_failed",
                            "model": model,
                            "kind": "bad_job",
                            "traceback": "",
                            "message": f"The checkout has no model '{model}'; it has {', '.join(registry) or 'none'}.",
                        }
                    )
                    continue
                for plan in self._plans_of_model(plans, model, registry):
                    cells += self._sweep(plan, chosen_x, model, under_test)
            return cells
        for plan in plans:
            model_sweep = bool(plan.x_values) and not _is_number(plan.x_values[0])
            cells += self._sweep(plan, None if model_sweep else chosen_x, plan.model, under_test)
        if chosen_x is None and width is not None:
            extra = self.job.get("default_extra_x") or []
            by_width = sorted(registry, key=lambda name: getattr(registry[name], width))
            for model in _unique([by_width[0], by_width[-1]]):
                for plan in self._plans_of_model(plans, model, registry):
                    inside = [x for x in extra if _within(x, plan.x_values)]
                    cells += self._sweep(plan, inside, model, under_test) if inside else []
        return _distinct(cells)

    def _sweep(self, plan: Plan, xs: list | None, model: str | None, under_test: dict) -> list[Cell]:
        cells = []
        for provider in under_test.get(plan.kernel_name, []):
            for config in plan.configs:
                for x in xs or plan.x_values:
                    cells.append(Cell(plan, provider, x, config, x if isinstance(x, str) else model))
        return cells

    def _plans_of_model(self, plans: list[Plan], model: str, registry: dict) -> list[Plan]:
        """The speed plans of the token-length sweep for another model: by the script itself with
        --model, else by putting the model's numbers into the script's own configuration."""
        own = [p for p in plans if p.x_values and _is_number(p.x_values[0])]
        if not own:
            return []
        if not self.rejected_model_option and own[0].arguments:
            try:
                made = self.script.plan(own[0].sweep_mode, model)
                return [p for p in made if p.metric == own[0].metric]
            except ScriptRaised as failure:
                emit(
                    {
                        "event": "sweep_failed",
                        "sweep_mode": own[0].sweep_mode,
                        "model": model,
                        **_script_failure(failure),
                    }
                )
                self.rejected_model_option = failure.exit_code == 2
        replaced = []
        for plan in own:
            configs = [{k: getattr(registry[model], k, v) for k, v in c.items()} for c in plan.configs]
            if configs != plan.configs:
                replaced.append(Plan(**{**vars(plan), "configs": configs, "model": model}))
        return replaced

    def _name_cells(self, cells: list[Cell], width: str | None) -> None:
        """Short ids that tell the cells apart: x and the width, then whatever else differs."""
        keys = [width] if width is not None else []
        others = _unique(k for cell in cells for k in cell.config)
        varying = [k for k in others if len({str(jsonify(c.config.get(k))) for c in cells}) > 1]
        kernel_names = len({c.plan.kernel_name for c in cells}) > 1
        providers = len({c.provider for c in cells}) > 1

        def name(cell: Cell, used: list[str]) -> str:
            parts = [cell.plan.kernel_name] if kernel_names else []
            parts.append(f"{cell.plan.x_name}={cell.x}")
            parts += [f"{k}={jsonify(cell.config[k])}" for k in used if k in cell.config]
            return " ".join(parts + ([f"provider={cell.provider}"] if providers else []))

        for key in [None, *varying]:
            if key is not None and key not in keys:
                keys.append(key)
            names = [name(cell, keys) for cell in cells]
            if len(set(names)) == len(names):
                break
        for cell, identity in zip(cells, names):
            cell.identity = identity

    # ------------------------------------------------------------------------------ capture

    def _capture_cell(self, cell: Cell) -> None:
        try:
            records, _ = self._run_cell(cell, cell.plan.modes)
        except Exception as error:
            emit({"event": "cell_failed", "id": cell.identity, "cell": cell.event(), **_cell_failure(error)})
            return
        calls = _without_loops(self.recorder.calls_in(records))
        if not calls:
            emit(
                {
                    "event": "cell_failed",
                    "id": cell.identity,
                    "cell": cell.event(),
                    "kind": "no_function",
                    "message": "The cell ran but made no call of an autograd.Function of the op.",
                    "traceback": "",
                }
            )
        for number, record in enumerate(calls, start=1):
            identity = cell.identity if number == 1 else f"{cell.identity}#{number}"
            call = {"id": identity, "origin": "stock", "cell": cell.event(), **record.as_call(), "reference": None}
            emit({"event": "call", "call": call})

    def _run_cell(self, cell: Cell, modes: list) -> tuple[list[Record], set[str]]:
        """Run the bench function once for a forward with its backward."""
        import torch

        torch.manual_seed(self.seed)
        records: list[Record] = []
        launched: set[str] = set()
        try:
            with self.recorder.recording() as (made, kernels):
                cell.plan.bench(self.script.run_input(cell.x, cell.provider, _mode(modes), cell.config))
            lwb_common.synchronize(self.device)
            records, launched = made, kernels
        finally:
            gc.collect()
            if self.device != "cpu":
                torch.cuda.empty_cache()
        return records, launched


def _mode(modes: list) -> Any:
    """The mode that runs the forward once and the backward after it."""
    for wanted in ("full", "backward", "forward"):
        if wanted in modes:
            return wanted
    return modes[0] if modes else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _within(x: Any, sweep: list) -> bool:
    return bool(sweep) and min(sweep) <= x <= _BEYOND_SWEEP * max(sweep)


def _unique(items: Any) -> list:
    return list(dict.fromkeys(items))


def _distinct(cells: list[Cell]) -> list[Cell]:
    """Without cells that another one equals in everything but what the sweep left behind."""
    kept: dict[str, Cell] = {}
    for cell in cells:
        key = str((cell.plan.kernel_name, cell.provider, cell.x, sorted(jsonify(cell.config).items(), key=str)))
        kept.setdefault(key, cell)
    return list(kept.values())


def _without_loops(records: list[Record]) -> list[Record]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        shapes = jsonify([record.function, _without_values(record.args), _without_values(record.kwargs), record.grads])
        groups.setdefault(str(shapes), []).append(record)
    once = {id(r) for g in groups.values() for r in (g[:1] if len(g) > _MOST_IDENTICAL_CALLS else g)}
    return [r for r in records if id(r) in once]


def _without_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_values(v) for k, v in value.items() if k != "values"}
    return [_without_values(v) for v in value] if isinstance(value, list) else value


def _cell_failure(error: BaseException) -> dict:
    failure = failure_of(error)
    if failure["kind"] == "internal":
        failure["kind"] = "script_raised"
    return failure


def _script_failure(failure: ScriptRaised) -> dict:
    return {**failure_of(failure), "arguments": failure.arguments, "exit_code": failure.exit_code}


@contextlib.contextmanager
def _eager() -> Any:
    """Providers that compile run eagerly while it is found out which kernels they reach."""
    import torch

    try:
        stance = torch.compiler.set_stance("force_eager")
    except (AttributeError, RuntimeError):
        stance = contextlib.nullcontext()
    with stance:
        yield


def run(job: dict) -> None:
    for key in ("side", "script", "root"):
        if key not in job:
            raise JobFailure("bad_job", f"The capture job lacks '{key}'.")
    Capture(job).run()


if __name__ == "__main__":
    lwb_common.main(run)
