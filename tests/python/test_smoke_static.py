"""What lwb_smoke finds in a variant's source without running it."""

import pytest

from lwb_smoke_static import static_findings

SETTINGS = """
@functools.lru_cache(maxsize=1024)
def _settings(n, dtype, device):
    if torch.cuda.get_device_capability(device) != (9, 0):
        return None
    if n < 10:
        return {"num_warps": 4, "round_robin": True}
    return None
"""


def test_a_cached_function_of_literals_is_no_cache_of_results():
    assert static_findings(SETTINGS) == {}


@pytest.mark.parametrize(
    "body",
    [
        "return torch.empty(n)",
        "return RESULTS",
        "x = compute(n)\n    return None",
        "return {'out': n}",
        "return lambda: n",
    ],
)
def test_any_other_cached_function_is_found(body):
    text = f"@functools.lru_cache\ndef f(n, y=None):\n    {body}\n"
    assert list(static_findings(text)) == ["cache"]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("def f(x):\n    return SEEN[x.data_ptr()]\n", "pointer_cache"),
        ("def f(x):\n    try:\n        return k(x)\n    except Exception:\n        return x\n", "try_except"),
        ("def f(x):\n    global last\n    last = x\n", "global_state"),
        ("def f(x):\n    s = torch.cuda.Stream()\n", "other_stream"),
        ("def f(x):\n    setattr(torch, 'empty', x)\n", "patching"),
    ],
)
def test_each_finding(text, finding):
    assert list(static_findings(text)) == [finding]
