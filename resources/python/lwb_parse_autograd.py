"""Subclasses of torch.autograd.Function: their methods, what they save and what they put on ctx.
For lwb_parse.py."""

from __future__ import annotations

import ast

from lwb_parse_body import calls_of
from lwb_parse_module import FunctionRecord
from lwb_parse_module import Module

_BASES = ("torch.autograd.Function", "torch.autograd.function.Function")


def autograd_functions(module: Module) -> list[dict]:
    by_name = {node.name: node for node in module.classes}
    methods = {record.qualified_name: record for record in module.functions}
    found = []
    for node in module.classes:
        family = _family(node, by_name)
        bases = [module.names.dotted(base)[0] for member in family for base in member.bases]
        if any(base in _BASES for base in bases):
            found.append(_describe(module, node, family, methods))
    return found


def _family(node: ast.ClassDef, by_name: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """The class and those of its bases that stand in this file, nearest first."""
    family, waiting = [], [node]
    while waiting:
        member = waiting.pop(0)
        if member not in family:
            family.append(member)
            names = [base.id for base in member.bases if isinstance(base, ast.Name)]
            waiting += [by_name[name] for name in names if name in by_name]
    return family


def _describe(module: Module, node: ast.ClassDef, family, methods) -> dict:
    def method(name: str) -> FunctionRecord | None:
        names = [f"{member.name}.{name}" for member in family]
        # A class inside a function or class has a longer qualified name.
        return next((methods[n] for n in names if n in methods), None) or next(
            (r for n in names for q, r in methods.items() if q.endswith("." + n)), None
        )

    result: dict = {"name": node.name, "span": module.text.span(node)}
    for name in ("forward", "backward", "setup_context"):
        record = method(name)
        if record is not None:
            result[name] = record.qualified_name
    saved: dict[str, None] = {}
    members: dict[str, str] = {}
    for name in ("forward", "setup_context"):
        record = method(name)
        parameters = record.parameters() if record is not None else []
        takes_context = name == "setup_context" or "setup_context" not in result
        if parameters and takes_context:
            _collect(module, record, parameters[0], saved, members, 0)
    return result | {"saved": list(saved), "ctx": members}


def _collect(module: Module, record: FunctionRecord, context: str, saved, members, depth: int) -> None:
    """Assignments `ctx.name = …` and ctx.save_for_backward(…), also in functions given ctx."""
    source = module.text.source
    for statement in record.statements():
        for target in getattr(statement, "targets", []) if isinstance(statement, ast.Assign) else []:
            for name, value in _members(target, statement.value, context):
                members[name] = source(value)
        for call in calls_of(statement):
            if _is_method(call, context, "save_for_backward"):
                for argument in call.args:
                    value = argument.value if isinstance(argument, ast.Starred) else argument
                    saved[source(value)] = None
            elif isinstance(call.func, ast.Name) and depth < 2:
                helper = module.top_functions.get(call.func.id)
                given = [i for i, a in enumerate(call.args) if isinstance(a, ast.Name) and a.id == context]
                if helper is not None and helper is not record and given:
                    names = helper.positional_parameters()
                    if given[0] < len(names):
                        _collect(module, helper, names[given[0]], saved, members, depth + 1)


def _members(target: ast.expr, value: ast.expr, context: str):
    if isinstance(target, ast.Attribute):
        if isinstance(target.value, ast.Name) and target.value.id == context:
            yield target.attr, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        matching = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for index, element in enumerate(target.elts):
            yield from _members(element, value.elts[index] if matching else value, context)


def _is_method(call: ast.Call, receiver: str, name: str) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == name
        and isinstance(function.value, ast.Name)
        and function.value.id == receiver
    )
