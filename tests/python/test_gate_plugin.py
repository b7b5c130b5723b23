"""lwb_pytest: one event a test, the imported file, a selection by dtype, a watchdog."""

import json
import os
import subprocess
import sys
import time

import pytest

from script_support import SCRIPTS

TESTS = '''
import json.decoder
import time

import pytest
import torch


def test_passes():
    pass


def test_fails():
    assert 1 == 2, "one is not two"


@pytest.mark.skip(reason="not today")
def test_skipped():
    pass


@pytest.mark.xfail(reason="known")
def test_xfails():
    assert False


@pytest.mark.xfail
def test_xpasses():
    pass


@pytest.fixture
def broken():
    raise ValueError("in setup")


def test_errors(broken):
    pass


@pytest.fixture
def leaves_badly():
    yield
    raise ValueError("in teardown")


def test_teardown(leaves_badly):
    pass


@pytest.mark.parametrize("dtype, n", [(torch.float32, 1), (torch.bfloat16, 1)])
def test_dtype(dtype, n):
    pass


def test_hangs():
    if __import__("os").environ.get("HANG"):
        time.sleep(60)
'''


@pytest.fixture
def gate(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)

    def run(*options, **environment):
        events = tmp_path / "events"
        events.unlink(missing_ok=True)
        env = {**os.environ, "PYTHONPATH": str(SCRIPTS), "LWB_PYTEST_EVENTS": str(events), **environment}
        env.pop("PYTEST_ADDOPTS", None)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "lwb_pytest", "-p", "no:cacheprovider", "test_it.py", *options],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )
        return done, [json.loads(line) for line in events.read_text().splitlines()]

    return run


def test_every_outcome_has_its_name(gate):
    done, events = gate(LWB_PYTEST_MODULE="json.decoder")
    outcomes = {e["id"].partition("::")[2]: e["outcome"] for e in events if e["event"] == "test"}
    assert outcomes == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_skipped": "skipped",
        "test_xfails": "xfailed",
        "test_xpasses": "xpassed",
        "test_errors": "error",
        "test_teardown": "error",
        "test_dtype[dtype0-1]": "passed",
        "test_dtype[dtype1-1]": "passed",
        "test_hangs": "passed",
    }
    messages = {e["id"].partition("::")[2]: e["message"] for e in events if e["event"] == "test"}
    assert "one is not two" in messages["test_fails"] and "not today" in messages["test_skipped"]
    assert "in setup" in messages["test_errors"] and "in teardown" in messages["test_teardown"]
    (imported,) = [e for e in events if e["event"] == "imported"]
    assert imported["file"] == os.path.realpath(json.decoder.__file__) and len(imported["sha256"]) == 64
    assert events[0] == {"event": "collected", "tests": 10}
    assert events[-1] == {"event": "finished", "exit_code": done.returncode} and done.returncode == 1


def test_a_dtype_is_selected_by_its_parameter_and_not_by_the_id(gate):
    done, events = gate(LWB_PYTEST_ONLY_DTYPE="float32")
    assert [e["id"] for e in events if e["event"] == "test"] == ["test_it.py::test_dtype[dtype0-1]"]
    assert done.returncode == 0
    assert not [e for e in events if e["event"] == "imported"], "no module was asked for"


def test_nothing_collected_is_seen(gate):
    done, events = gate("-k", "nothing_like_it")
    assert done.returncode == 5 and events[0]["tests"] == 0


def test_a_hanging_test_ends_with_its_traceback_within_the_limit(gate):
    started = time.monotonic()
    done, events = gate("-k", "hangs or passes", HANG="1", LWB_PYTEST_TIMEOUT_S="2")
    assert time.monotonic() - started < 40
    assert done.returncode == 124
    last = events[-1]
    assert (last["id"], last["outcome"], last["timeout"]) == ("test_it.py::test_hangs", "failed", True)
    assert "in test_hangs" in done.stderr and "most recent call first" in done.stderr


def test_a_file_that_cannot_be_imported_is_an_error(gate, tmp_path):
    (tmp_path / "test_broken.py").write_text("import not_there_at_all\n")
    done, events = gate("test_broken.py")
    errors = [e for e in events if e.get("outcome") == "error"]
    assert done.returncode == 2 and "not_there_at_all" in errors[0]["message"]


def test_a_test_that_interrupts_pytest_has_not_passed(gate, tmp_path):
    (tmp_path / "test_interrupts.py").write_text("def test_it():\n    raise KeyboardInterrupt()\n")
    done, events = gate("test_interrupts.py", "--deselect", "test_it.py")
    (test,) = [e for e in events if e["event"] == "test" and "interrupts" in e["id"]]
    assert test["outcome"] == "error" and "interrupted" in test["message"]
    assert done.returncode == 2


def test_text_that_is_no_utf8_is_still_json_for_everybody(gate, tmp_path):
    (tmp_path / "test_text.py").write_text("def test_it():\n    assert False, 'bad \\udc80 byte'\n")
    _, events = gate("test_text.py", "--deselect", "test_it.py")
    (test,) = [e for e in events if e["event"] == "test" and "test_text" in e["id"]]
    assert test["outcome"] == "failed" and "bad ? byte" in test["message"]
    test["message"].encode("utf-8")


def test_a_process_that_resumes_leaves_out_what_ended_or_killed(gate, tmp_path):
    (tmp_path / "test_kills.py").write_text(
        "import os\ndef test_a(): pass\ndef test_b(): os.kill(os.getpid(), 9)\ndef test_c(): pass\n"
    )
    events = tmp_path / "events"
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS), "LWB_PYTEST_EVENTS": str(events)}
    for resume in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "lwb_pytest", "-p", "no:cacheprovider", "test_kills.py"],
            cwd=tmp_path,
            env={**environment, "LWB_PYTEST_RESUME": resume},
            capture_output=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0
    seen = [json.loads(line) for line in events.read_text().splitlines()]
    assert [e["id"][-6:] for e in seen if e["event"] == "started"] == ["test_a", "test_b", "test_c"]
    assert [e["id"][-6:] for e in seen if e["event"] == "test"] == ["test_a", "test_c"]
