"""lwb_parse.py on sources of our own in many odd spellings."""

import json
import subprocess
import sys

from pathlib import Path

import pytest

from lwb_parse import Parser
from lwb_parse import run

SCRIPT = Path(__file__).resolve().parents[2] / "resources" / "python" / "lwb_parse.py"
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"


class Parsed:
    """A model with its text."""

    def __init__(self, model, data):
        self.model = model
        self.data = data

    def at(self, span):
        return self.data[span[0] : span[1]].decode()

    def function(self, name):
        return next(f for f in self.model["functions"] if f["qualified_name"] == name)

    def launches(self):
        return [(x["kernel"], self.at(x["grid_value"]["span"])) for x in self.model.get("launches", [])]

    def bases(self, name):
        return [a.get("base_parameters", []) for a in self.function(name).get("accesses", [])]


@pytest.fixture
def parse(tmp_path):
    def parse_one(source, name="thing", head=HEAD, **others):
        for other, text in others.items():
            (tmp_path / "pack").mkdir(exist_ok=True)
            (tmp_path / "pack" / f"{other}.py").write_text(text)
        data = source if isinstance(source, bytes) else (head + source).encode()
        file = tmp_path / "pack" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        parser = Parser([str(tmp_path)])
        module = parser.read(str(file), f"pack.{name}")
        parser.find_launches(module)
        return Parsed(parser.model(module, False), data)

    return parse_one


KERNEL = """
@triton.jit
def _k(x_ptr, n, B: tl.constexpr):
    cols = tl.arange(0, B)
    tl.store(x_ptr + cols, tl.load(x_ptr + cols, mask=cols < n), mask=cols < n)

"""


# ------------------------------------------------------------------ positions


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_positions(parse, newline, bom):
    source = (HEAD + "# Größe: µs\n" + KERNEL).replace("\n", newline)
    parsed = parse(bom + source.encode())
    kernel = parsed.function("_k")
    assert parsed.at(kernel["span"]).startswith("@triton.jit" + newline + "def _k(")
    assert parsed.at(kernel["signature_close"]) == ")"
    assert parsed.at(kernel["body"]).startswith("cols = tl.arange(0, B)")
    assert [parsed.at(c["close"]) for c in kernel["calls"]] == [")"] * 3
    assert parsed.model["newline"] == newline
    assert parsed.at(parsed.model["last_import"]) == "import triton.language as tl"


def test_signature_with_comments_strings_and_nested_parentheses(parse):
    parsed = parse(
        "def f(\n    a,  # ), (\n    b: int = (1, 2),\n    c=')(',  # last )\n    *rest, d: 'x:y' = {'k': (3)}, **more,\n"
        "    # closing ) soon\n) -> 'a: b':\n    return a\n"
        "def g(): return 1\n"
        "async def h(x,\n  y): pass\n"
    )
    f = parsed.function("f")
    assert [p["name"] for p in f["parameters"]] == ["a", "b", "c", "*rest", "d", "**more"]
    assert parsed.at(f["parameters"][1]["span"]) == "b: int = (1, 2)"
    assert parsed.at(f["parameters"][2]["span"]) == "c=')('"
    assert f["parameters"][4]["keyword_only"] and f["parameters"][4]["default_text"] == "{'k': (3)}"
    assert f["signature_trailing_comma"]
    assert parsed.at([f["signature_close"][0], f["signature_close"][0] + 14, 0]) == ") -> 'a: b':\n "
    assert parsed.at(parsed.function("g")["signature_close"]) == ")"
    assert not parsed.function("h").get("signature_trailing_comma")


@pytest.mark.parametrize(
    "call, comma",
    [
        ("f(a)", False),
        ("f(a,)", True),
        ("f(a,  # b,\n  )", True),
        ("f(a  # b,\n  )", False),
        ("f((a, b))", False),
        ("f(((a)),)", True),
        ("f(x for x in a)", False),
        ("f(*a, k=b, **c)", False),
        ("f(**c  # ,\n , )", True),
        ("f()", False),
        ("f('a,')", False),
    ],
)
def test_trailing_comma_and_close(parse, call, comma):
    parsed = parse(f"def g(a, b, c):\n    {call}\n")
    found = next(c for c in parsed.function("g")["calls"] if c["callee"] == "f")
    assert found.get("trailing_comma", False) is comma
    assert parsed.at(found["span"]) == call
    assert parsed.at(found["close"]) == ")"


def test_statements_parents_branches_and_headers(parse):
    parsed = parse(
        "def f(a, n):\n"
        "    if (a > 1):  # one: two\n        x = 1\n    elif a:\n        x = 2\n    else:\n        x = 3; y = 4\n"
        "    for i, (j, k) in enumerate(a): x += i\n"
        "    try:\n        pass\n    except ValueError:\n        raise\n    finally:\n        z = 1\n"
        "    with open(a) as h, b as (c, d):\n        while (w := n):\n            n -= 1\n"
        "    o.m, d['k'] = 1, 2\n"
    )
    statements = parsed.function("f")["statements"]
    kinds = [s["kind"] for s in statements]
    assert kinds == [
        "If", "Assign", "If", "Assign", "Assign", "Assign", "For", "AugAssign", "Try", "Pass", "Raise",
        "Assign", "With", "While", "AugAssign", "Assign",
    ]  # fmt: skip
    by = dict(enumerate(statements))
    assert (by[2]["parent"], by[2]["branch"]) == (0, "orelse")
    assert (by[5]["parent"], by[5]["branch"]) == (2, "orelse")
    assert by[5]["own_line"] is False and "own_line" not in by[2]
    assert by[6]["targets"] == ["i", "j", "k"]
    assert by[7]["op"] == "+=" and by[7]["parent"] == 6
    assert [by[i].get("branch") for i in (9, 10, 11)] == ["body", "handler", "finalbody"]
    assert by[12]["targets"] == ["h", "c", "d"]
    assert by[13]["targets"] == ["w"]
    assert [parsed.at(e["span"]) for e in by[15]["target_exprs"]] == ["o.m, d['k']"]
    assert "targets" not in by[15]
    headers = [parsed.at(s["header"]) for s in statements if "header" in s]
    assert headers == [
        "if (a > 1):", "elif a:", "for i, (j, k) in enumerate(a):", "try:",
        "with open(a) as h, b as (c, d):", "while (w := n):",
    ]  # fmt: skip


def test_loops_and_what_they_carry(parse):
    parsed = parse(
        "@triton.jit\ndef _k(p, n, m, B: tl.constexpr):\n"
        "    total = 0.0\n    fresh = 1\n"
        "    for i in tl.range(0, n, num_stages=3):\n"
        "        part = 0.0\n"
        "        for j in tl.static_range(4):\n            part += tl.load(p + j)\n"
        "        total += part\n        p += m\n"
        "    while n > 0:\n        n -= 1\n"
    )
    loops = parsed.function("_k")["loops"]
    assert [loop.get("iterator", {}).get("callee") for loop in loops] == ["tl.range", "tl.static_range", None]
    assert loops[0]["carried"] == ["total", "p"]
    assert loops[1]["carried"] == ["part"]
    assert loops[2]["carried"] == ["n"]
    assert parsed.function("_k")["accesses"][0]["loops"] == [0, 1]
    assert len(loops[0]["body"]) == 5


# ------------------------------------------------------------------ jit


@pytest.mark.parametrize(
    "head, decorators",
    [
        ("import triton\n", "@triton.jit"),
        ("import triton as t\n", "@t.jit"),
        ("from triton import jit\n", "@jit"),
        ("from triton import jit as J\n", "@J"),
        ("import triton\n", "@triton.jit(do_not_specialize=['n'])"),
        ("import triton\njit = triton.jit\n", "@jit"),
        ("import triton, functools\nj = functools.partial(triton.jit, noinline=True)\n", "@j"),
        ("import triton\n", "@triton.autotune(configs=[], key=['n'])\n@triton.jit"),
        ("import triton\n", "@triton.heuristics({})\n@triton.jit"),
        ("from triton.runtime.jit import jit\n", "@jit"),
        ("import triton\ntuned = triton.autotune(configs=[], key=[])\n", "@tuned\n@triton.jit"),
    ],
)
def test_jit_spellings(parse, head, decorators):
    parsed = parse(f"{decorators}\ndef _k(x):\n    pass\n", head=head)
    kernel = parsed.function("_k")
    assert kernel["jit"]
    assert kernel.get("autotuned", False) == ("tune" in decorators)
    assert parsed.at(kernel["span"]).startswith("@")


def test_what_is_not_jit(parse):
    parsed = parse(
        "import cute\n# @triton.jit\n# @triton.autotune(configs=[], key=[])\ndef a(x):\n    pass\n"
        "@cute.jit\ndef b(x):\n    pass\n@torch.jit.script\ndef c(x):\n    '@triton.jit'\n"
    )
    assert not any(f.get("jit") or f.get("autotuned") for f in parsed.model["functions"])


def test_jit_by_call_and_inside_conditions(parse):
    parsed = parse(
        "def _plain(x):\n    pass\n_k = triton.jit(_plain)\n"
        "if True:\n    @triton.jit\n    def _a(x):\n        pass\nelse:\n    def _a(x):\n        pass\n"
        "def host(x):\n    _k[(1,)](x)\n    _a[(2,)](x)\n"
    )
    assert parsed.function("_plain")["jit"]
    assert parsed.launches() == [("_plain", "(1,)"), ("_a", "(2,)")]


# ------------------------------------------------------------------ launches


@pytest.mark.parametrize(
    "body, expected",
    [
        ("_k[(n,)](x, n, 4)", [("_k", "(n,)")]),
        ("_k[n](x, n, 4)", [("_k", "n")]),
        ("_k[n, 2](x, n, 4)", [("_k", "n, 2")]),
        ("grid = (n, 1)\n    _k[grid](x, n, 4)", [("_k", "(n, 1)")]),
        (
            "_k[lambda meta: (triton.cdiv(n, meta['B']),)](x, n, 4)",
            [("_k", "lambda meta: (triton.cdiv(n, meta['B']),)")],
        ),
        ("g = lambda META: (n,)\n    _k[g](x, n, 4)", [("_k", "lambda META: (n,)")]),
        ("def grid(meta):\n        return (n, meta['B'])\n    _k[grid](x, n, 4)", [("_k", "(n, meta['B'])")]),
        ("k = _k if n else _m\n    k[(n,)](x, n, 4)", [("_k", "(n,)"), ("_m", "(n,)")]),
        ("(_k if n else _m)[(n,)](x, n, 4)", [("_k", "(n,)"), ("_m", "(n,)")]),
        ("if n:\n        k = _k\n    else:\n        k = _m\n    k[(n,)](x, n, 4)", [("_k", "(n,)"), ("_m", "(n,)")]),
        ("k, b = (_k, 1) if n else (_m, 2)\n    k[(n,)](x, n, b)", [("_k", "(n,)"), ("_m", "(n,)")]),
        ("for k in (_k, _m):\n        k[(n,)](x, n, 4)", [("_k", "(n,)"), ("_m", "(n,)")]),
        ("TABLE['a'][(n,)](x, n, 4)", [("_k", "(n,)"), ("_m", "(n,)")]),
        ("pick(n)[(n,)](x, n, 4)", [("_m", "(n,)")]),
        ("run = _k[(n,)]\n    run(x, n, 4)", [("_k", "(n,)")]),
        ("torch.library.wrap_triton(_k)[(n,)](x, n, 4)", [("_k", "(n,)")]),
        ("alias[(n,)](x, n, 4)", [("_m", "(n,)")]),
        ("def inner():\n        _k[(n,)](x, n, 4)\n    inner()", [("_k", "(n,)")]),
        ("launch(_m, x)", [("_m", "(9,)")]),
        ("x[n](1)\n    other[(1,)](x)", []),
    ],
)
def test_launch_spellings(parse, body, expected):
    parsed = parse(
        KERNEL
        + "@triton.jit\ndef _m(x_ptr, n, B: tl.constexpr):\n    pass\n"
        + "TABLE = {'a': _k, 'b': _m}\nalias = _m\n"
        + "def pick(n):\n    return _m\n"
        + ("def launch(kernel, x):\n    kernel[(9,)](x, 1, 2)\n" if body.startswith("launch") else "")
        + f"def host(x, n):\n    {body}\n"
    )
    assert parsed.launches() == expected
    for launch in parsed.model.get("launches", []):
        assert set(launch["bound"]) == {"x_ptr", "n", "B"}


def test_bound_with_keywords_options_and_unpacked(parse):
    parsed = parse(
        KERNEL + "def host(x, n, a):\n"
        "    opts = {'num_warps': 4}\n"
        "    if a:\n        opts['num_stages'] = 2\n        _k[(1,)](x, B=16, n=n, **opts)\n"
        "    else:\n        opts.update(B=8)\n        fill(opts)\n        _k[(1,)](x, n, **opts)\n"
        "    _k[(1,)](x, *a, num_warps=8)\n"
    )
    first, second, third = parsed.model["launches"]
    assert set(first["bound"]) == {"x_ptr", "n", "B"}
    assert {k: parsed.at(v[1]["span"]) for k, v in first["unpacked"].items()}["num_stages"] == "2"
    assert "num_stages" not in second["unpacked"]
    assert second["unpacks_kwargs"] and not second.get("unpacked_known")
    assert third["unpacks_args"] and set(third["bound"]) == {"x_ptr", "num_warps"}


def test_kernels_of_other_files(parse):
    parsed = parse(
        "from .kernels import _k as kernel\nfrom pack import kernels\nfrom pack.again import _k as second\n"
        "def host(x):\n    kernel[(1,)](x, 1, 2)\n    kernels._k[(2,)](x, 1, 2)\n    second[(3,)](x, 1, 2)\n"
        "    def late():\n        from pack.kernels import _k\n        _k[(4,)](x, 1, 2)\n",
        kernels=HEAD + KERNEL,
        again="from pack.kernels import *\n",
    )
    assert parsed.launches() == [("_k", "(1,)"), ("_k", "(2,)"), ("_k", "(3,)"), ("_k", "(4,)")]
    assert {x["kernel_module"] for x in parsed.model["launches"]} == {"pack.kernels"}
    assert all("B" in x["bound"] for x in parsed.model["launches"])


def test_unknown_imported_kernel_is_a_launch_only_with_options(parse):
    parsed = parse(
        "from gone.away import _k, table\ndef host(x):\n    _k[(1,)](x, num_warps=4)\n    table[1](x)\n"
    )
    assert [(x["kernel"], x["kernel_module"]) for x in parsed.model["launches"]] == [("_k", "gone.away")]


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize(
    "body, expected",
    [
        ("tl.load(a + i * s + c)", [["a"]]),
        ("a += i * s\n    tl.load(a + c)", [["a"]]),
        ("q = a + i * s\n    r = q + c\n    tl.load(r)\n    tl.store(b + off, 1)\n    tl.load(b)", [["a"], ["b"], ["b"]]),
        ("q = a if s else b\n    tl.load(q + c)", [["a", "b"]]),
        ("q = tl.where(i > 0, a, b)\n    tl.load(q)", [["a", "b"]]),
        ("q, r = a + 1, b + 2\n    tl.load(q)\n    tl.store(r, 0)", [["a"], ["b"]]),
        ("q = tl.make_block_ptr(base=a + i, shape=(s,), strides=(1,), offsets=(0,), block_shape=(8,), order=(0,))\n"
         "    tl.load(q)\n    q = tl.advance(q, (8,))\n    tl.store(b, tl.load(q))", [["a"], ["b"], ["a"]]),
        ("q = tl.make_tensor_descriptor(a, [s], [1], [8])\n    v = q.load([0])\n    q.store([0], v)", [["a"], ["a"]]),
        ("tl.atomic_add(a + c, tl.load(b + c), mask=c < s, sem='relaxed')", [["a"], ["b"]]),
        ("tl.load(a[:, None])", [["a"]]),
        ("v = tl.load(b)\n    tl.load(a + v)", [["b"], ["a"]]),
        ("tl.load((a + c).to(tl.pointer_type(tl.float32)))", [["a"]]),
        ("tl.load(tl.multiple_of(a + c, 8))", [["a"]]),
        ("tl.load(shift(a, 4))", [["a"]]),
    ],
)  # fmt: skip
def test_pointers_lead_to_parameters(parse, body, expected):
    parsed = parse(
        "@triton.jit\ndef shift(p, n):\n    return p + n\n"
        "@triton.jit\ndef _k(a, b, s, off, C: tl.constexpr):\n"
        f"    i = tl.program_id(0)\n    c = tl.arange(0, C)\n    {body}\n"
    )
    assert parsed.bases("_k") == expected


def test_value_and_mask_by_position(parse):
    parsed = parse(
        "from triton.language import load, store\n"
        "@triton.jit\ndef _k(a, n, m):\n    x = load(a, m > n, other=0)\n    store(a, x + 1, m > 2)\n"
    )
    load, store = parsed.function("_k")["accesses"]
    assert parsed.at(load["mask"]["span"]) == "m > n" and "value" not in load
    assert parsed.at(store["value"]["span"]) == "x + 1" and parsed.at(store["mask"]["span"]) == "m > 2"
    assert load["call"]["callee"] == "tl.load"


# ------------------------------------------------------------------ autograd


def test_autograd_forms(parse):
    parsed = parse(
        "from torch.autograd import Function as F\nfrom .u import tidy\n"
        "def keep(c, s):\n    c.kept = s + 1\n"
        "class A(torch.autograd.Function):\n"
        "    @staticmethod\n    @tidy\n    def forward(ctx, x, w=None):\n"
        "        ctx.n, ctx.eps = x.shape[0], 1e-6\n        keep(ctx, x)\n"
        "        if w is not None:\n            ctx.save_for_backward(x, w)\n        else:\n            ctx.save_for_backward(x)\n"
        "        return x\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g, None\n"
        "class B(F):\n    @staticmethod\n    def forward(x):\n        return x\n"
        "    @staticmethod\n    def setup_context(c, inputs, output):\n        c.save_for_backward(*inputs)\n        c.k = 3\n"
        "    @staticmethod\n    def backward(c, g):\n        return g\n"
        "class C(A):\n    pass\n"
        "class NotOne(torch.nn.Module):\n    def forward(self, x):\n        self.y = x\n"
    )
    a, b, c = parsed.model["autograd_functions"]
    assert (a["name"], a["forward"], a["backward"]) == ("A", "A.forward", "A.backward")
    assert a["saved"] == ["x", "w"]
    assert a["ctx"] == {"n": "x.shape[0]", "eps": "1e-6", "kept": "s + 1"}
    assert b["setup_context"] == "B.setup_context" and b["saved"] == ["inputs"] and b["ctx"] == {"k": "3"}
    assert c["forward"] == "A.forward"
    assert parsed.function("A.forward")["decorators"] == ["staticmethod", "pack.u.tidy"]


# ------------------------------------------------------------------ the rest


def test_last_import(parse):
    text = "'''Doc.'''\nimport torch  # noqa\nif torch:\n    try:\n        import a\n    except ImportError:\n        a = None\nX = 1\ndef f():\n    import late\nimport later\n"
    parsed = parse(text, head="")
    assert parsed.at(parsed.model["last_import"]).endswith("a = None")
    assert parse("x = 1\n", head="").model["last_import"] == [0, 0, 1]
    assert parsed.model["module_constants"]["X"]["op"] == "int"


def test_expression_names(parse):
    parsed = parse("def f(a, b, c):\n    return g(a.b(c), [i for i in b if i > a], lambda q: q + c, tl.float32, k=b)\n")
    value = parsed.function("f")["statements"][0]["value"]
    by_kind = [argument[1] for argument in value["arguments"]]
    assert by_kind[1]["names"] == ["b", "a"] and by_kind[2]["names"] == ["c"]
    assert by_kind[3]["callee"] == "tl.float32" and value["arguments"][4][0] == "k"


def test_job_end_to_end(tmp_path):
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("x = 1\ny = = 2\n")
    (tmp_path / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nx = 'ü'\n".encode("latin-1"))
    names = ["good", "bad", "latin", "gone"]
    job = {"files": [{"file": str(tmp_path / f"{n}.py"), "module": n} for n in names]}
    done = subprocess.run(
        [sys.executable, "-u", str(SCRIPT)], input=json.dumps(job), capture_output=True, text=True, check=True
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["event"] for e in events] == ["module", "syntax_error", "syntax_error", "syntax_error", "done"]
    assert events[1]["line"] == 2 and events[2]["line"] == 2 and "UTF-8" in events[2]["message"]


def test_a_job_without_files_is_refused():
    with pytest.raises(Exception, match="names no files"):
        run({})
