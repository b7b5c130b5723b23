"""lwb_smoke.py run for real on the sample's kernels: what it says of the file itself and of edits
of it. Jobs, sides and parts; test_smoke_variants.py has the edits, test_smoke_calls.py the calls."""

import pytest
import torch

from script_support import SAMPLE
from script_support import run_script
from script_support import side_of
from smoke_support import edited
from smoke_support import gated
from smoke_support import norm
from smoke_support import smoke
from smoke_support import smoke_process

from lwb_smoke import Errors
from lwb_smoke import in_float64
from lwb_smoke import largest_of


def job_of(**fields):
    sides = {name: side_of(SAMPLE, "gated_relu", name) for name in ("original", "variant")}
    return {**sides, "parts": [{"calls": [gated()], "dtype": "float32"}], "seeds": [1], "device": "cpu", **fields}


# ------------------------------------------------------------------------------------- the job


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": None}, "lacks its parts"),
        ({"parts": {"calls": []}}, "lacks its parts"),
        ({"parts": [{"dtype": "float32"}]}, "Part 0 of the job has no list of calls"),
        ({"parts": [{"calls": []}, "float32"]}, "Part 1"),
        ({"parts": [{"calls": [], "dtype": "float31"}]}, "'float31' is not a dtype"),
        ({"variant": None}, "lacks the side 'variant'"),
    ],
)
def test_a_job_of_another_form_is_told_before_anything_is_imported(change, message, tmp_path):
    done = smoke_process.run(job_of(**change), tmp_path)
    assert done.exit_code == 1 and [e["event"] for e in done.events] == ["fatal"]
    assert done.events[0]["kind"] == "bad_job" and message in done.events[0]["message"]


def test_calls_and_dtype_at_the_top_are_no_parts(tmp_path):
    job = {k: v for k, v in job_of(calls=[gated()], dtype="float32").items() if k != "parts"}
    done = run_script("lwb_smoke.py", job)
    assert done.exit_code == 1 and done.one("fatal")["kind"] == "bad_job"


def test_float32_and_then_the_own_dtypes_in_one_process(tmp_path):
    half, brain = gated(dtype="float16", name="half"), norm(dtype="bfloat16", name="brain")
    parts = [{"calls": [half, brain], "dtype": "float32"}, {"calls": [half, brain], "dtype": None}]
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), parts=parts).is_clean()
    starts = [i for i, e in enumerate(done.events) if e["event"] == "part"]
    assert [done.events[i]["index"] for i in starts] == [0, 1]
    assert {e["event"] for e in done.events[: starts[0]]} == {"identity"}
    dtypes = []
    for events in (done.events[starts[0] : starts[1]], done.events[starts[1] :]):
        dtypes.append({(e["call"], e["dtype"]) for e in events if e["event"] == "compare"})
        assert [e["call"] for e in events if e["event"] == "noop"] == ["half", "brain"]
    assert dtypes == [{("half", "float32"), ("brain", "float32")}, {("half", "float16"), ("brain", "bfloat16")}]


def test_a_part_without_calls_and_one_without_a_dtype(tmp_path):
    parts = [{"calls": [], "dtype": "float32"}, {"calls": [gated(dtype="bfloat16")]}]
    done = smoke(tmp_path, edited(tmp_path, "gated_relu"), parts=parts).is_clean()
    assert [e["index"] for e in done.of("part")] == [0, 1]
    assert {e["dtype"] for e in done.compared()} == {"bfloat16"}


# --------------------------------------------------------------------------------- the numbers


def errors(result, reference, unwritten=None):
    found = Errors(in_float64(torch.tensor(result)), in_float64(torch.tensor(reference)), unwritten)
    return found.largest, found.nan, found.nan_elsewhere


def test_errors_of_numbers_infinities_and_nan():
    nan, inf = float("nan"), float("inf")
    assert errors([1.0, 2.5], [1.0, 2.0]) == (0.5, 0, 0)
    assert errors([inf, -inf, nan], [inf, -inf, nan]) == (0, 0, 0)
    assert errors([inf, 1.0], [-inf, 1.0])[0] == inf and errors([inf], [1.0])[0] == inf
    assert errors([nan, 1.5], [1.0, 1.0]) == (0.5, 1, 1)  # counted, not measured
    assert errors([0.0], [nan]) == (inf, 0, 0)
    assert errors([nan, nan, 9.0], [1.0, 1.0, 1.0], torch.tensor([True, False, True])) == (0, 2, 1)
    assert errors([3, -1], [3, 4]) == (5, 0, 0)
    assert errors([1 + 2j], [1 + 5j])[0] == 3
    assert Errors(torch.empty(0), torch.empty(0)).largest == 0


def test_both_calls_of_a_side_count():
    reference = torch.zeros(4)
    calls = [Errors(torch.tensor(values), reference) for values in ([0.1, 0, 0, 0], [0, 0, 0, float("nan")])]
    found = largest_of(calls)
    assert found["largest"] == pytest.approx(0.1) and found["nan"] == 1
