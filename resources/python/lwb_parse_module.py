"""A module's surface (imports, functions, classes, what refers to what) and the library of modules
in which names are followed from file to file: for lwb_parse.py."""

from __future__ import annotations

import ast
import os

from lwb_parse_memory import pairs
from lwb_parse_body import target_nodes
from lwb_parse_text import FUNCTIONS
from lwb_parse_text import Names
from lwb_parse_text import NotParsable
from lwb_parse_text import Text
from lwb_parse_text import is_foreign

_JIT = ("triton.jit", "triton.runtime.jit", "triton.runtime.jit.jit")
_AUTOTUNE = ("triton.autotune", "triton.runtime.autotune", "triton.runtime.autotuner.autotune")
_NOTED = {ast.Call, ast.Dict, ast.Assign, ast.Import, ast.ImportFrom, ast.arg}
_BLOCKS = {ast.If, ast.For, ast.While, ast.With, ast.Try, ast.ExceptHandler}
_WALKED = (ast.expr, ast.arguments, ast.arg)
_LISTS = (ast.List, ast.Tuple, ast.Set)


class FunctionRecord:
    """One `def`, or the module's own code (node None)."""

    def __init__(self, node, qualified_name: str, names: Names, parent: FunctionRecord | None):
        self.node = node
        self.qualified_name = qualified_name
        self.names = names
        self.parent = parent  # the function around it, or the module's record
        self.chains: set[str] = set()  # dotted names it reads, as written
        self.jit = False
        self._assigned: dict[str, list[ast.expr]] | None = None

    @property
    def name(self) -> str:
        return self.node.name if self.node else ""

    def parameters(self) -> list[str]:
        """Those that a positional or keyword argument can bind, in order."""
        arguments = self.node.args
        return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]

    def positional_parameters(self) -> list[str]:
        arguments = self.node.args
        return [a.arg for a in (*arguments.posonlyargs, *arguments.args)]

    def assigned(self) -> dict[str, list[ast.expr]]:
        """Variable → expressions assigned to it in this function (of a loop: what it runs over)."""
        if self._assigned is None:
            self._assigned = {}
            for statement in self.statements():
                value = getattr(statement, "value", None) or getattr(statement, "iter", None)
                for target in target_nodes(statement) if value is not None else []:
                    for name, its in pairs(target, value):
                        self._assigned.setdefault(name, []).append(its)
        return self._assigned

    def statements(self) -> list[ast.stmt]:
        """All statements, nested ones too, without those of inner functions and classes."""
        return statements_of(self.node.body) if self.node else []

    def returned(self) -> list[ast.expr]:
        return [s.value for s in self.statements() if isinstance(s, ast.Return) and s.value]


def statements_of(body: list[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            continue
        for field in ("body", "orelse", "finalbody"):
            found += statements_of(getattr(statement, field, []))
        for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            found += statements_of(part.body)
    return found


class Module:
    def __init__(self, file: str, module: str, data: bytes):
        self.file = file
        self.module = module
        self.package = os.path.basename(file) == "__init__.py"
        self.text = Text(data)
        self.names = Names()
        self.record = FunctionRecord(None, "<module>", self.names, None)
        self.functions: list[FunctionRecord] = []
        self.classes: list[ast.ClassDef] = []
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.keyword_strings: dict[str, set[str]] = {}
        self.launches_something = False  # holds `name[…](…)`
        self._walk()
        self.top = statements_of(self.text.tree.body)
        self.assigns: dict[str, list[ast.expr]] = {}
        for statement in self.top:
            value = getattr(statement, "value", None)
            for target in target_nodes(statement) if isinstance(value, ast.expr) else []:
                for name, its in pairs(target, value):
                    self.assigns.setdefault(name, []).append(its)
        self._follow_aliases()
        top_functions = [f for f in self.functions if "." not in f.qualified_name]
        self.top_functions = {f.name: f for f in reversed(top_functions)}
        self._mark_jit()

    # ------------------------------------------------------------------ reading

    def _walk(self) -> None:
        waiting = [(node, self.record, "") for node in reversed(self.text.tree.body)]
        while waiting:
            node, record, prefix = waiting.pop()
            kind = type(node)
            if kind is ast.Name:
                if type(node.ctx) is ast.Load:
                    record.chains.add(node.id)
                elif record.node is not None:
                    record.names.local.add(node.id)
                continue
            if kind is ast.Constant:
                continue
            if kind is ast.Attribute:
                rest = self._chain(node, record)
                if rest is not None:
                    waiting.append((rest, record, prefix))
                continue
            if kind in FUNCTIONS:
                waiting += self._function(node, record, prefix)
                continue
            if kind is ast.ClassDef:
                self.classes.append(node)
                inner = f"{prefix}{node.name}."
                waiting += [(child, record, prefix) for child in (*node.bases, *node.keywords, *node.decorator_list)]
                waiting += [(child, record, inner) for child in reversed(node.body)]
                continue
            if kind in _NOTED:
                self._note(node, kind, record)
            # Half of the time of a run goes by here; ast.iter_child_nodes takes three times as long.
            mark = len(waiting)
            for value in node.__dict__.values():
                if type(value) is list:
                    waiting += [(v, record, prefix) for v in value if isinstance(v, ast.AST)]
                elif isinstance(value, _WALKED):
                    waiting.append((value, record, prefix))
            if kind in _BLOCKS:  # in source order: of two imports of a name, the first counts
                waiting[mark:] = reversed(waiting[mark:])
        self.functions.sort(key=lambda record: record.node.lineno)

    def _note(self, node: ast.AST, kind: type, record: FunctionRecord) -> None:
        if kind is ast.Call:
            self.launches_something |= type(node.func) is ast.Subscript
            for keyword in node.keywords:
                self._string(keyword.arg, keyword.value)
        elif kind is ast.Dict:
            for key, value in zip(node.keys, node.values):
                if type(key) is ast.Constant and type(key.value) is str:
                    self._string(key.value, value)
        elif kind is ast.Assign:
            for target in node.targets:
                self._string(_target_keyword(target), node.value)
        elif kind is ast.Import or kind is ast.ImportFrom:
            self.imports.append(node)
            record.names.add_import(node, self.module, self.package)
        elif kind is ast.arg and record.node is not None:
            record.names.local.add(node.arg)

    def _function(self, node, record: FunctionRecord, prefix: str):
        # Names of a class body are not visible in its methods: the scope around is the function's.
        new = FunctionRecord(node, prefix + node.name, Names(record.names), record)
        self.functions.append(new)
        if record.node is not None:
            record.names.local.add(node.name)
        arguments = node.args
        outside = [*node.decorator_list, *arguments.defaults, *arguments.kw_defaults, node.returns]
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += filter(None, (arguments.vararg, arguments.kwarg))
        new.names.local.update(argument.arg for argument in every)
        outside += [argument.annotation for argument in every]
        inner = [(child, new, f"{prefix}{node.name}.<locals>.") for child in reversed(node.body)]
        return inner + [(child, record, prefix) for child in outside if child is not None]

    @staticmethod
    def _chain(node: ast.Attribute, record: FunctionRecord) -> ast.expr | None:
        """Notes `a.b.c`; what else an attribute is taken from is given back to be walked."""
        attributes = []
        part: ast.expr = node
        while type(part) is ast.Attribute:
            attributes.append(part.attr)
            part = part.value
        if type(part) is not ast.Name:
            return part
        record.chains.add(".".join([part.id, *reversed(attributes)]))
        return None

    def _string(self, keyword: str | None, value: ast.expr) -> None:
        kind = type(value)
        if keyword is None:
            return
        if kind is ast.Constant and type(value.value) is str:
            if len(value.value) <= 200 and "\n" not in value.value:
                self.keyword_strings.setdefault(keyword, set()).add(value.value)
        elif kind is ast.JoinedStr:
            parts = [p.value if type(p) is ast.Constant else "*" for p in value.values]
            self.keyword_strings.setdefault(keyword, set()).add("".join(map(str, parts)))
        elif kind is ast.IfExp:
            self._string(keyword, value.body)
            self._string(keyword, value.orelse)
        elif kind in _LISTS:
            for element in value.elts:
                self._string(keyword, element)

    # ------------------------------------------------------------------ meaning

    def _follow_aliases(self) -> None:
        """`jit = triton.jit`, `jit = functools.partial(triton.jit, …)` and the like."""
        for name, values in self.assigns.items():
            for value in values:
                if isinstance(value, ast.Call) and self.names.dotted(value.func)[0].endswith("partial"):
                    value = value.args[0] if value.args else value
                dotted, imported = self.names.dotted(value)
                if imported and dotted.startswith(("triton.", "tl.")):
                    self.names.imports.setdefault(name, dotted)

    def _mark_jit(self) -> None:
        for record in self.functions:
            record.jit = any(dotted in _JIT for dotted, _ in self.decorators(record))
        for values in self.assigns.values():
            for value in values:  # kernel = triton.jit(function)
                if isinstance(value, ast.Call) and value.args and isinstance(value.args[0], ast.Name):
                    callee = value.func.func if isinstance(value.func, ast.Call) else value.func
                    function = self.top_functions.get(value.args[0].id)
                    if function and self.names.dotted(callee)[0] in _JIT:
                        function.jit = True

    def decorators(self, record: FunctionRecord) -> list[tuple[str, ast.Call | None]]:
        """(dotted name, its call where it has arguments), outermost first. A decorator that was made
        beforehand (`tuned = triton.autotune(…)`) counts as what made it."""
        found = []
        scope = record.parent.names if record.parent else self.names
        for node in record.node.decorator_list:
            if isinstance(node, ast.Name):
                made = self.assigns.get(node.id, [])
                node = made[0] if len(made) == 1 and isinstance(made[0], ast.Call) else node
            if isinstance(node, ast.Call):
                dotted = scope.dotted(node.func)[0]
                if dotted.endswith("partial") and node.args:
                    dotted = scope.dotted(node.args[0])[0]
                found.append((dotted, node))
            else:
                found.append((scope.dotted(node)[0], None))
        return found

    def autotuned(self, record: FunctionRecord) -> bool:
        return any(dotted in _AUTOTUNE for dotted, _ in self.decorators(record))

    def imports_triton(self) -> bool:
        return any(
            name.split(".")[0] == "triton"
            for node in self.imports
            for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        )

    def references(self) -> dict[str, list[str]]:
        """Function → what it refers to outside itself; "" is the module's own code."""
        known = {c.name for c in self.classes} | set(self.assigns) | set(self.top_functions)
        result: dict[int, set[str]] = {}
        for record in [self.record, *self.functions]:
            mine = result.setdefault(id(record), set())
            for chain in record.chains:
                root, dot, tail = chain.partition(".")
                imported = record.names.lookup(root)
                if imported is not None:
                    dotted = imported + dot + tail
                    if not is_foreign(dotted):
                        mine.add(dotted)
                elif root in known and not _is_local(record, root):
                    mine.add(root)
        for record in reversed(self.functions):  # inner functions come after outer ones
            if record.parent is not None and record.parent.node is not None:
                result[id(record.parent)] |= result[id(record)]
        named = {r.qualified_name: sorted(result[id(r)]) for r in reversed(self.functions)}
        named[""] = sorted(result[id(self.record)])
        return named


def _is_local(record: FunctionRecord | None, name: str) -> bool:
    while record is not None and record.node is not None:
        if name in record.names.local:
            return True
        record = record.parent
    return False


def _target_keyword(target: ast.expr) -> str | None:
    if type(target) is ast.Name:
        return target.id
    if type(target) is ast.Subscript and type(target.slice) is ast.Constant:
        key = target.slice.value
        return key if type(key) is str else None
    return None


class Library:
    """Modules by dotted name, read when asked for from the search roots."""

    def __init__(self, search_roots: list[str]):
        self.search_roots = search_roots
        self.modules: dict[str, Module | None] = {}

    def add(self, module: Module) -> None:
        self.modules[module.module] = module

    def module(self, dotted: str) -> Module | None:
        if dotted not in self.modules:
            self.modules[dotted] = self._read(dotted)
        return self.modules[dotted]

    def _read(self, dotted: str) -> Module | None:
        path = dotted.replace(".", os.sep)
        for root in self.search_roots:
            for tail in (path + ".py", os.path.join(path, "__init__.py")):
                file = os.path.join(root, tail)
                if os.path.isfile(file):
                    try:
                        with open(file, "rb") as stream:
                            return Module(file, dotted, stream.read())
                    except (OSError, NotParsable):
                        return None
        return None

    def find(self, dotted: str, depth: int = 0) -> tuple[Module, str] | None:
        """The module that defines `package.module.name`, through re-exports, and the name there."""
        source, _, name = dotted.rpartition(".")
        if not source or depth > 8:
            return None
        module = self.module(source)
        if module is None:
            return None
        if name in module.top_functions or name in module.assigns:
            return module, name
        if any(c.name == name for c in module.classes):
            return module, name
        if name in module.names.imports:
            return self.find(module.names.imports[name], depth + 1)
        for node in module.imports:
            if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
                from lwb_parse_text import absolute

                found = self.find(f"{absolute(node, module.module, module.package)}.{name}", depth + 1)
                if found:
                    return found
        return None
