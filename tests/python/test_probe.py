"""lwb_probe and lwb_dispatch: facts, one event each, never fatal."""

import sys

import pytest

from odd_checkout import write_checkout
from script_support import RELEASE
from script_support import SAMPLE
from script_support import needs_release
from script_support import run_script
from script_support import side_of


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    return write_checkout(tmp_path_factory.mktemp("odd checkout"))


def facts(checkout, op, checks=("gpu", "torch", "import", "dispatch"), **environment):
    side = side_of(checkout, op)
    job = {"checks": list(checks), "module": side["module"], "src": side["src"], "expected_file": side["file"]}
    done = run_script("lwb_probe.py", job, shim=False, **environment).healthy()
    return {e["name"]: e for e in done.of("fact")}


def test_the_sample_imports_and_the_python_is_named():
    found = facts(SAMPLE, "scale_norm")
    assert found["python"]["data"]["executable"] == sys.executable
    assert found["import"]["ok"] and found["import"]["data"]["file"] == side_of(SAMPLE, "scale_norm")["file"]
    assert len(found["import"]["data"]["sha256"]) == 64
    assert found["torch"]["data"]["version"] and found["triton"]["data"]["version"]
    assert found["dispatch"]["ok"] and found["dispatch"]["data"]["dispatcher"] is False


def test_driver_and_torch_are_asked_separately():
    found = facts(SAMPLE, "scale_norm", ["gpu", "torch"])
    for name in ("gpu", "torch"):
        assert found[name]["ok"] or found[name]["data"]["message"]
    assert "import" not in found


def test_an_import_that_fails_shows_the_real_exception(odd):
    (odd / "src" / "oddpack" / "ops" / "faulty.py").write_text("import triton.nowhere\n")
    found = facts(odd, "faulty")
    assert not found["import"]["ok"]
    assert found["import"]["data"]["type"] == "ModuleNotFoundError"
    assert "triton.nowhere" in found["import"]["data"]["message"]
    assert found["dispatch"]["ok"], "the facts after it are asked all the same"


def test_another_copy_of_the_file_is_named(odd, tmp_path):
    other = write_checkout(tmp_path / "other")
    side, expected = side_of(odd, "borrower"), side_of(other, "borrower")["file"]
    job = {"checks": ["import"], "module": side["module"], "src": side["src"], "expected_file": expected}
    done = run_script("lwb_probe.py", job, shim=False).healthy()
    fact = next(e for e in done.of("fact") if e["name"] == "import")
    assert not fact["ok"] and side["file"] in fact["data"]["message"] and expected in fact["data"]["message"]


def test_a_package_that_is_not_installed(odd):
    install = facts(odd, "borrower", [])["install"]
    assert not install["ok"] and "oddpack" in install["data"]["message"]
    assert install["data"]["imported_from"] is None


@needs_release
def test_the_dispatcher_of_the_release():
    data = facts(RELEASE, "jsd", ["dispatch"])["dispatch"]["data"]
    assert data["dispatcher"] and set(data["names"]) == {"jsd", "jsd_loss_and_grad"}
    primitive = data["names"]["jsd_loss_and_grad"]
    assert primitive["chosen"].endswith("triton") and "ops/jsd.py" in primitive["dispatched_from"]
    assert data["force"] and data["unset"] == ["LIGER_KERNEL_IMPL"]


@needs_release
def test_what_an_ordinary_user_gets_is_asked_without_our_own_variable():
    data = facts(RELEASE, "jsd", ["dispatch"], LIGER_KERNEL_BACKEND="nvidia-triton")["dispatch"]["data"]
    assert data["set_in_environment"] == {"LIGER_KERNEL_BACKEND": "nvidia-triton"}
    assert data["names"]["jsd"]["chosen"].endswith("triton")
