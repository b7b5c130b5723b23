"""Facts about the machine that layers, tests and benchmarks share."""

import torch


def infer_device() -> str:
    """Device type on which tensors are made: the accelerator when there is one, else "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def device_memory_bytes() -> int | None:
    """Total memory of the current accelerator in bytes; None on a machine without one."""
    if not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
