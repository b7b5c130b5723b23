// The JSON of lwb_parse.py (its page documents the form) as a SourceModel.
#include <algorithm>
#include <utility>

#include "core/kernel/parse.h"

namespace lwb {
namespace {

// Reads one model. Members left out are at their default; positions are checked against the text,
// which expressions take theirs from.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  bool broken() const { return broken_; }

  Span span(const Json& json) {
    Span result;
    if (!json.is_array() || json.size() != 3 || !json[0].is_number_unsigned() ||
        !json[1].is_number_unsigned() || !json[2].is_number_integer()) {
      broken_ = true;
      return result;
    }
    result.begin = json[0].get<std::size_t>();
    result.end = json[1].get<std::size_t>();
    result.line = json[2].get<int>();
    if (result.begin > result.end || (!text_.empty() && result.end > text_.size())) broken_ = true;
    return result;
  }

  Span span_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    return span(*found);
  }

  static std::vector<std::string> strings(const Json& object, const char* key) {
    std::vector<std::string> result;
    for (const Json& item : get_array(object, key)) {
      if (item.is_string()) result.push_back(item.get<std::string>());
    }
    return result;
  }

  static std::vector<int> integers(const Json& object, const char* key) {
    std::vector<int> result;
    for (const Json& item : get_array(object, key)) {
      if (item.is_number_integer()) result.push_back(item.get<int>());
    }
    return result;
  }

  static int integer(const Json& object, const char* key, int fallback) {
    return static_cast<int>(get_integer(object, key, fallback));
  }

  template <class T, class Read>
  std::vector<T> list(const Json& object, const char* key, Read read) {
    std::vector<T> result;
    const Json& array = get_array(object, key);
    result.reserve(array.size());
    for (const Json& item : array) result.push_back(read(item));
    return result;
  }

  Expr expr(const Json& json) {
    Expr result;
    result.span = span_of(json, "span");
    if (!broken_ && !text_.empty()) {
      result.text = text_.substr(result.span.begin, result.span.end - result.span.begin);
    }
    result.kind = get_string(json, "kind");
    result.callee = get_string(json, "callee");
    result.op = get_string(json, "op");
    result.children =
        list<Expr>(json, "children", [this](const Json& child) { return expr(child); });
    result.arguments = arguments(json);
    if (json.contains("names")) {
      result.names = strings(json, "names");
    } else if (result.kind == "Name") {
      if (result.callee.empty() && !result.text.empty()) result.names = {result.text};
    } else {
      for (const Expr& child : result.children) add_names(result, child);
      for (const Argument& argument : result.arguments) add_names(result, argument.value);
    }
    return result;
  }

  std::optional<Expr> optional_expr(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return std::nullopt;
    return expr(*found);
  }

  Argument argument(const Json& json) {
    if (!json.is_array() || json.size() != 2 || !json[0].is_string()) {
      broken_ = true;
      return {};
    }
    return {json[0].get<std::string>(), expr(json[1])};
  }

  std::vector<Argument> arguments(const Json& object) {
    return list<Argument>(object, "arguments", [this](const Json& item) { return argument(item); });
  }

  std::map<std::string, Argument> argument_map(const Json& object, const char* key) {
    std::map<std::string, Argument> result;
    for (const auto& [name, value] : get_object(object, key).items())
      result[name] = argument(value);
    return result;
  }

  Call call(const Json& json) {
    Call result;
    result.callee = get_string(json, "callee");
    result.span = span_of(json, "span");
    result.close = span_of(json, "close");
    result.arguments = arguments(json);
    result.trailing_comma = get_bool(json, "trailing_comma");
    result.statement = integer(json, "statement", -1);
    return result;
  }

  Statement statement(const Json& json) {
    Statement result;
    result.index = integer(json, "index", 0);
    result.parent = integer(json, "parent", -1);
    result.branch = get_string(json, "branch");
    result.kind = get_string(json, "kind");
    result.span = span_of(json, "span");
    result.header = span_of(json, "header");
    result.indent = integer(json, "indent", 0);
    result.own_line = get_bool(json, "own_line", true);
    result.targets = strings(json, "targets");
    result.target_exprs =
        list<Expr>(json, "target_exprs", [this](const Json& item) { return expr(item); });
    result.value = optional_expr(json, "value");
    result.op = get_string(json, "op");
    return result;
  }

  Loop loop(const Json& json) {
    Loop result;
    result.statement = integer(json, "statement", -1);
    result.variable = get_string(json, "variable");
    if (const auto found = json.find("iterator"); found != json.end())
      result.iterator = call(*found);
    result.body = integers(json, "body");
    result.carried = strings(json, "carried");
    return result;
  }

  MemoryAccess access(const Json& json) {
    MemoryAccess result;
    const std::string kind = get_string(json, "kind");
    result.kind = kind == "load"    ? MemoryAccess::Kind::kLoad
                  : kind == "store" ? MemoryAccess::Kind::kStore
                                    : MemoryAccess::Kind::kAtomic;
    result.call = call(get_object(json, "call"));
    result.pointer = expr(get_object(json, "pointer"));
    result.value = optional_expr(json, "value");
    result.mask = optional_expr(json, "mask");
    result.base_parameters = strings(json, "base_parameters");
    result.statement = integer(json, "statement", -1);
    result.loops = integers(json, "loops");
    return result;
  }

  Parameter parameter(const Json& json) {
    Parameter result;
    result.name = get_string(json, "name");
    result.span = span_of(json, "span");
    result.annotation = get_string(json, "annotation");
    result.default_text = get_string(json, "default_text");
    result.constexpr_ = get_bool(json, "constexpr_");
    result.keyword_only = get_bool(json, "keyword_only");
    return result;
  }

  Function function(const Json& json) {
    Function result;
    result.name = get_string(json, "name");
    result.qualified_name = get_string(json, "qualified_name");
    result.span = span_of(json, "span");
    result.signature_close = span_of(json, "signature_close");
    result.signature_trailing_comma = get_bool(json, "signature_trailing_comma");
    result.body = span_of(json, "body");
    result.body_indent = integer(json, "body_indent", 0);
    result.decorators = strings(json, "decorators");
    const auto read_call = [this](const Json& item) { return call(item); };
    result.decorator_calls = list<Call>(json, "decorator_calls", read_call);
    result.parameters =
        list<Parameter>(json, "parameters", [this](const Json& item) { return parameter(item); });
    result.statements =
        list<Statement>(json, "statements", [this](const Json& item) { return statement(item); });
    result.calls = list<Call>(json, "calls", read_call);
    result.loops = list<Loop>(json, "loops", [this](const Json& item) { return loop(item); });
    result.accesses =
        list<MemoryAccess>(json, "accesses", [this](const Json& item) { return access(item); });
    result.references = strings(json, "references");
    result.jit = get_bool(json, "jit");
    result.autotuned = get_bool(json, "autotuned");
    result.launched = get_bool(json, "launched");
    return result;
  }

  Launch launch(const Json& json) {
    Launch result;
    result.kernel = get_string(json, "kernel");
    result.kernel_module = get_string(json, "kernel_module");
    result.host_function = get_string(json, "host_function");
    result.grid = expr(get_object(json, "grid"));
    result.grid_value = expr(get_object(json, "grid_value"));
    result.call = call(get_object(json, "call"));
    result.bound = argument_map(json, "bound");
    result.unpacks_kwargs = get_bool(json, "unpacks_kwargs");
    result.unpacks_args = get_bool(json, "unpacks_args");
    result.unpacked = argument_map(json, "unpacked");
    result.unpacked_known = !result.unpacks_kwargs || get_bool(json, "unpacked_known");
    return result;
  }

  AutogradFunction autograd_function(const Json& json) {
    AutogradFunction result;
    result.name = get_string(json, "name");
    result.span = span_of(json, "span");
    result.forward = get_string(json, "forward");
    result.backward = get_string(json, "backward");
    result.setup_context = get_string(json, "setup_context");
    result.saved = strings(json, "saved");
    for (const auto& [name, value] : get_object(json, "ctx").items()) {
      if (value.is_string()) result.ctx[name] = value.get<std::string>();
    }
    return result;
  }

  Import import(const Json& json) {
    return {get_string(json, "module"), get_string(json, "name"), get_string(json, "alias"),
            span_of(json, "span")};
  }

  ClassDefinition class_definition(const Json& json) {
    return {get_string(json, "name"), strings(json, "bases"), span_of(json, "span")};
  }

 private:
  static void add_names(Expr& expr, const Expr& part) {
    for (const std::string& name : part.names) {
      if (std::find(expr.names.begin(), expr.names.end(), name) == expr.names.end()) {
        expr.names.push_back(name);
      }
    }
  }

  const std::string& text_;
  bool broken_ = false;
};

}  // namespace

Result<SourceModel> source_model_from_json(const Json& json, std::string text) {
  SourceModel result;
  result.text = std::move(text);
  Reader reader(result.text);
  result.file = get_string(json, "file");
  result.module = get_string(json, "module");
  result.newline = get_string(json, "newline", "\n");
  result.last_import = reader.span_of(json, "last_import");
  result.imports =
      reader.list<Import>(json, "imports", [&](const Json& item) { return reader.import(item); });
  result.classes = reader.list<ClassDefinition>(
      json, "classes", [&](const Json& item) { return reader.class_definition(item); });
  result.functions = reader.list<Function>(json, "functions",
                                           [&](const Json& item) { return reader.function(item); });
  result.launches =
      reader.list<Launch>(json, "launches", [&](const Json& item) { return reader.launch(item); });
  result.autograd_functions = reader.list<AutogradFunction>(
      json, "autograd_functions", [&](const Json& item) { return reader.autograd_function(item); });
  for (const auto& [name, value] : get_object(json, "module_constants").items()) {
    result.module_constants[name] = reader.expr(value);
  }
  result.references = Reader::strings(json, "references");
  const Json& keywords = get_object(json, "keyword_strings");
  for (const auto& [keyword, values] : keywords.items()) {
    result.keyword_strings[keyword] = Reader::strings(keywords, keyword.c_str());
  }
  result.outline = get_bool(json, "outline");
  if (result.module.empty() || reader.broken()) {
    return fail(ErrorKind::kInternal, "The source model of " + result.file +
                                          " does not fit the file's text; the file changed while "
                                          "it was read, or lwb_parse.py is another version.");
  }
  return result;
}

}  // namespace lwb
