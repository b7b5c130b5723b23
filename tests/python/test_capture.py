"""lwb_capture: plans, providers and calls, on the sample, on an odd checkout, on the release."""

import pytest

from odd_checkout import write_checkout
from script_support import RELEASE
from script_support import SAMPLE
from script_support import capture_job
from script_support import needs_release
from script_support import run_script


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    return write_checkout(tmp_path_factory.mktemp("odd checkout"))


def capture(checkout, op, script=None, **fields):
    return run_script("lwb_capture.py", capture_job(checkout, op, script, **fields))


def tensors_of(call):
    return [(a["tensor"]["shape"], a["tensor"]["dtype"]) for a in call["args"] if "tensor" in a]


# ------------------------------------------------------------------------------------ the sample


@pytest.mark.parametrize(
    ("op", "width", "tensors"),
    [
        ("scale_norm", "hidden_size", 2),
        ("gated_relu", "intermediate_size", 2),
        ("label_loss", "vocab_size", 2),
    ],
)
def test_the_sample(op, width, tensors):
    done = capture(SAMPLE, op).healthy()
    assert done.one("identity")["matches"]
    assert done.one("registry")["width_key"] == width
    assert done.one("registry")["default"] == "wide"
    metrics = {plan["metric"] for plan in done.of("plan")}
    assert metrics == {"speed", "memory"}
    assert done.of("plan")[0]["model"] == "wide"
    providers = done.one("providers")
    assert providers["under_test"] == ["liger"] and providers["reference"] == ["torch"]
    call = done.one("call")["call"]
    assert call["id"].startswith(f"T=4 {width}=")
    assert call["function"]["module"] == f"liger_kernel.ops.{op}"
    assert len(tensors_of(call)) == tensors and call["grads"][0] is True
    assert call["cell"]["config"]["dtype"] == "torch.bfloat16" and call["cell"]["x"] == 4


def test_chosen_models_and_an_unknown_one():
    done = capture(SAMPLE, "gated_relu", models=["narrow", "gigantic"], x=[3, 5]).healthy()
    assert [e["call"]["cell"]["model"] for e in done.of("call")] == ["narrow", "narrow"]
    assert [e["call"]["cell"]["x"] for e in done.of("call")] == [3, 5]
    assert "gigantic" in done.one("sweep_failed")["message"]


def test_the_default_cells_are_the_sweep_and_the_two_extreme_models(odd):
    done = capture(odd, "borrower", "registry", x=None, default_extra_x=[3, 10**9]).healthy()
    registry = done.one("registry")
    assert (registry["width_key"], registry["default"]) == ("width", "middle")
    # --model is unknown to the script, so the models' numbers are put into its configuration; 10**9
    # is far beyond its sweep.
    assert done.one("sweep_failed")["exit_code"] == 2
    cells = [e["call"]["cell"] for e in done.of("call") if not e["call"]["id"].endswith("#2")]
    assert [(c["model"], c["x"], c["config"]["width"]) for c in cells] == [
        ("middle", 2, 8),
        ("middle", 4, 8),
        ("tiny", 3, 4),
        ("large", 3, 16),
    ]
    ids = [e["call"]["id"] for e in done.of("call")]
    assert len(set(ids)) == len(ids)


# --------------------------------------------------------------------------------- the odd checkout


def test_an_op_that_borrows_its_kernel(odd):
    done = capture(odd, "borrower", x=[2]).healthy()
    assert [p["arguments"] for p in done.of("plan")] == [[], [], []], "unknown options are left away"
    providers = done.one("providers")
    assert providers["under_test"] == ["ours"] and providers["reference"] == ["plain"]
    assert providers["failed"][0]["provider"] == "absent"
    assert "needs a package" in providers["failed"][0]["message"]
    calls = [e["call"] for e in done.of("call")]
    assert [c["id"] for c in calls] == ["B=2 width=4", "B=2 width=4#2", "B=2 width=8", "B=2 width=8#2"]
    assert [c["args"][1] for c in calls[:2]] == [{"value": 2.0}, {"value": 3.0}]
    assert calls[0]["args"][2]["tensor"]["values"] == {"kind": "literal", "values": [0, 2, 4]}
    # .sum().backward() sends an expanded gradient into the last call, a dense one into the first.
    assert calls[1]["incoming"][0]["stride"] == [0, 0] and calls[0]["incoming"] == [None]
    assert "noise on standard output" in done.stderr


def test_a_file_of_kernels_only_gives_the_functions_that_launch_them(odd):
    done = capture(odd, "kernels", "borrower", x=[2]).healthy()
    assert done.one("providers")["under_test"] == ["ours"]
    functions = {e["call"]["function"]["qualname"] for e in done.of("call")}
    assert functions == {"BorrowerFunction"}


def test_a_script_that_raises_is_fatal_with_its_own_traceback(odd):
    done = capture(odd, "borrower", "broken")
    fatal = done.one("fatal")
    assert done.exit_code == 1 and fatal["kind"] == "script_raised"
    assert "KeyError" in fatal["message"] and "benchmark_broken.py" in fatal["traceback"]


def test_a_script_that_raises_after_its_plan_still_gives_calls(odd):
    done = capture(odd, "borrower", "late", x=[2]).healthy()
    assert len(done.of("call")) == 4
    assert "after the plan" in done.one("sweep_failed")["message"]


def test_a_script_without_a_plan(odd):
    fatal = capture(odd, "borrower", "silent").one("fatal")
    assert fatal["kind"] == "script_raised" and "without planning" in fatal["message"]


def test_a_missing_script_and_a_missing_field(odd):
    assert "does not exist" in capture(odd, "borrower", "nothing").one("fatal")["message"]
    fatal = run_script("lwb_capture.py", {"side": {}}).one("fatal")
    assert fatal["kind"] == "bad_job" and "script" in fatal["message"]


def test_without_a_gpu_and_without_the_interpreter_it_is_said(odd):
    fatal = run_script("lwb_capture.py", capture_job(odd, "borrower"), shim=False).one("fatal")
    assert fatal["kind"] in ("no_gpu", "import")


def test_an_x_that_the_cell_cannot_run_fails_alone(odd):
    done = capture(odd, "borrower", x=[2, 3.5]).healthy()
    failed = done.of("cell_failed")
    assert {f["cell"]["x"] for f in failed} == {3.5} and failed[0]["kind"] == "script_raised"
    assert {e["call"]["cell"]["x"] for e in done.of("call")} == {2}


# ------------------------------------------------------------------------------------- the release


@needs_release
@pytest.mark.parametrize(
    ("op", "under_test", "reference", "values"),
    [
        ("rms_norm", ["liger"], ["huggingface"], ["normal", "normal"]),
        ("fused_add_rms_norm", ["liger_fused_add_rms_norm"], ["torch", "liger_rms_norm"], ["normal"] * 3),
        ("swiglu", ["liger"], ["huggingface"], ["normal", "normal"]),
        ("geglu", ["liger"], ["huggingface"], ["normal", "normal"]),
        ("layer_norm", ["liger"], ["torch"], ["normal"] * 3),
        ("softmax", ["liger"], ["torch"], ["normal"]),
        ("cross_entropy", ["liger"], ["torch"], ["normal", "randint"]),
        ("jsd", ["liger"], ["torch"], ["log_softmax", "log_softmax"]),
        ("fused_linear_jsd", ["liger"], ["torch"], ["uniform"] * 4),
    ],
)
def test_the_release(op, under_test, reference, values):
    done = capture(RELEASE, op).healthy()
    providers = done.one("providers")
    assert providers["under_test"] == under_test and providers["reference"] == reference
    call = done.one("call")["call"]
    assert [a["tensor"]["values"]["kind"] for a in call["args"] if "tensor" in a] == values


@needs_release
def test_two_configurations_under_one_name():
    done = capture(RELEASE, "dyt").healthy()
    assert [e["call"]["id"] for e in done.of("call")] == [
        "BT=4 hidden_size=64 beta=False",
        "BT=4 hidden_size=64 beta=True",
    ]


@needs_release
def test_a_script_that_is_broken_in_the_release():
    fatal = capture(RELEASE, "modulated_rms_norm").one("fatal")
    assert fatal["kind"] == "script_raised" and "TypeError" in fatal["message"]
