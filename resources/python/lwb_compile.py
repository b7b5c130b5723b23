"""Compiles traced launches for architectures that need not be in the machine, and reads registers,
spills and shared memory from the result. No GPU is needed.

Job and events: README.md. Triton's own binder and argument packing build the signature, so that a
kernel is specialized exactly as this Triton would do it for a launch (the format of ASTSource
differs between releases).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile

from typing import Any

# Compiling is the point: kernels must be JITFunctions, not the interpreter's.
os.environ.pop("TRITON_INTERPRET", None)
os.environ.pop("LWB_TEST_SHIM", None)

import lwb_common  # noqa: E402

from lwb_common import JobFailure  # noqa: E402
from lwb_common import Side  # noqa: E402
from lwb_common import emit  # noqa: E402
from lwb_launches import is_kernel  # noqa: E402
from lwb_launches import python_function  # noqa: E402
from lwb_values import dtype_of  # noqa: E402

_WARP_SIZE = 32
_BYTES_PER_SPILL = 4  # a spilled register, as Triton counts n_spills on NVIDIA
_RESOURCE = re.compile(r"\b(REG|STACK|SHARED|LOCAL):(\d+)")
_CUOBJDUMP_LIMIT_S = 60


class PointerArgument:
    """Stands for a tensor: Triton asks only for dtype and address when it specializes."""

    def __init__(self, dtype: Any, aligned: bool):
        self.dtype = dtype
        self._address = 16 if aligned else 1

    def data_ptr(self) -> int:
        return self._address

    def ptr_range(self) -> int:
        return 0


def argument_of(value: Any) -> Any:
    """The argument that a launch event describes."""
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return PointerArgument(dtype_of(value["tensor"]["dtype"]), value["tensor"].get("aligned", True))
    if "tuple" in value:
        return tuple(argument_of(item) for item in value["tuple"])
    if "float" in value:
        return float(value["float"])
    if "dtype" in value:
        return dtype_of(value["dtype"])
    if "triton_dtype" in value:
        import triton.language as tl

        return tl.dtype(value["triton_dtype"])
    raise JobFailure("bad_job", f"An argument cannot be compiled for: {value.get('unsupported', value)}.")


def kernel_of(launch: dict, side: Side) -> Any:
    """The JITFunction of a launch event."""
    import importlib

    module_name = launch.get("module") or side.module_name
    with side.active():
        module = importlib.import_module(module_name)
    for value in vars(module).values():
        if is_kernel(value) and python_function(value).__name__ == launch["kernel"]:
            while not hasattr(value, "params"):  # inside autotune or heuristics
                value = value.fn
            return value
    raise JobFailure("no_function", f"{module_name} of side '{side.name}' has no kernel '{launch['kernel']}'.")


def compile_launch(kernel: Any, launch: dict, settings: dict, capability: int) -> dict:
    """Compile one launch for one capability (90 for 9.0); the `compiled` event's facts."""
    import triton

    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler import make_backend
    from triton.runtime.jit import create_function_from_signature

    names = {p.name for p in kernel.params}
    given = {**launch.get("args", {}), **launch.get("constexprs", {})}
    given.update({k: v for k, v in settings.items() if k in names})
    arguments = {name: argument_of(value) for name, value in given.items() if name in names}
    options = {k: argument_of(v) for k, v in launch.get("options", {}).items() if v is not None}
    options.update({k: v for k, v in settings.items() if k not in names and v is not None})

    target = GPUTarget("cuda", capability, _WARP_SIZE)
    backend = make_backend(target)
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    bound, specialization, packed = binder(**arguments, **options)
    packed, signature, constexprs, attributes = kernel._pack_args(
        backend, {**arguments, **options}, bound, specialization, packed
    )
    source = ASTSource(kernel, signature, constexprs, attributes)
    compiled = triton.compile(source, target=target, options=packed.__dict__)
    usage = resource_usage(compiled.asm["cubin"])
    spilled = max(usage.get("STACK", 0), usage.get("LOCAL", 0))
    return {
        "ok": True,
        "registers": usage.get("REG"),
        "spills": spilled // _BYTES_PER_SPILL if usage else None,
        "shared_bytes": getattr(compiled.metadata, "shared", None),
        "num_warps": getattr(compiled.metadata, "num_warps", None),
        "num_stages": getattr(compiled.metadata, "num_stages", None),
        "message": "" if usage else "cuobjdump was not found, so registers and spills are not known.",
    }


def resource_usage(cubin: bytes) -> dict[str, int]:
    """REG, STACK, SHARED and LOCAL of a cubin's kernel, or {} where no cuobjdump is found."""
    tool = find_cuobjdump()
    if tool is None:
        return {}
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(
            [tool, "--dump-resource-usage", file.name],
            capture_output=True,
            text=True,
            timeout=_CUOBJDUMP_LIMIT_S,
            check=False,
        )
    usage: dict[str, int] = {}
    for name, number in _RESOURCE.findall(done.stdout):
        usage[name] = max(usage.get(name, 0), int(number))
    return usage


def find_cuobjdump() -> str | None:
    """The one in the triton wheel, else the one on PATH."""
    import triton

    inside = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "cuobjdump")
    return inside if os.access(inside, os.X_OK) else shutil.which("cuobjdump")


def _key(launch: dict) -> str:
    """What decides the machine code: kernel, types, constexprs and options, not the shapes."""

    def kind(value: Any) -> Any:
        if isinstance(value, dict) and "tensor" in value:
            return ["tensor", value["tensor"]["dtype"], value["tensor"].get("aligned", True)]
        if isinstance(value, int) and not isinstance(value, bool):
            return ["int", value if value == 1 else value % 16 == 0, -(2**31) <= value < 2**31]
        return ["float"] if isinstance(value, float) else value

    args = {name: kind(value) for name, value in launch.get("args", {}).items()}
    return str([launch.get("module"), launch["kernel"], args, launch.get("constexprs"), launch.get("options")])


def run(job: dict) -> None:
    side = lwb_common.load_side(job["side"])
    settings = job.get("settings") or {}
    distinct: dict[str, dict] = {}
    for launch in job["launches"]:
        distinct.setdefault(_key(launch), launch)
    for launch in distinct.values():
        where = {k: launch.get(k) for k in ("call", "pass", "index")}
        for capability in job["capabilities"]:
            event = {"event": "compiled", "kernel": launch["kernel"], "capability": capability, "launch": where}
            try:
                with side.active():
                    facts = compile_launch(kernel_of(launch, side), launch, settings, int(capability))
            except Exception as error:
                failure = lwb_common.failure_of(error)
                failure["kind"] = "compile" if failure["kind"] == "internal" else failure["kind"]
                facts = {"ok": False, "registers": None, "spills": None, "shared_bytes": None, "num_warps": None,
                         **failure}  # fmt: skip
            emit({**event, **facts})


if __name__ == "__main__":
    lwb_common.main(run)
