"""Positions in a Python file and what its names mean: for lwb_parse.py.

Positions are byte offsets of the file, so that an edit made there changes nothing else. `ast` counts
columns in bytes of the UTF-8 line and does not count a byte order mark; line ends may be \\n, \\r\\n
or \\r.
"""

from __future__ import annotations

import ast
import re
import sys

from bisect import bisect_right

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class NotParsable(Exception):
    """A file that `ast` does not take; `line` is 0 when it is not about a line."""

    def __init__(self, line: int, message: str):
        super().__init__(message)
        self.line = line
        self.message = message


class Text:
    """The bytes of a file, where its lines begin, and its syntax tree."""

    def __init__(self, data: bytes):
        self.data = data
        self.bom = len(_BOM) if data.startswith(_BOM) else 0
        try:
            decoded = data[self.bom :].decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, self.bom + error.start) + 1
            raise NotParsable(line, "the file is not UTF-8") from error
        try:
            # As a string: a coding cookie that says otherwise must not shift the offsets.
            self.tree = ast.parse(decoded)
        except SyntaxError as error:
            raise NotParsable(error.lineno or 0, error.msg or "invalid syntax") from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise NotParsable(0, str(error) or type(error).__name__) from error
        first = _LINE_END.search(data)
        self.newline = first.group().decode() if first else "\n"
        self.line_starts = [self.bom]
        self.line_starts += [match.end() for match in _LINE_END.finditer(data)]

    def begin(self, node: ast.AST) -> int:
        return self.line_starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.AST) -> int:
        return self.line_starts[node.end_lineno - 1] + node.end_col_offset

    def span(self, node: ast.AST) -> list[int]:
        return [self.begin(node), self.end(node), node.lineno]

    def line_of(self, offset: int) -> int:
        return max(1, bisect_right(self.line_starts, offset))

    def span_at(self, begin: int, end: int) -> list[int]:
        return [begin, end, self.line_of(begin)]

    def source(self, node: ast.AST) -> str:
        return self.data[self.begin(node) : self.end(node)].decode("utf-8")

    def line_end(self, offset: int) -> int:
        """Where the line of `offset` ends, without its line end."""
        match = _LINE_END.search(self.data, offset)
        return match.start() if match else len(self.data)

    def indent(self, offset: int) -> tuple[int, bool]:
        """White space that the line begins with, and whether nothing else precedes `offset`."""
        start = self.line_starts[self.line_of(offset) - 1]
        line = self.data[start : self.line_end(start)]
        width = len(line) - len(line.lstrip(b" \t\f"))
        return width, offset <= start + width

    def find_code(self, offset: int, stop: bytes, end: int | None = None) -> int:
        """The first byte of `stop` at or after `offset` outside comments (there must be no strings
        on the way); -1 when there is none before `end`."""
        data, position = self.data, offset
        limit = len(data) if end is None else end
        while position < limit:
            byte = data[position : position + 1]
            if byte == b"#":
                position = self.line_end(position)
            elif byte in stop:
                return position
            else:
                position += 1
        return -1

    def trailing_comma(self, last: ast.AST, close: int) -> bool:
        """Whether a comma stands between the last argument and the closing parenthesis."""
        return self.find_code(self.end(last), b",", close) >= 0


class Signature:
    """Parentheses, parts and colon of a `def`, found in the text: `ast` does not keep them."""

    def __init__(self, text: Text, node: ast.FunctionDef | ast.AsyncFunctionDef):
        self.parts: list[tuple[int, int]] = []  # the code between commas, without white space
        self.trailing_comma = False
        self.close = self.colon = -1
        depth, opened, part_begin, part_end = 0, False, -1, -1
        start = text.data.index(b"def", text.begin(node)) + 3
        for begin, end, byte in _code(text, start, _strings_of_head(text, node)):
            opens, closes = byte in b"([{", byte in b")]}"
            depth += opens - closes
            if self.close >= 0:
                if byte == b":" and depth == 0:
                    self.colon = begin
                    return
            elif not opened:  # type parameters may stand before the list
                opened = byte == b"(" and depth == 1
            elif depth == 0:
                self.close = begin
                self.trailing_comma = part_begin < 0 and bool(self.parts)
                if part_begin >= 0:
                    self.parts.append((part_begin, part_end))
            elif depth == 1 and byte == b",":
                self.parts.append((part_begin, part_end))
                part_begin = -1
            else:
                part_begin = begin if part_begin < 0 else part_begin
                part_end = end

    def part_of(self, offset: int) -> tuple[int, int]:
        return next(part for part in self.parts if part[0] <= offset < part[1])


def _code(text: Text, position: int, strings: dict[int, int]):
    """(begin, end, first byte) of each byte of code and each whole string from `position` on."""
    data = text.data
    while position < len(data):
        byte = data[position : position + 1]
        if position in strings:
            yield position, strings[position], b'"'
            position = strings[position]
        elif byte == b"#":
            position = text.line_end(position)
        else:
            if not byte.isspace() and byte != b"\\":
                yield position, position + 1, byte
            position += 1


def _strings_of_head(text: Text, node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[int, int]:
    """Begin → end of the strings between `def` and the colon."""
    arguments = node.args
    waiting = [*arguments.defaults, *arguments.kw_defaults, node.returns]
    waiting += [argument.annotation for argument in all_arguments(arguments)]
    waiting += getattr(node, "type_params", [])
    strings = {}
    while waiting:
        part = waiting.pop()
        if part is None:
            continue
        if is_string(part):
            strings[text.begin(part)] = text.end(part)
        else:
            waiting += ast.iter_child_nodes(part)
    return strings


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """In source order."""
    every = [*arguments.posonlyargs, *arguments.args]
    every += [arguments.vararg] if arguments.vararg else []
    every += arguments.kwonlyargs
    every += [arguments.kwarg] if arguments.kwarg else []
    return every


def is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


class Names:
    """What the names of a module, or of a function in it, stand for."""

    def __init__(self, parent: Names | None = None):
        self.parent = parent
        self.imports: dict[str, str] = {}
        self.local: set[str] = set()  # parameters and assigned names; they hide imports

    def lookup(self, name: str) -> str | None:
        """Dotted name of what an import brought here under `name`."""
        if name in self.imports:
            return self.imports[name]
        if name in self.local or self.parent is None:
            return None
        return self.parent.lookup(name)

    def dotted(self, node: ast.AST) -> tuple[str, bool]:
        """Dotted name of a Name, Attribute or launch, and whether it begins at an import."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        tail = "".join("." + attribute for attribute in reversed(attributes))
        if isinstance(node, ast.Name):
            imported = self.lookup(node.id)
            if imported is not None:
                return normal(imported + tail), True
            return node.id + tail, False
        if isinstance(node, ast.Subscript) and not attributes:
            return self.dotted(node.value)[0] + "[]", False
        return tail, False

    def add_import(self, node: ast.Import | ast.ImportFrom, module: str, package: bool) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    self.imports.setdefault(alias.asname, normal(alias.name))
                else:
                    root = alias.name.split(".")[0]
                    self.imports.setdefault(root, root)
            return
        source = absolute(node, module, package)
        for alias in node.names:
            if alias.name != "*":
                dotted = f"{source}.{alias.name}" if source else alias.name
                self.imports.setdefault(alias.asname or alias.name, normal(dotted))


def normal(dotted: str) -> str:
    """`triton.language` is always `tl`."""
    if dotted == "triton.language" or dotted.startswith("triton.language."):
        return "tl" + dotted[len("triton.language") :]
    return dotted


def absolute(node: ast.ImportFrom, module: str, package: bool) -> str:
    """The absolute dotted module of a `from` import."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    drop = node.level - 1 if package else node.level
    base = parts[: len(parts) - drop] if drop else parts
    return ".".join([*base, node.module] if node.module else base)


def is_foreign(dotted: str) -> bool:
    """Torch, Triton and the standard library: not worth a reference. (`test` is the name of the
    checkout's tests here, not of Python's own.)"""
    root = dotted.split(".", 1)[0]
    return root in ("torch", "triton", "tl") or (
        root != "test" and root in sys.stdlib_module_names
    )
