"""lwb_trace: launches, bytes, and whether the forward computes gradients."""

import pytest

from odd_checkout import write_checkout
from script_support import RELEASE
from script_support import SAMPLE
from script_support import needs_release
from script_support import run_script
from script_support import side_of
from script_support import tensor


def call_of(checkout, op, function, args, **fields):
    return {
        "id": f"{op} by hand",
        "function": {"module": side_of(checkout, op)["module"], "qualname": function},
        "args": args,
        "kwargs": {},
        "grads": [True],
        **fields,
    }


def trace(checkout, op, *calls, **fields):
    job = {"side": side_of(checkout, op), "calls": list(calls), "passes": ["forward", "backward"], "seed": 1}
    return run_script("lwb_trace.py", {**job, **fields}).healthy()


def bytes_of(done):
    return {e["pass"]: e for e in done.of("bytes")}


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    return write_checkout(tmp_path_factory.mktemp("odd checkout"))


@pytest.fixture(scope="module")
def norm():
    call = call_of(SAMPLE, "scale_norm", "ScaleNormFunction", [tensor([8, 64]), tensor([64]), {"value": 1e-6}])
    return trace(SAMPLE, "scale_norm", call)


def test_a_norm_moves_input_output_and_in_backward_three_of_them(norm):
    matrix, weight = 8 * 64 * 4, 64 * 4
    forward, backward = bytes_of(norm)["forward"], bytes_of(norm)["backward"]
    assert forward["read"] == matrix + weight
    assert forward["written"] == matrix
    assert forward["working_set"] == 2 * matrix + weight
    saved_rows = forward["saved"]
    assert backward["read"] == 2 * matrix + weight + saved_rows
    assert backward["written"] == matrix + weight
    assert not forward["forward_computes_gradients"] and not backward["forward_computes_gradients"]


def test_launches_say_where_they_come_from_and_with_what(norm):
    forward, backward = [[e for e in norm.of("launch") if e["pass"] == p] for p in ("forward", "backward")]
    assert [e["index"] for e in forward] == list(range(len(forward))) and backward
    launch = forward[0]
    assert launch["file"].endswith("scale_norm.py") and launch["host_file"] == launch["file"]
    assert launch["line"] > 0 and launch["host_function"] and len(launch["grid"]) == 3
    assert launch["constexprs"] and not set(launch["constexprs"]) & set(launch["args"])
    tensors = [a["tensor"] for a in launch["args"].values() if isinstance(a, dict)]
    assert {tuple(t["shape"]) for t in tensors} >= {(8, 64), (64,)}
    assert all(isinstance(v, (bool, int, str)) for v in launch["locals"].values())


def test_storages_are_numbered_across_the_passes(norm):
    def storages(launch):
        return {a["tensor"]["storage"] for a in launch["args"].values() if isinstance(a, dict) and "tensor" in a}

    forward, backward = norm.of("launch")[0], norm.of("launch")[-1]
    assert storages(forward) & storages(backward), "the saved input is the same storage in both passes"


def test_a_loss_whose_gradient_is_computed_in_forward(odd):
    def call(in_place):
        return call_of(odd, "eager_loss", "EagerLossFunction", [tensor([8, 32]), {"value": in_place}])

    matrix, scalar = 8 * 32 * 4, 4
    separate = bytes_of(trace(odd, "eager_loss", call(False)))
    assert separate["forward"]["forward_computes_gradients"]
    assert separate["forward"]["saved"] == matrix
    assert separate["forward"]["written"] == matrix + scalar
    assert separate["backward"]["read"] == matrix + scalar and separate["backward"]["written"] == matrix
    over_input = bytes_of(trace(odd, "eager_loss", call(True)))
    assert over_input["forward"]["forward_computes_gradients"]
    assert over_input["forward"]["saved"] == 0
    assert over_input["forward"]["read"] == matrix and over_input["forward"]["written"] == matrix + scalar


def test_a_broadcast_counts_once_and_a_forward_only_call_has_no_backward(odd):
    args = [tensor([8, 32], requires_grad=False, stride=[0, 1]), {"value": 2.0}]
    done = trace(odd, "borrower", call_of(odd, "borrower", "BorrowerFunction", args))
    assert set(bytes_of(done)) == {"forward"}
    assert bytes_of(done)["forward"]["read"] == 32 * 4
    launch = done.one("launch")
    assert launch["num_warps"] == 2 and launch["args"]["scale"] == 2.0
    assert launch["module"] == "oddpack.ops.kernels" and launch["host_function"] == "run"


def test_a_call_that_fails_does_not_end_the_others(odd):
    good = call_of(odd, "borrower", "BorrowerFunction", [tensor([2, 8]), {"value": 2.0}])
    wrong = [
        {**good, "id": "no such function", "function": {**good["function"], "qualname": "Nothing"}},
        {**good, "id": "unsupported", "args": [{"unsupported": "<layer>"}]},
        {**good, "id": "raises", "args": [tensor([2, 8]), {"value": "text"}]},
    ]
    done = trace(odd, "borrower", *wrong, good)
    kinds = {e["call"]: e["kind"] for e in done.of("trace_failed")}
    assert kinds == {"no such function": "no_function", "unsupported": "bad_job", "raises": "internal"}
    assert set(bytes_of(done)) == {"forward", "backward"}


def test_another_module_than_the_side_says_is_reported(odd):
    side = {**side_of(odd, "borrower"), "sha256": "0" * 64}
    done = run_script("lwb_trace.py", {"side": side, "calls": []}).healthy()
    assert done.one("identity")["matches"] is False


@needs_release
def test_the_release_writes_its_gradient_over_the_incoming_one():
    args = [
        tensor([16, 64], "bfloat16"),
        tensor([64]),
        {"value": 1e-6},
        {"value": 0.0},
        {"value": "llama"},
        {"value": True},
        {"value": None},
    ]
    done = trace(RELEASE, "rms_norm", call_of(RELEASE, "rms_norm", "LigerRMSNormFunction", args))
    matrix, weight, rows = 16 * 64 * 2, 64 * 4, 16 * 4
    backward = bytes_of(done)["backward"]
    assert backward["read"] == 2 * matrix + weight + rows
    assert backward["written"] == matrix + weight
    assert backward["working_set"] == 2 * matrix + 2 * weight + rows
    launch = [e for e in done.of("launch") if e["pass"] == "backward"][0]
    assert launch["grid"] == [3, 1, 1], "one program for each multiprocessor that the shim reports"
    assert launch["locals"]["sm_count"] == 3
    arguments = launch["args"]
    assert arguments["dY_ptr"]["tensor"]["storage"] == arguments["dX_ptr"]["tensor"]["storage"]


@needs_release
@pytest.mark.parametrize(
    ("op", "function", "args", "expected"),
    [
        ("softmax", "LigerSoftmaxFunction", [tensor([6, 40])], False),
        ("swiglu", "LigerSiLUMulFunction", [tensor([6, 40]), tensor([6, 40]), {"value": 1.0}, {"value": 1.0}], False),
        (
            "cross_entropy",
            "LigerCrossEntropyFunction",
            [tensor([6, 40]), tensor([6], "int64", False, values={"kind": "randint", "low": 0, "high": 39}),
             {"value": None}],  # fmt: skip
            True,
        ),
        (
            "jsd",
            "LigerJSDFunction",
            [tensor([6, 40], values={"kind": "log_softmax"}),
             tensor([6, 40], requires_grad=False, values={"kind": "log_softmax"})],  # fmt: skip
            True,
        ),
    ],
)
def test_which_ops_of_the_release_compute_gradients_in_forward(op, function, args, expected):
    call = call_of(RELEASE, op, function, args)
    assert bytes_of(trace(RELEASE, op, call))["forward"]["forward_computes_gradients"] is expected
