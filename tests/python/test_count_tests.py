"""packaging/count_tests.py: the totals that packaging/test.sh ends with."""

import subprocess
import sys

from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "packaging" / "count_tests.py"

CTEST = """<testsuite>
<testcase name="A.Skips" classname="A.Skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] A.Skips
/x/t.cpp:2: Skipped
no Python here
[  SKIPPED ] A.Skips (0 ms)</system-out></testcase>
{more}
<testcase name="A.Ok" classname="A.Ok" status="run"><system-out/></testcase>
</testsuite>"""

FAILING = """<testcase name="A.Fails" classname="A.Fails" status="fail"><failure message=""/>
<system-out>/x/t.cpp:3: Failure
Expected equality of these values:
  1</system-out></testcase>"""


def count(folder):
    done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines()


def test_passes_and_gives_the_reason_of_each_skip(tmp_path):
    (tmp_path / "ctest-dev.xml").write_text(CTEST.format(more=""))
    (tmp_path / "notes.tsv").write_text("skipped\ttests/python (3 files)\tPyPI cannot be reached\n")
    code, lines = count(tmp_path)
    assert code == 0
    assert lines[-1] == "1 passed, 0 failed, 2 skipped"
    assert "skipped 1 of ctest-dev: no Python here" in lines
    assert "skipped 1 of set-up: PyPI cannot be reached" in lines


def test_a_failure_is_named_and_decides(tmp_path):
    (tmp_path / "ctest-dev.xml").write_text(CTEST.format(more=FAILING))
    code, lines = count(tmp_path)
    assert code == 1
    assert lines[0] == "FAILED  ctest-dev: A.Fails: /x/t.cpp:3: Expected equality of these values:"
    assert lines[-1] == "1 passed, 1 failed, 1 skipped"


def test_pytest_results(tmp_path):
    (tmp_path / "pytest.xml").write_text(
        """<testsuites><testsuite><testcase classname="m" name="a"/>
        <testcase classname="m" name="b"><skipped message="no GPU"/></testcase>
        <testcase classname="m" name="c"><error message="fixture broke">trace</error></testcase>
        </testsuite></testsuites>"""
    )
    code, lines = count(tmp_path)
    assert (code, lines[-1]) == (1, "1 passed, 1 failed, 1 skipped")
    assert "FAILED  pytest: m.c: fixture broke" in lines


def test_nothing_run_is_a_failure(tmp_path):
    code, lines = count(tmp_path)
    assert (code, lines) == (1, ["nothing was tested", "0 passed, 0 failed, 0 skipped"])


def test_all_skipped_is_a_failure(tmp_path):
    (tmp_path / "notes.tsv").write_text("skipped\tall\tno Python\n")
    assert count(tmp_path)[0] == 1


def test_cut_off_results_are_a_failure(tmp_path):
    (tmp_path / "ctest-dev.xml").write_text("<testsuite><testcase")
    (tmp_path / "notes.tsv").write_text("passed\tstyle\t\n")
    code, lines = count(tmp_path)
    assert (code, lines[-1]) == (1, "1 passed, 1 failed, 0 skipped")
