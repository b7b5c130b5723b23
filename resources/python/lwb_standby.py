"""A Python that has the slow imports behind it and waits for the script that it is to run. It has
touched neither the GPU nor the package of the checkout: what it runs is as fresh as in a process of
its own. First line of standard input: a JSON list of modules to import; second line: the script's
path as a JSON string, or nothing when none is wanted any more; the rest is the script's job."""

from __future__ import annotations

import json
import os
import runpy
import sys


def preload(modules: list[str]) -> None:
    """Import what can be imported. What a module prints must not reach the script's output."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        for name in modules:
            try:
                __import__(name)
            except BaseException:  # the script meets the same fault where it can be told
                continue
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


def main() -> None:
    preload(json.loads(sys.stdin.buffer.readline() or b"[]"))
    order = sys.stdin.buffer.readline()
    if not order.strip():
        return
    script = json.loads(order)
    sys.argv = [script]
    sys.path[0] = os.path.dirname(script)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
