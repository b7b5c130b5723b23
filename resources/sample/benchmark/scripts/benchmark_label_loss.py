import torch

from benchmark_model_configs import sizes_of
from benchmark_model_configs import sweep_of
from liger_kernel.transformers.label_loss import LabelLoss
from liger_kernel.utils import infer_device
from utils import SingleBenchmarkRunInput
from utils import memory_of
from utils import parse_benchmark_script_args
from utils import run_benchmarks
from utils import speed_of

device = infer_device()

KEYS = ["vocab_size", "dtype"]


class TorchLabelLoss(torch.nn.Module):
    """The same loss in plain torch, computed in float32."""

    def forward(self, logits, labels):
        return torch.nn.functional.cross_entropy(logits.to(torch.float32), labels)


LAYERS = {"liger": LabelLoss, "torch": TorchLabelLoss}


def setup_label_loss(input: SingleBenchmarkRunInput):
    """Forward function and gradient-collecting tensors of one point."""
    tokens, (vocab_size, dtype) = sizes_of(input, KEYS)
    layer = LAYERS[input.kernel_provider]()
    logits = torch.randn(tokens, vocab_size, device=device, dtype=dtype, requires_grad=True)
    labels = torch.randint(0, vocab_size, (tokens,), device=device)
    return lambda: layer(logits, labels), [logits]


if __name__ == "__main__":
    args = parse_benchmark_script_args()
    # In torch: the logits and their gradient, and three float32 matrices of the same size.
    sweep = sweep_of(args, KEYS, lambda model: 16 * model.vocab_size)
    common = {"kernel_name": "label_loss", "kernel_providers": ["liger", "torch"], **sweep}
    run_benchmarks(
        bench_test_fn=speed_of(setup_label_loss),
        kernel_operation_modes=["forward", "backward", "full"],
        metric_name="speed",
        metric_unit="ms",
        **common,
    )
    run_benchmarks(
        bench_test_fn=memory_of(setup_label_loss),
        kernel_operation_modes=["full"],
        metric_name="memory",
        metric_unit="MB",
        **common,
    )
