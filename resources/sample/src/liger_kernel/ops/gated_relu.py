"""Gated ReLU, element by element: c = max(a, 0) * b."""

import torch
import triton
import triton.language as tl

from liger_kernel.ops.utils import as_rows
from liger_kernel.ops.utils import row_settings


@triton.jit
def _gated_relu_forward_kernel(
    a_ptr,
    a_row_stride,
    b_ptr,
    b_row_stride,
    c_ptr,
    c_row_stride,
    n_cols,
    BLOCK_SIZE: tl.constexpr,
):
    """One program computes one row of c."""
    # 64 bits: row * stride passes 2**31 for large batches.
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    inside = cols < n_cols

    a = tl.load(a_ptr + row * a_row_stride + cols, mask=inside, other=0.0)
    b = tl.load(b_ptr + row * b_row_stride + cols, mask=inside, other=0.0)
    # The product is formed in float32 and rounded once, by the store.
    c = tl.maximum(a.to(tl.float32), 0.0) * b.to(tl.float32)
    tl.store(c_ptr + row * c_row_stride + cols, c, mask=inside)


@triton.jit
def _gated_relu_backward_kernel(
    grad_c_ptr,
    grad_c_row_stride,
    a_ptr,
    a_row_stride,
    b_ptr,
    b_row_stride,
    grad_a_ptr,
    grad_a_row_stride,
    grad_b_ptr,
    grad_b_row_stride,
    n_cols,
    BLOCK_SIZE: tl.constexpr,
):
    """One program computes one row of both gradients. The slope of ReLU at zero is taken as zero."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    inside = cols < n_cols

    grad_c = tl.load(grad_c_ptr + row * grad_c_row_stride + cols, mask=inside, other=0.0).to(tl.float32)
    a = tl.load(a_ptr + row * a_row_stride + cols, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + row * b_row_stride + cols, mask=inside, other=0.0).to(tl.float32)

    grad_a = tl.where(a > 0.0, grad_c * b, 0.0)
    grad_b = grad_c * tl.maximum(a, 0.0)
    tl.store(grad_a_ptr + row * grad_a_row_stride + cols, grad_a, mask=inside)
    tl.store(grad_b_ptr + row * grad_b_row_stride + cols, grad_b, mask=inside)


def gated_relu_forward(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """c for two matrices of the same shape."""
    n_rows, n_cols = a.shape
    c = torch.empty((n_rows, n_cols), dtype=a.dtype, device=a.device)
    if c.numel() == 0:
        return c
    block_size, num_warps = row_settings(n_cols)
    with torch.cuda.device_of(a):
        _gated_relu_forward_kernel[(n_rows,)](
            a,
            a.stride(0),
            b,
            b.stride(0),
            c,
            c.stride(0),
            n_cols,
            BLOCK_SIZE=block_size,
            num_warps=num_warps,
        )
    return c


def gated_relu_backward(grad_c: torch.Tensor, a: torch.Tensor, b: torch.Tensor):
    """Gradients of a and b for the gradient of c."""
    n_rows, n_cols = a.shape
    grad_a = torch.empty((n_rows, n_cols), dtype=a.dtype, device=a.device)
    grad_b = torch.empty((n_rows, n_cols), dtype=b.dtype, device=b.device)
    if grad_a.numel() == 0:
        return grad_a, grad_b
    block_size, num_warps = row_settings(n_cols)
    with torch.cuda.device_of(a):
        _gated_relu_backward_kernel[(n_rows,)](
            grad_c,
            grad_c.stride(0),
            a,
            a.stride(0),
            b,
            b.stride(0),
            grad_a,
            grad_a.stride(0),
            grad_b,
            grad_b.stride(0),
            n_cols,
            BLOCK_SIZE=block_size,
            num_warps=num_warps,
        )
    return grad_a, grad_b


class GatedReLUFunction(torch.autograd.Function):
    """apply(a, b): tensors of the same shape, any number of leading dimensions."""

    @staticmethod
    def forward(ctx, a, b):
        if a.shape != b.shape:
            raise ValueError(f"a and b must have the same shape, they have {tuple(a.shape)} and {tuple(b.shape)}")
        a_rows, b_rows = as_rows(a), as_rows(b)
        ctx.save_for_backward(a_rows, b_rows)
        return gated_relu_forward(a_rows, b_rows).view(a.shape)

    @staticmethod
    def backward(ctx, grad_c):
        a_rows, b_rows = ctx.saved_tensors
        grad_a, grad_b = gated_relu_backward(as_rows(grad_c), a_rows, b_rows)
        return grad_a.view(grad_c.shape), grad_b.view(grad_c.shape)
