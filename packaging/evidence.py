#!/usr/bin/env python3
"""Figures on a GPU: runs `lwb` on a real Liger-Kernel checkout, prints what each step is held to and
what it reached, and appends it with commit and date to tests/evidence/figures.jsonl.

    packaging/evidence.py --lwb build/release/app/lwb --checkout DIR --only aa,slowdown

Steps (each under 9 minutes on one H200):
  aa        `lwb measure --repeat 10` of the original against itself under another name
  slowdown  the same against a copy whose forward kernel does 3 % more rows
  rms_norm  `lwb run --kernel rms_norm` with a calls file that adds in_place=False
  fused     `lwb run --kernel fused_add_rms_norm` with gradients for both outputs
  swiglu    `lwb run --kernel swiglu`: no headroom, or no winner
  memory, balanced, target, scope, ampere
            `lwb optimize --kernel rms_norm` with that goal, target, scope or GPU: stop reason, cells scored
            and the compiler's resource line, as the journal has them

Exit code 1 when a step misses what it is held to; the figures are written all the same."""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def commit():
    """LWB_COMMIT where the tree is a copy, whose own git may stand elsewhere."""
    if os.environ.get("LWB_COMMIT"):
        return os.environ["LWB_COMMIT"]
    answer = subprocess.run(["git", "-C", HOME, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return answer.stdout.strip() or "unknown"


def without_source(text):
    lines = text.splitlines()
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"({len(lines)} lines of diff, {added} added, {removed} removed, SHA-256 {digest})\n"


# Members of events that hold source text, alone or within a document.
SOURCE_MEMBERS = {"text", "document", "patch", "diff", "own_edits", "winner_edits", "details", "tail", "traceback"}


def stripped(value):
    """An event without source text: its line count and hash in its place."""
    if isinstance(value, dict):
        return {k: without_text(v) if isinstance(v, str) and (k == "grid" or k in SOURCE_MEMBERS and "\n" in v)
                else stripped(v) for k, v in value.items()}
    return [stripped(v) for v in value] if isinstance(value, list) else value


def without_text(text):
    return {"lines": len(text.splitlines()), "sha256": hashlib.sha256(text.encode()).hexdigest()}


class Evidence:
    def __init__(self, options):
        self.options = options
        self.failed = []
        os.makedirs(options.out, exist_ok=True)

    def lwb(self, *arguments):
        command = [self.options.lwb, *arguments, "--checkout", self.options.checkout, "--import-from-source", "--json"]
        start = time.time()
        answer = subprocess.run(command, capture_output=True, text=True)
        seconds = time.time() - start
        sys.stderr.write(answer.stderr[-6000:])
        try:
            document = json.loads(answer.stdout)
        except ValueError:
            document = {}
        return answer.returncode, document, seconds

    def write(self, step, figures, held):
        """`held`: (what, reached, limit, met) rows."""
        for what, reached, limit, met in held:
            print(f"  {'met   ' if met else 'MISSED'} {what}: {reached} (held to {limit})")
            if not met:
                self.failed.append(f"{step}: {what}")
        line = {
            "step": step,
            "commit": commit(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "figures": figures,
            "held": [{"what": w, "reached": r, "limit": x, "met": m} for w, r, x, m in held],
        }
        with open(os.path.join(self.options.out, "figures.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    # ------------------------------------------------------------------------------- A/A, planted

    def original(self):
        return os.path.join(self.options.checkout, "src", "liger_kernel", "ops", "rms_norm.py")

    def repeated(self, variant):
        return self.lwb(
            "measure", "--kernel", "rms_norm", "--variant", variant, "--repeat", "10",
            "--models", "llama_3_8b,qwen2.5_72b", "--x", "2048,8192",
        )

    def aa(self):
        with tempfile.TemporaryDirectory() as folder:
            twin = os.path.join(folder, "twin.py")
            shutil.copyfile(self.original(), twin)
            code, document, seconds = self.repeated(twin)
        rows = [row for m in document.get("measurements", []) for row in m["verdicts"]]
        kinds = [row["verdict"]["kind"] if isinstance(row["verdict"], dict) else row["verdict"] for row in rows]
        counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
        same = counts.get("SAME", 0)
        beyond = [
            row for row, kind in zip(rows, kinds)
            if kind in ("FASTER", "SLOWER") and not 1 / 1.01 <= row["ratio"]["ratio"] <= 1.01
        ]
        worst = max((abs(row["ratio"]["ratio"] - 1) for row in rows), default=1)
        print(f"aa: {len(rows)} verdicts in {seconds:.0f} s: {counts}; largest |ratio - 1| {100 * worst:.2f} %")
        self.write("aa", {"seconds": round(seconds, 1), "verdicts": len(rows), "counts": counts,
                          "largest_deviation": worst, "exit_code": code},
                   [("share SAME", round(same / max(1, len(rows)), 3), ">= 0.9", len(rows) > 0 and same >= 0.9 * len(rows)),
                    ("FASTER or SLOWER beyond 1 %", len(beyond), "0", len(rows) > 0 and not beyond)])

    def slowdown(self):
        with open(self.original(), encoding="utf-8") as file:
            text = file.read()
        # 3 % more programs than rows; the extra ones do the first rows once more.
        before = "row_idx = tl.program_id(0).to(tl.int64)\n"
        after = "row_idx = tl.program_id(0).to(tl.int64) % (tl.num_programs(0).to(tl.int64) * 100 // 103)\n"
        grid, more = "_rms_norm_forward_kernel[(n_rows,)]", "_rms_norm_forward_kernel[(n_rows * 103 // 100,)]"
        if before not in text or grid not in text:
            print("slowdown: this checkout's kernel has another form; the slowdown cannot be planted")
            self.failed.append("slowdown: not planted")
            return
        with tempfile.TemporaryDirectory() as folder:
            slower = os.path.join(folder, "slower.py")
            with open(slower, "w", encoding="utf-8") as file:
                file.write(text.replace(before, after, 1).replace(grid, more, 1))
            code, document, seconds = self.repeated(slower)
        found, ratios = 0, []
        for measurement in document.get("measurements", []):
            large = [row for row in measurement["verdicts"] if row["pass"] == "forward" and "8192" in row["call"].split()[0]]
            kinds = [row["verdict"]["kind"] if isinstance(row["verdict"], dict) else row["verdict"] for row in large]
            ratios += [row["ratio"]["ratio"] for row in large]
            found += "SLOWER" in kinds
        print(f"slowdown: found in {found} of 10 in {seconds:.0f} s; old/new {min(ratios, default=0):.4f}-{max(ratios, default=0):.4f}")
        self.write("slowdown", {"seconds": round(seconds, 1), "found": found, "ratios": ratios, "exit_code": code},
                   [("planted 3 % found", found, ">= 9 of 10", found >= 9)])

    # --------------------------------------------------------------------------------------- runs

    @staticmethod
    def call(function, shape, more_args, name, outputs=1):
        """A call written by hand: bfloat16 rows, a float32 weight, as a model's layer makes it."""
        rows, columns = shape
        def tensor(sizes, dtype, mean=0.0, std=1.0):
            stride = [columns, 1] if len(sizes) == 2 else [1]
            return {"tensor": {"shape": sizes, "stride": stride, "dtype": dtype, "requires_grad": True,
                               "values": {"kind": "normal", "mean": mean, "std": std}}}
        module, qualname, matrices = function
        return {
            "id": f"T={rows} hidden_size={columns} {name}",
            "origin": "hand",
            "cell": {"kernel_name": module, "provider": "liger", "x_name": "T", "x": rows,
                     "config": {"hidden_size": columns, "dtype": "torch.bfloat16"}},
            "function": {"module": f"liger_kernel.ops.{module}", "qualname": qualname},
            "args": [tensor([rows, columns], "bfloat16") for _ in range(matrices)]
                    + [tensor([columns], "float32", 1.0, 0.1)] + [{"value": v} for v in more_args],
            "kwargs": {},
            "grads": [True] * outputs,
            "incoming": [None] * outputs,
            "outputs": [{"shape": [rows, columns], "dtype": "bfloat16"}] * outputs,
            "reference": None,
        }

    @staticmethod
    def write_calls(folder, kernel, calls):
        path = os.path.join(folder, "calls.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "kernel": kernel, "calls": calls}, file)
        return path

    def run(self, kernel, *arguments):
        code, state, seconds = self.lwb("run", "--kernel", kernel, "--autonomous", "--no-pr", *arguments)
        print(f"{kernel}: the program's own share of wall time is {100 * self.own_share(kernel):.2f} %")
        rows = {}
        workspace = os.path.join(self.options.checkout, "optimization", kernel)
        path = os.path.join(workspace, "comparison.json")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                comparison = json.load(file)
            for row in comparison["final_verdicts"]:
                rows[(row["call"], row["pass"])] = row
        print(f"{kernel}: {state.get('outcome')} in {seconds:.0f} s: {state.get('sentence')}")
        for (call, which), row in rows.items():
            ratio = row["ratio"]
            print(f"  {call:45} {which:8} {row['old_us']:8.1f} {row['new_us']:8.1f}  {ratio['ratio']:.3f} "
                  f"[{ratio['low']:.3f}, {ratio['high']:.3f}]")
        return code, state, seconds, rows

    def child_seconds(self, kernel, label=""):
        """Wall time of the run's children whose label begins with `label`, from its journal."""
        path = os.path.join(self.options.checkout, "optimization", kernel, "journal.jsonl")
        with open(path, encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        return sum(e["data"]["seconds"] for e in events
                   if e["type"] == "process" and e["data"]["label"].startswith(label))

    def own_share(self, kernel):
        """The program's own share of the run's wall time: all but its children (run_finished)."""
        path = os.path.join(self.options.checkout, "optimization", kernel, "journal.jsonl")
        with open(path, encoding="utf-8") as file:
            last = json.loads(file.read().splitlines()[-1])["data"]
        return 1 - last["child_seconds"] / last["wall_seconds"] if "wall_seconds" in last else 1

    def export(self, kernel):
        """The run's report, comparison, notes and journal without the kernel's source."""
        workspace = os.path.join(self.options.checkout, "optimization", kernel)
        target = os.path.join(self.options.out, kernel)
        os.makedirs(target, exist_ok=True)
        for name in sorted(os.listdir(workspace)):
            source = os.path.join(workspace, name)
            if name.endswith(".md"):
                with open(source, encoding="utf-8") as file:
                    text = re.sub(r"```diff\n(.*?)```", lambda m: without_source(m.group(1)), file.read(), flags=re.S)
                    text = re.sub(r"`\([^`\n]*\)`", "(expression)", text)  # grids, as the source has them
                with open(os.path.join(target, name), "w", encoding="utf-8") as file:
                    file.write(text)
            elif name == "journal.jsonl":
                with open(source, encoding="utf-8") as file, \
                        open(os.path.join(target, name), "w", encoding="utf-8") as out:
                    for line in file:
                        out.write(json.dumps(stripped(json.loads(line)), ensure_ascii=False) + "\n")
            elif name.endswith(".svg") or name == "comparison.json":
                shutil.copyfile(source, os.path.join(target, name))

    @staticmethod
    def slower_cells(rows):
        kinds = [r["verdict"]["kind"] if isinstance(r["verdict"], dict) else r["verdict"] for r in rows.values()]
        return kinds.count("SLOWER")

    def figures(self, state, seconds, rows):
        return {"seconds": round(seconds, 1), "outcome": state.get("outcome"), "sentence": state.get("sentence"),
                "cells": [{"call": c, "pass": p, "old_us": r["old_us"], "new_us": r["new_us"], **r["ratio"]}
                          for (c, p), r in rows.items()]}

    def rms_norm(self):
        function = ("rms_norm", "LigerRMSNormFunction", 1)
        self.lwb("doctor")  # as one does on a new machine: torch is read from disk once
        with tempfile.TemporaryDirectory() as folder:
            calls = self.write_calls(folder, "rms_norm", [
                self.call(function, shape, [1e-6, 0.0, "llama", False, None], "in_place=False")
                for shape in ((2048, 4096), (8192, 4096), (8192, 8192))])
            code, state, seconds, rows = self.run(
                "rms_norm", "--goal", "speed", "--models", "deepseek_v2_lite,llama_3_8b,qwen2.5_72b",
                "--x", "2048,8192", "--calls", calls)
        self.export("rms_norm")
        tests = self.child_seconds("rms_norm", "tests of")
        own = self.own_share("rms_norm")
        held = []
        for what, call, limit in (
            ("in place 8192x4096", "T=8192 hidden_size=4096", 1.5),
            ("in place 2048x4096", "T=2048 hidden_size=4096", 1.3),
            ("in place 8192x2048", "T=8192 hidden_size=2048", 1.8),
            ("in place 8192x8192", "T=8192 hidden_size=8192", 1.2),
            ("in_place=False 8192x4096", "T=8192 hidden_size=4096 in_place=False", 1.7),
            ("in_place=False 8192x8192", "T=8192 hidden_size=8192 in_place=False", 1.5),
        ):
            low = rows.get((call, "backward"), {"ratio": {"low": 0}})["ratio"]["low"]
            held.append((f"backward {what}, lower bound", round(low, 3), f">= {limit}", low >= limit))
        held.append(("cells SLOWER", self.slower_cells(rows), "0", bool(rows) and self.slower_cells(rows) == 0))
        outcome = state.get("outcome")
        held.append(("outcome", outcome, "APPLIED", outcome == "APPLIED"))
        held.append(("whole run beside the tests", f"{seconds - tests:.0f} s", "<= 300 s", seconds - tests <= 300))
        held.append(("the program's own share of wall time", f"{100 * own:.2f} %", "<= 2 %", own <= 0.02))
        figures = self.figures(state, seconds, rows)
        figures.update(test_seconds=round(tests, 1), own_share=round(own, 4))
        self.write("rms_norm", figures, held)

    def fused(self):
        function = ("fused_add_rms_norm", "LigerFusedAddRMSNormFunction", 2)
        with tempfile.TemporaryDirectory() as folder:
            calls = self.write_calls(folder, "fused_add_rms_norm", [
                self.call(function, shape, [1e-6, 0.0, "llama", False], "both gradients", 2)
                for shape in ((2048, 4096), (8192, 4096), (8192, 8192))])
            code, state, seconds, rows = self.run("fused_add_rms_norm", "--goal", "speed", "--x", "2048,8192",
                                                  "--calls", calls)
        low = max([r["ratio"]["low"] for (c, p), r in rows.items()
                   if p == "backward" and "8192 " in c and "4096" in c and "both" in c], default=0)
        self.write("fused", self.figures(state, seconds, rows),
                   [("backward 8192x4096, both gradients, lower bound", round(low, 3), ">= 1.5", low >= 1.5),
                    ("outcome", state.get("outcome"), "APPLIED", state.get("outcome") == "APPLIED")])

    def swiglu(self):
        code, state, seconds, rows = self.run("swiglu", "--goal", "speed")
        outcome = state.get("outcome")
        for row in state.get("profile", {}).get("roofline", {}).get("rows", []):
            print(f"  {row['call']:45} {row['pass']:8} {row['op_us']:8.1f} us, {100 * row['share']:.1f} % of the roof")
        self.write("swiglu", {**self.figures(state, seconds, rows), "own_share": round(self.own_share("swiglu"), 4),
                              "roofline": state.get("profile", {}).get("roofline")},
                   [("outcome", outcome, "NO_HEADROOM or NO_WINNER", outcome in ("NO_HEADROOM", "NO_WINNER"))])


    # --------------------------------------------------------------------- goals, target, scope, GPU

    def optimized(self, *arguments):
        """`lwb optimize` of rms_norm at two sizes; the winner event and the last variant, from the journal."""
        code, state, seconds = self.lwb("optimize", "--kernel", "rms_norm", "--autonomous", "--models", "llama_3_8b",
                                        "--x", "2048,8192", *arguments)
        print(f"rms_norm: the program's own share of wall time is {100 * self.own_share('rms_norm'):.2f} %")
        variants = state.get("variants", [])
        winner = state.get("winner", {})
        print(f"{' '.join(arguments)}: {state.get('outcome')} in {seconds:.0f} s; stopped because {winner.get('stop_reason')}")
        figures = {"seconds": round(seconds, 1), "own_share": round(self.own_share("rms_norm"), 4),
                   "outcome": state.get("outcome"), "stop_reason": winner.get("stop_reason"), "score": winner.get("score"),
                   "variants": [{k: v.get(k) for k in ("number", "decision", "reason", "score")} for v in variants]}
        return state, variants, winner, figures

    def goal(self, goal):
        state, variants, winner, figures = self.optimized("--goal", goal)
        named = state.get("request", {}).get("optimization_goal")
        reason = winner.get("stop_reason") or ""
        self.write(goal, figures, [("goal in the journal", named, goal, named == goal),
                                   ("stop reason", reason, "one of the stop rules", bool(reason)),
                                   ("variants judged", len(variants), ">= 1", len(variants) >= 1)])

    def memory(self):
        self.goal("memory")

    def balanced(self):
        self.goal("balanced")

    def target(self):
        _, variants, winner, figures = self.optimized("--goal", "speed", "--target", "backward under 0.2ms")
        reason = winner.get("stop_reason") or ""
        self.write("target", figures, [("stop reason", reason, "the target metric is met", "target metric is met" in reason),
                                       ("variants", len(variants), "1", len(variants) == 1)])

    def scope(self):
        state, _, _, figures = self.optimized("--goal", "speed", "--models", "deepseek_v2_lite,llama_3_8b",
                                              "--scope", "hidden_size<=2048")
        scoped = state.get("profile", {}).get("scope", [])
        figures["scope"] = scoped
        self.write("scope", figures, [("cells scored", scoped, "hidden_size=2048 alone",
                                       bool(scoped) and all("hidden_size=2048" in call for call in scoped))])

    def ampere(self):
        _, variants, _, figures = self.optimized("--goal", "speed", "--gpu", "ampere")
        lines = [text for v in variants for text in v.get("learnings", []) if text.startswith("sm_80:")]
        figures["sm_80"] = lines
        self.write("ampere", figures, [("sm_80 resource lines", len(lines), ">= 1",
                                        any("registers" in line for line in lines))])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lwb", default=os.path.join(HOME, "build/release/app/lwb"))
    parser.add_argument("--checkout", required=True)
    parser.add_argument("--only", default="aa,slowdown")
    parser.add_argument("--out", default=os.path.join(HOME, "tests/evidence"))
    evidence = Evidence(parser.parse_args())
    for step in evidence.options.only.split(","):
        print(f"== {step}", flush=True)
        getattr(evidence, step)()
    if evidence.failed:
        print("missed: " + "; ".join(evidence.failed))
    sys.exit(1 if evidence.failed else 0)


if __name__ == "__main__":
    main()
