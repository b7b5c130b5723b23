"""Launches `kernel[grid](…)` in host code: which kernels, what grid, what is bound to which
parameter. For lwb_parse.py."""

from __future__ import annotations

import ast

from lwb_parse_body import Body
from lwb_parse_body import Expressions
from lwb_parse_module import FunctionRecord
from lwb_parse_module import Library
from lwb_parse_module import Module

_DEPTH = 8  # of aliases, helpers and re-exports that are followed to a kernel


class Kernels:
    """Follows an expression to the jit functions that it can stand for."""

    def __init__(self, library: Library):
        self.library = library

    def of(self, node: ast.expr | None, module: Module, record: FunctionRecord, depth: int = 0):
        """[(module, record of the jit function), …], each once."""
        if node is None or depth > _DEPTH:
            return []
        found = []
        for part, its_module, its_record in self._sources(node, module, record, depth):
            if isinstance(part, FunctionRecord):
                found.append((its_module, part))
            else:
                found += self.of(part, its_module, its_record, depth + 1)
        return list({id(kernel): (m, kernel) for m, kernel in found}.values())

    def _sources(self, node: ast.expr, module: Module, record: FunctionRecord, depth: int):
        """What the expression is made of: expressions to follow, or jit functions."""
        if isinstance(node, ast.Name):
            return self._of_name(node.id, module, record, depth)
        if isinstance(node, ast.Attribute):
            dotted, imported = record.names.dotted(node)
            return self._of_import(dotted) if imported else []
        if isinstance(node, ast.Call):
            return self._of_call(node, module, record)
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            parts = node.values
        elif isinstance(node, (ast.Tuple, ast.List)):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = node.values
        elif isinstance(node, (ast.Subscript, ast.NamedExpr)):
            parts = [node.value]
        else:
            parts = []
        return [(part, module, record) for part in parts]

    def _of_name(self, name: str, module: Module, record: FunctionRecord, depth: int):
        scope = record
        while scope is not None and scope.node is not None:
            if name in scope.assigned():
                return [(value, module, scope) for value in scope.assigned()[name]]
            inner = [f for f in module.functions if f.parent is scope and f.name == name]
            if inner:
                return [(f, module, f) for f in inner if f.jit]
            if name in scope.parameters():
                return self._of_parameter(name, module, scope) if depth < 2 else []
            if name in scope.names.imports:
                return self._of_import(scope.names.imports[name])
            scope = scope.parent
        return self._of_module_name(name, module)

    def _of_module_name(self, name: str, module: Module):
        function = module.top_functions.get(name)
        if function is not None:
            return [(function, module, function)] if function.jit else []
        if name in module.assigns:
            return [(value, module, module.record) for value in module.assigns[name]]
        imported = module.names.imports.get(name)
        return self._of_import(imported) if imported else []

    def _of_import(self, dotted: str):
        found = self.library.find(dotted)
        return self._of_module_name(found[1], found[0]) if found else []

    def _of_call(self, node: ast.Call, module: Module, record: FunctionRecord):
        # A function of ours that picks a kernel, or a wrapper around one (autotune(…)(kernel)).
        picked = []
        for its_module, function in self._plain_functions(node.func, module, record):
            picked += [(value, its_module, function) for value in function.returned()]
        wrapped = [*node.args[:1], *[k.value for k in node.keywords if k.arg in ("kernel", "fn")]]
        return picked + [(value, module, record) for value in wrapped]

    def _plain_functions(self, node: ast.expr, module: Module, record: FunctionRecord):
        dotted, imported = record.names.dotted(node)
        if imported:
            found = self.library.find(dotted)
            module, dotted = found if found else (module, "")
        function = module.top_functions.get(dotted)
        return [(module, function)] if function is not None and not function.jit else []

    def _of_parameter(self, name: str, module: Module, record: FunctionRecord):
        """The kernel is an argument of the function: what its callers in this file give."""
        position = record.parameters().index(name)
        given = []
        for caller in [module.record, *module.functions]:
            if record.name not in caller.chains or caller is record:
                continue
            body = caller.statements() if caller.node else module.top
            for call in (c for s in body for c in ast.walk(s) if isinstance(c, ast.Call)):
                if not (isinstance(call.func, ast.Name) and call.func.id == record.name):
                    continue
                if position < len(call.args):
                    given.append((call.args[position], module, caller))
                given += [(k.value, module, caller) for k in call.keywords if k.arg == name]
        return given


def launches_of(module: Module, record: FunctionRecord, body: Body, kernels: Kernels) -> list[dict]:
    found = []
    for call, node in zip(body.calls, body.call_nodes):
        for spelled, grid, scope in _spellings(node, record):
            targets = kernels.of(spelled, module, scope)
            names = [(k.name, "" if m is module else m.module, k) for m, k in targets]
            if not targets and _looks_like_launch(spelled, node, scope, kernels.library):
                home, _, name = scope.names.dotted(spelled)[0].rpartition(".")
                names = [(name, home, None)]
            for name, home, kernel in names:
                launch = {"kernel": name, "kernel_module": home, "call": call | {"callee": name}}
                launch["host_function"] = record.qualified_name
                launch["grid"] = body.expressions.expr(grid)
                launch["grid_value"] = _grid_value(grid, module, record, node, body.expressions)
                launch["bound"], launch["unpacks_args"] = _bound(call, kernel)
                launch |= _unpacked(module, record, body, node)
                found.append(launch)
    return found


def _unpacked(module: Module, record: FunctionRecord, body: Body, node: ast.Call) -> dict:
    dicts = [keyword.value for keyword in node.keywords if keyword.arg is None]
    if not dicts:
        return {}
    held, known = Unpacked(record, body, node).of(dicts)
    return {"unpacks_kwargs": True, "unpacked": held, "unpacked_known": known}


def _spellings(node: ast.Call, record: FunctionRecord):
    """(kernel expression, grid expression, scope): `k[g](…)`, or `launcher = k[g]; launcher(…)`."""
    if isinstance(node.func, ast.Subscript):
        return [(node.func.value, node.func.slice, record)]
    if isinstance(node.func, ast.Name):
        scope = record
        while scope is not None and scope.node is not None:
            values = scope.assigned().get(node.func.id, [])
            if values:
                values = [v for value in values for v in _branches(value)]
                return [(v.value, v.slice, scope) for v in values if isinstance(v, ast.Subscript)]
            scope = scope.parent
    return []


def _branches(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.IfExp):
        return _branches(node.body) + _branches(node.orelse)
    return [node]


def _looks_like_launch(spelled, node: ast.Call, record: FunctionRecord, library: Library) -> bool:
    """A kernel from a file that could not be read: an imported name with launch options."""
    if not isinstance(spelled, (ast.Name, ast.Attribute)):
        return False
    dotted, imported = record.names.dotted(spelled)
    options = {keyword.arg for keyword in node.keywords} & {"num_warps", "num_stages", "num_ctas"}
    return imported and bool(options) and library.find(dotted) is None


def _bound(call: dict, kernel: FunctionRecord | None) -> tuple[dict, bool]:
    names = kernel.positional_parameters() if kernel is not None else []
    bound: dict[str, list] = {}
    position, starred = 0, False
    for name, value in call["arguments"]:
        if name == "*":
            starred = True
        elif name == "":
            if not starred and position < len(names):
                bound[names[position]] = [name, value]
            position += 1
        elif name != "**":
            bound[name] = [name, value]
    return bound, starred


def _grid_value(grid, module: Module, record: FunctionRecord, call: ast.Call, expressions: Expressions):
    """The grid through the last assignment before the launch, or what a local function returns."""
    scope, value = record, grid
    for _ in range(3):
        if not isinstance(value, ast.Name):
            break
        found = _last_value(value.id, module, scope, call)
        if found is None:
            break
        value, scope = found
    names = scope.names if scope is not record else expressions.names
    return Expressions(expressions.text, names).expr(value)


def _last_value(name: str, module: Module, record: FunctionRecord, call: ast.Call):
    scope = record
    while scope is not None and scope.node is not None:
        values = [v for v in scope.assigned().get(name, []) if v.lineno <= call.lineno]
        inner = [f for f in module.functions if f.parent is scope and f.name == name]
        if inner and inner[-1].returned():
            return inner[-1].returned()[-1], inner[-1]
        if values:
            return max(values, key=lambda v: (v.lineno, v.col_offset)), scope
        if name in scope.parameters():
            return None
        scope = scope.parent
    function = module.top_functions.get(name)
    if function is not None and function.returned():
        return function.returned()[-1], function
    values = module.assigns.get(name, [])
    return (values[-1], module.record) if values else None


class Unpacked:
    """What the `**` dicts of a launch hold, as far as this function's literals tell."""

    def __init__(self, record: FunctionRecord, body: Body, launch: ast.Call):
        self.record = record
        self.body = body
        self.statement = body.calls[body.call_nodes.index(launch)]["statement"]
        self.held: dict[str, list] = {}
        self.known = True

    def of(self, nodes: list[ast.expr]) -> tuple[dict, bool]:
        for node in nodes:
            self._take(node, 0)
        return self.held, self.known

    def _hold(self, key: ast.expr | str | None, value: ast.expr) -> None:
        name = key if isinstance(key, str) else getattr(key, "value", None)
        if isinstance(name, str):
            self.held[name] = [name, self.body.expressions.expr(value)]
        else:
            self.known = False

    def _take(self, node: ast.expr, depth: int) -> None:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if key is None:
                    self._take(value, depth + 1)
                else:
                    self._hold(key, value)
        elif isinstance(node, ast.Call) and self.record.names.dotted(node.func)[0] == "dict":
            for part in node.args:
                self._take(part, depth + 1)
            for keyword in node.keywords:
                if keyword.arg:
                    self._hold(keyword.arg, keyword.value)
                else:
                    self._take(keyword.value, depth + 1)
        elif isinstance(node, ast.IfExp):
            self._take(node.body, depth + 1)
            self._take(node.orelse, depth + 1)
        elif isinstance(node, ast.Name) and depth < _DEPTH and node.id in self.record.assigned():
            for value in self.record.assigned()[node.id]:
                if not (isinstance(value, ast.Name) and value.id == node.id):
                    self._take(value, depth + 1)
            self._changes(node.id)
        else:
            self.known = False

    def _changes(self, name: str) -> None:
        """`d["k"] = v`, `d.update(…)`, and calls that are given the dict."""
        for index, statement in enumerate(self.body.nodes):
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            if not self.body.may_precede(index, self.statement):
                continue
            for target in targets:
                if isinstance(target, ast.Subscript) and _is_name(target.value, name):
                    self._hold(target.slice, statement.value)
        for call in self.body.call_nodes:
            method = call.func if isinstance(call.func, ast.Attribute) else None
            if method is not None and _is_name(method.value, name):
                if method.attr == "update":
                    as_dict = ast.Call(ast.Name("dict", ast.Load()), call.args, call.keywords)
                    self._take(as_dict, 1)
                elif method.attr not in ("get", "items", "keys", "values", "copy"):
                    self.known = False
            elif any(_is_name(a, name) for a in (*call.args, *[k.value for k in call.keywords if k.arg])):
                dotted = self.record.names.dotted(call.func)[0]
                self.known &= dotted in ("dict", "len", "print", "str", "repr")


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
