"""Facts about the user's Python, GPU and installation. Every fact is an event of its own; one that
cannot be found is `"ok":false` with the exact error, and the others are still asked.

Job and events: README.md.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys

from collections.abc import Callable
from typing import Any

import lwb_dispatch

from lwb_channel import emit
from lwb_channel import failure_of
from lwb_channel import main
from lwb_channel import sha256_of

_CHILD_LIMIT_S = 60
_ALL_CHECKS = ("python", "gpu", "torch", "triton", "tools", "install", "import", "dispatch")
_ALWAYS = ("python", "triton", "tools", "install")  # cheap, and the report shows them anyway

# CUdevice_attribute numbers of cuda.h, for what a torch release does not tell itself.
_DRIVER_ATTRIBUTES = {
    "clock_khz": 13,
    "sm_count": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "max_threads_per_sm": 39,
    "shared_per_sm": 81,
    "regs_per_sm": 82,
    "shared_per_block": 97,  # with opt-in
}

_TORCH_PROPERTIES = {
    "sm_count": "multi_processor_count",
    "l2_bytes": "L2_cache_size",
    "memory_bytes": "total_memory",
    "max_threads_per_sm": "max_threads_per_multi_processor",
    "regs_per_sm": "regs_per_multiprocessor",
    "shared_per_sm": "shared_memory_per_multiprocessor",
    "shared_per_block": "shared_memory_per_block_optin",
    "clock_khz": "clock_rate",
    "memory_clock_khz": "memory_clock_rate",
    "memory_bus_bits": "memory_bus_width",
}


def fact(name: str, find: Callable[[], dict]) -> None:
    """Emit a fact; `find` returns its data (with `ok` false in it where it found a fault)."""
    try:
        data = find()
        emit({"event": "fact", "name": name, "ok": bool(data.pop("ok", True)), "data": data})
    except BaseException as error:  # a library may even leave by SystemExit
        if isinstance(error, KeyboardInterrupt):
            raise
        failure = failure_of(error)
        failure["type"] = type(error).__name__
        emit({"event": "fact", "name": name, "ok": False, "data": failure})


# --------------------------------------------------------------------------------- Python, tools


def python_fact() -> dict:
    return {
        "version": ".".join(str(n) for n in sys.version_info[:3]),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "safe_path": bool(getattr(sys.flags, "safe_path", False)),
    }


def distribution_fact(name: str) -> dict:
    try:
        return {"version": importlib.metadata.version(name)}
    except importlib.metadata.PackageNotFoundError:
        return {"ok": False, "kind": "absent", "message": f"{name} is not installed in {sys.prefix}."}


def triton_fact() -> dict:
    import triton

    return {"version": triton.__version__, "file": triton.__file__}


# ------------------------------------------------------------------------------------- the driver


def _driver() -> Any:
    """libcuda with a context-free cuInit done, or an OSError/RuntimeError that says what failed."""
    cuda = ctypes.CDLL("libcuda.so.1")
    code = cuda.cuInit(0)
    if code != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"cuInit failed with {code}: {(text.value or b'unknown error').decode()}")
    return cuda


def gpu_fact() -> dict:
    """What the CUDA driver and NVML say, torch not asked."""
    data: dict[str, Any] = {"nvml": _nvml()}
    try:
        cuda = _driver()
    except OSError as error:
        return {**data, "ok": False, "kind": "no_driver", "message": f"The NVIDIA driver is not installed: {error}"}
    except RuntimeError as error:
        return {**data, "ok": False, "kind": "driver", "message": str(error)}
    number = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(number))
    data["cuda_driver_version"] = f"{number.value // 1000}.{number.value % 1000 // 10}"
    cuda.cuDeviceGetCount(ctypes.byref(number))
    data["device_count"] = number.value
    data["visible_devices"] = os.environ.get("CUDA_VISIBLE_DEVICES")
    if number.value == 0:
        return {**data, "ok": False, "kind": "no_gpu", "message": "The CUDA driver sees no GPU."}
    return data


def _nvml() -> dict:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        return {"ok": False, "message": str(error)}
    code = nvml.nvmlInit_v2()
    if code != 0:
        nvml.nvmlErrorString.restype = ctypes.c_char_p
        return {"ok": False, "code": code, "message": nvml.nvmlErrorString(code).decode()}
    buffer = ctypes.create_string_buffer(80)
    nvml.nvmlSystemGetDriverVersion(buffer, 80)
    nvml.nvmlShutdown()
    return {"ok": True, "driver_version": buffer.value.decode()}


def torch_fact() -> dict:
    import torch

    data: dict[str, Any] = {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "file": torch.__file__,
        "device": None,
    }
    if not torch.cuda.is_available():
        reason = "was built without CUDA" if torch.version.cuda is None else "sees no CUDA GPU"
        detail = _cuda_error(torch)
        return {**data, "ok": False, "kind": "no_gpu", "message": f"torch {torch.__version__} {reason}{detail}."}
    data["device"] = device_of(torch)
    probe = torch.ones(8, device="cuda").sum().item()
    if probe != 8:
        return {**data, "ok": False, "kind": "no_gpu", "message": f"A sum of eight ones on the GPU gave {probe}."}
    return data


def _cuda_error(torch: Any) -> str:
    try:
        torch.cuda.init()
    except Exception as error:
        return f" ({error})"
    return ""


def device_of(torch: Any) -> dict:
    """The properties of device 0; null for what neither torch nor the driver tells."""
    properties = torch.cuda.get_device_properties(0)
    device: dict[str, Any] = {
        "name": properties.name,
        "uuid": str(getattr(properties, "uuid", "")) or None,
        "capability": [properties.major, properties.minor],
    }
    for name, attribute in _TORCH_PROPERTIES.items():
        value = getattr(properties, attribute, None)
        device[name] = int(value) if value is not None else _driver_attribute(name)
    return device


def _driver_attribute(name: str) -> int | None:
    try:
        cuda = _driver()
        value = ctypes.c_int()
        code = cuda.cuDeviceGetAttribute(ctypes.byref(value), _DRIVER_ATTRIBUTES[name], 0)
    except (OSError, RuntimeError, KeyError):
        return None
    return value.value if code == 0 else None


# ---------------------------------------------------------------------------- the installed package


def install_fact(package: str) -> dict:
    """The installed distribution, and where a plain child would import the package from."""
    data: dict[str, Any] = {"distribution": None, "version": None, "editable": False, "location": None}
    for name in _distributions_of(package):
        distribution = importlib.metadata.distribution(name)
        data.update(distribution=name, version=distribution.version, location=str(distribution.locate_file("")))
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
        data["editable"] = bool(direct.get("dir_info", {}).get("editable"))
        data["url"] = direct.get("url")
        break
    data["imported_from"] = _plain_import(package)
    if data["distribution"] is None:
        data.update(ok=False, kind="absent", message=f"No distribution that provides {package} is installed.")
    return data


def _distributions_of(package: str) -> list[str]:
    """Distributions that provide the package: by their top level, else by the like name."""
    named = importlib.metadata.packages_distributions().get(package, [])
    candidates = [*named, package.replace("_", "-")]
    found = []
    for name in dict.fromkeys(candidates):
        try:
            importlib.metadata.distribution(name)
            found.append(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _plain_import(package: str) -> str | None:
    """The file or folder that `import package` finds in a child with no PYTHONPATH."""
    code = (
        "import importlib.util as u, sys\n"
        f"s = u.find_spec({package!r})\n"
        "print('' if s is None else s.origin or list(s.submodule_search_locations)[0])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd="/",
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=_CHILD_LIMIT_S,
        check=False,
    )
    return done.stdout.strip() or None


def import_fact(module_name: str, src: str | None, expected: str | None) -> dict:
    """Import the op's module as a child of the workbench would, and say which file that was."""
    if src is not None:
        sys.path.insert(0, src)
    module = importlib.import_module(module_name)
    file = os.path.realpath(module.__file__)
    data = {
        "module": module_name,
        "file": file,
        "sha256": sha256_of(file),
        "expected_file": expected,
        "imports": loaded_modules(module_name.partition(".")[0]),
    }
    if expected is not None and file != os.path.realpath(expected):
        data.update(
            ok=False,
            kind="other_copy",
            message=f"{module_name} was imported from {file}, and the file to be changed is {expected}.",
        )
    return data


def loaded_modules(package: str) -> list[str]:
    """What the import of the package brings with it, in the order in which it was loaded."""
    return [
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__spec__", None) is not None
        and getattr(module.__spec__, "origin", None) not in (None, "built-in", "frozen")
        and not name.startswith(("lwb_", "__"))
        and name.partition(".")[0] != package
    ]


def run(job: dict) -> None:
    checks = [*_ALWAYS, *job.get("checks", _ALL_CHECKS)]
    module, src = job.get("module"), job.get("src")
    package = (module or "").partition(".")[0]
    fact("python", python_fact)
    if "gpu" in checks:
        fact("gpu", gpu_fact)
    if "torch" in checks:
        fact("torch", torch_fact)
    fact("triton", triton_fact)
    for name in ("transformers", "ruff", "pytest", "numpy"):
        fact(name, lambda name=name: distribution_fact(name))
    if package:
        fact("install", lambda: install_fact(package))
    if "import" in checks and module:
        fact("import", lambda: import_fact(module, src, job.get("expected_file")))
    if "dispatch" in checks and module:
        fact("dispatch", lambda: lwb_dispatch.dispatch_fact(module, src))


if __name__ == "__main__":
    main(run)
