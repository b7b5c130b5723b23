"""Edits of the sample's kernels, each with a fault of its own, and the event of lwb_smoke.py that finds
it out."""

import shutil

from pathlib import Path

import pytest

from script_support import SAMPLE
from script_support import side_of
from smoke_support import edited
from smoke_support import gated
from smoke_support import is_within
from smoke_support import loss
from smoke_support import norm
from smoke_support import pair
from smoke_support import smoke
from smoke_support import write_pair

FORWARD_STORE = "    tl.store(c_ptr + row * c_row_stride + cols, c, mask=inside)"
GRAD_A_STORE = "    tl.store(grad_a_ptr + row * grad_a_row_stride + cols, grad_a, mask=inside)"
FORWARD_RETURN = "        return gated_relu_forward(a_rows, b_rows).view(a.shape)"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pair(tmp_path_factory.mktemp("pairs"))


# ------------------------------------------------------------------------------- the same file


@pytest.mark.parametrize(("op", "make"), [("gated_relu", gated), ("scale_norm", norm), ("label_loss", loss)])
def test_the_same_file_under_another_name_shows_no_difference(op, make, tmp_path):
    done = smoke(tmp_path, edited(tmp_path, op, name="another"), make(), seeds=[1, 2]).is_clean()
    assert [e["side"] for e in done.of("identity")] == ["v0", "another"]
    for event in done.compared():
        assert event["original_error"] == event["variant_error"] > 0 and event["difference"] == 0
        assert event["original_error_rms"] == event["variant_error_rms"] > 0
        assert event["repeat_difference"] == event["repeat_difference_original"] == 0
        assert event["nan_original"] == event["nan_variant"] == event["nan_elsewhere"] == 0
    assert {e["seed"] for e in done.compared()} == {1, 2}
    assert done.modified("forward") == done.modified("backward") == ([], [])
    assert done.one("noop")["changed"] is True and done.of("reference")[0]["kind"] == "widened"


def test_a_rewrite_that_rounds_differently_is_within_the_limits(tmp_path):
    other = ("x * inv_rms * g, mask", "x * (inv_rms * g), mask")
    done = smoke(tmp_path, edited(tmp_path, "scale_norm", other), norm()).is_clean()
    assert done.compared("output0")[0]["difference"] > 0


# --------------------------------------------------------------------------------- not written


@pytest.mark.parametrize(
    ("new", "count"),
    [
        (FORWARD_STORE.replace("=inside", "=cols < n_cols - 1"), 3),
        (FORWARD_STORE.replace("=inside", "=inside & ((row + 0 * cols) % 2 == 0)"), 24),
    ],
    ids=["last column", "every second row"],
)
def test_elements_that_are_not_written_show_as_nan(new, count, tmp_path):
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", (FORWARD_STORE, new)), gated((3, 24))).is_found_out()
    event = done.compared("output0")[0]
    assert (event["nan_original"], event["nan_variant"], event["nan_elsewhere"]) == (0, count, count)
    # What is written is right.
    assert event["variant_error"] <= event["original_error"]


def test_a_gradient_that_is_not_written(tmp_path):
    new = GRAD_A_STORE.replace("=inside", "=inside & (cols != 3)")
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", (GRAD_A_STORE, new)), gated((3, 24))).is_found_out()
    assert [e["nan_variant"] for e in done.compared(seed=1)] == [0, 3, 0]


def test_integers_that_are_not_written_show_as_a_large_pattern(tmp_path, pairs):
    new = (
        "tl.store(SIGN + at, (x > r).to(tl.int32), mask=inside)",
        "tl.store(SIGN + at, (x > r).to(tl.int32), mask=at < n - 1)",
    )
    done = smoke(tmp_path, edited(tmp_path, "pair", new, checkout=pairs), pair(), checkout=pairs).is_found_out()
    assert done.compared("output2")[0]["variant_error"] >= 0x5A5A5A5A - 1


def test_without_poison_what_is_not_written_may_hold_anything(tmp_path):
    new = ("c = torch.empty((n_rows, n_cols)", "c = torch.zeros((n_rows, n_cols)")
    store = (FORWARD_STORE, FORWARD_STORE.replace("=inside", "=cols < n_cols - 1"))
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", new, store), gated(), poison=False).is_found_out()
    assert done.compared("output0")[0]["nan_variant"] == 0


def test_what_the_original_leaves_unwritten_a_variant_may_write_but_leave_nothing_else(tmp_path):
    unwritten = FORWARD_STORE.replace("=inside", "=cols < n_cols - 1")
    original = edited(tmp_path, "gated_relu", (FORWARD_STORE, unwritten), name="v0")
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", name="all"), gated((3, 24)), original=original).is_clean()
    assert done.compared("output0")[0]["nan_original"] == 3 and done.compared("output0")[0]["nan_variant"] == 0
    other = FORWARD_STORE.replace("=inside", "=inside & (cols > 0)")
    variant = edited(tmp_path, "gated_relu", (FORWARD_STORE, other), name="first column")
    event = smoke(tmp_path, variant, gated((3, 24)), original=original).healthy().compared("output0")[0]
    assert (event["nan_original"], event["nan_variant"], event["nan_elsewhere"]) == (3, 3, 3)


def test_a_number_where_the_result_is_nan(tmp_path):
    """A batch without labels that count: 0 / 0, as torch has it."""
    changed = ("return losses.sum() / n_counted,", "return losses.sum() / n_counted.clamp(min=1),")
    nothing = loss(labels={"kind": "constant", "value": -100})
    done = smoke(tmp_path, edited(tmp_path, "label_loss", changed), nothing).is_found_out()
    event = done.compared("output0")[0]
    assert event["original_error"] == 0 and event["variant_error"] is None


# ------------------------------------------------------------------------------------ accuracy


def test_a_wrong_constant(tmp_path):
    wrong = ("/ n_cols + eps)", "/ n_cols + 1.1 * eps)")
    call = norm()
    call["args"][2] = {"value": 1e-2}
    done = smoke(tmp_path, edited(tmp_path, "scale_norm", wrong), call).is_found_out()
    for label in ("output0", "grad_arg0", "grad_arg1"):
        for event in done.compared(label):
            assert event["variant_error"] > 10 * event["original_error"] and event["difference"] > 0
            assert event["variant_error_rms"] > 10 * event["original_error_rms"]


def test_a_sum_in_a_narrower_dtype(tmp_path):
    narrow = (
        "        grad_g += grad_y * x * inv_rms",
        "        grad_g = (grad_g + grad_y * x * inv_rms).to(tl.float16).to(tl.float32)",
    )
    parts = [{"calls": [norm((24, 20), "bfloat16")], "dtype": dtype} for dtype in ("float32", None)]
    done = smoke(tmp_path, edited(tmp_path, "scale_norm", narrow), parts=parts).is_found_out()
    for dtype in ("float32", "bfloat16"):
        events = {e["tensor"]: e for e in done.compared(seed=1, dtype=dtype)}
        assert events["grad_arg0"]["difference"] == events["output0"]["difference"] == 0
        weight = events["grad_arg1"]
        assert weight["difference"] > 0 and weight["variant_error_rms"] > weight["original_error_rms"]
        # What rounds the result to bfloat16 anyway hides it.
        assert is_within(weight) == (dtype == "bfloat16")


def test_a_wrong_sign_far_from_the_rest_is_one_element(tmp_path):
    wrong = (GRAD_A_STORE, GRAD_A_STORE.replace("grad_a,", "tl.where((row == 3) & (cols == 5), -grad_a, grad_a),"))
    call = gated((8, 24))
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", wrong), call, seeds=[3, 4, 5, 6]).is_found_out()
    assert {e["tensor"] for e in done.compared() if e["difference"] > 0} == {"grad_arg0"}


# ------------------------------------------------------------------- form, inputs, gradients


def test_an_input_that_the_original_leaves_is_modified(tmp_path):
    modify = (FORWARD_RETURN, "        a_rows.data.clamp_(min=0.0)\n" + FORWARD_RETURN)
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", modify), gated()).healthy()
    assert done.modified("forward") == ([], ["arg0"]) and done.modified("backward") == ([], [])


def test_an_incoming_gradient_that_the_original_leaves_is_modified(tmp_path, pairs):
    always = ("dx = ds if ctx.in_place else", "dx = ds if True else")
    done = smoke(tmp_path, edited(tmp_path, "pair", always, checkout=pairs), pair(), checkout=pairs).healthy()
    assert done.modified("backward") == ([], ["incoming0"])
    never = ("dx = ds if ctx.in_place else", "dx =")
    variant = edited(tmp_path, "pair", never, name="v2", checkout=pairs)
    done = smoke(tmp_path, variant, pair(in_place=True), checkout=pairs).healthy()
    assert done.modified("backward") == (["incoming0"], [])


@pytest.mark.parametrize(
    ("edit", "pass_name", "kind", "message"),
    [
        (
            ("return grad_a.view(grad_c.shape), grad_b.view(grad_c.shape)", "return grad_a.view(grad_c.shape), None"),
            "backward",
            "outputs",
            "results ['grad_arg0'] instead of ['grad_arg0', 'grad_arg1']",
        ),
        ((FORWARD_RETURN, FORWARD_RETURN + ".unsqueeze(0)"), "backward", "internal", "RuntimeError: "),
        (
            (FORWARD_RETURN, FORWARD_RETURN + ".to(torch.float16)"),
            "forward",
            "shape",
            "output0 is (3, 24) torch.float16, the original's is (3, 24) torch.float32",
        ),
        ((FORWARD_RETURN, FORWARD_RETURN + ", a"), "backward", "internal", "TypeError: "),
        (
            ("        a_rows, b_rows = ctx.saved_tensors\n", "        raise ArithmeticError('backward on purpose')\n"),
            "backward",
            "internal",
            "ArithmeticError: backward on purpose",
        ),
        (
            (FORWARD_RETURN, "        raise ArithmeticError('forward on purpose')"),
            "forward",
            "internal",
            "ArithmeticError: forward on purpose",
        ),
    ],
    ids=["no gradient", "shape", "dtype", "outputs", "backward raises", "forward raises"],
)
def test_results_of_another_form_and_failures(edit, pass_name, kind, message, tmp_path):
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", edit), gated()).healthy()
    assert done.failures() and not done.failures("original")
    event = done.failures()[0]
    assert (event["call"], event["pass"], event["kind"]) == ("gated", pass_name, kind)
    assert message in event["message"]
    assert ("on purpose" in event["traceback"]) == ("on purpose" in message)


def test_another_shape_without_a_backward(tmp_path):
    edit = (FORWARD_RETURN, FORWARD_RETURN + ".unsqueeze(0)")
    call = gated(requires_grad=(False, False))
    (event,) = smoke(tmp_path, edited(tmp_path, "gated_relu", edit), call).healthy().failures()[:1]
    assert (event["pass"], event["kind"]) == ("forward", "shape") and "(1, 3, 24)" in event["message"]


def test_one_call_fails_and_the_others_are_compared(tmp_path):
    edit = (FORWARD_RETURN, "        assert a.shape[-1] % 2 == 0, 'odd'\n" + FORWARD_RETURN)
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", edit), gated((3, 5), name="odd"), gated()).healthy()
    assert {e["call"] for e in done.failures()} == {"odd"}
    assert {e["call"] for e in done.compared()} == {"gated"}


# ----------------------------------------------------------------------------- which file runs


def test_a_variant_that_cannot_be_imported_is_fatal_after_the_original_was_there(tmp_path):
    edit = ("import torch\n", "import torch\nfrom liger_kernel.ops.utils import gone\n")
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", edit), gated())
    assert done.exit_code == 1 and [e["event"] for e in done.events] == ["identity", "fatal"]
    assert done.events[0]["side"] == "v0" and done.events[1]["kind"] == "import"
    assert "side 'v1'" in done.events[1]["message"] and "gone" in done.events[1]["message"]


def test_a_variant_with_a_syntax_error(tmp_path):
    done = smoke(tmp_path, edited(tmp_path, "gated_relu", ("import torch\n", "import torch as\n")), gated())
    assert done.exit_code == 1 and done.one("fatal")["kind"] == "import"
    assert "SyntaxError" in done.one("fatal")["message"]


def test_a_file_that_is_swapped_for_another_is_told(tmp_path):
    side = edited(tmp_path, "gated_relu", ("# The product is", "# Here the product is"))
    shutil.copy(side_of(SAMPLE, "gated_relu")["file"], side["file"])
    done = smoke(tmp_path, side, gated()).healthy()
    told = {e["side"]: e for e in done.of("identity")}
    assert told["v0"]["matches"] and not told["v1"]["matches"]
    assert told["v1"]["sha256"] == told["v0"]["sha256"] != side["sha256"]


def test_a_file_that_imports_another_in_its_place_is_told(tmp_path):
    side = edited(tmp_path, "gated_relu")
    other = Path(side["file"]).with_name("other.py")
    shutil.copy(side["file"], other)
    side["file"] = str(other)
    told = {e["side"]: e["matches"] for e in smoke(tmp_path, side, gated()).healthy().of("identity")}
    assert told == {"v0": True, "v1": False}
