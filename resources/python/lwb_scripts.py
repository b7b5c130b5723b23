"""Runs a benchmark script of a checkout with its `run_benchmarks` replaced by a recorder, so that
its plan (kernel names, providers, modes, x values, configurations and the bench function) is known
without running it. The script's own argument parser and memory probe are left alone.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import os
import runpy
import sys

from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lwb_common import JobFailure
from lwb_common import failure_of


@dataclass
class Plan:
    """One call of `run_benchmarks`."""

    bench: Callable
    kernel_name: str
    metric: str
    x_name: str
    x_label: str
    x_values: list
    providers: list
    modes: list
    configs: list
    sweep_mode: str | None
    model: str | None
    arguments: list[str]

    def event(self) -> dict:
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "bench"}
        return {"event": "plan", **fields}


class ScriptRaised(JobFailure):
    """The script ended by an exception, or by an exit code other than 0."""

    def __init__(self, cause: BaseException, arguments: list[str], exit_code: int | None = None):
        if exit_code is not None:
            what = f"ended with exit code {exit_code}"
        else:
            what = f"raised {type(cause).__name__}: {cause}".rstrip(".")
        out_of_memory = exit_code is None and failure_of(cause)["kind"] == "out_of_memory"
        super().__init__("out_of_memory" if out_of_memory else "script_raised", f"The script {what}.")
        self.arguments = arguments
        self.exit_code = exit_code
        self.__cause__ = cause


def one_plain_call(fn: Callable, *_args: Any, quantiles: Any = None, return_mode: str = "mean", **_kwargs: Any) -> Any:
    """Stands for triton.testing.do_bench: calls `fn` once; the times it returns have the right
    shape and no meaning."""
    fn()
    if quantiles is not None:
        times = [1.0] * len(quantiles)
        return times[0] if len(times) == 1 else times
    return [1.0] if return_mode == "all" else 1.0


class BenchmarkScript:
    def __init__(self, path: str, root: str):
        self.path = os.path.abspath(path)
        self.folder = os.path.dirname(self.path)
        self.root = os.path.abspath(root)
        if not os.path.isfile(self.path):
            raise JobFailure("script_raised", f"The benchmark script {self.path} does not exist.")
        self.globals: dict[str, Any] = {}
        self._prepare_path()
        self.helper = self._helper_module()

    def plan(self, sweep_mode: str | None, model: str | None = None) -> list[Plan]:
        """Run the script for one sweep mode and model. Raises ScriptRaised when it ends badly;
        what it had planned until then is in `self.partial`."""
        arguments: list[str] = []
        if sweep_mode is not None:
            arguments += ["--sweep-mode", sweep_mode]
        if model is not None:
            arguments += ["--model", model]
        self.partial: list[Plan] = []
        with self._recorder(self.partial, sweep_mode, model, arguments), _arguments([self.path, *arguments]):
            try:
                self.globals = runpy.run_path(self.path, run_name="__main__")
            except SystemExit as exit_:
                code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
                if code != 0:
                    raise ScriptRaised(exit_, arguments, code) from exit_
            except Exception as error:
                raise ScriptRaised(error, arguments) from error
        return self.partial

    def run_input(self, x: Any, provider: str, mode: str, config: dict) -> Any:
        """The helper's description of one run, as its own run_benchmarks would build it."""
        return self.helper.SingleBenchmarkRunInput(
            x=x, kernel_provider=provider, kernel_operation_mode=mode, extra_benchmark_config=config
        )

    def registry(self) -> tuple[dict[str, Any], Any]:
        """The checkout's model registry (name → dataclass) and its default model, or ({}, None)."""
        spaces = [vars(m) for m in list(sys.modules.values()) if self._is_beside(m)] + [self.globals]
        for space in spaces:
            registry = space.get("MODEL_REGISTRY")
            if isinstance(registry, dict) and registry:
                return registry, _default_of(space, registry)
        return {}, None

    def _is_beside(self, module: Any) -> bool:
        file = getattr(module, "__file__", None)
        return bool(file) and os.path.dirname(os.path.abspath(file)) == self.folder

    def _prepare_path(self) -> None:
        """The script's folder first, as Python does for a script; the checkout's root too, for
        scripts that import from its tests (a package that shadows one of the standard library)."""
        for folder in (self.root, self.folder):
            if folder in sys.path:
                sys.path.remove(folder)
            sys.path.insert(0, folder)
        tests = sys.modules.get("test")
        if tests is not None and not str(getattr(tests, "__file__", "")).startswith(self.root):
            for name in [n for n in sys.modules if n == "test" or n.startswith("test.")]:
                del sys.modules[name]

    def _helper_module(self) -> Any:
        """The module from which the script takes `run_benchmarks`."""
        with open(self.path, encoding="utf-8") as file:
            source = file.read()
        try:
            tree = ast.parse(source, self.path)
        except SyntaxError as error:
            raise JobFailure("script_raised", f"{self.path} is not Python: {error}.") from error
        name = "utils"
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and any(a.name == "run_benchmarks" for a in node.names):
                name = node.module or name
        try:
            helper = importlib.import_module(name)
        except Exception as error:
            raise ScriptRaised(error, []) from error
        if not hasattr(helper, "run_benchmarks"):
            raise JobFailure(
                "script_raised",
                f"{helper.__file__} has no run_benchmarks, so the plan of {self.path} cannot be known.",
            )
        return helper

    @contextlib.contextmanager
    def _recorder(self, plans: list, sweep_mode: Any, model: Any, arguments: list) -> Iterator[None]:
        original = self.helper.run_benchmarks
        signature = inspect.signature(original)

        def run_benchmarks(*args: Any, **kwargs: Any) -> None:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            values = given.arguments
            plans.append(
                Plan(
                    bench=values["bench_test_fn"],
                    kernel_name=values["kernel_name"],
                    metric=values["metric_name"],
                    x_name=values["x_name"],
                    x_label=values.get("x_label", values["x_name"]),
                    x_values=list(values["x_values"]),
                    providers=list(values["kernel_providers"]),
                    modes=list(values.get("kernel_operation_modes") or [None]),
                    configs=list(values.get("extra_benchmark_configs") or [{}]),
                    sweep_mode=sweep_mode,
                    model=model,
                    arguments=arguments,
                )
            )

        self.helper.run_benchmarks = run_benchmarks
        try:
            yield
        finally:
            self.helper.run_benchmarks = original


def _default_of(space: dict, registry: dict) -> str | None:
    """The registry's default: what a global called DEFAULT… holds, a model or its name."""
    for name, value in space.items():
        if not name.startswith("DEFAULT"):
            continue
        if isinstance(value, str) and value in registry:
            return value
        for key, model in registry.items():
            if value is model:
                return key
    return None


@contextlib.contextmanager
def _arguments(argv: list[str]) -> Iterator[None]:
    before = sys.argv
    sys.argv = argv
    try:
        yield
    finally:
        sys.argv = before


def replace_timers() -> None:
    """Every timing loop of triton.testing becomes one plain call, for the rest of the process."""
    import triton.testing

    for name in dir(triton.testing):
        if name.startswith("do_bench"):
            setattr(triton.testing, name, one_plain_call)
