"""Variants whose results come from elsewhere than from their kernels and this call's data: what they
remember of earlier calls, and what torch computed."""

import pytest

from script_support import tensor
from smoke_support import edited
from smoke_support import gated
from smoke_support import is_within
from smoke_support import pair
from smoke_support import smoke
from smoke_support import write_pair

HEAD = "@triton.jit\ndef _gated_relu_forward_kernel("
FORWARD = "        return gated_relu_forward(a_rows, b_rows).view(a.shape)"
BACKWARD = "        grad_a, grad_b = gated_relu_backward(as_rows(grad_c), a_rows, b_rows)\n"


def remembering(folder, key, name="v1"):
    """A variant that gives the result of an earlier call with the same key."""
    edits = [
        (HEAD, "_RESULTS = {}\n\n\n" + HEAD),
        (
            FORWARD,
            f"        key = {key}\n"
            "        if key not in _RESULTS:\n"
            "            _RESULTS[key] = gated_relu_forward(a_rows, b_rows).view(a.shape)\n"
            "        return _RESULTS[key].clone()",
        ),
    ]
    return edited(folder, "gated_relu", *edits, name=name)


# ------------------------------------------------------------------------ second call, first call


def test_a_kernel_that_runs_in_the_first_call_only(tmp_path):
    edits = [
        (HEAD, "_CALLS = []\n\n\n" + HEAD),
        (
            FORWARD,
            "        _CALLS.append(1)\n        if len(_CALLS) > 1:\n            return torch.empty_like(a)\n" + FORWARD,
        ),
    ]
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", *edits), gated()).is_found_out()
    event = done.compared("output0")[0]
    assert event["nan_original"] == 0 and event["nan_variant"] == 3 * 24


def test_a_result_that_drifts_from_call_to_call(tmp_path):
    edits = [
        (HEAD, "_CALLS = []\n\n\n" + HEAD),
        (FORWARD, "        _CALLS.append(1)\n" + FORWARD + " * (1 + 1e-3 * (len(_CALLS) - 1))"),
    ]
    event = smoke(tmp_path, edited(tmp_path, "gated_relu", *edits), gated()).is_found_out().compared("output0")[0]
    assert event["repeat_difference"] == pytest.approx(1e-3 * event["scale"], rel=1e-2)
    assert event["repeat_difference_original"] == 0 and event["difference"] == 0


def test_a_second_call_of_another_form(tmp_path):
    edits = [
        (HEAD, "_CALLS = []\n\n\n" + HEAD),
        (FORWARD, "        _CALLS.append(1)\n" + FORWARD + ".to(torch.float64 if len(_CALLS) > 1 else torch.float32)"),
    ]
    call = gated(requires_grad=(False, False))
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", *edits), call).healthy()
    event = done.failures()[0]
    assert event["kind"] == "shape" and "torch.float64, the original's is" in event["message"]


# ----------------------------------------------------------------------- remembered by whatever


@pytest.mark.parametrize(
    ("key", "seeds"),
    [
        ("a.data_ptr()", [1]),
        ("getattr(a, 'data_' + 'ptr')()", [1, 2]),
        ("id(a)", [1]),
        ("tuple(a.shape)", [1]),
        ("(id(a), a._version)", [1, 2]),
    ],
    ids=["data_ptr", "hidden data_ptr", "id", "shape", "id and version"],
)
def test_results_remembered_from_other_data(key, seeds, tmp_path):
    """Other data comes at the same addresses, in the same tensors, with one seed too."""
    done = smoke(tmp_path, remembering(tmp_path, key), gated(), seeds=seeds).is_found_out()
    wrong = {(e["seed"], e["tensor"]) for e in done.compared() if not is_within(e)}
    assert wrong == {(2, "output0")}
    assert done.findings() == (["pointer_cache"] if key == "a.data_ptr()" else [])


def test_gradients_remembered_by_the_address_of_the_incoming_one(tmp_path):
    compute = "gated_relu_backward(as_rows(grad_c), a_rows, b_rows)"
    edits = [
        (HEAD, "_RESULTS = {}\n\n\n" + HEAD),
        (
            BACKWARD,
            "        key = grad_c.untyped_storage()._cdata\n"
            "        if key not in _RESULTS:\n"
            f"            _RESULTS[key] = {compute}\n"
            "        grad_a, grad_b = (g.clone() for g in _RESULTS[key])\n",
        ),
    ]
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", *edits), gated(), seeds=[5, 9]).is_found_out()
    wrong = {(e["seed"], e["tensor"]) for e in done.compared() if not is_within(e)}
    assert wrong == {(9, "grad_arg0"), (9, "grad_arg1")}


@pytest.mark.parametrize("stride", [None, [32, 1], [1, 3], [0, 1], [0, 0]])
def test_the_honest_original_with_other_data_in_the_same_memory(stride, tmp_path):
    call = gated(stride=stride, incoming=[{"stride": stride, "values": None}])
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), call, seeds=[4, 5, 6]).is_clean()
    assert [e["seed"] for e in done.compared("grad_arg1")] == [4, 5, 6]
    assert all(e["difference"] == 0 for e in done.compared())
    # Each seed has data of its own.
    assert len({e["scale"] for e in done.compared("grad_arg1")}) > 1


def test_one_seed_is_followed_by_another_that_is_run_once(tmp_path):
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), gated(), seeds=[7]).is_clean()
    assert [("repeat_difference" in e, e["seed"]) for e in done.compared("output0")] == [(True, 7), (False, 8)]
    assert len(done.of("noop")) == 1


def test_a_call_that_modifies_its_inputs_finds_fresh_ones_in_every_run(tmp_path):
    """The input becomes part of the graph (mark_dirty), the incoming gradient is overwritten."""
    pairs = write_pair(tmp_path)
    dirty = (
        "        ctx.mark_non_differentiable(sign)",
        "        x += 1\n        ctx.mark_dirty(x)\n        ctx.mark_non_differentiable(sign)",
    )
    result = ("return total, product, sign", "return total, product, sign, x")
    backward = ("def backward(ctx, ds, dp, _)", "def backward(ctx, ds, dp, _, dx_out)")
    sides = [edited(tmp_path, "pair", dirty, result, backward, name=n, checkout=pairs) for n in ("v0", "v1")]
    call = pair(in_place=True, grads=[True, True, False, False])
    call["args"][0] = tensor([3, 10], requires_grad=False)
    done = smoke(tmp_path, sides[1], call, original=sides[0], seeds=[1, 2, 3]).is_clean()
    assert done.modified("forward") == (["arg0"], ["arg0"])
    assert done.modified("backward") == (["incoming0"], ["incoming0"])
    assert {e["difference"] for e in done.compared()} == {0}


# -------------------------------------------------------------------------------- static findings


@pytest.mark.parametrize(
    ("edit", "finding"),
    [
        ((FORWARD, "        global _LAST\n        _LAST = a.shape\n" + FORWARD), "global_state"),
        (("def gated_relu_forward(", "import functools\n\n\n@functools.lru_cache\ndef gated_relu_forward("), "cache"),
        (
            (
                FORWARD,
                "        try:\n    " + FORWARD + "\n        except RuntimeError:\n            return torch.relu(a) * b",
            ),
            "try_except",
        ),
    ],
    ids=["global", "lru_cache", "try"],
)
def test_what_the_source_has_and_the_original_has_not(edit, finding, tmp_path):
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", edit), gated()).healthy()
    assert done.findings() == [finding] and done.one("static")["line"] > 1
    # The same on both sides is no finding.
    original = edited(tmp_path, "gated_relu", edit, name="v0")
    again = smoke(tmp_path, edited(tmp_path, "gated_relu", edit, name="v2"), gated(), original=original)
    assert again.healthy().findings() == []


# ------------------------------------------------------------------------------- kernels matter


def test_results_that_torch_computed_while_the_kernels_ran_for_show(tmp_path):
    forward = ("    return c\n\n\ndef gated_relu_backward", "    return torch.relu(a) * b\n\n\ndef gated_relu_backward")
    backward = (
        "    return grad_a, grad_b\n\n\nclass",
        "    return grad_c * b * (a > 0), grad_c * torch.relu(a)\n\n\nclass",
    )
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", forward, backward), gated()).healthy()
    assert done.one("noop")["changed"] is False
    assert all(is_within(event) for event in done.compared())


def test_results_without_any_launch(tmp_path):
    forward = (FORWARD, "        return torch.relu(a) * b")
    backward = (BACKWARD, "        grad_a, grad_b = grad_c * b_rows * (a_rows > 0), grad_c * torch.relu(a_rows)\n")
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", forward, backward), gated(), poison=False).healthy()
    assert done.one("noop")["changed"] is False


def test_host_code_that_needs_the_kernels_results(tmp_path):
    needing = (
        "    return c\n\n\ndef gated_relu_backward",
        "    assert c.isfinite().all(), 'no results'\n    return c\n\n\ndef gated_relu_backward",
    )
    noop = smoke(tmp_path, edited(tmp_path, "gated_relu", needing), gated()).is_clean().one("noop")
    assert noop["changed"] is True and noop["message"] == "AssertionError: no results"
