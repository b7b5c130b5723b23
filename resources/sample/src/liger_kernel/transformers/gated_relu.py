import torch

from liger_kernel.ops import GatedReLUFunction


class GatedReLU(torch.nn.Module):
    """The gate of a feed-forward block: max(a, 0) * b."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return GatedReLUFunction.apply(a, b)
