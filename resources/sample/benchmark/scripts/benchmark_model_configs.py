"""Models that give the benchmarks their widths, and the two sweeps that scripts can run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from liger_kernel.utils import device_memory_bytes


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of a model that decide the shapes of its kernels' inputs."""

    name: str
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    dtype: torch.dtype = torch.bfloat16


MODEL_REGISTRY = {
    model.name: model
    for model in [
        ModelConfig("narrow", hidden_size=1024, intermediate_size=2816, vocab_size=4096),
        ModelConfig("middle", hidden_size=2048, intermediate_size=5632, vocab_size=16384),
        ModelConfig("wide", hidden_size=4096, intermediate_size=11008, vocab_size=32000),
    ]
}

DEFAULT_MODEL = "wide"

TOKEN_LENGTHS = [1024, 2048, 4096, 8192]

# The share of the GPU's memory that a sweep may fill.
MEMORY_SHARE = 0.4


def _model_named(name: str | None) -> ModelConfig:
    name = name or DEFAULT_MODEL
    if name not in MODEL_REGISTRY:
        raise SystemExit(f"no model is called {name!r}: choose one of {', '.join(MODEL_REGISTRY)}")
    return MODEL_REGISTRY[name]


def _longest_that_fits(lengths: list[int], bytes_per_token: int) -> list[int]:
    """The token lengths whose tensors fit into memory; at least the shortest."""
    memory = device_memory_bytes()
    if memory is None:  # no GPU: nothing longer than the shortest can be waited for
        return lengths[:1]
    fitting = [length for length in lengths if length * bytes_per_token <= memory * MEMORY_SHARE]
    return fitting or lengths[:1]


def config_of(model: ModelConfig, keys: list[str], **others: Any) -> dict[str, Any]:
    """The benchmark configuration of a model: the named sizes, then whatever else is fixed."""
    return {key: getattr(model, key) for key in keys} | others


def sizes_of(point, keys: list[str]) -> tuple[int, list[Any]]:
    """Number of tokens and the named sizes for one point of either sweep."""
    config = point.extra_benchmark_config
    if isinstance(point.x, str):
        return config["bt"], [getattr(MODEL_REGISTRY[point.x], key) for key in keys]
    return point.x, [config[key] for key in keys]


def sweep_of(args, keys: list[str], bytes_per_token: Callable[[ModelConfig], int], **others: Any) -> dict[str, Any]:
    """The arguments of run_benchmarks that describe x, for the sweep that the command line asks for.

    bytes_per_token estimates what the torch provider holds at its peak, for one token.
    """
    if args.sweep_mode == "model_config":
        models = list(MODEL_REGISTRY.values())
        largest = max(bytes_per_token(model) for model in models)
        tokens = _longest_that_fits([min(args.bt, TOKEN_LENGTHS[0]), args.bt], largest)[-1]
        return {
            "x_name": "model_config",
            "x_label": "model configuration",
            "x_values": [model.name for model in models],
            "extra_benchmark_configs": [{"bt": tokens} | others],
            "overwrite": args.overwrite,
        }
    model = _model_named(args.model)
    return {
        "x_name": "T",
        "x_label": "number of tokens",
        "x_values": _longest_that_fits(TOKEN_LENGTHS, bytes_per_token(model)),
        "extra_benchmark_configs": [config_of(model, keys, **others)],
        "overwrite": args.overwrite,
    }
