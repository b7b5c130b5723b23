"""Label loss: softmax cross-entropy of each row of logits against one label, averaged.

The forward pass already computes the gradient, so that the softmax is formed once:
    loss_row     = log(sum(exp(logits))) - logits[label]
    grad_logits  = (softmax(logits) - onehot(label)) / number of labels that count
Rows whose label equals ignore_index count nowhere.
"""

import torch
import triton
import triton.language as tl

from liger_kernel.ops.utils import as_rows

# Columns that a program holds at a time; wider rows are walked through in steps of this size.
WIDEST_BLOCK = 8192


@triton.jit
def _label_loss_kernel(
    logits_ptr,
    logits_row_stride,
    labels_ptr,
    n_counted_ptr,
    loss_ptr,
    grad_ptr,
    grad_row_stride,
    n_cols,
    ignore_index,
    BLOCK_SIZE: tl.constexpr,
):
    """One program computes the loss of one row, then the gradient of its logits."""
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * logits_row_stride
    grad_ptr += row * grad_row_stride
    label = tl.load(labels_ptr + row)

    if label == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        for start in range(0, n_cols, BLOCK_SIZE):
            cols = start + tl.arange(0, BLOCK_SIZE)
            tl.store(grad_ptr + cols, tl.zeros((BLOCK_SIZE,), dtype=tl.float32), mask=cols < n_cols)
        return

    # First walk: the largest logit so far, and the sum of exponentials relative to it.
    largest = tl.full((), float("-inf"), dtype=tl.float32)
    total = tl.full((), 0.0, dtype=tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        logits = tl.load(logits_ptr + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        new_largest = tl.maximum(largest, tl.max(logits, axis=0))
        total = total * tl.exp(largest - new_largest) + tl.sum(tl.exp(logits - new_largest), axis=0)
        largest = new_largest

    label_logit = tl.load(logits_ptr + label).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(total) + largest - label_logit)

    # Second walk: softmax minus one at the label, shared among the labels that count.
    n_counted = tl.load(n_counted_ptr).to(tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        logits = tl.load(logits_ptr + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        softmax = tl.exp(logits - largest) / total
        grad = tl.where(cols == label, softmax - 1.0, softmax) / n_counted
        tl.store(grad_ptr + cols, grad, mask=cols < n_cols)


def _column_settings(n_cols: int) -> tuple[int, int]:
    """Block size and number of warps for a program that walks through a row of n_cols values."""
    block_size = min(triton.next_power_of_2(n_cols), WIDEST_BLOCK)
    return block_size, 16 if block_size >= 4096 else 8


def label_loss_forward(logits: torch.Tensor, labels: torch.Tensor, ignore_index: int):
    """Mean loss (float32, no dimension) and the gradient of the matrix logits."""
    n_rows, n_cols = logits.shape
    block_size, num_warps = _column_settings(n_cols)
    # Stays on the device: reading it here would make the host wait for the GPU.
    n_counted = (labels != ignore_index).sum()
    losses = torch.empty(n_rows, dtype=torch.float32, device=logits.device)
    grad_logits = torch.empty_like(logits)
    if n_rows > 0:
        with torch.cuda.device_of(logits):
            _label_loss_kernel[(n_rows,)](
                logits,
                logits.stride(0),
                labels,
                n_counted,
                losses,
                grad_logits,
                grad_logits.stride(0),
                n_cols,
                ignore_index,
                BLOCK_SIZE=block_size,
                num_warps=num_warps,
            )
    # With no label that counts the mean is 0 / 0, as torch has it.
    return losses.sum() / n_counted, grad_logits


class LabelLossFunction(torch.autograd.Function):
    """apply(logits, labels, ignore_index): labels has the shape of logits without the last dimension."""

    @staticmethod
    def forward(ctx, logits, labels, ignore_index):
        if labels.shape != logits.shape[:-1]:
            raise ValueError(f"labels must have the shape {tuple(logits.shape[:-1])}, it is {tuple(labels.shape)}")
        loss, grad_logits = label_loss_forward(as_rows(logits), labels.reshape(-1).contiguous(), ignore_index)
        ctx.shape = logits.shape
        ctx.save_for_backward(grad_logits)
        return loss

    @staticmethod
    def backward(ctx, grad_loss):
        (grad_logits,) = ctx.saved_tensors
        return (grad_logits * grad_loss).view(ctx.shape), None, None
