"""lwb_compile: real compilation for architectures that are not in the machine."""

import pytest

from odd_checkout import write_checkout
from script_support import run_script
from script_support import side_of


def pointer(dtype="float32"):
    return {"tensor": {"shape": [4, 8], "stride": [8, 1], "dtype": dtype, "storage": 0, "aligned": True}}


def launch(**changes):
    return {
        "call": "c",
        "pass": "forward",
        "index": 0,
        "kernel": "_shared_kernel",
        "module": "oddpack.ops.kernels",
        "args": {"X": pointer(), "Y": pointer("bfloat16"), "scale": 2.0, "n_cols": 96},
        "constexprs": {"BLOCK": 128},
        "options": {"num_warps": 2},
        **changes,
    }


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    return write_checkout(tmp_path_factory.mktemp("odd checkout"))


def compiled(odd, tmp_path, launches, capabilities, settings=None):
    job = {
        "side": side_of(odd, "borrower"),
        "launches": launches,
        "capabilities": capabilities,
        "settings": settings or {},
    }
    return run_script("lwb_compile.py", job, TRITON_CACHE_DIR=str(tmp_path)).healthy().of("compiled")


def test_each_architecture_gives_its_registers(odd, tmp_path):
    events = compiled(odd, tmp_path, [launch()], [80, 90, 100, 120])
    assert [e["capability"] for e in events] == [80, 90, 100, 120]
    for event in events:
        assert event["ok"], event["message"]
        assert event["registers"] > 0 and event["spills"] == 0 and event["shared_bytes"] == 0
        assert event["num_warps"] == 2 and event["kernel"] == "_shared_kernel"


def test_settings_replace_options_and_constexprs_and_spills_are_seen(odd, tmp_path):
    (event,) = compiled(odd, tmp_path, [launch()], [90], {"num_warps": 1, "BLOCK": 16384})
    assert event["ok"] and event["num_warps"] == 1
    assert event["registers"] > 100 and event["spills"] >= 0


def test_the_same_machine_code_is_compiled_once(odd, tmp_path):
    other = launch(call="other")
    other["args"] = {**other["args"], "n_cols": 112}
    odd_size = launch(call="odd")
    odd_size["args"] = {**odd_size["args"], "n_cols": 97}
    events = compiled(odd, tmp_path, [launch(), other, odd_size], [90])
    assert [e["launch"]["call"] for e in events] == ["c", "odd"]


def test_a_kernel_that_does_not_compile_or_does_not_exist_fails_alone(odd, tmp_path):
    broken = launch(constexprs={"BLOCK": 100})  # tl.arange wants a power of two
    missing = launch(kernel="_nothing")
    events = compiled(odd, tmp_path, [broken, missing, launch()], [90])
    assert [e["ok"] for e in events] == [False, False, True]
    assert "power of 2" in events[0]["message"] + events[0]["traceback"] and events[0]["kind"] == "compile"
    assert events[1]["kind"] == "no_function" and "_nothing" in events[1]["message"]


def test_an_absent_pointer_is_a_constant(odd, tmp_path):
    args = {**launch()["args"], "Y": None}
    (event,) = compiled(odd, tmp_path, [launch(args=args)], [90])
    assert not event["ok"], "storing through None cannot compile"
