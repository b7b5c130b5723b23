import torch

from benchmark_model_configs import sizes_of
from benchmark_model_configs import sweep_of
from liger_kernel.transformers.scale_norm import ScaleNorm
from liger_kernel.utils import infer_device
from utils import SingleBenchmarkRunInput
from utils import memory_of
from utils import parse_benchmark_script_args
from utils import run_benchmarks
from utils import speed_of

device = infer_device()

KEYS = ["hidden_size", "dtype"]


class TorchScaleNorm(torch.nn.Module):
    """The same layer in plain torch, computed in float32."""

    def __init__(self, hidden_size: int, eps: float):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, x):
        wide = x.to(torch.float32)
        inverse = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.eps)
        return (wide * inverse * self.weight.to(torch.float32)).to(x.dtype)


LAYERS = {"liger": ScaleNorm, "torch": TorchScaleNorm}


def setup_scale_norm(input: SingleBenchmarkRunInput):
    """Forward function and gradient-collecting tensors of one point."""
    tokens, (hidden_size, dtype) = sizes_of(input, KEYS)
    layer = LAYERS[input.kernel_provider](hidden_size, eps=input.extra_benchmark_config["eps"]).to(device, dtype)
    x = torch.randn(tokens, hidden_size, device=device, dtype=dtype, requires_grad=True)
    return lambda: layer(x), [x, layer.weight]


if __name__ == "__main__":
    args = parse_benchmark_script_args()
    # In torch: about ten float32 or bfloat16 matrices of the size of x.
    sweep = sweep_of(args, KEYS, lambda model: 40 * model.hidden_size, eps=1e-6)
    common = {"kernel_name": "scale_norm", "kernel_providers": ["liger", "torch"], **sweep}
    run_benchmarks(
        bench_test_fn=speed_of(setup_scale_norm),
        kernel_operation_modes=["forward", "backward", "full"],
        metric_name="speed",
        metric_unit="ms",
        **common,
    )
    run_benchmarks(
        bench_test_fn=memory_of(setup_scale_norm),
        kernel_operation_modes=["full"],
        metric_name="memory",
        metric_unit="MB",
        **common,
    )
