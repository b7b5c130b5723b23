"""Draws rows of a benchmark data file: one picture per mode, one line per provider."""

import argparse
import csv
import json
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
PICTURES = HERE / "visualizations"
MODEL_SWEEP = "model_config"


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel-name", required=True)
    parser.add_argument("--metric-name", required=True, help="speed or memory")
    parser.add_argument("--kernel-operation-mode", nargs="*", help="default: all that have rows")
    parser.add_argument("--sweep-mode", choices=["token_length", MODEL_SWEEP], default="token_length")
    parser.add_argument("--extra-config-filter", help="key=value, or a part of the configuration's text")
    parser.add_argument("--gpu-filter", help="a part of the GPU's name; default: the GPU of the newest row")
    parser.add_argument("--data-file", default="data/all_benchmark_data.csv", help="relative to benchmark/")
    parser.add_argument("--display", action="store_true", help="also open a window")
    parser.add_argument("--overwrite", action="store_true", help="replace pictures that exist")
    return parser.parse_args()


def read_rows(args: argparse.Namespace) -> list[dict]:
    """The rows of the kernel, metric and sweep that were asked for."""
    with (HERE / args.data_file).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        row
        for row in rows
        if row["kernel_name"] == args.kernel_name
        and row["metric_name"] == args.metric_name
        and (row["x_name"] == MODEL_SWEEP) == (args.sweep_mode == MODEL_SWEEP)
    ]


def matches(config_text: str, wanted: str) -> bool:
    """Whether a configuration has the key=value, or holds the text."""
    key, equals, value = wanted.partition("=")
    config = json.loads(config_text) or {}
    if equals and key.strip() in config:
        return str(config[key.strip()]) == value.strip()
    return wanted in config_text


def narrowed(rows: list[dict], args: argparse.Namespace) -> list[dict]:
    """Rows of a single GPU and configuration: those asked for, else those of the newest row."""
    if args.gpu_filter:
        rows = [row for row in rows if args.gpu_filter in row["gpu_name"]]
    if args.extra_config_filter:
        rows = [row for row in rows if matches(row["extra_benchmark_config_str"], args.extra_config_filter)]
    for column in ["gpu_name", "extra_benchmark_config_str"]:
        kinds = {row[column] for row in rows}
        if len(kinds) > 1:
            newest = max(rows, key=lambda row: row["timestamp"])[column]
            print(f"several values of {column}: {sorted(kinds)}; drawing {newest!r}")
            rows = [row for row in rows if row[column] == newest]
    return rows


def draw(rows: list[dict], args: argparse.Namespace, mode: str) -> None:
    path = PICTURES / f"{args.kernel_name}_{args.metric_name}_{mode}_{args.sweep_mode}.png"
    figure, axes = plt.subplots(figsize=(9, 5.5), layout="constrained")
    as_numbers = args.sweep_mode != MODEL_SWEEP
    for provider in sorted({row["kernel_provider"] for row in rows}):
        line = [row for row in rows if row["kernel_provider"] == provider]
        if as_numbers:
            line.sort(key=lambda row: float(row["x_value"]))
        x = [float(row["x_value"]) if as_numbers else row["x_value"] for row in line]
        low, middle, high = ([float(row[f"y_value_{q}"]) for row in line] for q in (20, 50, 80))
        below = [max(m - low_end, 0.0) for m, low_end in zip(middle, low)]
        above = [max(high_end - m, 0.0) for m, high_end in zip(middle, high)]
        axes.errorbar(x, middle, yerr=[below, above], marker="o", capsize=4, label=provider)
    if as_numbers:
        ticks = sorted({float(row["x_value"]) for row in rows})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=30)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(rows[0]["x_label"])
    axes.set_ylabel(f"{args.metric_name} ({rows[0]['metric_unit']}), 20 % to 80 %")
    axes.set_title(f"{args.kernel_name}, {mode}, {rows[0]['gpu_name']}")
    axes.grid(alpha=0.3)
    axes.legend(title="provider")
    if args.overwrite or not path.exists():
        PICTURES.mkdir(exist_ok=True)
        figure.savefig(path, dpi=120)
        print(f"wrote {path}")
    else:
        print(f"kept {path}: it exists, and --overwrite was not given")
    if args.display:
        plt.show()
    plt.close(figure)


def main() -> None:
    args = parse_args()
    rows = read_rows(args)
    modes = args.kernel_operation_mode or sorted({row["kernel_operation_mode"] for row in rows})
    for mode in modes:
        of_mode = narrowed([row for row in rows if row["kernel_operation_mode"] == mode], args)
        if not of_mode:
            raise SystemExit(f"no rows of {args.kernel_name}, {args.metric_name}, {mode} in {args.data_file}")
        draw(of_mode, args, mode)
    if not modes:
        raise SystemExit(f"no rows of {args.kernel_name}, {args.metric_name} in {args.data_file}")


if __name__ == "__main__":
    main()
