import pytest
import torch

from liger_kernel.ops import ScaleNormFunction
from liger_kernel.transformers import ScaleNorm
from test.utils import as_double
from test.utils import assert_near
from test.utils import leaf

# Fewer rows than programs, more rows than programs, widths that are no power of two.
SHAPES = [(4, 64), (2, 3, 128), (1, 1), (9, 33), (3, 5, 1000), (35, 2050)]
EPS = 1e-6


def scale_norm_in_torch(x, g, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * g


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(shape, dtype, device):
    x = leaf(*shape, dtype=dtype, device=device)
    g = leaf(shape[-1], dtype=dtype, device=device)
    grad = torch.randn(*shape, device=device).to(dtype)
    x_ref, g_ref = as_double(x), as_double(g)

    result = ScaleNormFunction.apply(x, g, EPS)
    result.backward(grad)
    reference = scale_norm_in_torch(x_ref, g_ref, EPS)
    reference.backward(grad.double())

    assert result.dtype == dtype
    assert_near(result, reference, dtype, "output")
    # With a single column the exact gradient of x is almost zero: compare on the scale of its terms.
    if shape[-1] > 1:
        assert_near(x.grad, x_ref.grad, dtype, "gradient of x")
    assert_near(g.grad, g_ref.grad, dtype, "gradient of g")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_layer_in_its_own_dtype(dtype, device):
    layer = ScaleNorm(96, eps=1e-5).to(device, dtype)
    x = leaf(2, 10, 96, dtype=dtype, device=device, scale=3.0)
    x_ref = as_double(x)

    result = layer(x)
    result.square().sum().backward()
    reference = scale_norm_in_torch(x_ref, 1.0, 1e-5)

    assert_near(result, reference, dtype, "output")
    assert layer.weight.grad.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_transposed_input_and_broadcast_gradient(dtype, device):
    base = leaf(80, 12, dtype=dtype, device=device)
    base_ref = as_double(base)
    g = leaf(80, dtype=dtype, device=device)

    ScaleNormFunction.apply(base.t(), g, EPS).sum().backward()
    scale_norm_in_torch(base_ref.t(), g.detach().double(), EPS).sum().backward()

    assert_near(base.grad, base_ref.grad, dtype, "gradient of x")


def test_inputs_and_gradient_keep_their_values(device):
    x = leaf(20, 48, dtype=torch.float32, device=device)
    grad = torch.randn(20, 48, device=device)
    x_before, grad_before = x.detach().clone(), grad.clone()
    ScaleNorm(48).to(device)(x).backward(grad)
    assert torch.equal(x, x_before) and torch.equal(grad, grad_before)


def test_twice_through_the_same_graph(device):
    x = leaf(20, 48, dtype=torch.float32, device=device)
    y = ScaleNorm(48).to(device)(x)
    (first,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    (second,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(first, second)


def test_no_rows(device):
    x = leaf(0, 16, dtype=torch.float32, device=device)
    layer = ScaleNorm(16).to(device)
    layer(x).sum().backward()
    assert x.grad.shape == (0, 16)
    assert torch.equal(layer.weight.grad, torch.zeros(16, device=device))


def test_weight_must_fit(device):
    with pytest.raises(ValueError, match="one weight for each of 4 columns"):
        ScaleNormFunction.apply(torch.zeros(2, 4, device=device), torch.zeros(5, device=device), EPS)
