"""Timing, the benchmark loop, and the data file that the benchmark scripts write to.

A script hands `run_benchmarks` a function that measures one point; the loop calls it for every
provider, mode and x, and merges the results into benchmark/data/all_benchmark_data.csv.
Environment: LIGER_BENCH_TARGET=tag writes all_benchmark_data_tag.csv instead;
LIGER_BENCH_PROVIDER_TAG=name replaces the leading "liger" of provider names.
"""

import argparse
import csv
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
import triton

import liger_kernel

DATA_FOLDER = Path(__file__).resolve().parent.parent / "data"

# Median first, then the ends of the error bar.
QUANTILES = [0.5, 0.2, 0.8]


@dataclass
class SingleBenchmarkRunInput:
    """One point to be measured. x is a number of tokens, or the name of a model in a model sweep."""

    x: int | str
    kernel_provider: str
    kernel_operation_mode: str = ""
    extra_benchmark_config: dict[str, Any] | None = None


@dataclass
class SingleBenchmarkRunOutput:
    """20 %, 50 % and 80 % quantile of what was measured."""

    y_20: float
    y_50: float
    y_80: float


@dataclass
class Row:
    """One line of the data file; the order of the fields is the order of the columns."""

    kernel_name: str
    kernel_provider: str
    kernel_operation_mode: str
    metric_name: str
    metric_unit: str
    x_name: str
    x_label: str
    x_value: int | str
    y_value_50: float
    y_value_20: float
    y_value_80: float
    extra_benchmark_config_str: str
    gpu_name: str
    timestamp: str
    liger_version: str


COLUMNS = [field.name for field in fields(Row)]

# What makes two rows the same experiment.
IDENTITY = [
    "kernel_name",
    "kernel_provider",
    "kernel_operation_mode",
    "metric_name",
    "x_name",
    "x_value",
    "extra_benchmark_config_str",
    "gpu_name",
]


def _gradients_like(outputs: torch.Tensor) -> torch.Tensor:
    # A loss has no dimension: its gradient is 1, as in training.
    return torch.ones_like(outputs) if outputs.dim() == 0 else torch.randn_like(outputs)


def _step(forward: Callable[[], torch.Tensor], mode: str) -> Callable[[], Any]:
    """The function to be repeated for one of the modes forward, backward and full."""
    if mode == "forward":
        return forward
    if mode == "backward":
        outputs = forward()
        gradients = _gradients_like(outputs)
        return lambda: outputs.backward(gradients, retain_graph=True)
    if mode == "full":

        def forward_and_backward():
            outputs = forward()
            outputs.backward(_gradients_like(outputs))

        return forward_and_backward
    raise ValueError(f"unknown mode {mode!r}: choose forward, backward or full")


# A setup makes the inputs of one point and returns the forward function and the tensors that collect gradients.
Setup = Callable[[SingleBenchmarkRunInput], tuple[Callable[[], torch.Tensor], list[torch.Tensor]]]


def speed_of(setup: Setup) -> Callable[[SingleBenchmarkRunInput], SingleBenchmarkRunOutput]:
    """A bench_test_fn: wall time of one step in ms, launch cost included."""

    def measure(point: SingleBenchmarkRunInput) -> SingleBenchmarkRunOutput:
        forward, leaves = setup(point)
        step = _step(forward, point.kernel_operation_mode)
        y_50, y_20, y_80 = triton.testing.do_bench(step, warmup=25, rep=20, grad_to_none=leaves, quantiles=QUANTILES)
        return SingleBenchmarkRunOutput(y_20=y_20, y_50=y_50, y_80=y_80)

    return measure


def memory_of(setup: Setup, repetitions: int = 5) -> Callable[[SingleBenchmarkRunInput], SingleBenchmarkRunOutput]:
    """A bench_test_fn: peak of the allocated memory during one step in MB, inputs included."""

    def measure(point: SingleBenchmarkRunInput) -> SingleBenchmarkRunOutput:
        forward, leaves = setup(point)
        step = _step(forward, point.kernel_operation_mode)
        peaks = []
        for _ in range(repetitions):
            for leaf in leaves:
                leaf.grad = None
            torch.cuda.reset_peak_memory_stats()
            step()
            torch.cuda.synchronize()
            peaks.append(torch.cuda.max_memory_allocated() / 2**20)
        y_50, y_20, y_80 = torch.tensor(peaks).quantile(torch.tensor(QUANTILES)).tolist()
        return SingleBenchmarkRunOutput(y_20=y_20, y_50=y_50, y_80=y_80)

    return measure


def _config_text(config: dict[str, Any] | None) -> str:
    return json.dumps(config, default=str)


def _rows_of_config(bench_test_fn, config, kernel_providers, kernel_operation_modes, x_values, columns):
    for mode in kernel_operation_modes:
        for provider in kernel_providers:
            for x in x_values:
                point = SingleBenchmarkRunInput(x, provider, mode, config)
                result = bench_test_fn(point)
                yield Row(
                    kernel_provider=provider,
                    kernel_operation_mode=mode,
                    x_value=x,
                    y_value_50=result.y_50,
                    y_value_20=result.y_20,
                    y_value_80=result.y_80,
                    extra_benchmark_config_str=_config_text(config),
                    timestamp=time.strftime("%Y-%m-%d %H:%M:%S"),
                    **columns,
                )


def run_benchmarks(
    bench_test_fn: Callable[[SingleBenchmarkRunInput], SingleBenchmarkRunOutput],
    kernel_name: str,
    metric_name: str,
    metric_unit: str,
    x_name: str,
    x_label: str,
    x_values: list[int | str],
    kernel_providers: list[str],
    kernel_operation_modes: list[str],
    extra_benchmark_configs: list[dict[str, Any]],
    overwrite: bool = False,
) -> None:
    """Measures every point, prints the rows as JSON, and merges them into the data file.

    Rows of an experiment that is in the file already are kept unless overwrite is true.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("benchmarks need a GPU: torch finds none")
    print(f"=== {kernel_name}: {metric_name} of {', '.join(kernel_operation_modes)} ===")
    columns = {
        "kernel_name": kernel_name,
        "metric_name": metric_name,
        "metric_unit": metric_unit,
        "x_name": x_name,
        "x_label": x_label,
        "gpu_name": torch.cuda.get_device_name(),
        "liger_version": liger_kernel.__version__,
    }
    rows = []
    for config in extra_benchmark_configs:
        rows += _rows_of_config(bench_test_fn, config, kernel_providers, kernel_operation_modes, x_values, columns)

    new_name = os.environ.get("LIGER_BENCH_PROVIDER_TAG", "").strip().lower()
    for row in rows:
        if new_name and row.kernel_provider.startswith("liger"):
            row.kernel_provider = new_name + row.kernel_provider[len("liger") :]
    print(json.dumps([asdict(row) for row in rows], indent=1))
    merge_rows(rows, overwrite)


def merge_rows(rows: list[Row], overwrite: bool) -> Path:
    """Writes the rows into the data file, which is replaced in one step; returns its path."""
    tag = os.environ.get("LIGER_BENCH_TARGET", "").strip().lower()
    path = DATA_FOLDER / f"all_benchmark_data{'_' + tag if tag else ''}.csv"
    merged: dict[tuple, dict] = {}
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                merged[tuple(line[name] for name in IDENTITY)] = line
    for row in rows:
        line = asdict(row)
        key = tuple(str(line[name]) for name in IDENTITY)
        if overwrite or key not in merged:
            merged[key] = line

    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".csv.part")
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=COLUMNS)
        writer.writeheader()
        writer.writerows(merged.values())
    unfinished.replace(path)
    return path


def parse_benchmark_script_args() -> argparse.Namespace:
    """The options that every benchmark script has."""
    parser = argparse.ArgumentParser(description="Measures one kernel and adds the rows to benchmark/data/.")
    parser.add_argument("--overwrite", action="store_true", help="replace rows that are in the data file already")
    parser.add_argument(
        "--sweep-mode",
        choices=["token_length", "model_config"],
        default="token_length",
        help="what x is: the number of tokens with one model, or the model with one number of tokens",
    )
    parser.add_argument("--model", default=None, help="model of the token_length sweep, a name of MODEL_REGISTRY")
    parser.add_argument("--bt", type=int, default=2048, help="number of tokens of the model_config sweep")
    return parser.parse_args()
