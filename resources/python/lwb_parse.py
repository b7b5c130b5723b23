"""Kernel sources as JSON: what stands where in Python files (`ast`, standard library only).

Job: {"files": [{"file": F, "module": "pkg.ops.x", "outline": false?}, …], "search_roots": ["…/src"],
      "package": "pkg"?, "auto_outline": false?}
`search_roots` is where imported modules are looked up (kernels of other files, re-exports). With
"auto_outline" a file gets a full model only when it holds Triton code or launches, or defines a
function that such a file imports. With "package", kernels that none of `files` launches are looked
for in the other files below search_roots/package, so that `launched` is right for a single file.

One event a file, in the order of the job:
    {"event":"module","file":F,"model":MODEL}
    {"event":"syntax_error","file":F,"line":n,"message":S}      does not parse, or cannot be read

MODEL has the names of the structs in core/kernel/source_model.h. Members that are empty, false or
at their default are left out. Differences of form, for size:
  - Span is [begin, end, line]; an Argument is [name, Expr].
  - `text` of SourceModel and of Expr is left out: it is the file at the span.
  - `names` of an Expr is given only where it does not follow from the parts: a Name without
    `callee` names itself, else the names of `children`, then of `arguments`, each once.
  - Launch.unpacked_known is given, when true, only beside unpacks_kwargs.
  - MemoryAccess.kind is "load", "store" or "atomic".
Function: name, qualified_name, span, signature_close, signature_trailing_comma, body, body_indent,
decorators, decorator_calls, parameters[{name, span, annotation, default_text, constexpr_,
keyword_only}], references, jit, autotuned, launched; a full one also statements, calls, loops,
accesses. *args and **kwargs are parameters named "*args" and "**kwargs".
"""

from __future__ import annotations

import ast
import gc
import os
import sys

import lwb_channel

from lwb_parse_autograd import autograd_functions
from lwb_parse_body import Body
from lwb_parse_body import Expressions
from lwb_parse_launch import Kernels
from lwb_parse_launch import launches_of
from lwb_parse_memory import accesses_of
from lwb_parse_module import FunctionRecord
from lwb_parse_module import Library
from lwb_parse_module import Module
from lwb_parse_text import NotParsable
from lwb_parse_text import Signature
from lwb_parse_text import Text
from lwb_parse_text import absolute
from lwb_parse_text import all_arguments

_CONSTEXPR = ("tl.constexpr", "tl.core.constexpr")


# ------------------------------------------------------------------------------ functions


def function_json(module: Module, record: FunctionRecord) -> dict:
    """What is known of a function without reading its body."""
    text, node = module.text, record.node
    signature = Signature(text, node)
    decorators = module.decorators(record)
    begin = text.begin(node)
    if node.decorator_list:
        begin = text.data.rfind(b"@", 0, text.begin(node.decorator_list[0]))
    scope = record.parent.names if record.parent else module.names
    expressions = Expressions(text, scope)
    result = {
        "name": record.name,
        "qualified_name": record.qualified_name,
        "span": text.span_at(begin, text.end(node)),
        "signature_close": text.span_at(signature.close, signature.close + 1),
        "signature_trailing_comma": signature.trailing_comma,
        "decorators": [dotted for dotted, _ in decorators],
        "decorator_calls": [expressions.call(call, -1) for _, call in decorators if call is not None],
        "parameters": _parameters(text, scope, node, signature),
        "jit": record.jit,
        "autotuned": module.autotuned(record),
    }
    _body_span(result, text, node)
    return result


def _parameters(text: Text, scope, node, signature: Signature) -> list[dict]:
    arguments = node.args
    defaults: dict[int, ast.expr] = {}
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument, default in zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults):
        defaults[id(argument)] = default
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if default is not None:
            defaults[id(argument)] = default
    found = []
    for argument in all_arguments(arguments):
        stars = {id(arguments.vararg): "*", id(arguments.kwarg): "**"}.get(id(argument), "")
        part = signature.part_of(text.begin(argument))
        parameter = {"name": stars + argument.arg, "span": text.span_at(*part)}
        if argument.annotation is not None:
            parameter["annotation"] = text.source(argument.annotation)
            parameter["constexpr_"] = _is_constexpr(argument.annotation, scope)
        if id(argument) in defaults:
            parameter["default_text"] = text.source(defaults[id(argument)])
        if argument in arguments.kwonlyargs:
            parameter["keyword_only"] = True
        found.append(parameter)
    return found


def _is_constexpr(annotation: ast.expr, scope) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.endswith("constexpr")
    return scope.dotted(annotation)[0] in _CONSTEXPR


def _body_span(result: dict, text: Text, node) -> None:
    body = list(node.body)
    first = body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    if docstring and isinstance(first.value.value, str):
        body = body[1:]
    end = text.end(node)
    begin = text.begin(body[0]) if body else end
    if body and getattr(body[0], "decorator_list", None):
        begin = text.data.rfind(b"@", 0, text.begin(body[0].decorator_list[0]))
    result["body"] = text.span_at(begin, end)
    indent, own_line = text.indent(text.begin(first))
    result["body_indent"] = indent if own_line else indent + 4


def body_of(module: Module, record: FunctionRecord) -> Body:
    parameters = [a.arg for a in all_arguments(record.node.args)] if record.node else []
    body = Body(module.text, record.names, parameters)
    body.read(record.node.body if record.node else module.text.tree.body)
    return body


# ------------------------------------------------------------------------------ modules


class Parser:
    def __init__(self, search_roots: list[str]):
        self.library = Library(search_roots)
        self.kernels = Kernels(self.library)
        self.launched: set[tuple[str, str]] = set()  # module, kernel
        self.launches: dict[str, list[dict]] = {}  # by file
        self.bodies: dict[int, Body] = {}

    def read(self, file: str, module: str) -> Module:
        with open(file, "rb") as stream:
            read = Module(file, module, stream.read())
        self.library.add(read)
        return read

    def find_launches(self, module: Module) -> None:
        """Fills `launches` for the file and `launched`. Where nothing is written as a launch, no body
        is read."""
        found: list[dict] = []
        if module.launches_something or "[" in module.text.data.decode("utf-8", "replace"):
            for record in [module.record, *module.functions]:
                if not record.jit and _may_launch(module, record):
                    found += launches_of(module, record, self.body(module, record), self.kernels)
        self.launches[module.file] = found
        for launch in found:
            self.launched.add((launch["kernel_module"] or module.module, launch["kernel"]))

    def body(self, module: Module, record: FunctionRecord) -> Body:
        if id(record) not in self.bodies:
            self.bodies[id(record)] = body_of(module, record)
        return self.bodies[id(record)]

    def model(self, module: Module, outline: bool) -> dict:
        text = module.text
        references = module.references()
        functions = []
        for record in module.functions:
            function = function_json(module, record)
            function["references"] = references[record.qualified_name]
            function["launched"] = record.jit and (module.module, record.name) in self.launched
            if not outline:
                self._add_body(module, record, function)
            functions.append(_without_defaults(function))
        expressions = Expressions(text, module.names)
        model = {
            "file": module.file,
            "module": module.module,
            "newline": text.newline,
            "last_import": last_import(module),
            "imports": imports_json(module),
            "classes": [
                {"name": c.name, "bases": [module.names.dotted(b)[0] for b in c.bases], "span": text.span(c)}
                for c in module.classes
            ],
            "functions": functions,
            "launches": [_without_defaults(launch) for launch in self.launches.get(module.file, [])],
            "autograd_functions": autograd_functions(module),
            "references": references[""],
            "keyword_strings": {k: sorted(v) for k, v in sorted(module.keyword_strings.items())},
            "outline": outline,
        }
        if not outline:
            model["module_constants"] = {
                name: expressions.expr(values[0]) for name, values in module.assigns.items()
            }
        return _without_defaults(model)

    def _add_body(self, module: Module, record: FunctionRecord, function: dict) -> None:
        body = self.body(module, record)
        function["statements"] = body.statements
        function["calls"] = body.calls
        function["loops"] = body.loops
        if record.jit:
            parameters = [(p["name"].lstrip("*"), p.get("constexpr_", False)) for p in function["parameters"]]
            function["accesses"] = accesses_of(body, record.names, parameters)


def _may_launch(module: Module, record: FunctionRecord) -> bool:
    """A function without a subscript that is called, here or through a variable, launches nothing."""
    body = record.statements() if record.node else module.top
    for statement in body:
        for part in ast.walk(statement):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Subscript):
                return True
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
                if any(isinstance(v, (ast.Subscript, ast.IfExp)) for v in record.assigned().get(part.func.id, [])):
                    return True
    return False


def imports_json(module: Module) -> list[dict]:
    found = []
    for node in module.imports:
        for alias in node.names:
            entry = {"span": module.text.span(node)}
            if isinstance(node, ast.Import):
                entry["module"] = alias.name
            else:
                entry |= {"module": absolute(node, module.module, module.package), "name": alias.name}
            if alias.asname:
                entry["alias"] = alias.asname
            found.append(entry)
    return sorted(found, key=lambda entry: entry["span"][0])


def last_import(module: Module) -> list[int]:
    """The last top-level statement with imports before the first function or class."""
    text = module.text
    last = None
    for index, node in enumerate(module.text.tree.body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        docstring = index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        holds = isinstance(node, (ast.Import, ast.ImportFrom))
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            holds = any(isinstance(part, (ast.Import, ast.ImportFrom)) for part in ast.walk(node))
            # `if …: import a` may be followed by definitions in the same block: still one statement.
        if holds or docstring:
            last = node
    if last is None:
        return [text.bom, text.bom, 1]
    return [text.begin(last), text.line_end(text.end(last)), last.lineno]


def _without_defaults(value: dict) -> dict:
    return {key: v for key, v in value.items() if v not in ("", [], {}, False, None)}


# ------------------------------------------------------------------------------ the job


def run(job: dict) -> None:
    if sys.version_info < (3, 10):
        raise lwb_channel.JobFailure(
            "bad_job", f"Reading sources needs Python 3.10 or newer, {sys.executable} is {sys.version.split()[0]}."
        )
    # The trees of a whole package are many objects that all live to the end.
    gc.disable()
    sys.setrecursionlimit(10000)
    files = job.get("files")
    if not isinstance(files, list) or not files:
        raise lwb_channel.JobFailure("bad_job", "The job names no files.")
    parser = Parser([str(root) for root in job.get("search_roots", [])])
    modules: list[tuple[dict, Module | NotParsable]] = []
    for entry in files:
        try:
            modules.append((entry, parser.read(entry["file"], entry["module"])))
        except NotParsable as error:
            modules.append((entry, error))
        except OSError as error:
            modules.append((entry, NotParsable(0, f"cannot be read: {error.strerror}")))
    read = [module for _, module in modules if isinstance(module, Module)]
    for entry, module in modules:
        if isinstance(module, Module) and not entry.get("outline"):
            parser.find_launches(module)
    if job.get("package"):
        find_launches_elsewhere(parser, read, job["package"])
    wanted = full_modules(parser, read) if job.get("auto_outline") else {m.file for m in read}
    for entry, module in modules:
        if isinstance(module, NotParsable):
            event = {"event": "syntax_error", "file": entry["file"], "line": module.line}
            lwb_channel.emit_json(event | {"message": module.message})
        else:
            outline = bool(entry.get("outline")) or module.file not in wanted
            model = parser.model(module, outline)
            lwb_channel.emit_json({"event": "module", "file": entry["file"], "model": model})


def full_modules(parser: Parser, modules: list[Module]) -> set[str]:
    """Files with Triton code or launches, and those that define functions which such a file
    imports (they may make its settings)."""
    wanted = {m.file for m in modules if m.imports_triton() or parser.launches.get(m.file)}
    helpers = set()
    for module in modules:
        if module.file not in wanted:
            continue
        for node in module.imports:
            if not isinstance(node, ast.ImportFrom):
                continue
            source = absolute(node, module.module, module.package)
            for alias in node.names:
                found = parser.library.find(f"{source}.{alias.name}")
                if found and found[1] in found[0].top_functions:
                    helpers.add(found[0].file)
    return wanted | helpers


def find_launches_elsewhere(parser: Parser, modules: list[Module], package: str) -> None:
    missing = {
        (m.module, f.name) for m in modules for f in m.functions if f.jit
    } - parser.launched
    if not missing:
        return
    known = {os.path.realpath(module.file) for module in modules}
    names = [name.encode() for _, name in missing]
    for root in parser.library.search_roots:
        for folder, folders, files in os.walk(os.path.join(root, package)):
            folders.sort()
            for name in sorted(files):
                file = os.path.join(folder, name)
                if not name.endswith(".py") or os.path.realpath(file) in known:
                    continue
                with open(file, "rb") as stream:
                    data = stream.read()
                if not any(kernel in data for kernel in names):
                    continue
                dotted = os.path.relpath(file, root)[:-3].replace(os.sep, ".")
                module = parser.library.module(dotted.removesuffix(".__init__"))
                if module is not None:
                    parser.find_launches(module)


if __name__ == "__main__":
    lwb_channel.main(run)
