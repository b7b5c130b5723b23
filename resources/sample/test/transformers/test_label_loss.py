import pytest
import torch
import torch.nn.functional as F

from liger_kernel.ops import LabelLossFunction
from liger_kernel.transformers import LabelLoss
from test.utils import as_double
from test.utils import assert_near
from test.utils import leaf

# The last two are wider than one block of columns.
SHAPES = [(4, 64), (2, 3, 128), (1, 2), (9, 33), (3, 8195), (5, 16384)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_torch(shape, dtype, device):
    logits = leaf(*shape, dtype=dtype, device=device, scale=4.0)
    labels = torch.randint(0, shape[-1], shape[:-1], device=device)
    reference_logits = as_double(logits)

    loss = LabelLoss()(logits, labels)
    loss.backward()
    reference = F.cross_entropy(reference_logits.flatten(0, -2), labels.flatten())
    reference.backward()

    # The loss is summed in float32 whatever the dtype of the logits.
    assert loss.dtype == torch.float32
    assert_near(loss.detach(), reference.detach(), torch.float32, "loss")
    assert_near(logits.grad, reference_logits.grad, dtype, "gradient")


@pytest.mark.parametrize("ignore_index", [-100, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_ignored_labels_count_nowhere(dtype, ignore_index, device):
    logits = leaf(12, 300, dtype=dtype, device=device, scale=4.0)
    labels = torch.randint(4, 300, (12,), device=device)
    labels[::3] = ignore_index
    reference_logits = as_double(logits)

    loss = LabelLoss(ignore_index)(logits, labels)
    (loss * 2.5).backward()
    reference = F.cross_entropy(reference_logits, labels, ignore_index=ignore_index)
    (reference * 2.5).backward()

    assert_near(loss.detach(), reference.detach(), torch.float32, "loss")
    assert_near(logits.grad, reference_logits.grad, dtype, "gradient")
    assert torch.count_nonzero(logits.grad[::3]) == 0


def test_large_logits_stay_finite(device):
    logits = torch.full((3, 70), -1e4, device=device).requires_grad_()
    with torch.no_grad():
        logits[:, 5] = 1e4
    loss = LabelLoss()(logits, torch.tensor([5, 5, 0], device=device))
    loss.backward()
    assert_near(loss.detach(), torch.tensor(2e4 / 3, dtype=torch.float64, device=device), torch.float32, "loss")
    assert torch.isfinite(logits.grad).all()


def test_logits_keep_their_values(device):
    logits = leaf(6, 90, dtype=torch.float32, device=device)
    before = logits.detach().clone()
    loss = LabelLoss()(logits, torch.arange(6, device=device))
    (first,) = torch.autograd.grad(loss, logits, grad_outputs=torch.tensor(3.0, device=device), retain_graph=True)
    (second,) = torch.autograd.grad(loss, logits, grad_outputs=torch.tensor(3.0, device=device))
    assert torch.equal(logits, before) and torch.equal(first, second)


def test_labels_must_fit(device):
    with pytest.raises(ValueError, match="labels must have the shape"):
        LabelLossFunction.apply(torch.zeros(2, 4, device=device), torch.arange(3, device=device), -100)
