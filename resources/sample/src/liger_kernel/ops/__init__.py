from liger_kernel.ops.gated_relu import GatedReLUFunction
from liger_kernel.ops.label_loss import LabelLossFunction
from liger_kernel.ops.scale_norm import ScaleNormFunction

__all__ = ["GatedReLUFunction", "LabelLossFunction", "ScaleNormFunction"]
