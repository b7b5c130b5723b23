"""Triton launches, seen from the host: which kernels a module has, and a watch on every launch.

Works for compiled kernels (JITFunction) and for Triton's interpreter (InterpretedFunction).
"""

from __future__ import annotations

import contextlib
import inspect
import os

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any


def python_function(kernel: Any) -> Any:
    """The plain function inside @triton.jit, @triton.autotune, @triton.heuristics, or None."""
    seen = 0
    while kernel is not None and not inspect.isfunction(kernel) and seen < 8:
        kernel = getattr(kernel, "fn", None)
        seen += 1
    return kernel if inspect.isfunction(kernel) else None


def _jit_classes() -> tuple[type, ...]:
    from triton.runtime.jit import JITFunction

    classes: list[type] = [JITFunction]
    with contextlib.suppress(Exception):  # needs NumPy, which a GPU machine may lack
        from triton.runtime.interpreter import InterpretedFunction

        classes.append(InterpretedFunction)
    return tuple(classes)


def is_kernel(value: Any) -> bool:
    """Whether a module attribute is a jit function, possibly inside autotune or heuristics."""
    from triton.runtime.jit import KernelInterface

    return isinstance(value, (*_jit_classes(), KernelInterface)) and python_function(value) is not None


def file_of(function: Any) -> str:
    return os.path.realpath(function.__code__.co_filename)


def kernels_of(module: Any) -> tuple[dict[str, Any], bool]:
    """The module's kernels by name as plain functions, and whether they are its own: a module
    without a jit function of its own is given the ones that it imports."""
    found = {name: python_function(v) for name, v in vars(module).items() if is_kernel(v)}
    home = os.path.realpath(module.__file__)
    own = {name: f for name, f in found.items() if file_of(f) == home}
    return (own, True) if own else (found, False)


class Launch:
    """One launch as it happened: the kernel object, its arguments, the grid, what `run` returned
    (a CompiledKernel, or None in the interpreter) and the host frame that launched it."""

    def __init__(self, kernel: Any, args: tuple, kwargs: dict, grid: Any, compiled: Any, frame: Any):
        self.kernel = kernel
        self.function = python_function(kernel)
        self.args = args
        self.kwargs = kwargs
        self.grid = grid
        self.compiled = compiled
        self.frame = frame

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def file(self) -> str:
        return file_of(self.function)


@contextlib.contextmanager
def watch_launches(on_launch: Callable[[Launch], None]) -> Iterator[None]:
    """Call `on_launch` after every launch in the process (warm-ups without a launch excepted)."""
    classes = _jit_classes()
    originals = [cls.run for cls in classes]

    def wrapped(original: Callable) -> Callable:
        def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            compiled = original(self, *args, grid=grid, warmup=warmup, **kwargs)
            if not warmup:
                on_launch(Launch(self, args, kwargs, grid, compiled, _host_frame()))
            return compiled

        return run

    for cls, original in zip(classes, originals):
        cls.run = wrapped(original)
    try:
        yield
    finally:
        for cls, original in zip(classes, originals):
            cls.run = original


def _host_frame() -> Any:
    """The innermost frame that belongs neither to this file nor to triton."""
    import triton

    triton_folder = os.path.dirname(os.path.realpath(triton.__file__)) + os.sep
    frame = inspect.currentframe()
    while frame is not None:
        name = os.path.realpath(frame.f_code.co_filename)
        if name != os.path.realpath(__file__) and not name.startswith(triton_folder):
            return frame
        frame = frame.f_back
    return None
