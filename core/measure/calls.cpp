#include "core/measure/calls.h"

#include <fmt/format.h>

#include <set>

#include "core/base/files.h"

namespace lwb {
namespace {

tl::unexpected<Error> wrong(std::string_view what, const std::string& problem) {
  return fail(ErrorKind::kUsage, fmt::format("The {} {}.", what, problem));
}

// The first argument below `arg` that cannot be replayed, as the script writes it.
const Json* unsupported_in(const Json& arg) {
  if (!arg.is_object()) return nullptr;
  if (arg.contains("unsupported")) return &arg["unsupported"];
  for (const char* key : {"list", "tuple"}) {
    for (const Json& item : get_array(arg, key)) {
      if (const Json* found = unsupported_in(item)) return found;
    }
  }
  return nullptr;
}

bool are_integers(const Json& list) {
  if (!list.is_array()) return false;
  for (const Json& n : list) {
    if (!n.is_number_integer()) return false;
  }
  return true;
}

// What is wrong with an argument, "" when nothing is. `where` is the member's path: "args[2]".
std::string problem_of_tensor(const Json& tensor, const std::string& where) {
  if (!tensor.is_object()) return fmt::format("{}.tensor must be an object", where);
  if (!tensor.contains("shape") || !are_integers(tensor["shape"])) {
    return fmt::format("{}.tensor.shape must be a list of integers", where);
  }
  for (const Json& n : tensor["shape"]) {
    if (n.get<long long>() < 0) {
      return fmt::format("{}.tensor.shape must not hold a negative size", where);
    }
  }
  if (tensor.contains("stride") &&
      (!are_integers(tensor["stride"]) || tensor["stride"].size() != tensor["shape"].size())) {
    return fmt::format("{}.tensor.stride must be a list of {} integers, as the shape has", where,
                       tensor["shape"].size());
  }
  if (get_string(tensor, "dtype").empty()) {
    return fmt::format("{}.tensor.dtype must name a dtype such as \"bfloat16\"", where);
  }
  if (tensor.contains("values") && get_string(tensor["values"], "kind").empty()) {
    return fmt::format("{}.tensor.values.kind must say how data is drawn, such as \"normal\"",
                       where);
  }
  return {};
}

std::string problem_of_arg(const Json& arg, const std::string& where) {
  if (!arg.is_object() || arg.empty()) {
    return fmt::format("{} must be an object such as {{\"value\": 1}} or {{\"tensor\": {{…}}}}",
                       where);
  }
  if (arg.contains("tensor")) return problem_of_tensor(arg["tensor"], where);
  for (const char* key : {"list", "tuple"}) {
    if (!arg.contains(key)) continue;
    if (!arg[key].is_array()) return fmt::format("{}.{} must be a list", where, key);
    for (std::size_t i = 0; i < arg[key].size(); ++i) {
      auto problem = problem_of_arg(arg[key][i], fmt::format("{}.{}[{}]", where, key, i));
      if (!problem.empty()) return problem;
    }
    return {};
  }
  if (arg.contains("value") || arg.contains("float") || arg.contains("dtype")) return {};
  if (arg.contains("unsupported")) return {};
  return fmt::format("{} has none of the members tensor, value, dtype, list and tuple", where);
}

std::string problem_of_arguments(const Json& call) {
  if (call.contains("args")) {
    if (!call["args"].is_array()) return "args must be a list";
    for (std::size_t i = 0; i < call["args"].size(); ++i) {
      auto problem = problem_of_arg(call["args"][i], fmt::format("args[{}]", i));
      if (!problem.empty()) return problem;
    }
  }
  if (call.contains("kwargs")) {
    if (!call["kwargs"].is_object()) return "kwargs must be an object";
    for (const auto& [name, arg] : call["kwargs"].items()) {
      auto problem = problem_of_arg(arg, "kwargs." + name);
      if (!problem.empty()) return problem;
    }
  }
  if (call.contains("grads")) {
    if (!call["grads"].is_array()) return "grads must be a list of true and false";
    for (const Json& g : call["grads"]) {
      if (!g.is_boolean()) return "grads must be a list of true and false";
    }
  }
  return {};
}

std::string problem_of_call(const Json& call) {
  if (!call.is_object()) return "must be an object";
  if (get_string(call, "id").empty()) return "id must be a name that no other call has";
  const Json& function = get_object(call, "function");
  for (const char* key : {"module", "qualname"}) {
    if (get_string(function, key).empty()) {
      return fmt::format("function.{} must name the autograd.Function, such as {}", key,
                         key == std::string("module") ? "\"package.ops.op\"" : "\"OpFunction\"");
    }
  }
  if (!call.contains("args") && !call.contains("kwargs")) return "args is missing";
  if (call.contains("cell") && !call["cell"].is_object()) return "cell must be an object";
  if (call.contains("labels") && !call["labels"].is_object()) return "labels must be an object";
  if (call.contains("reference") && !call["reference"].is_null() &&
      get_string(call, "reference").find(':') == std::string::npos) {
    return "reference must be null or \"path.py:function\"";
  }
  return problem_of_arguments(call);
}

Cell cell_from_json(const Json& cell) {
  Cell result;
  result.kernel_name = get_string(cell, "kernel_name");
  result.provider = get_string(cell, "provider");
  result.mode = get_string(cell, "mode", "full");
  result.x_name = get_string(cell, "x_name");
  result.x = cell.contains("x") ? cell["x"] : Json();
  result.config = get_object(cell, "config");
  return result;
}

void note_replayable(CapturedCall& call) {
  const auto look = [&](const Json& arg, const std::string& where) {
    const Json* found = call.replayable ? unsupported_in(arg) : nullptr;
    if (found == nullptr) return;
    call.replayable = false;
    call.why_not = fmt::format("{} is {}, which cannot be written down and replayed", where,
                               found->is_string() ? found->get<std::string>() : print_json(*found));
  };
  const Json& args = get_array(call.json, "args");
  for (std::size_t i = 0; i < args.size(); ++i) look(args[i], fmt::format("args[{}]", i));
  for (const auto& [name, arg] : get_object(call.json, "kwargs").items()) look(arg, name);
}

}  // namespace

Result<CapturedCall> call_from_json(const Json& call, std::string_view what) {
  const std::string problem = problem_of_call(call);
  if (!problem.empty()) {
    const std::string id = get_string(call, "id");
    return wrong(what, id.empty() ? "is not valid: " + problem
                                  : fmt::format("(\"{}\") is not valid: {}", id, problem));
  }
  CapturedCall result;
  result.id = get_string(call, "id");
  result.by_hand = get_string(call, "origin", "hand") != "stock";
  result.cell = cell_from_json(get_object(call, "cell"));
  result.json = call;
  note_replayable(result);
  return result;
}

Result<CallsFile> calls_from_json(const Json& document, std::string_view what) {
  if (!document.is_object() || !document.contains("calls") || !document["calls"].is_array()) {
    return wrong(what,
                 "has no list \"calls\": it must be an object {\"schema\": 1, \"kernel\": "
                 "\"…\", \"calls\": […]}");
  }
  CallsFile result;
  result.schema = static_cast<int>(get_integer(document, "schema", 1));
  if (result.schema != 1) {
    return wrong(what, fmt::format("has schema {}, this program reads schema 1", result.schema));
  }
  result.kernel = get_string(document, "kernel");
  std::set<std::string> ids;
  const Json& calls = document["calls"];
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto call = call_from_json(calls[i], fmt::format("call {} of the {}", i, what));
    if (!call) return tl::unexpected(call.error());
    if (!ids.insert(call->id).second) {
      return wrong(what,
                   fmt::format("has more than one call with the id \"{}\" (call {})", call->id, i));
    }
    result.calls.push_back(std::move(*call));
  }
  return result;
}

Result<CallsFile> read_calls(const std::filesystem::path& file) {
  const std::string what = fmt::format("calls file {}", file.string());
  auto text = read_file(file);
  if (!text) {
    return fail(ErrorKind::kUsage,
                fmt::format("The {} of --calls cannot be used: {}", what, text.error().sentence));
  }
  auto document = parse_json(*text, what, ErrorKind::kUsage);
  if (!document) return tl::unexpected(document.error());
  auto calls = calls_from_json(*document, what);
  if (calls) calls->sha256 = sha256_hex(*text);
  return calls;
}

Json to_json(const CallsFile& calls) {
  Json list = Json::array();
  for (const CapturedCall& call : calls.calls) list.push_back(call.json);
  return {{"schema", calls.schema}, {"kernel", calls.kernel}, {"calls", list}};
}

}  // namespace lwb
