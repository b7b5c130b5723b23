"""Makes a machine without a GPU good enough for the tests of the Python scripts.

Loaded by lwb_channel.load_test_shim when LWB_TEST_SHIM names this file, before torch or triton is
imported. It switches Triton's interpreter on and repairs what keeps ordinary kernels from running
in it:

- float arguments reach a kernel as float32 scalars, as on a GPU;
- functions of libdevice are replaced by jit functions of tl operations;
- a count of multiprocessors above one is reported (LWB_TEST_SM_COUNT, default 3), also where host
  code starts from `count = 1` on devices other than a GPU, so that partial sums and round-robin
  rows are exercised;
- autotuned kernels take their first configuration instead of asking a driver for the time;
- the questions that benchmark helpers ask a device (free its cache, peak memory, total memory)
  get an answer on CPU, and the models of a benchmark registry become small
  (LWB_TEST_SMALL_MODELS=0 leaves them).

The interpreter runs programs one after the other: races and streams cannot show here.
"""

import ast
import dataclasses
import importlib.abc
import importlib.machinery
import os
import sys
import sysconfig
import types

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
import triton.runtime.autotuner  # noqa: E402
import triton.runtime.interpreter as interpreter  # noqa: E402

SM_COUNT = int(os.environ.get("LWB_TEST_SM_COUNT", "3"))
SMALL_MODELS = os.environ.get("LWB_TEST_SMALL_MODELS", "1") != "0"
TOTAL_MEMORY = 4 << 30  # bytes; small enough that a memory probe chooses the shortest sweep

# ------------------------------------------------------------------------------ float arguments

_convert = interpreter._implicit_cvt


def _implicit_cvt(argument):
    if isinstance(argument, float):
        handle = interpreter.TensorHandle(np.array([argument], dtype=np.float32), tl.float32)
        return tl.tensor(handle, tl.float32)
    return _convert(argument)


interpreter._implicit_cvt = _implicit_cvt

# ------------------------------------------------------------------------------------ libdevice


@triton.jit
def rsqrt(x):
    return 1.0 / tl.sqrt(x.to(tl.float32))


@triton.jit
def sqrt(x):
    return tl.sqrt(x.to(tl.float32))


@triton.jit
def tanh(x):
    # Without overflow: exp of a number that is never positive.
    magnitude = tl.exp(-2.0 * tl.abs(x.to(tl.float32)))
    value = (1.0 - magnitude) / (1.0 + magnitude)
    return tl.where(x < 0, -value, value)


@triton.jit
def exp(x):
    return tl.exp(x.to(tl.float32))


@triton.jit
def exp2(x):
    return tl.exp2(x.to(tl.float32))


@triton.jit
def expm1(x):
    return tl.exp(x.to(tl.float32)) - 1.0


@triton.jit
def log(x):
    return tl.log(x.to(tl.float32))


@triton.jit
def log2(x):
    return tl.log2(x.to(tl.float32))


@triton.jit
def log1p(x):
    return tl.log(1.0 + x.to(tl.float32))


@triton.jit
def erf(x):
    return tl.erf(x.to(tl.float32))


@triton.jit
def abs(x):
    return tl.abs(x)


@triton.jit
def floor(x):
    return tl.floor(x)


@triton.jit
def ceil(x):
    return tl.ceil(x)


@triton.jit
def fma(x, y, z):
    return x * y + z


@triton.jit
def div_rn(x, y):
    return x / y


@triton.jit
def pow(x, y):
    return tl.exp2(y * tl.log2(x.to(tl.float32)))


@triton.jit
def sin(x):
    return tl.sin(x.to(tl.float32))


@triton.jit
def cos(x):
    return tl.cos(x.to(tl.float32))


_LIBDEVICE = [rsqrt, sqrt, tanh, exp, exp2, expm1, log, log2, log1p, erf, abs, floor, ceil, fma, div_rn, pow, sin, cos]


def _replace_libdevice():
    import triton.language.extra.cuda.libdevice as of_cuda
    import triton.language.extra.libdevice as of_all

    for function in _LIBDEVICE:
        for module in (of_cuda, of_all):
            setattr(module, function.__name__, function)


_replace_libdevice()

# ------------------------------------------------------------------------------- driver, autotune


class _Driver:
    """What host code asks the active Triton driver for."""

    class utils:  # noqa: N801 (the name that Triton uses)
        @staticmethod
        def get_device_properties(_device):
            return {
                "multiprocessor_count": SM_COUNT,
                "max_shared_mem": 227 << 10,
                "max_num_regs": 65536,
                "warpSize": 32,
                "sm_clock_rate": 1_000_000,
                "mem_clock_rate": 1_000_000,
                "mem_bus_width": 1024,
            }

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, _device=None):
        return 0

    def get_device_interface(self):
        return torch.cpu

    def get_benchmarker(self):
        return lambda call, quantiles=None, **_: [1.0] * len(quantiles or [0.5])


triton.runtime.driver.set_active(_Driver())
triton.runtime.autotuner.Autotuner._bench = lambda self, *args, config, **meta: [1.0, 1.0, 1.0]

# ---------------------------------------------------------------------- questions about the device

_properties = types.SimpleNamespace(
    name="CPU with Triton's interpreter",
    uuid="0",
    major=9,
    minor=0,
    multi_processor_count=SM_COUNT,
    total_memory=TOTAL_MEMORY,
    L2_cache_size=1 << 20,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536,
    shared_memory_per_multiprocessor=228 << 10,
    shared_memory_per_block_optin=227 << 10,
    warp_size=32,
)

if not torch.cuda.is_available():
    torch.cuda.get_device_properties = lambda device=None: _properties
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    torch.cuda.get_device_name = lambda device=None: _properties.name

    _memory = types.SimpleNamespace(
        reset_peak_memory_stats=lambda device=None: None,
        max_memory_allocated=lambda device=None: TOTAL_MEMORY // 2,
        memory_allocated=lambda device=None: TOTAL_MEMORY // 4,
        empty_cache=lambda: None,
    )
    for _name in ("reset_peak_memory_stats", "max_memory_allocated", "memory_allocated", "empty_cache"):
        setattr(torch.cpu, _name, getattr(_memory, _name))
    torch.cpu.memory = _memory
    torch.cpu.get_device_name = lambda device=None: _properties.name

# ----------------------------------------------------------------- modules of the package, as loaded


class _CountTransformer(ast.NodeTransformer):
    """Functions that take a variable from `.multi_processor_count` on a GPU start with SM_COUNT in
    it, and their `count = 1` becomes `count = SM_COUNT`. Only what runs changes; files and line
    numbers stay."""

    def visit_FunctionDef(self, node):
        counts = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Assign) and len(inner.targets) == 1:
                attributes = [n.attr for n in ast.walk(inner.value) if isinstance(n, ast.Attribute)]
                if "multi_processor_count" in attributes and isinstance(inner.targets[0], ast.Name):
                    counts.add(inner.targets[0].id)
        for inner in ast.walk(node):
            if (
                isinstance(inner, ast.Assign)
                and isinstance(inner.targets[0], ast.Name)
                and inner.targets[0].id in counts
                and isinstance(inner.value, ast.Constant)
                and inner.value.value == 1
            ):
                inner.value = ast.copy_location(ast.Constant(SM_COUNT), inner.value)
        for name in sorted(counts):
            target = ast.Name(name, ctx=ast.Store())
            start = ast.copy_location(ast.Assign([target], ast.Constant(SM_COUNT)), node.body[0])
            node.body.insert(1 if ast.get_docstring(node) is not None else 0, start)
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        # Straight from the source: a changed module must never land in a .pyc file.
        path = self.get_filename(fullname)
        data = self.get_data(path)
        if b"multi_processor_count" not in data:
            return compile(data, path, "exec", dont_inherit=True)
        tree = _CountTransformer().visit(ast.parse(data, path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def exec_module(self, module):
        super().exec_module(module)
        if "get_total_gpu_memory" in vars(module):
            module.get_total_gpu_memory = lambda: TOTAL_MEMORY >> 30
        registry = vars(module).get("MODEL_REGISTRY")
        if SMALL_MODELS and isinstance(registry, dict):
            _shrink_registry(module, registry)


def _shrink_registry(module, registry):
    small = {}
    for name, model in registry.items():
        changes = {}
        for field, divisor in _SHRINK.items():
            value = getattr(model, field, None)
            if isinstance(value, int) and value >= divisor:
                changes[field] = max(1, value // divisor)
        small[name] = dataclasses.replace(model, **changes)
    for name, value in list(vars(module).items()):
        for key, model in registry.items():
            if value is model:
                setattr(module, name, small[key])
    registry.update(small)


_SHRINK = {
    "hidden_size": 64,
    "intermediate_size": 64,
    "vocab_size": 256,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 4,
}


class _Finder(importlib.abc.MetaPathFinder):
    """Loads source files that are neither of the standard library nor installed through _Loader."""

    _installed = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})

    def find_spec(self, fullname, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if spec.origin.startswith(self._installed):
            return None
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder())
