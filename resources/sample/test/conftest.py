import os

import pytest
import torch

from liger_kernel.utils import infer_device


def pytest_collection_modifyitems(items):
    """Triton kernels need a GPU, or Triton's interpreter."""
    if infer_device() == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        for item in items:
            item.add_marker(pytest.mark.skip(reason="no GPU, and TRITON_INTERPRET is not 1"))


@pytest.fixture(autouse=True)
def fixed_seed():
    torch.manual_seed(7)


@pytest.fixture
def device():
    return infer_device()
