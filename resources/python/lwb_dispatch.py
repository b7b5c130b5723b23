"""Which implementation of an op runs when code asks the package's dispatcher for it.

Newer checkouts have a package `backends` that chooses among implementations at each call; older
ones have none, and there an environment variable alone can replace an op's classes.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import logging
import os
import sys

from collections.abc import Iterator
from typing import Any

# Variables that can change which implementation runs. The first must never reach a child: an older
# registry reads it too, and raises for names that only the newer one knows.
_UNSET = ("LIGER_KERNEL_IMPL",)
_GLOBAL_FORCE = "LIGER_KERNEL_BACKEND"
_PER_OP_FORCE = "LIGER_KERNEL_IMPL_"
_PREFIXES = ("LIGER_KERNEL_IMPL", "LIGER_KERNEL_BACKEND")


def dispatch_fact(module_name: str, src: str | None) -> dict:
    """For each dispatched name that belongs to the op: who is registered, usable and chosen for an
    ordinary user (no variable set), from which files it is dispatched, and the variables under
    which the Triton implementation is chosen for all of them."""
    if src is not None and src not in sys.path:
        sys.path.insert(0, src)
    package = module_name.partition(".")[0]
    op = module_name.rpartition(".")[2]
    set_here = {k: v for k, v in os.environ.items() if k.startswith(_PREFIXES)}
    data: dict[str, Any] = {"dispatcher": False, "op": op, "names": {}, "force": {}, "unset": list(_UNSET)}
    data["set_in_environment"] = set_here
    try:
        backends = importlib.import_module(f"{package}.backends")
        resolve = backends.resolve_impl
    except (ImportError, AttributeError):
        return data
    data["dispatcher"] = True
    with contextlib.suppress(ImportError):
        importlib.import_module(f"{package}.functional")  # declares where implementations live
    logging.getLogger(package).setLevel(logging.ERROR)  # absent implementations are no news here
    module = importlib.import_module(module_name)
    places = dispatch_places(os.path.dirname(importlib.import_module(package).__file__))
    for name in _names_of(backends, op, os.path.realpath(module.__file__), places):
        with _environment({k: None for k in set_here}):
            data["names"][name] = _resolution(backends, resolve, name)
        data["names"][name]["dispatched_from"] = places.get(name, [])
    data["force"] = _forcing(resolve, data["names"], set_here)
    return data


def dispatch_places(folder: str) -> dict[str, list[str]]:
    """name → files (relative to the package) that call `dispatch("name", …)`."""
    places: dict[str, list[str]] = {}
    for root, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f != "__pycache__"]
        for file in sorted(f for f in files if f.endswith(".py")):
            path = os.path.join(root, file)
            for name in _dispatched_in(path):
                entry = places.setdefault(name, [])
                relative = os.path.relpath(path, folder)
                if relative not in entry:
                    entry.append(relative)
    return places


def _dispatched_in(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        if "dispatch" not in source:
            return []
        tree = ast.parse(source)
    except (OSError, ValueError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0]
        if called == "dispatch" and isinstance(first, ast.Constant) and isinstance(first.value, str):
            found.append(first.value)
    return found


def _names_of(backends: Any, op: str, file: str, places: dict[str, list[str]]) -> list[str]:
    """The op itself, names that its file dispatches, and names whose implementations stand in
    modules of the op's name (a primitive under a composed op)."""
    declared = getattr(importlib.import_module(backends.__name__ + ".registry"), "_DISCOVERY_MAP", {})
    names = [n for n, paths in declared.items() if n == op or any(p.rpartition(".")[2] == op for p in paths)]
    package_folder = os.path.dirname(os.path.dirname(os.path.realpath(backends.__file__)))
    relative = os.path.relpath(file, package_folder)
    names += [n for n, files in places.items() if relative in files]
    return list(dict.fromkeys(names))


def _resolution(backends: Any, resolve: Any, name: str) -> dict:
    entry: dict[str, Any] = {}
    with contextlib.suppress(Exception):
        entry["registered"] = backends.all_impls(name)
        entry["available"] = backends.available_impls(name)
    try:
        chosen = resolve(name)
        entry["chosen"] = chosen.impl_name
        entry["preference_rank"] = getattr(chosen, "preference_rank", None)
    except Exception as error:
        entry["chosen"] = None
        entry["message"] = f"{type(error).__name__}: {error}"
    return entry


def _forcing(resolve: Any, names: dict[str, dict], set_here: dict[str, str]) -> dict[str, str]:
    """Variables under which every name resolves to Triton, tried here before they are told."""
    triton = next((i for entry in names.values() for i in entry.get("available", []) if i.endswith("triton")), None)
    if triton is None:
        return {}
    per_op = {_PER_OP_FORCE + name.upper(): triton for name in names}
    for variables in ({_GLOBAL_FORCE: triton}, per_op):
        with _environment({**{k: None for k in set_here}, **variables}):
            if all(_chosen(resolve, name) == triton for name in names):
                return variables
    return {}


def _chosen(resolve: Any, name: str) -> str | None:
    try:
        return resolve(name).impl_name
    except Exception:
        return None


@contextlib.contextmanager
def _environment(changes: dict[str, str | None]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}

    def put(values: dict[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(changes)
    try:
        yield
    finally:
        put(before)
