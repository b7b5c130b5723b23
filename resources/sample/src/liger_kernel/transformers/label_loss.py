import torch

from liger_kernel.ops import LabelLossFunction


class LabelLoss(torch.nn.Module):
    """Mean softmax cross-entropy over the labels that differ from ignore_index."""

    def __init__(self, ignore_index: int = -100):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return LabelLossFunction.apply(logits, labels, self.ignore_index)
