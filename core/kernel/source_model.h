// The kernel source as a model: what stands where in a Python file, as far as techniques need it.
//
// Made by resources/python/lwb_parse.py (`ast` to JSON) and read by core/kernel/parse.h. Positions
// are byte offsets into the UTF-8 text of the file: edits are made there and nothing is re-printed
// (design rule 6). Expressions keep their source text; what they refer to is told by `names`.
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

struct Expr {
  Span span;
  std::string text;                // the source, as it stands
  std::string kind;                // ast class: "Name", "Constant", "Call", "BinOp", "Attribute", …
  std::string callee;              // for a Call: dotted name, "torch.zeros_like", "tl.load"
  std::vector<std::string> names;  // the variable names it reads (not attributes, not callees)
};

struct Argument {
  std::string name;  // keyword; "" for a positional one; "**" for an unpacked dict
  Expr value;
};

struct Call {
  std::string callee;  // dotted; import aliases resolved to what was imported where known
  Span span;           // the whole call
  Span close;          // the closing parenthesis (a place to add an argument)
  std::vector<Argument> arguments;
  bool trailing_comma = false;
  int statement = -1;  // index into Function::statements of the statement that holds it
};

// One simple or compound statement of a function body, in source order, flattened; nesting by `parent`.
struct Statement {
  int index = 0;
  int parent = -1;      // the enclosing if/for/while/with/try statement
  std::string branch;   // "body", "orelse", "finalbody", "handler" of the parent
  std::string kind;     // "Assign", "AugAssign", "AnnAssign", "If", "For", "While", "Return", "Expr", "With", …
  Span span;            // whole statement, including its body
  Span header;          // for a compound statement: up to and including the colon
  int indent = 0;       // columns
  std::vector<std::string> targets;  // names assigned (tuple targets flattened); For: loop variable
  std::optional<Expr> value;         // right-hand side, condition of If/While, iterable of For
  std::string op;                    // AugAssign: "+="
};

struct Loop {
  int statement = -1;
  std::string variable;
  Call iterator;              // range(...), tl.range(...), tl.static_range(...); callee "" for while
  std::vector<int> body;      // indices of the statements in it, nested ones too
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
  std::vector<int> loops;  // indices into Function::loops, outermost first
};

struct Parameter {
  std::string name;
  Span span;            // name, annotation and default
  std::string annotation;
  std::string default_text;  // "" when it has none
  bool constexpr_ = false;   // annotated tl.constexpr
};

// A function: a jit kernel, a jit helper, or host code.
struct Function {
  std::string name;
  std::string qualified_name;  // "LigerRMSNormFunction.forward"
  Span span;                   // from the first decorator to the end
  Span signature_close;        // the closing parenthesis of the parameter list
  bool signature_trailing_comma = false;
  Span body;                   // first statement after the docstring to the end
  int body_indent = 4;
  std::vector<std::string> decorators;  // dotted names: "triton.jit", "triton.autotune"
  std::vector<Parameter> parameters;
  std::vector<Statement> statements;
  std::vector<Call> calls;
  std::vector<Loop> loops;
  std::vector<MemoryAccess> accesses;
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
};

struct AutogradFunction {
  std::string name;
  Span span;
  std::string forward;   // qualified names of the methods
  std::string backward;
  std::vector<std::string> saved;        // names given to save_for_backward, in order
  std::map<std::string, std::string> ctx;  // ctx.member → expression text, set in forward
};

struct Import {
  std::string module;  // "liger_kernel.ops.utils"
  std::string name;    // imported name, "" for `import module`
  std::string alias;
  Span span;
};

struct SourceModel {
  std::string file;    // path as given
  std::string module;  // dotted
  std::string text;    // the whole file
  std::string newline = "\n";
  Span last_import;    // where module-level helper code can follow
  std::vector<Import> imports;
  std::vector<Function> functions;  // module-level functions and methods
  std::vector<Launch> launches;
  std::vector<AutogradFunction> autograd_functions;
  std::map<std::string, Expr> module_constants;

  const Function* function(const std::string& qualified_name) const;
  std::vector<const Function*> kernels() const;  // jit functions that are launched
};

// All modules of the package (and what stands in tests and benchmark scripts, as far as imports go).
struct PackageModel {
  std::vector<SourceModel> modules;
  std::map<std::string, std::string> unparsable;  // file → message with line
  const SourceModel* module(const std::string& dotted) const;
};

}  // namespace lwb
