import torch

from benchmark_model_configs import sizes_of
from benchmark_model_configs import sweep_of
from liger_kernel.transformers.gated_relu import GatedReLU
from liger_kernel.utils import infer_device
from utils import SingleBenchmarkRunInput
from utils import memory_of
from utils import parse_benchmark_script_args
from utils import run_benchmarks
from utils import speed_of

device = infer_device()

KEYS = ["intermediate_size", "dtype"]


class TorchGatedReLU(torch.nn.Module):
    """The same layer in plain torch."""

    def forward(self, a, b):
        return torch.relu(a) * b


LAYERS = {"liger": GatedReLU, "torch": TorchGatedReLU}


def setup_gated_relu(input: SingleBenchmarkRunInput):
    """Forward function and gradient-collecting tensors of one point."""
    tokens, (width, dtype) = sizes_of(input, KEYS)
    layer = LAYERS[input.kernel_provider]()
    a, b = (torch.randn(tokens, width, device=device, dtype=dtype, requires_grad=True) for _ in range(2))
    return lambda: layer(a, b), [a, b]


if __name__ == "__main__":
    args = parse_benchmark_script_args()
    # In torch: two inputs, their gradients, the product, its gradient and what autograd keeps.
    sweep = sweep_of(args, KEYS, lambda model: 20 * model.intermediate_size)
    common = {"kernel_name": "gated_relu", "kernel_providers": ["liger", "torch"], **sweep}
    run_benchmarks(
        bench_test_fn=speed_of(setup_gated_relu),
        kernel_operation_modes=["forward", "backward", "full"],
        metric_name="speed",
        metric_unit="ms",
        **common,
    )
    run_benchmarks(
        bench_test_fn=memory_of(setup_gated_relu),
        kernel_operation_modes=["full"],
        metric_name="memory",
        metric_unit="MB",
        **common,
    )
