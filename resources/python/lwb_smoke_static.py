"""What in a variant's source could make a comparison say less than it seems to: state between calls,
exceptions that are caught, work on other streams. Facts only, found without running it."""

from __future__ import annotations

import ast

from typing import Any

_SUSPICIOUS_CALLS = {
    "data_ptr": ("pointer_cache", "reads data_ptr(): results must not depend on where data lies"),
    "Stream": ("other_stream", "makes a CUDA stream: work there escapes the measured stream"),
    "Thread": ("thread", "starts a thread"),
    "setattr": ("patching", "sets attributes of other objects at run time"),
}


def returns_only_literals(function: ast.AST) -> bool:
    """Every answer stands in the source (launch settings, say): caching it can remember no result. It
    must call nothing that could, either, but for what asks the device for its architecture."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda)):
            return False
        if isinstance(node, ast.Return) and node.value is not None:
            try:
                ast.literal_eval(node.value)
            except ValueError:
                return False
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call)]
    decorators = {id(n) for d in getattr(function, "decorator_list", []) for n in ast.walk(d)}
    return all(
        id(call) in decorators or getattr(call.func, "attr", "") == "get_device_capability" for call in calls
    )


def static_findings(text: str) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}

    def add(kind: str, node: Any, message: str) -> None:
        found.setdefault(kind, []).append((getattr(node, "lineno", 0), message))

    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Try):
                add("try_except", node, "catches exceptions: a failing kernel could fall back unseen")
            if isinstance(node, ast.Global):
                add("global_state", node, f"keeps state in module variables {', '.join(node.names)}")
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in _SUSPICIOUS_CALLS:
                    add(*_SUSPICIOUS_CALLS[name][:1], node, _SUSPICIOUS_CALLS[name][1])
        for decorator in function.decorator_list:
            name = ast.unparse(decorator)
            cached = "lru_cache" in name or name.endswith("cache")
            if cached and not returns_only_literals(function):
                add("cache", decorator, f"caches the results of {function.name}")
    return found
