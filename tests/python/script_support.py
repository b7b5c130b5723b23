"""Runs the scripts of resources/python as the workbench does: a job on standard input, JSON lines
back. On machines without a GPU through the shim beside this file."""

import json
import os
import subprocess
import sys

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "resources" / "python"
SHIM = ROOT / "tests" / "python" / "triton_cpu.py"
SAMPLE = ROOT / "resources" / "sample"
# packaging/test.sh fetches the source package and names it here.
RELEASE = Path(os.environ.get("LWB_TEST_LIGER") or ROOT / ".checkouts" / "liger-0.8.5")

if str(SCRIPTS) not in sys.path:
    sys.path.insert(0, str(SCRIPTS))

needs_release = pytest.mark.skipif(
    not RELEASE.is_dir(),
    reason=os.environ.get("LWB_TEST_LIGER_REASON")
    or f"{RELEASE} is not there (packaging/test.sh fetches it, or set LWB_TEST_LIGER)",
)


class Run:
    """What one script did."""

    def __init__(self, done):
        self.exit_code = done.returncode
        self.stderr = done.stderr
        self.events = [json.loads(line) for line in done.stdout.splitlines()]

    def of(self, kind):
        return [e for e in self.events if e["event"] == kind]

    def one(self, kind):
        found = self.of(kind)
        assert len(found) == 1, f"{len(found)} events '{kind}'\n{self.events}\n{self.stderr[-3000:]}"
        return found[0]

    def healthy(self):
        assert self.exit_code == 0 and self.events[-1] == {"event": "done"}, self.stderr[-3000:]
        return self


def run_script(name, job, shim=True, **environment):
    """Run resources/python/<name> on a job (a dict, or text as it is)."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LIGER_", "LWB_", "TRITON_"))}
    if shim:
        env["LWB_TEST_SHIM"] = str(SHIM)
        env["TRITON_INTERPRET"] = "1"
        env["CUDA_VISIBLE_DEVICES"] = ""  # a machine with a GPU runs these tests as one without
    env.update(environment)
    done = subprocess.run(
        [sys.executable, "-u", str(SCRIPTS / name)],
        input=job if isinstance(job, str) else json.dumps(job),
        capture_output=True,
        text=True,
        timeout=600,
        env=env,
        check=False,
    )
    return Run(done)


def side_of(checkout, op, name="v0"):
    src = Path(checkout) / "src"
    package = next(p.name for p in src.iterdir() if (p / "__init__.py").exists())
    return {
        "name": name,
        "src": str(src),
        "module": f"{package}.ops.{op}",
        "file": str(src / package / "ops" / f"{op}.py"),
        "sha256": None,
    }


def capture_job(checkout, op, script=None, **fields):
    return {
        "side": side_of(checkout, op),
        "script": str(Path(checkout) / "benchmark" / "scripts" / f"benchmark_{script or op}.py"),
        "root": str(checkout),
        "models": None,
        "x": [4],
        "default_extra_x": [],
        "sweep_modes": ["token_length"],
        "seed": 1,
        **fields,
    }


def tensor(shape, dtype="float32", requires_grad=True, stride=None, values=None):
    described = {"shape": shape, "dtype": dtype, "requires_grad": requires_grad}
    described["values"] = values or {"kind": "normal", "mean": 0.0, "std": 1.0}
    if stride is not None:
        described["stride"] = stride
    return {"tensor": described}
