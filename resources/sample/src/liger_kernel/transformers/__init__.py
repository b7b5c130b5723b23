from liger_kernel.transformers.gated_relu import GatedReLU
from liger_kernel.transformers.label_loss import LabelLoss
from liger_kernel.transformers.scale_norm import ScaleNorm

__all__ = ["GatedReLU", "LabelLoss", "ScaleNorm"]
