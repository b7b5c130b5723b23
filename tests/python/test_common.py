"""lwb_channel, lwb_values and lwb_common: the channel, values of tensors, sides, snapshots."""

import json
import math
import subprocess
import sys
import textwrap

import lwb_common as common
import pytest
import torch

from script_support import SCRIPTS
from script_support import tensor


def drawn(values, shape=(40, 30), dtype=torch.float32, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return common.draw_values(values, list(shape), dtype, "cpu", generator)


# ------------------------------------------------------------------------------------- the channel


def run_main(body, job="{}"):
    code = f"import sys; sys.path.insert(0, {str(SCRIPTS)!r})\nimport os, lwb_common\n" + textwrap.dedent(body)
    return subprocess.run([sys.executable, "-c", code], input=job, capture_output=True, text=True, check=False)


def test_nothing_that_a_library_prints_mixes_with_the_events():
    done = run_main(
        """
        def run(job):
            print("python noise")
            os.write(1, b"C noise\\n")
            os.system("echo child noise")
            lwb_common.emit({"event": "x", "nan": float("nan"), "seen": job["a"]})
        lwb_common.main(run)
        """,
        '{"a": 3}',
    )
    assert done.stdout == '{"event":"x","nan":null,"seen":3}\n{"event":"done"}\n'
    assert all(noise in done.stderr for noise in ("python noise", "C noise", "child noise"))
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("raise ValueError('bad')", "internal"),
        ("raise lwb_common.JobFailure('no_gpu', 'none here')", "no_gpu"),
        ("import torch; raise torch.OutOfMemoryError('full')", "out_of_memory"),
        ("import not_there", "import"),
        ("raise ModuleNotFoundError('No module', name='triton')", "no_triton"),
    ],
)
def test_an_exception_becomes_one_fatal_event(body, kind):
    done = run_main(f"def run(job):\n    {body}\nlwb_common.main(run)")
    assert done.returncode == 1
    event = json.loads(done.stdout)
    assert event["event"] == "fatal" and event["kind"] == kind
    assert event["message"] and "Traceback" in event["traceback"]


def test_a_job_that_is_not_json_is_refused_by_name():
    done = run_main("lwb_common.main(lambda job: None)", "not json")
    assert '"kind":"bad_job"' in done.stdout and done.returncode == 1


# ------------------------------------------------------------------------------------------ values


def labels(low=0, high=9, count=300):
    return torch.randint(low, high + 1, (count,), generator=torch.Generator().manual_seed(3))


def with_ignored():
    values = labels()
    values[:100] = -100
    return values


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (torch.randn(50, 40), "normal"),
        (torch.randn(50, 40).bfloat16(), "normal"),
        (torch.rand(50, 40), "uniform"),
        (torch.randn(50, 4000).softmax(-1).bfloat16(), "softmax"),
        (torch.randn(50, 40).softmax(-1), "softmax"),
        (torch.randn(50, 40).log_softmax(-1), "log_softmax"),
        (torch.ones(7), "constant"),
        (torch.full((3, 3), -math.inf), "constant"),
        (torch.rand(50, 40).round(), "bernoulli"),
        (torch.rand(50) > 0.5, "bernoulli"),
        (labels(), "randint"),
        (torch.arange(9).expand(2, 9), "arange"),
        (torch.tensor([0, 3, 3, 11]), "literal"),
        (torch.tensor([3, 0, 2, 1]), "permutation"),
        (torch.zeros(0, 4), "constant"),
        (torch.tensor(2.0), "constant"),
    ],
)
def test_values_are_recognised_and_drawn_alike(seen, kind):
    values = common.describe_values(seen)
    assert values["kind"] == kind
    again = drawn(values, seen.shape, seen.dtype)
    assert again.shape == seen.shape and again.dtype == seen.dtype
    if seen.numel():
        assert common.describe_values(again)["kind"] == kind


def test_an_ignore_index_keeps_its_share():
    values = common.describe_values(with_ignored())
    assert values["fill"]["value"] == -100
    assert values["fill"]["share"] == pytest.approx(100 / 300)
    again = drawn(values, (10000,), torch.int64)
    assert set(again.unique().tolist()) <= {-100, *range(10)}
    assert (again == -100).float().mean().item() == pytest.approx(1 / 3, abs=0.03)


def test_a_freshly_initialized_parameter_is_not_drawn_as_a_constant():
    values = common.describe_values(torch.ones(64), requires_grad=True)
    assert values == {"kind": "normal", "mean": 1.0, "std": 0.1}


def test_a_mask_of_minus_infinity_is_kept_as_a_share():
    mask = torch.randn(20, 20)
    mask[:, 10:] = -math.inf
    again = drawn(common.describe_values(mask), (200, 200))
    assert again.isinf().float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert again[again.isfinite()].std().item() == pytest.approx(1.0, abs=0.2)


def test_memory_that_was_never_written_is_drawn_as_something_finite():
    garbage = torch.full((8, 8), 3e38)
    garbage[0, 0] = -3e38
    assert drawn(common.describe_values(garbage)).abs().max() < 10


# ----------------------------------------------------------------------------------- materialize


CALL = {
    "id": "c",
    "args": [
        tensor([4, 6], "bfloat16"),
        tensor([6, 5], "float32", False, stride=[1, 6]),
        tensor([3, 8], "float32", False, stride=[0, 1]),
        {"value": None},
        {"float": "-inf"},
        {"dtype": "float16"},
        {"tuple": [{"value": 2}, tensor([2], "int64", False, values={"kind": "randint", "low": 5, "high": 6})]},
    ],
    "kwargs": {"eps": {"value": 1e-5}},
}


def test_materialize_gives_what_was_described():
    made = common.materialize(CALL, None, 7, device="cpu")
    x, transposed, broadcast, none, infinity, dtype, pair = made.args
    assert x.dtype == torch.bfloat16 and x.requires_grad and x.is_leaf
    assert transposed.stride() == (1, 6) and broadcast.stride() == (0, 1)
    assert (none, infinity, dtype, made.kwargs) == (None, -math.inf, torch.float16, {"eps": 1e-5})
    assert pair[0] == 2 and set(pair[1].tolist()) <= {5, 6}
    assert list(made.tensors) == ["arg0", "arg1", "arg2", "arg6[1]"]
    assert list(made.differentiable()) == ["arg0"]


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data():
    first, again, other = (common.materialize(CALL, None, seed, device="cpu") for seed in (7, 7, 8))
    assert common.same_bits(first.args[1], again.args[1])
    assert not common.same_bits(first.args[1], other.args[1])


def test_the_dtype_override_changes_floats_only():
    made = common.materialize(CALL, None, 7, "float64", "cpu")
    assert made.args[0].dtype == torch.float64 and made.args[6][1].dtype == torch.int64
    assert made.args[5] == torch.float16


def test_cast_keeps_values_strides_and_the_place_in_lists():
    made = common.materialize(CALL, None, 7, device="cpu")
    wide = made.cast(torch.float64)
    assert wide.args[0].dtype == torch.float64 and wide.args[0].requires_grad
    assert torch.equal(wide.args[0].float(), made.args[0].float())
    assert wide.args[1].stride() == (1, 6)
    assert wide.tensors["arg6[1]"] is wide.args[6][1] and wide.args[6][1] is not made.args[6][1]


def test_a_call_with_an_unsupported_argument_says_which():
    call = {"id": "c", "args": [{"unsupported": "<module>"}], "kwargs": {}}
    with pytest.raises(common.NotReplayable, match="arg0 is <module>"):
        common.materialize(call, None, 1, device="cpu")


# ---------------------------------------------------------------------------- running and snapshots


class InPlace(torch.autograd.Function):
    """Overwrites its first argument in forward and its incoming gradient in backward."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        y = x * w
        x.data.fill_(3.0)
        return y, None

    @staticmethod
    def backward(ctx, dy, _):
        (w,) = ctx.saved_tensors
        dx = dy * w
        dy.data.fill_(9.0)
        return dx, None


def test_what_a_call_modifies_is_found_and_put_back():
    call = {"id": "c", "args": [tensor([4, 6]), tensor([4, 6], requires_grad=False)], "kwargs": {}, "grads": [True]}
    made = common.materialize(call, None, 1, device="cpu")
    before = common.Snapshot(made.tensors)
    outputs = common.run_forward(InPlace, made)
    assert before.changed() == ["arg0"]
    gradients = common.incoming_gradients(call, outputs, 1)
    assert list(gradients) == [0]
    of_gradients = common.Snapshot({f"grad{i}": g for i, g in gradients.items()})
    pristine = gradients[0].clone()
    produced = common.run_backward(outputs, gradients, made)
    assert torch.equal(produced["arg0"], pristine * made.args[1])
    assert of_gradients.changed() == ["grad0"]
    of_gradients.restore()
    assert torch.equal(gradients[0], pristine)
    before.keep(["arg0"]).restore()
    assert before.changed() == [] and not (made.args[0] == 3.0).any()


def test_incoming_gradients_follow_what_was_captured():
    call = {"grads": [True, False], "incoming": [{"stride": [0, 0], "values": {"kind": "constant", "value": 1.0}}, None]}
    outputs = tuple(torch.zeros(4, 5, requires_grad=True) * 2 for _ in range(2))
    gradients = common.incoming_gradients(call, outputs, 1)
    assert list(gradients) == [0]
    assert gradients[0].stride() == (0, 0) and bool((gradients[0] == 1).all())


def test_nan_is_no_modification():
    x = torch.full((3,), math.nan)
    assert common.Snapshot({"x": x}).changed() == []
    assert not common.same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))


def test_has_backward():
    assert common.has_backward({"args": [{"list": [tensor([2])]}], "kwargs": {}, "grads": [True]})
    assert not common.has_backward({"args": [tensor([2], requires_grad=False)], "kwargs": {}, "grads": [True]})
    assert not common.has_backward({"args": [tensor([2])], "kwargs": {}, "grads": [False]})


# ------------------------------------------------------------------------------------------- sides


def write_side(folder, value):
    package = folder / "twopack" / "ops"
    package.mkdir(parents=True)
    (folder / "twopack" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("from twopack.ops import helper\n")
    (package / "helper.py").write_text(f"VALUE = {value}\n")
    (package / "late.py").write_text("from twopack.ops import helper\nLATE = helper.VALUE\n")
    (package / "thing.py").write_text(
        "from twopack.ops import helper\n\n\ndef value():\n    return helper.VALUE\n\n\n"
        "def late():\n    from twopack.ops.late import LATE\n    return LATE\n"
    )
    return {"name": f"v{value}", "src": str(folder), "module": "twopack.ops.thing", "file": str(package / "thing.py")}


def test_two_copies_of_a_package_live_side_by_side(tmp_path):
    first = common.load_side(write_side(tmp_path / "a", 1), report=False)
    second = common.load_side(write_side(tmp_path / "b", 2), report=False)
    assert "twopack" not in sys.modules
    for side, value in ((first, 1), (second, 2), (first, 1)):
        with side.active():
            assert side.module.value() == value
            assert side.module.late() == value, "a late import must find the same copy"
    assert first.identity()["matches"]
    assert first.identity()["file"] != second.identity()["file"]


def test_identity_fails_for_another_file_or_content(tmp_path):
    described = write_side(tmp_path / "a", 1)
    assert common.load_side({**described, "sha256": "0" * 64}, report=False).identity()["matches"] is False
    assert common.load_side({**described, "file": "/elsewhere.py"}, report=False).identity()["matches"] is False


def test_a_side_that_cannot_be_imported_says_where_and_why(tmp_path):
    described = write_side(tmp_path / "a", 1)
    (tmp_path / "a" / "twopack" / "ops" / "helper.py").write_text("1 / 0\n")
    with pytest.raises(common.JobFailure, match="ZeroDivisionError") as failure:
        common.load_side(described, report=False)
    assert failure.value.kind == "import" and str(tmp_path) in str(failure.value)


def test_a_missing_function_is_named(tmp_path):
    side = common.load_side(write_side(tmp_path / "a", 1), report=False)
    with pytest.raises(common.JobFailure, match="no twopack.ops.thing.Absent"):
        common.function_of({"function": {"module": "twopack.ops.thing", "qualname": "Absent"}}, side)


def test_a_reference_is_loaded_from_its_file(tmp_path):
    file = tmp_path / "reference.py"
    file.write_text("def f(x):\n    return x + 1\n")
    assert common.load_reference(f"{file}:f")(1) == 2
    with pytest.raises(common.JobFailure, match="no function 'g'"):
        common.load_reference(f"{file}:g")
    assert common.load_reference(None) is None
