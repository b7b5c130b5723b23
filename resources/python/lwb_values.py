"""The values of tensors: described from a tensor that was seen, drawn freshly from such a
description (VALUES and ARG in README.md)."""

from __future__ import annotations

import math

from typing import Any

from lwb_channel import JobFailure

_SAMPLE_ROWS = 64  # rows looked at when a float tensor is described
_LITERAL_LIMIT = 65536  # integers up to this many are kept as they are when they look like offsets


def dtype_name(dtype: Any) -> str:
    """`bfloat16` for torch.bfloat16."""
    return str(dtype).removeprefix("torch.")


def dtype_of(name: str) -> Any:
    """torch.bfloat16 for `bfloat16` or `torch.bfloat16`."""
    import torch

    dtype = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise JobFailure("bad_job", f"'{name}' is not a dtype of this torch {torch.__version__}.")
    return dtype


def describe_values(tensor: Any, requires_grad: bool = False) -> dict:
    """VALUES: how to draw fresh data that stays valid for the op.

    Integers: constant; arange along the last axis; each value once: permutation; sorted: offsets
    kept literally (a random draw would not be valid offsets); else randint, where one negative
    value below all others (an ignore index) is a `fill`. Floats: constant; 0 and 1 only:
    bernoulli; rows of a softmax or log-softmax; not negative: uniform; else normal. A constant
    that requires a gradient is a freshly initialized parameter: it is drawn normally around its
    value, because ones and zeros would hide a variant that forgets the parameter."""
    import torch

    data = tensor.detach()
    if data.numel() == 0:
        return {"kind": "constant", "value": 0}
    if data.dtype == torch.bool:
        return {"kind": "bernoulli", "p": data.float().mean().item()}
    if data.dtype.is_complex:
        return {"kind": "normal", "mean": 0.0, "std": 1.0}
    if not data.dtype.is_floating_point:
        return _describe_integers(data)
    return _describe_floats(data, requires_grad)


def _describe_integers(data: Any) -> dict:
    import torch

    data = data.to(torch.int64)
    low, high = data.min().item(), data.max().item()
    if low == high:
        return {"kind": "constant", "value": low}
    last = data.shape[-1]
    first_row = data.reshape(-1, last)[0]
    ramp = torch.arange(last, device=data.device) + first_row[0]
    if last > 1 and bool((data == ramp).all()):
        return {"kind": "arange", "start": first_row[0].item()}
    flat = data.reshape(-1)
    if flat.numel() == high - low + 1 and flat.unique().numel() == flat.numel():
        return {"kind": "permutation", "start": low}
    if data.ndim == 1 and flat.numel() <= _LITERAL_LIMIT and bool((flat[1:] >= flat[:-1]).all()):
        return {"kind": "literal", "values": flat.tolist()}
    values: dict[str, Any] = {"kind": "randint", "low": low, "high": high}
    if low < 0:
        rest = flat[flat != low]
        if rest.numel() and rest.min().item() >= 0:
            share = 1.0 - rest.numel() / flat.numel()
            values = {"kind": "randint", "low": rest.min().item(), "high": rest.max().item()}
            values["fill"] = {"value": low, "share": share}
    return values


def _sample_rows(data: Any) -> Any:
    """At most _SAMPLE_ROWS rows (last axis kept), spread evenly, as float64."""
    import torch

    if data.ndim == 0:
        return data.reshape(1, 1).to(torch.float64)
    if data.ndim == 1:
        return data[: 1 << 20].reshape(1, -1).to(torch.float64)
    rows = data.flatten(0, -2) if data.is_contiguous() else data
    while rows.ndim > 2:  # not contiguous: one index per leading axis is enough
        rows = rows[rows.shape[0] // 2]
    step = max(1, rows.shape[0] // _SAMPLE_ROWS)
    return rows[::step][:_SAMPLE_ROWS].to(torch.float64)


def _describe_floats(data: Any, requires_grad: bool) -> dict:
    rows = _sample_rows(data)
    finite = rows[rows.isfinite()]
    if finite.numel() == 0:
        return {"kind": "constant", "value": _float_json(rows.reshape(-1)[0].item())}
    low, high = finite.min().item(), finite.max().item()
    mean = finite.mean().item()
    std = finite.std(correction=0).item()
    infinite = rows[rows.isinf()]
    fill = None
    if infinite.numel():
        fill = {"value": _float_json(infinite[0].item()), "share": infinite.numel() / rows.numel()}
    if fill is None and data.numel() > 1 and low != high and rows.shape[-1] > 1 and finite.numel() == rows.numel():
        tolerance = 2e-2 if data.dtype.itemsize <= 2 else 1e-4
        if low >= 0 and (rows.sum(-1) - 1).abs().max().item() < tolerance:
            return {"kind": "softmax"}
        if high <= tolerance and (rows.exp().sum(-1) - 1).abs().max().item() < tolerance:
            return {"kind": "log_softmax"}
    if low == high:
        if requires_grad and data.numel() > 1:
            values = {"kind": "normal", "mean": low, "std": 0.1 * max(1.0, abs(low))}
        else:
            values = {"kind": "constant", "value": low}
    elif bool(((finite == 0) | (finite == 1)).all()):
        values = {"kind": "bernoulli", "p": mean}
    elif low >= 0:
        values = {"kind": "uniform", "low": low, "high": high}
    elif not math.isfinite(mean) or not math.isfinite(std) or std > 1e6:
        values = {"kind": "normal", "mean": 0.0, "std": 1.0}  # never written memory
    else:
        values = {"kind": "normal", "mean": mean, "std": std}
    if fill is not None:
        values["fill"] = fill
    return values


def _float_json(value: float) -> Any:
    """A float that JSON can carry: infinities and NaN as text."""
    return value if math.isfinite(value) else str(value)


def draw_values(values: dict, shape: list[int], dtype: Any, device: str, generator: Any) -> Any:
    """A fresh contiguous tensor as VALUES describes it."""
    import torch

    kind = values.get("kind")
    options: dict[str, Any] = {"dtype": dtype, "device": device}
    work = torch.float32 if dtype.itemsize <= 2 or not dtype.is_floating_point else dtype
    if dtype.is_complex:
        work = dtype
    floats: dict[str, Any] = {"dtype": work, "device": device, "generator": generator}
    if kind == "normal":
        drawn = torch.empty(shape, **options)
        if dtype.itemsize == 1:  # float8 has no random numbers of its own
            drawn = torch.randn(shape, **floats).mul_(values.get("std", 1.0)).add_(values.get("mean", 0.0)).to(dtype)
        else:
            drawn.normal_(values.get("mean", 0.0), values.get("std", 1.0), generator=generator)
    elif kind == "uniform":
        drawn = torch.rand(shape, **floats)
        drawn = drawn.mul_(values["high"] - values["low"]).add_(values["low"]).to(dtype)
    elif kind == "softmax":
        drawn = torch.randn(shape, **floats).softmax(-1).to(dtype)
    elif kind == "log_softmax":
        drawn = torch.randn(shape, **floats).log_softmax(-1).to(dtype)
    elif kind == "randint":
        drawn = torch.randint(values["low"], values["high"] + 1, shape, device=device, generator=generator).to(dtype)
    elif kind == "bernoulli":
        drawn = (torch.rand(shape, device=device, generator=generator) < values["p"]).to(dtype)
    elif kind == "constant":
        drawn = torch.full(shape, _number(values["value"]), **options)
    elif kind == "arange":
        drawn = torch.arange(shape[-1] if shape else 1, device=device) + values.get("start", 0)
        drawn = drawn.to(dtype).expand(shape).contiguous()
    elif kind == "permutation":
        count = math.prod(shape)
        drawn = torch.randperm(count, device=device, generator=generator) + values.get("start", 0)
        drawn = drawn.reshape(shape).to(dtype)
    elif kind == "literal":
        drawn = torch.tensor(values["values"], device=device).reshape(shape).to(dtype)
    else:
        raise JobFailure("bad_job", f"'{kind}' is not a kind of values that can be drawn.")
    fill = values.get("fill")
    if fill:
        mask = torch.rand(shape, device=device, generator=generator) < fill["share"]
        drawn.masked_fill_(mask, _number(fill["value"]))
    return drawn


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value


def describe_argument(value: Any) -> dict:
    """ARG of a value as it is now (call it before the op can modify it)."""
    import torch

    if isinstance(value, torch.Tensor):
        if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided:
            return {"unsupported": f"{type(value).__name__} of layout {value.layout}"}
        return {
            "tensor": {
                "shape": list(value.shape),
                "stride": list(value.stride()),
                "dtype": dtype_name(value.dtype),
                "requires_grad": bool(value.requires_grad),
                "values": describe_values(value, bool(value.requires_grad)),
            }
        }
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if value is None or isinstance(value, (bool, str)):
        return {"value": value}
    if isinstance(value, int):
        return {"value": int(value)}
    if isinstance(value, float):
        return {"value": value} if math.isfinite(value) else {"float": str(value)}
    if type(value) in (list, tuple):
        items = [describe_argument(item) for item in value]
        return {"list" if isinstance(value, list) else "tuple": items}
    if isinstance(value, torch.Size):
        return {"tuple": [{"value": int(item)} for item in value]}
    return {"unsupported": repr(value)[:200]}


def draw_tensor(description: dict, generator: Any, dtype_override: Any, device: str) -> Any:
    """A fresh leaf tensor of the described shape, stride, dtype and values."""
    import torch

    dtype = dtype_of(description["dtype"])
    if dtype_override is not None and dtype.is_floating_point:
        dtype = dtype_override
    shape = list(description["shape"])
    stride = list(description.get("stride") or _contiguous_stride(shape))
    compact = [1 if s == 0 else n for n, s in zip(shape, stride)]
    values = description.get("values") or {"kind": "normal", "mean": 0.0, "std": 1.0}
    if values.get("kind") == "literal":
        compact = shape
    drawn = draw_values(values, compact, dtype, device, generator)
    if stride != _contiguous_stride(shape) and 0 not in shape:
        room = 1 + sum((n - 1) * s for n, s in zip(compact, stride))
        memory = torch.zeros(room, dtype=dtype, device=device)
        memory.as_strided(compact, stride).copy_(drawn)
        drawn = memory.as_strided(shape, stride)
    return drawn.detach().requires_grad_(bool(description.get("requires_grad")))


def _contiguous_stride(shape: list[int]) -> list[int]:
    stride = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        stride[axis] = stride[axis + 1] * max(1, shape[axis + 1])
    return stride


# --------------------------------------------------------------------------- copies and bits


def _compact(tensor: Any) -> Any:
    """What of the tensor lies in memory once: an expanded axis has one element there."""
    return tensor[tuple(slice(0, 1) if s == 0 and n > 1 else slice(None) for n, s in zip(tensor.shape, tensor.stride()))]


def clone_strided(tensor: Any) -> Any:
    """A detached copy with the same strides (stride 0 included)."""
    import torch

    source = tensor.detach()
    small = _compact(source) if source.ndim else source
    copy = torch.empty_strided(small.shape, small.stride(), dtype=source.dtype, device=source.device)
    copy.copy_(small)
    # A view only where it must be one: autograd lets an op modify views in fewer cases.
    return copy if copy.shape == source.shape else copy.as_strided(source.shape, source.stride())


def overwrite(target: Any, source: Any) -> None:
    """The source's values into a tensor of the same shape and strides, unseen by autograd and by the
    tensor's version."""
    target, source = target.data, source.detach()
    if target.ndim:
        target, source = _compact(target), _compact(source)
    target.copy_(source)


def same_bits(first: Any, second: Any) -> bool:
    """Whether two tensors of one shape and dtype hold the same bits (NaN equals itself)."""
    import torch

    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.numel() == 0:
        return True
    widths = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    width = widths.get(first.dtype.itemsize)
    a, b = first.detach(), second.detach()
    if width is not None and first.dtype != torch.bool:
        a, b = a.contiguous().view(width), b.contiguous().view(width)
    return bool(torch.equal(a, b))
