"""lwb_smoke.py on calls of every form, mostly with the honest original on both sides: nothing may be
found then, and what a side cannot run is told for that call alone."""

import pytest

from odd_checkout import write_checkout
from script_support import tensor
from smoke_support import call_of
from smoke_support import edited
from smoke_support import gated
from smoke_support import is_within
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
    other_shapes["args"][1] = tensor([4, 24])
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
    file.write_text(
        f"import torch\n\n\ndef gated(a, b):\n    {body}\n\n\ndef pair(x, r, in_place):\n    return x + r\n"
    )
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
        ("return (a.clamp(min=0) * b).sum()", "its output0 is () torch.float64, the original's is (3, 24)"),
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
    indexed = (
        "        ctx.in_place = in_place",
        "        product *= torch.ones(2)[sign.long()]\n        ctx.in_place = in_place",
    )
    original, variant = (edited(tmp_path, "pair", indexed, name=n, checkout=pairs) for n in ("v0", "v1"))
    noop = smoke(tmp_path, variant, pair(), original=original).is_clean().one("noop")
    assert (noop["changed"], noop["message"]) == (True, "")


# ----------------------------------------------------------------- inputs, outputs, gradients

NORMAL = {"kind": "normal", "mean": 0.0, "std": 1.0}
# How a gradient of shape (6, 8) may arrive: a slice of wider rows, transposed, of a .sum().
STRIDES = {"sliced": [20, 1], "transposed": [1, 6], "every second": [16, 2], "expanded": [0, 0], "one row": [0, 1]}


def with_gradient(make, name):
    return make((6, 8), name=name, incoming=[{"stride": STRIDES[name], "values": NORMAL}])


@pytest.mark.parametrize("make", [gated, norm])
def test_gradients_of_every_stride_reach_the_op_as_they_are(make, tmp_path):
    op = make(name="any")["function"]["module"].rpartition(".")[2]
    gradient = "grad_c" if make is gated else "grad_y"
    backward = f"    def backward(ctx, {gradient}):\n"
    # Both sides tell the stride that they see as an error of the call.
    telling = (backward, backward + f"        raise ValueError(str({gradient}.stride()))\n")
    calls = [with_gradient(make, name) for name in STRIDES]
    smoke(tmp_path, edited(tmp_path, op), *calls, op=op).is_clean()
    told = smoke(tmp_path, edited(tmp_path, op, telling, name="v2"), *calls, op=op).healthy().failures()
    found = {e["call"]: e["message"] for e in told}
    assert found == {name: f"ValueError: {tuple(stride)}" for name, stride in STRIDES.items()}


def test_a_variant_that_takes_gradients_for_contiguous_is_found_out(tmp_path):
    careless = ("gated_relu_backward(as_rows(grad_c),", "gated_relu_backward(grad_c.as_strided(grad_c.shape, (8, 1)),")
    variant = edited(tmp_path, "gated_relu", careless)
    wrong = ("sliced", "transposed", "every second")
    done = smoke(tmp_path, variant, gated((6, 8)), *(with_gradient(gated, name) for name in wrong)).healthy()
    assert {e["call"] for e in done.compared() if not is_within(e)} == set(wrong)


def test_inputs_that_are_no_dense_rows(tmp_path):
    calls = [gated((6, 8), stride=STRIDES[name], name=name) for name in STRIDES]
    smoke(tmp_path, edited(tmp_path, "gated_relu"), *calls).is_clean()


def test_empty_and_odd_sizes(tmp_path):
    shapes = [(0, 8), (1, 1), (3, 1), (1, 129), (2, 3, 5), (5, 0, 7)]
    calls = [gated(shape, name=str(shape)) for shape in shapes]
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), *calls).is_clean()
    labels = {"output0", "grad_arg0", "grad_arg1"}
    assert {(e["call"], e["tensor"]) for e in done.compared()} == {(c["id"], n) for c in calls for n in labels}
    assert [e["changed"] for e in done.of("noop")] == [True if 0 not in shape else None for shape in shapes]


def test_a_loss_without_labels_that_count_is_nan_on_both_sides(tmp_path):
    nothing = loss(labels={"kind": "constant", "value": -100})
    done = smoke(tmp_path, edited(tmp_path, "label_loss"), nothing).is_clean()
    assert done.compared("output0")[0]["nan_original"] == 0  # where the reference has it, too


def test_calls_without_a_backward(tmp_path):
    calls = [
        gated(name="nothing requires", requires_grad=(False, False)),
        gated(name="nothing comes", grads=[False]),
        gated(name="one only", requires_grad=(False, True)),
        norm(name="no weight", requires_grad=(True, False)),
    ]
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), *calls).is_clean()
    found = {c["id"]: {e["tensor"] for e in done.compared() if e["call"] == c["id"]} for c in calls}
    assert found == {
        "nothing requires": {"output0"},
        "nothing comes": {"output0"},
        "one only": {"output0", "grad_arg1"},
        "no weight": {"output0", "grad_arg0"},
    }


def test_several_outputs_of_which_one_has_no_gradient_and_one_takes_none(tmp_path, pairs):
    calls = [pair(), pair(name="one", grads=[False, True, False]), pair(name="in place", in_place=True)]
    done = smoke(tmp_path, edited(tmp_path, "pair", checkout=pairs), *calls, checkout=pairs).is_clean()
    assert {e["tensor"] for e in done.compared()} == {"output0", "output1", "output2", "grad_arg0", "grad_arg1"}
    assert {e["dtype"] for e in done.compared("output2")} == {"int32"}
    modified = {e["call"]: e["original"] for e in done.of("mutated") if e["pass"] == "backward"}
    assert modified == {"pair": [], "one": [], "in place": ["incoming0"]}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_in_its_own_dtype(dtype, tmp_path):
    calls = [gated(dtype=dtype), norm(dtype=dtype), loss(dtype=dtype)]
    for call in calls:
        op = call["function"]["module"].rpartition(".")[2]
        part = {"calls": [call], "dtype": None}
        done = smoke(tmp_path, edited(tmp_path, op, name=op), parts=[part]).is_clean()
        output = done.compared("output0")[0]
        assert output["dtype"] == ("float32" if op == "label_loss" else dtype)
        assert done.of("reference")[0]["kind"] == "widened"
        assert output["original_error"] > (1e-4 if op != "label_loss" else 0)
