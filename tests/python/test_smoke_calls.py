"""lwb_smoke.py on calls of every form, mostly with the honest original on both sides: nothing may be
found then, and what a side cannot run is told for that call alone."""

import pytest

from odd_checkout import write_checkout
from script_support import tensor
from smoke_support import call_of
from smoke_support import edited
from smoke_support import gated
from smoke_support import loss
from smoke_support import norm
from smoke_support import pair
from smoke_support import smoke
from smoke_support import write_pair


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pair(tmp_path_factory.mktemp("pairs"))


# ------------------------------------------------------- calls that a side cannot run


def test_what_the_original_cannot_run_is_told_and_the_other_calls_go_on(tmp_path):
    unsupported = gated(name="unsupported")
    unsupported["args"][1] = {"unsupported": "<lock>"}
    other_shapes = gated(name="other shapes")
    other_shapes["args"][1] = tensor([3, 24])
    absent = {**gated(name="absent"), "function": {"module": "liger_kernel.ops.gated_relu", "qualname": "Gone"}}
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), unsupported, other_shapes, absent, gated()).healthy()
    told = {e["call"]: e for e in done.failures("original")}
    assert not done.failures("variant") and list(told) == ["unsupported", "other shapes", "absent"]
    assert "arg1 is <lock>" in told["unsupported"]["message"] and told["unsupported"]["pass"] == ""
    assert told["other shapes"]["pass"] == "forward" and "same shape" in told["other shapes"]["message"]
    assert told["absent"]["kind"] == "no_function"
    assert {e["call"] for e in done.compared()} == {"gated"}


# ---------------------------------------------------------------------------- references


def reference_file(folder, body):
    file = folder / "reference.py"
    file.write_text(f"import torch\n\n\ndef gated(a, b):\n    {body}\n\n\ndef pair(x, r, in_place):\n    return x + r\n")
    return str(file)


def test_a_reference_by_hand_is_used_in_float64(tmp_path):
    right = reference_file(tmp_path, "assert a.dtype == torch.float64\n    return a.clamp(min=0) * b")
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), gated(reference=right + ":gated")).is_clean()
    assert {(e["kind"], e["message"]) for e in done.of("reference")} == {("hand", "")}
    assert 0 < done.compared("output0")[0]["original_error"] < 1e-6


def test_a_reference_that_is_wrong_shows_in_both_errors(tmp_path):
    wrong = reference_file(tmp_path, "return a.clamp(min=0) * b + 1")
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), gated(reference=wrong + ":gated")).healthy()
    (event,) = done.compared("output0", seed=1)
    assert event["original_error"] == event["variant_error"] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('not today')", "the reference by hand: ValueError: not today"),
        ("return (a.clamp(min=0) * b).sum()", "its output0 is () torch.float64, the original's is (5, 24)"),
        ("return a.clamp(min=0) * b / 0", "its output0 is not finite where the original's is"),
    ],
)
def test_a_reference_by_hand_that_does_not_fit_is_said_and_the_next_best_is_used(body, message, tmp_path):
    unfit = reference_file(tmp_path, body)
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), gated(reference=unfit + ":gated")).is_clean()
    for event in done.of("reference"):
        assert event["kind"] == "widened" and message in event["message"]


def test_results_that_the_reference_lacks_are_said(tmp_path, pairs):
    first = reference_file(tmp_path, "pass")
    variant = edited(tmp_path, "pair", checkout=pairs)
    done = smoke(tmp_path, variant, pair(grads=[True, False, False], reference=first + ":pair"), checkout=pairs)
    reference = done.is_clean().of("reference")[0]
    assert reference["kind"] == "hand"
    assert reference["message"] == "it has no output1, output2: compared with the original's own"


@pytest.mark.parametrize("reference", ["nowhere.py:gated", "{file}:absent", "{file}", "{broken}:gated"])
def test_a_reference_that_cannot_be_loaded_is_a_bad_job(reference, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import a_package_that_is_absent\n")
    text = reference.format(file=reference_file(tmp_path, "return a"), broken=broken)
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), gated(reference=text))
    assert done.exit_code == 1 and done.one("fatal")["kind"] == "bad_job"
    assert "The reference of call 'gated' cannot be loaded" in done.one("fatal")["message"]


def test_without_any_reference_the_originals_own_result_is_it_and_that_is_said(tmp_path):
    # The widened copy cannot be imported: it knows float64 from nowhere.
    once = ("import triton\n", "import triton\n\nassert not __file__.count('lwb-widened')\n")
    original = edited(tmp_path, "gated_relu", once, name="v0")
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), gated(), original=original).is_clean()
    reference = done.of("reference")[0]
    assert reference["kind"] == "original"
    assert "no float64 reference" in reference["message"] and "AssertionError" in reference["message"]
    assert {e["original_error"] for e in done.compared()} == {0}


# ------------------------------------------------------------------------ whether kernels matter


def test_a_call_that_launches_nothing_says_nothing_about_the_kernels(tmp_path):
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), gated((0, 24), name="empty"), gated()).is_clean()
    assert [(e["call"], e["changed"]) for e in done.of("noop")] == [("empty", None), ("gated", True)]
    assert "do not come from this file's kernels" in done.of("noop")[0]["message"]


def test_an_op_whose_kernels_are_in_another_file_is_not_accused(tmp_path):
    # The kernel is imported from kernels.py; the op's own file holds none.
    odd = write_checkout(tmp_path / "odd")
    call = call_of("oddpack.ops.borrower", "BorrowerFunction", [tensor([3, 6]), {"value": 2.0}])
    done = smoke(tmp_path, edited(tmp_path, "borrower", checkout=odd), call, checkout=odd).is_clean()
    assert done.one("noop")["changed"] is None


def test_a_kernel_that_gives_indices_is_left_out_without_harm(tmp_path, pairs):
    """The replay without kernels leaves integers 0: a poisoned index would end a GPU's context."""
    indexed = ("        ctx.in_place = in_place", "        product *= torch.ones(2)[sign.long()]\n        ctx.in_place = in_place")
    original, variant = (edited(tmp_path, "pair", indexed, name=n, checkout=pairs) for n in ("v0", "v1"))
    noop = smoke(tmp_path, variant, pair(), original=original).is_clean().one("noop")
    assert (noop["changed"], noop["message"]) == (True, "")
