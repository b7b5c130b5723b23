import torch

from liger_kernel.ops import ScaleNormFunction


class ScaleNorm(torch.nn.Module):
    """Normalizes the last dimension by its root mean square and scales each column by a learned weight."""

    def __init__(self, hidden_size: int, eps: float = 1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ScaleNormFunction.apply(x, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.weight.numel()}, eps={self.eps}"
