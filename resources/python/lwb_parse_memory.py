"""Loads, stores and atomics of a jit function, and which parameters their pointers come from: for
lwb_parse.py."""

from __future__ import annotations

import ast

from lwb_parse_body import Body
from lwb_parse_body import own_expressions
from lwb_parse_body import target_nodes
from lwb_parse_text import Names

# Where value and mask stand among the positional arguments (Triton's own signatures).
_POSITIONS = {"load": (None, 1), "store": (1, 2), "atomic_cas": (2, None)}
_ATOMIC_POSITIONS = (1, 2)
# Calls that give back (an address derived from) their first argument or receiver.
_PASSES_POINTER = (
    "make_block_ptr", "advance", "multiple_of", "max_contiguous", "max_constancy", "broadcast_to",
    "cast", "to", "make_tensor_descriptor", "_experimental_make_tensor_descriptor", "expand_dims",
    "reshape", "view", "trans", "splat", "full", "assume", "where", "ravel", "broadcast",
)  # fmt: skip


def accesses_of(body: Body, names: Names, parameters: list[tuple[str, bool]]) -> list[dict]:
    """`parameters`: name and whether it is a constexpr."""
    roots = _Roots(body, names, parameters)
    found = []
    for call, node in zip(body.calls, body.call_nodes):
        access = _access(call, node, names, roots)
        if access is not None:
            found.append((call, node, *access))
    # An address whose only candidate is one parameter makes that parameter a pointer; where there
    # are several candidates (`base + offset`, both parameters), known pointers win.
    for *_, pointer, _value, _mask in found:
        candidates = roots.of(pointer)
        if len(candidates) == 1:
            roots.pointers |= candidates
    return [_json(body, roots, *access) for access in found]


def _json(body: Body, roots: _Roots, call, node, kind, pointer, value, mask) -> dict:
    result = {
        "kind": kind,
        "call": call,
        "pointer": body.expressions.expr(pointer),
        "base_parameters": roots.named(pointer),
        "statement": call["statement"],
        "loops": body.loops_around(call["statement"]),
    }
    if value is not None:
        result["value"] = body.expressions.expr(value)
    if mask is not None:
        result["mask"] = body.expressions.expr(mask)
    return result


def _access(call: dict, node: ast.Call, names: Names, roots: _Roots):
    """(kind, pointer, value, mask) when the call touches memory."""
    callee = call["callee"]
    operation = callee.rsplit(".", 1)[-1]
    kind = {"load": "load", "store": "store"}.get(operation)
    if operation.startswith("atomic_"):
        kind = "atomic"
    if kind is None or not isinstance(node.func, (ast.Attribute, ast.Name)):
        return None
    value_at, mask_at = _POSITIONS.get(operation, _ATOMIC_POSITIONS)
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if callee.startswith("tl."):
        pointer = _argument(node, 0) or keywords.get("pointer")
        mask = _argument(node, mask_at) or keywords.get("mask")
    elif isinstance(node.func, ast.Attribute) and roots.of(node.func.value):
        # A tensor descriptor: desc.load(offsets), desc.store(offsets, value).
        pointer, mask = node.func.value, None
    else:
        return None
    if pointer is None:
        return None
    value = _argument(node, value_at) or keywords.get("value") or keywords.get("val")
    return kind, pointer, value if kind != "load" else None, mask


def _argument(node: ast.Call, index: int | None) -> ast.expr | None:
    if index is None or index >= len(node.args):
        return None
    if any(isinstance(argument, ast.Starred) for argument in node.args[: index + 1]):
        return None
    return node.args[index]


class _Roots:
    """Variable → parameters that its address derives from. Independent of the order of statements:
    a variable assigned twice has the roots of both."""

    def __init__(self, body: Body, names: Names, parameters: list[tuple[str, bool]]):
        self.names = names
        self.pointers: set[str] = set()
        numbers = _used_as_number(body)
        self.order = [name for name, constexpr in parameters if not constexpr and name not in numbers]
        self.roots: dict[str, set[str]] = {name: {name} for name in self.order}
        edges = [edge for node in body.nodes for edge in _assignments(node)]
        changed = True
        while changed:
            changed = False
            for name, value in edges:
                new = self.of(value) - self.roots.get(name, set())
                if new:
                    self.roots.setdefault(name, set()).update(new)
                    changed = True

    def named(self, node: ast.expr) -> list[str]:
        candidates = self.of(node)
        known = candidates & self.pointers
        return [name for name in self.order if name in (known or candidates)]

    def of(self, node: ast.expr | None) -> set[str]:
        if isinstance(node, ast.Name):
            return self.roots.get(node.id, set())
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self.of(node.left) | self.of(node.right)
        if isinstance(node, ast.IfExp):
            return self.of(node.body) | self.of(node.orelse)
        if isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr)):
            return self.of(node.value)
        if isinstance(node, (ast.Tuple, ast.List)):
            return set().union(*map(self.of, node.elts)) if node.elts else set()
        if isinstance(node, ast.Call):
            return self._of_call(node)
        return set()

    def _of_call(self, node: ast.Call) -> set[str]:
        dotted, imported = self.names.dotted(node.func)
        operation = dotted.rsplit(".", 1)[-1]
        arguments = [*node.args, *[keyword.value for keyword in node.keywords]]
        if not dotted.startswith("tl.") and not imported and isinstance(node.func, ast.Name):
            # A helper of this file may give back an address it was given.
            return set().union(*map(self.of, arguments)) if arguments else set()
        if operation not in _PASSES_POINTER:
            return set()
        if operation == "where":
            return set().union(*map(self.of, node.args[1:])) if node.args else set()
        if isinstance(node.func, ast.Attribute) and not imported:
            return self.of(node.func.value)
        return self.of(arguments[0]) if arguments else set()


def _assignments(node: ast.stmt):
    """(name, value) of the assignments of a statement; tuples element by element where they match."""
    value = getattr(node, "value", None)
    if value is None and isinstance(node, (ast.For, ast.AsyncFor)):
        value = node.iter
    if value is None:
        return
    for target in target_nodes(node):
        yield from pairs(target, value)


def pairs(target: ast.expr, value: ast.expr):
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Starred):
        yield from pairs(target.value, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, ast.IfExp):
            yield from pairs(target, value.body)
            yield from pairs(target, value.orelse)
        elif isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            for one, its in zip(target.elts, value.elts):
                yield from pairs(one, its)
        else:
            for one in target.elts:
                yield from pairs(one, value)


def _used_as_number(body: Body) -> set[str]:
    """Names that are multiplied, divided, compared by size or counted to: what one cannot do with
    an address."""
    found = set()
    for node in body.nodes:
        waiting: list[ast.AST] = [*own_expressions(node)]
        if isinstance(node, ast.AugAssign) and not isinstance(node.op, (ast.Add, ast.Sub)):
            waiting.append(ast.BinOp(node.target, node.op, node.value))
        while waiting:
            part = waiting.pop()
            found.update(o.id for o in _number_operands(part) if isinstance(o, ast.Name))
            waiting += ast.iter_child_nodes(part)
    return found


def _number_operands(part: ast.AST) -> list[ast.expr]:
    if isinstance(part, ast.BinOp):
        return [] if isinstance(part.op, (ast.Add, ast.Sub)) else [part.left, part.right]
    if isinstance(part, ast.Compare):
        sized = any(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in part.ops)
        return [part.left, *part.comparators] if sized else []
    if isinstance(part, ast.UnaryOp):
        return [] if isinstance(part.op, ast.Not) else [part.operand]
    if isinstance(part, ast.Call):
        function = part.func
        name = getattr(function, "attr", None) or getattr(function, "id", "")
        return part.args if name in ("range", "static_range", "arange", "cdiv") else []
    return []
