"""What the tests share: inputs, and a comparison that says how far off a result is."""

import torch

# Allowed difference relative to the largest value of the reference, by dtype: a few roundings.
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 1.6e-2}


def leaf(*shape, dtype, device, scale=1.0):
    """A tensor of normal values that collects a gradient."""
    values = torch.randn(*shape, dtype=torch.float32, device=device) * scale
    return values.to(dtype).requires_grad_()


def as_double(tensor):
    """The same values as a float64 leaf, for a reference result."""
    return tensor.detach().double().requires_grad_()


def assert_near(result, reference, dtype, what):
    assert result.shape == reference.shape, f"{what}: shape {tuple(result.shape)}, not {tuple(reference.shape)}"
    if reference.numel() == 0:
        return
    assert torch.isfinite(result).all(), f"{what}: not every value is finite"
    scale = max(reference.abs().max().item(), 1e-6)
    error = (result.double() - reference).abs().max().item() / scale
    assert error <= TOLERANCE[dtype], f"{what}: off by {error:.2e} of the largest value, allowed {TOLERANCE[dtype]:.0e}"
