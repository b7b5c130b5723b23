import pytest
import torch

from liger_kernel.ops import GatedReLUFunction
from liger_kernel.transformers import GatedReLU
from test.utils import as_double
from test.utils import assert_near
from test.utils import leaf

SHAPES = [(4, 64), (2, 3, 128), (1, 1), (7, 33), (3, 5, 1000), (16, 2050)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(shape, dtype, device):
    a = leaf(*shape, dtype=dtype, device=device)
    b = leaf(*shape, dtype=dtype, device=device)
    grad = torch.randn(*shape, device=device).to(dtype)
    a_ref, b_ref = as_double(a), as_double(b)

    result = GatedReLU()(a, b)
    result.backward(grad)
    reference = torch.relu(a_ref) * b_ref
    reference.backward(grad.double())

    assert result.dtype == dtype
    assert_near(result, reference, dtype, "output")
    assert_near(a.grad, a_ref.grad, dtype, "gradient of a")
    assert_near(b.grad, b_ref.grad, dtype, "gradient of b")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sliced_input_and_broadcast_gradient(dtype, device):
    wide = leaf(6, 200, dtype=dtype, device=device)
    wide_ref = as_double(wide)

    GatedReLUFunction.apply(wide[:, :100], wide[:, 100:]).sum().backward()
    (torch.relu(wide_ref[:, :100]) * wide_ref[:, 100:]).sum().backward()

    assert_near(wide.grad, wide_ref.grad, dtype, "gradient")


def test_inputs_keep_their_values(device):
    a, b = (leaf(8, 96, dtype=torch.float32, device=device) for _ in range(2))
    a_before, b_before = a.detach().clone(), b.detach().clone()
    GatedReLU()(a, b).sum().backward()
    assert torch.equal(a, a_before) and torch.equal(b, b_before)


def test_no_rows(device):
    a, b = (leaf(0, 16, dtype=torch.float32, device=device) for _ in range(2))
    GatedReLU()(a, b).sum().backward()
    assert a.grad.shape == (0, 16)


def test_shapes_must_agree(device):
    with pytest.raises(ValueError, match="same shape"):
        GatedReLUFunction.apply(torch.zeros(2, 3, device=device), torch.zeros(3, 2, device=device))
