"""Expressions, statements, calls and loops of one function body as JSON: for lwb_parse.py."""

from __future__ import annotations

import ast

from lwb_parse_text import FUNCTIONS
from lwb_parse_text import Names
from lwb_parse_text import Text
from lwb_parse_text import all_arguments

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^",
    ast.BitAnd: "&", ast.MatMult: "@", ast.And: "and", ast.Or: "or", ast.Not: "not",
    ast.UAdd: "+", ast.USub: "-", ast.Invert: "~", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in",
    ast.NotIn: "not in",
}  # fmt: skip
_SCOPES = (*FUNCTIONS, ast.ClassDef)


class Expressions:
    """`Expr`, `Call` and `Argument` of source_model.h, in the scope `names`."""

    def __init__(self, text: Text, names: Names):
        self.text = text
        self.names = names

    def expr(self, node: ast.expr) -> dict:
        kind = type(node).__name__
        result = {"span": self.text.span(node), "kind": kind}
        build = getattr(self, "_of_" + kind.lower(), None)
        if build:
            build(node, result)
        else:
            result["names"] = self.free_names(node)
        return result

    def _set(self, result: dict, op: str, *children: ast.expr) -> None:
        if op:
            result["op"] = op
        if children:
            result["children"] = [self.expr(child) for child in children]

    def _of_name(self, node: ast.Name, result: dict) -> None:
        imported = self.names.lookup(node.id)
        if imported is not None:
            result["callee"] = imported

    def _of_constant(self, node: ast.Constant, result: dict) -> None:
        result["op"] = "None" if node.value is None else type(node.value).__name__

    def _of_attribute(self, node: ast.Attribute, result: dict) -> None:
        dotted, imported = self.names.dotted(node)
        result["op"] = node.attr
        if imported:
            result["callee"] = dotted
        else:
            result["children"] = [self.expr(node.value)]

    def _of_binop(self, node: ast.BinOp, result: dict) -> None:
        self._set(result, _OPERATORS[type(node.op)], node.left, node.right)

    def _of_unaryop(self, node: ast.UnaryOp, result: dict) -> None:
        self._set(result, _OPERATORS[type(node.op)], node.operand)

    def _of_boolop(self, node: ast.BoolOp, result: dict) -> None:
        self._set(result, _OPERATORS[type(node.op)], *node.values)

    def _of_compare(self, node: ast.Compare, result: dict) -> None:
        operators = " ".join(_OPERATORS[type(op)] for op in node.ops)
        self._set(result, operators, node.left, *node.comparators)

    def _of_ifexp(self, node: ast.IfExp, result: dict) -> None:
        self._set(result, "", node.test, node.body, node.orelse)

    def _of_tuple(self, node: ast.Tuple | ast.List | ast.Set, result: dict) -> None:
        self._set(result, "", *node.elts)

    _of_list = _of_set = _of_tuple

    def _of_dict(self, node: ast.Dict, result: dict) -> None:
        if all(node.keys):
            self._set(result, "", *[e for pair in zip(node.keys, node.values) for e in pair])
        else:
            result["names"] = self.free_names(node)

    def _of_subscript(self, node: ast.Subscript, result: dict) -> None:
        self._set(result, "", node.value, node.slice)

    def _of_slice(self, node: ast.Slice, result: dict) -> None:
        self._set(result, "", *filter(None, (node.lower, node.upper, node.step)))

    def _of_starred(self, node: ast.Starred, result: dict) -> None:
        self._set(result, "*", node.value)

    def _of_namedexpr(self, node: ast.NamedExpr, result: dict) -> None:
        self._set(result, ":=", node.value)

    def _of_lambda(self, node: ast.Lambda, result: dict) -> None:
        self._set(result, ", ".join(a.arg for a in all_arguments(node.args)), node.body)
        result["names"] = self.free_names(node)

    def _of_call(self, node: ast.Call, result: dict) -> None:
        dotted, imported = self.names.dotted(node.func)
        result["callee"] = dotted
        if not imported and not isinstance(node.func, ast.Name):
            receiver = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            result["children"] = [self.expr(receiver)]
        result["arguments"] = self.arguments(node)

    def arguments(self, node: ast.Call) -> list[list]:
        """[[name, Expr], …] in source order; a name is "" for positional, "*" and "**" unpacked."""
        result = []
        for argument in node.args:
            starred = isinstance(argument, ast.Starred)
            value = argument.value if starred else argument
            result.append(["*" if starred else "", self.expr(value)])
        result += [[keyword.arg or "**", self.expr(keyword.value)] for keyword in node.keywords]
        return sorted(result, key=lambda argument: argument[1]["span"][0])

    def call(self, node: ast.Call, statement: int) -> dict:
        span = self.text.span(node)
        result = {
            "callee": self.names.dotted(node.func)[0],
            "span": span,
            "close": self.text.span_at(span[1] - 1, span[1]),
            "arguments": self.arguments(node),
            "statement": statement,
        }
        inside = [*node.args, *[keyword.value for keyword in node.keywords]]
        if inside:
            last = max(inside, key=self.text.end)
            if self.text.trailing_comma(last, span[1] - 1):
                result["trailing_comma"] = True
        return result

    def free_names(self, node: ast.AST) -> list[str]:
        """Variables that an expression reads and does not bind itself, in order of appearance."""
        found: list[str] = []
        bound: set[str] = set()

        def visit(part: ast.AST) -> None:
            if isinstance(part, ast.Name):
                if isinstance(part.ctx, ast.Load):
                    if self.names.lookup(part.id) is None:
                        found.append(part.id)
                else:
                    bound.add(part.id)
                return
            if isinstance(part, ast.arg):
                bound.add(part.arg)
            for child in ast.iter_child_nodes(part):
                if not (isinstance(part, ast.Call) and child is part.func and isinstance(child, ast.Name)):
                    visit(child)

        visit(node)
        return [name for name in dict.fromkeys(found) if name not in bound]


class Body:
    """The statements of a function, flattened in source order, with its calls and loops."""

    def __init__(self, text: Text, names: Names, parameters: list[str]):
        self.text = text
        self.expressions = Expressions(text, names)
        self.parameters = parameters
        self.statements: list[dict] = []
        self.nodes: list[ast.stmt] = []  # by statement index
        self.calls: list[dict] = []
        self.call_nodes: list[ast.Call] = []  # by call index
        self.loops: list[dict] = []

    def read(self, body: list[ast.stmt]) -> None:
        self._block(body, -1, "")
        order = sorted(range(len(self.calls)), key=lambda i: (self.calls[i]["span"][0], -self.calls[i]["span"][1]))
        self.calls = [self.calls[i] for i in order]
        self.call_nodes = [self.call_nodes[i] for i in order]
        for index, node in enumerate(self.nodes):
            if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                self.loops.append(self._loop(index, node))

    def _block(self, body: list[ast.stmt], parent: int, branch: str) -> None:
        for node in body:
            self._statement(node, parent, branch)

    def _statement(self, node: ast.stmt, parent: int, branch: str) -> None:
        index = len(self.statements)
        begin = self.text.begin(node)
        indent, own_line = self.text.indent(begin)
        result = {"index": index, "kind": type(node).__name__, "span": self.text.span(node), "indent": indent}
        if parent >= 0:
            result |= {"parent": parent, "branch": branch}
        if not own_line:
            result["own_line"] = False
        self.statements.append(result)
        self.nodes.append(node)
        targets = assigned_names(node)
        if targets:
            result["targets"] = targets
        written = target_nodes(node)
        if written:
            result["target_exprs"] = [self.expressions.expr(target) for target in written]
        value = value_of(node)
        if value is not None:
            result["value"] = self.expressions.expr(value)
        if isinstance(node, ast.AugAssign):
            result["op"] = _OPERATORS[type(node.op)] + "="
        for call in calls_of(node):
            self.calls.append(self.expressions.call(call, index))
            self.call_nodes.append(call)
        if isinstance(node, _SCOPES):
            return
        if is_compound(node):
            result["header"] = self.text.span_at(begin, self._colon(node) + 1)
        self._blocks(node, index)

    def _blocks(self, node: ast.stmt, index: int) -> None:
        self._block(getattr(node, "body", []), index, "body")
        for handler in getattr(node, "handlers", []):
            self._block(handler.body, index, "handler")
        for case in getattr(node, "cases", []):
            self._block(case.body, index, "case")
        self._block(getattr(node, "orelse", []), index, "orelse")
        self._block(getattr(node, "finalbody", []), index, "finalbody")

    def _colon(self, node: ast.stmt) -> int:
        """The colon that ends the header of a compound statement."""
        if isinstance(node, (ast.With, ast.AsyncWith)):
            item = node.items[-1]
            last = item.optional_vars or item.context_expr
        else:
            last = getattr(node, "test", None) or getattr(node, "iter", None)
            last = last or getattr(node, "subject", None)
        return self.text.find_code(self.text.end(last) if last else self.text.begin(node), b":")

    def _loop(self, index: int, node: ast.For | ast.While) -> dict:
        inside = self.inside(index)
        result: dict = {"statement": index, "body": inside}
        if not isinstance(node, ast.While):
            result["variable"] = self.text.source(node.target)
            if isinstance(node.iter, ast.Call):
                result["iterator"] = self.expressions.call(node.iter, index)
        variables = set(self.statements[index].get("targets", []))
        before = set(self.parameters)
        for statement in self.statements[:index]:
            before.update(statement.get("targets", []))
        changed = [name for i in inside for name in self.statements[i].get("targets", [])]
        result["carried"] = [n for n in dict.fromkeys(changed) if n in before and n not in variables]
        return result

    def inside(self, index: int) -> list[int]:
        """Statements below statement `index`, at any depth; they follow it without a gap."""
        result: list[int] = []
        members = {index}
        for statement in self.statements[index + 1 :]:
            if statement.get("parent", -1) not in members:
                break
            members.add(statement["index"])
            result.append(statement["index"])
        return result

    def branches_around(self, statement: int) -> dict[int, str]:
        """Compound statement → the branch of it that holds the statement."""
        found = {}
        while self.statements[statement].get("parent", -1) >= 0:
            parent = self.statements[statement]["parent"]
            found[parent] = self.statements[statement]["branch"]
            statement = parent
        return found

    def may_precede(self, first: int, second: int) -> bool:
        """Whether `first` can have run before `second` does."""
        ours, theirs = self.branches_around(first), self.branches_around(second)
        common = set(ours) & set(theirs)
        if any(self.statements[i]["kind"] in ("For", "While", "AsyncFor") for i in common):
            return True
        exclusive = any(self.statements[i]["kind"] == "If" and ours[i] != theirs[i] for i in common)
        return first < second and not exclusive

    def loops_around(self, statement: int) -> list[int]:
        """Indices of the loops whose body holds the statement, outermost first."""
        return [i for i, loop in enumerate(self.loops) if statement in loop["body"]]


def is_compound(node: ast.stmt) -> bool:
    return bool(getattr(node, "body", None) or getattr(node, "cases", None))


def target_nodes(node: ast.stmt) -> list[ast.expr]:
    """What a statement assigns to, as written."""
    if isinstance(node, (ast.Assign, ast.Delete)):
        return node.targets
    if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        return [node.target]
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return [item.optional_vars for item in node.items if item.optional_vars]
    return []


def assigned_names(node: ast.stmt) -> list[str]:
    """Names that the statement itself binds, not those of statements in it."""
    if isinstance(node, _SCOPES):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    names: list[str] = []
    for target in [] if isinstance(node, ast.Delete) else target_nodes(node):
        names += [n.id for n in ast.walk(target) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    for part in own_expressions(node):
        names += [n.target.id for n in ast.walk(part) if isinstance(n, ast.NamedExpr)]
    return list(dict.fromkeys(names))


def value_of(node: ast.stmt) -> ast.expr | None:
    for field in ("value", "test", "iter", "subject", "exc"):
        value = getattr(node, field, None)
        if isinstance(value, ast.expr):
            return value
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return node.items[0].context_expr
    return None


def own_expressions(node: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement without those of the statements in it."""
    if isinstance(node, _SCOPES):
        return []
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            found.append(child)
        elif isinstance(child, ast.withitem):
            found += filter(None, (child.context_expr, child.optional_vars))
    return found


def calls_of(node: ast.stmt) -> list[ast.Call]:
    """The calls in a statement's own expressions. Those inside formatted strings are left out:
    their positions are wrong before Python 3.12."""
    found: list[ast.Call] = []
    waiting: list[ast.AST] = list(own_expressions(node))
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call):
            found.append(part)
        if not isinstance(part, ast.JoinedStr):
            waiting += ast.iter_child_nodes(part)
    return found
