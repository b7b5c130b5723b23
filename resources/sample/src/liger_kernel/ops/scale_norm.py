"""Scale norm: each row divided by its root mean square, then scaled by a weight per column.

With r = 1 / sqrt(mean(x^2) + eps) for a row x of n values:
    y      = x * r * g
    grad_x = r * (grad_y * g  -  x * r^2 * sum(grad_y * g * x) / n)
    grad_g = sum over rows of grad_y * x * r
"""

import torch
import triton
import triton.language as tl

from liger_kernel.ops.utils import as_rows
from liger_kernel.ops.utils import row_settings


@triton.jit
def _scale_norm_forward_kernel(
    x_ptr,
    x_row_stride,
    g_ptr,
    y_ptr,
    y_row_stride,
    inv_rms_ptr,
    n_cols,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    """One program normalizes one row and leaves its 1 / rms for the backward pass."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    inside = cols < n_cols

    x = tl.load(x_ptr + row * x_row_stride + cols, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + cols, mask=inside, other=0.0).to(tl.float32)

    # Columns outside the row were read as zero and add nothing to the sum.
    inv_rms = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(inv_rms_ptr + row, inv_rms)
    tl.store(y_ptr + row * y_row_stride + cols, x * inv_rms * g, mask=inside)


@triton.jit
def _scale_norm_backward_kernel(
    grad_y_ptr,
    grad_y_row_stride,
    x_ptr,
    x_row_stride,
    g_ptr,
    inv_rms_ptr,
    grad_x_ptr,
    grad_x_row_stride,
    grad_g_ptr,
    grad_g_row_stride,
    n_rows,
    n_cols,
    rows_per_program,
    BLOCK_SIZE: tl.constexpr,
):
    """A program takes rows_per_program rows that follow each other, writes their grad_x, and
    leaves its own partial sum of grad_g in one row of a float32 buffer."""
    program = tl.program_id(0).to(tl.int64)
    first_row = program * rows_per_program
    end_row = tl.minimum(first_row + rows_per_program, n_rows)
    cols = tl.arange(0, BLOCK_SIZE)
    inside = cols < n_cols

    g = tl.load(g_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    grad_g = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)

    for row in range(first_row, end_row):
        grad_y = tl.load(grad_y_ptr + row * grad_y_row_stride + cols, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + row * x_row_stride + cols, mask=inside, other=0.0).to(tl.float32)
        inv_rms = tl.load(inv_rms_ptr + row)

        scaled = grad_y * g
        projection = tl.sum(scaled * x, axis=0) * inv_rms * inv_rms / n_cols
        grad_x = inv_rms * (scaled - projection * x)
        tl.store(grad_x_ptr + row * grad_x_row_stride + cols, grad_x, mask=inside)

        grad_g += grad_y * x * inv_rms

    # A program without rows stores zeros, which the sum over programs needs.
    tl.store(grad_g_ptr + program * grad_g_row_stride + cols, grad_g, mask=inside)


def scale_norm_forward(x: torch.Tensor, g: torch.Tensor, eps: float):
    """y and 1 / rms of each row of the matrix x."""
    n_rows, n_cols = x.shape
    block_size, num_warps = row_settings(n_cols)
    y = torch.empty((n_rows, n_cols), dtype=x.dtype, device=x.device)
    inv_rms = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    if n_rows > 0:
        with torch.cuda.device_of(x):
            _scale_norm_forward_kernel[(n_rows,)](
                x,
                x.stride(0),
                g,
                y,
                y.stride(0),
                inv_rms,
                n_cols,
                eps,
                BLOCK_SIZE=block_size,
                num_warps=num_warps,
            )
    return y, inv_rms, block_size, num_warps


def scale_norm_backward(grad_y, x, g, inv_rms, block_size: int, num_warps: int):
    """Gradients of x and g for the gradient of y."""
    n_rows, n_cols = x.shape
    # One program per multiprocessor. Off the GPU: a few, so that partial sums are still formed.
    n_programs = 4
    if x.is_cuda:
        n_programs = torch.cuda.get_device_properties(x.device).multi_processor_count
    rows_per_program = triton.cdiv(n_rows, n_programs)

    grad_x = torch.zeros_like(x)
    grad_g_parts = torch.empty((n_programs, n_cols), dtype=torch.float32, device=x.device)
    with torch.cuda.device_of(x):
        _scale_norm_backward_kernel[(n_programs,)](
            grad_y,
            grad_y.stride(0),
            x,
            x.stride(0),
            g,
            inv_rms,
            grad_x,
            grad_x.stride(0),
            grad_g_parts,
            grad_g_parts.stride(0),
            n_rows,
            n_cols,
            rows_per_program,
            BLOCK_SIZE=block_size,
            num_warps=num_warps,
        )
    return grad_x, grad_g_parts.sum(dim=0).to(g.dtype)


class ScaleNormFunction(torch.autograd.Function):
    """apply(x, g, eps): x of any number of leading dimensions, g one weight per column."""

    @staticmethod
    def forward(ctx, x, g, eps):
        if g.shape != x.shape[-1:]:
            raise ValueError(f"g must hold one weight for each of {x.shape[-1]} columns, its shape is {tuple(g.shape)}")
        rows = as_rows(x)
        g = g.contiguous()
        y, inv_rms, block_size, num_warps = scale_norm_forward(rows, g, eps)
        ctx.block_size = block_size
        ctx.num_warps = num_warps
        ctx.save_for_backward(rows, g, inv_rms)
        return y.view(x.shape)

    @staticmethod
    def backward(ctx, grad_y):
        rows, g, inv_rms = ctx.saved_tensors
        grad_x, grad_g = scale_norm_backward(as_rows(grad_y), rows, g, inv_rms, ctx.block_size, ctx.num_warps)
        return grad_x.view(grad_y.shape), grad_g, None
