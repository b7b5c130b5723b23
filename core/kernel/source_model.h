// The kernel source as a model: what stands where in a Python file, as far as techniques need it.
//
// Made by resources/python/lwb_parse.py (`ast` to JSON, whose page documents the same names) and
// read by core/kernel/parse.h. Positions are byte offsets into the UTF-8 text of the file (a byte
// order mark and CRLF line ends count as the bytes they are): edits are made there and nothing is
// re-printed (design rule 6). Expressions keep their source text and their tree.
//
// Dotted names are resolved through the imports of the file: `triton.language` is always "tl",
// whatever its alias, and a name imported from a package is absolute
// ("liger_kernel.ops.utils.calculate_settings"). What precedes a method that is not a name is left
// out: the outer call of `f(x).to(y)` is ".to"; that of `kernel[grid](x)` is "kernel[]".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lwb {

// [begin, end) in bytes of the file, and the 1-based line of begin.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  int line = 0;
};

struct Argument;

struct Expr {
  Span span;
  std::string text;  // the source, as it stands (without parentheses around the whole)
  std::string kind;  // ast class: "Name", "Constant", "Call", "BinOp", "Attribute", …
  // For a Call: dotted name, "torch.zeros_like", "tl.load", "x.stride". For a Name or Attribute
  // that an import brought here: what it is, "tl.float32". Else empty.
  std::string callee;
  std::vector<std::string> names;  // the variable names it reads (not attributes, not callees)
  // BinOp "+", UnaryOp "-", BoolOp "and", Compare "<" (a chain: "< <="), Attribute: its name,
  // Constant: "int", "float", "str", "bool", "None", Lambda: its parameters "a, b".
  std::string op;
  // Operands in source order; IfExp: condition, then, else; Subscript: value, index; Attribute: the
  // value; Lambda: the body; Call: the receiver of a method of a variable or expression; Dict: keys
  // and values in turn. Empty for what has none and for comprehensions and formatted strings.
  std::vector<Expr> children;
  std::vector<Argument> arguments;  // of a Call
};

struct Argument {
  std::string name;  // keyword; "" for a positional one; "**" for an unpacked dict, "*" for a list
  Expr value;
};

struct Call {
  std::string callee;  // dotted; import aliases resolved to what was imported where known
  Span span;           // the whole call
  Span close;          // the closing parenthesis (a place to add an argument)
  std::vector<Argument> arguments;
  bool trailing_comma = false;
  int statement = -1;  // index into Function::statements of the statement that holds it

  // The value of the argument of that keyword, or null.
  const Expr* keyword(const std::string& name) const;
  // The value of the index-th positional argument, or null.
  const Expr* positional(std::size_t index) const;
};

// One simple or compound statement of a function body, in source order, flattened; nesting by
// `parent`.
struct Statement {
  int index = 0;
  int parent = -1;     // the enclosing if/for/while/with/try statement
  std::string branch;  // "body", "orelse", "finalbody", "handler" of the parent
  std::string kind;  // "Assign", "AugAssign", "AnnAssign", "If", "For", "While", "Return", "Expr",
                     // "With", …
  Span span;         // whole statement, including its body
  Span header;       // for a compound statement: up to and including the colon
  int indent = 0;    // columns of white space that its line begins with
  bool own_line = true;  // nothing but white space before it on its line ("elif" counts as its own)
  std::vector<std::string> targets;  // names assigned (tuple targets flattened); For: loop variable
  std::vector<Expr> target_exprs;    // the targets as written: also `ctx.a`, `d["k"]`, `(a, b)`
  std::optional<Expr> value;         // right-hand side, condition of If/While, iterable of For
  std::string op;                    // AugAssign: "+="
};

struct Loop {
  int statement = -1;
  std::string variable;
  Call iterator;          // range(...), tl.range(...), tl.static_range(...); callee "" for while
  std::vector<int> body;  // indices of the statements in it, nested ones too
  // Names assigned before the loop and re-assigned in it: carried from one iteration to the next.
  std::vector<std::string> carried;
};

struct MemoryAccess {
  enum class Kind { kLoad, kStore, kAtomic } kind = Kind::kLoad;
  Call call;
  Expr pointer;
  std::optional<Expr> value;  // stored
  std::optional<Expr> mask;
  // Parameters of the kernel that the pointer derives from, through assignments.
  std::vector<std::string> base_parameters;
  int statement = -1;      // index into Function::statements
  std::vector<int> loops;  // indices into Function::loops, outermost first
};

struct Parameter {
  std::string name;
  Span span;  // name, annotation and default
  std::string annotation;
  std::string default_text;  // "" when it has none
  bool constexpr_ = false;   // annotated tl.constexpr
  bool keyword_only = false;
};

// A function: a jit kernel, a jit helper, or host code. The body of a function inside a function is
// not among the statements of the outer one; it is a Function of its own.
struct Function {
  std::string name;
  std::string qualified_name;  // "LigerRMSNormFunction.forward", "launch.<locals>.grid"
  Span span;                   // from the first decorator to the end
  Span signature_close;        // the closing parenthesis of the parameter list
  bool signature_trailing_comma = false;
  Span body;  // first statement after the docstring to the end
  int body_indent = 4;
  std::vector<std::string> decorators;  // dotted names: "triton.jit", "triton.autotune"
  std::vector<Call> decorator_calls;    // those written with arguments
  std::vector<Parameter> parameters;
  std::vector<Statement> statements;
  std::vector<Call> calls;
  std::vector<Loop> loops;
  std::vector<MemoryAccess> accesses;  // of a jit function
  // What it refers to outside itself, dotted and resolved: "liger_kernel.ops.utils.row_settings";
  // things of the same file by their bare name. Nested functions' included.
  std::vector<std::string> references;
  bool jit = false;
  bool autotuned = false;
  bool launched = false;  // jit and launched from host code somewhere (else a helper)
};

// `kernel[grid](…)` in host code.
struct Launch {
  std::string kernel;         // name of the jit function
  std::string kernel_module;  // module that defines it, "" when it is this file
  std::string host_function;  // qualified name of the function that holds it
  Expr grid;                  // as written between the brackets
  Expr grid_value;            // resolved through one assignment when grid is a name
  Call call;                  // the argument list
  // Kernel parameter → argument; options (num_warps, …) by their own name.
  std::map<std::string, Argument> bound;
  bool unpacks_kwargs = false;  // has **something
  bool unpacks_args = false;    // has *something: positional arguments after it are not in `bound`
  // What the ** dicts hold, as far as literals of this function tell; spans point into them.
  std::map<std::string, Argument> unpacked;
  bool unpacked_known = true;  // nothing else can be in the ** dicts
};

struct AutogradFunction {
  std::string name;
  Span span;
  std::string forward;  // qualified names of the methods
  std::string backward;
  std::string setup_context;               // "" when forward takes ctx itself
  std::vector<std::string> saved;          // names given to save_for_backward, in order
  std::map<std::string, std::string> ctx;  // ctx.member → expression text, set in forward
};

struct ClassDefinition {
  std::string name;
  std::vector<std::string> bases;  // dotted, resolved
  Span span;
};

struct Import {
  std::string module;  // "liger_kernel.ops.utils"
  std::string name;    // imported name, "" for `import module`, "*" for all
  std::string alias;   // after `as`, "" when it has none
  Span span;
};

struct SourceModel {
  std::string file;    // path as given
  std::string module;  // dotted
  std::string text;    // the whole file
  std::string newline = "\n";
  // The leading import statements' last one (to the end of its line; with no import, the docstring
  // or an empty span at the start): module-level helper code can follow on the next line.
  Span last_import;
  std::vector<Import> imports;
  std::vector<ClassDefinition> classes;
  std::vector<Function> functions;  // module-level functions, methods, nested functions
  std::vector<Launch> launches;
  std::vector<AutogradFunction> autograd_functions;
  std::map<std::string, Expr> module_constants;
  std::vector<std::string> references;  // of module-level code, as Function::references
  // Keyword → string constants given to it anywhere in the file, as an argument, dict entry or
  // variable: "kernel_name" → {"rms_norm"}. A formatted part of a string is "*".
  std::map<std::string, std::vector<std::string>> keyword_strings;
  // Only imports, classes, names of functions with their decorators and parameters, references,
  // keyword_strings: what parse_package reads of files without Triton code, scripts and tests.
  bool outline = false;

  const Function* function(const std::string& qualified_name) const;
  const Function* function_named(const std::string& name) const;  // module-level ones only
  std::vector<const Function*> kernels() const;                   // jit functions that are launched
};

// All modules of the package (and what stands in tests and benchmark scripts, as far as imports
// go).
struct PackageModel {
  std::vector<SourceModel> modules;  // "…ops.x"; scripts and tests: "benchmark.scripts.benchmark_x"
  std::map<std::string, std::string> unparsable;  // file → message with line
  const SourceModel* module(const std::string& dotted) const;
};

}  // namespace lwb
