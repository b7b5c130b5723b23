"""Launch helpers that the kernels of this folder share."""

import torch
import triton

# The widest row that one program may hold in registers.
WIDEST_ROW = 65536


def row_settings(n_cols: int) -> tuple[int, int]:
    """Block size and number of warps for a program that holds a whole row of n_cols values."""
    block_size = triton.next_power_of_2(n_cols)
    if block_size > WIDEST_ROW:
        raise ValueError(f"rows of {n_cols} values are too wide for one program, the limit is {WIDEST_ROW}")
    num_warps = min(max(block_size // 512, 4), 16)
    return block_size, num_warps


def as_rows(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as a matrix whose rows lie along the last dimension, values side by side."""
    rows = tensor.reshape(-1, tensor.shape[-1])
    return rows if rows.stride(1) == 1 else rows.contiguous()
