"""Sample checkout of Liger Workbench: three small Triton kernels in Liger's folder layout."""

__version__ = "0.0.1"
