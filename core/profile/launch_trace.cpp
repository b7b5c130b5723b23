#include "core/profile/launch_trace.h"

#include "core/measure/script.h"

namespace lwb {
namespace {

std::string floating_dtype(const Json& args) {
  for (const auto& [name, value] : args.items()) {
    const std::string dtype = get_string(get_object(value, "tensor"), "dtype");
    if (dtype.find("float") != std::string::npos) return dtype;
  }
  return {};
}

LaunchRecord launch_from(const Json& event) {
  LaunchRecord launch;
  launch.call = get_string(event, "call");
  launch.pass = parse_pass(get_string(event, "pass")).value_or(Pass::kForward);
  launch.index = static_cast<int>(get_integer(event, "index"));
  launch.kernel = get_string(event, "kernel");
  launch.file = get_string(event, "file");
  launch.host_function = get_string(event, "host_function");
  launch.line = static_cast<int>(get_integer(event, "line"));
  for (const Json& size : get_array(event, "grid")) {
    if (size.is_number()) launch.grid.push_back(size.get<long long>());
  }
  launch.num_warps = static_cast<int>(get_integer(event, "num_warps"));
  launch.num_stages = static_cast<int>(get_integer(event, "num_stages"));
  launch.registers = static_cast<int>(get_integer(event, "registers"));
  launch.spills = static_cast<int>(get_integer(event, "spills"));
  launch.shared_bytes = get_integer(event, "shared_bytes");
  launch.args = get_object(event, "args");
  launch.constexprs = get_object(event, "constexprs");
  for (const auto& [name, value] : get_object(event, "locals").items()) {
    if (value.is_number_integer()) launch.locals[name] = value.get<long long>();
  }
  launch.dtype = floating_dtype(launch.args);
  launch.event = event;
  return launch;
}

PassBytes bytes_from(const Json& event) {
  return {get_string(event, "call"),
          parse_pass(get_string(event, "pass")).value_or(Pass::kForward),
          get_number(event, "read"),
          get_number(event, "written"),
          get_number(event, "working_set"),
          get_bool(event, "forward_computes_gradients")};
}

FillRecord fill_from(const Json& event) {
  return {get_string(event, "call"),
          parse_pass(get_string(event, "pass")).value_or(Pass::kForward),
          get_string(event, "host_function"), static_cast<int>(get_integer(event, "line")),
          get_number(event, "bytes")};
}

void take(LaunchTrace& trace, const Json& event) {
  const std::string kind = get_string(event, "event");
  if (kind == "launch") trace.launches.push_back(launch_from(event));
  if (kind == "fill") trace.fills.push_back(fill_from(event));
  if (kind == "bytes") trace.bytes.push_back(bytes_from(event));
  if (kind == "trace_failed") {
    trace.failures.push_back(get_string(event, "call") + " " + get_string(event, "pass") + ": " +
                             get_string(event, "message"));
  }
}

}  // namespace

const PassBytes* LaunchTrace::bytes_of(const std::string& call, Pass pass) const {
  for (const PassBytes& row : bytes) {
    if (row.call == call && row.pass == pass) return &row;
  }
  return nullptr;
}

Result<LaunchTrace> trace_launches(ProcessRunner& runner, const PythonTools& tools, const Side& side,
                                   const std::vector<CapturedCall>& calls) {
  ScriptJob job;
  job.script = "lwb_trace.py";
  job.label = "trace launches of " + side.name;
  Json list = Json::array();
  for (const CapturedCall& call : calls) {
    if (call.replayable) list.push_back(call.json);
  }
  job.job = {{"side", to_json(side)},
             {"calls", list},
             {"passes", {"forward", "backward"}},
             {"seed", 1}};
  job.inputs = {side.file};
  auto run = run_script(runner, tools, job);
  if (!run) return tl::unexpected(run.error());
  if (!run->healthy()) return tl::unexpected(script_error(*run, "Tracing the launches"));
  if (auto same = check_identities(run->events, {to_json(side)}); !same) {
    return tl::unexpected(same.error());
  }
  LaunchTrace trace;
  for (const Json& event : run->events) take(trace, event);
  return trace;
}

Json to_json(const LaunchTrace& trace) {
  Json launches = Json::array(), bytes = Json::array();
  for (const LaunchRecord& l : trace.launches) launches.push_back(l.event);
  for (const PassBytes& b : trace.bytes) {
    bytes.push_back({{"call", b.call},
                     {"pass", to_string(b.pass)},
                     {"read", b.read},
                     {"written", b.written},
                     {"working_set", b.working_set},
                     {"forward_computes_gradients", b.forward_computes_gradients}});
  }
  Json fills = Json::array();
  for (const FillRecord& f : trace.fills) {
    fills.push_back({{"call", f.call},
                     {"pass", to_string(f.pass)},
                     {"host_function", f.host_function},
                     {"line", f.line},
                     {"bytes", f.bytes}});
  }
  return {{"launches", launches}, {"fills", fills}, {"bytes", bytes}, {"failures", trace.failures}};
}

Result<LaunchTrace> launch_trace_from_json(const Json& json) {
  LaunchTrace trace;
  for (const Json& item : get_array(json, "launches")) {
    trace.launches.push_back(launch_from(item));
  }
  for (const Json& item : get_array(json, "fills")) trace.fills.push_back(fill_from(item));
  for (const Json& item : get_array(json, "bytes")) trace.bytes.push_back(bytes_from(item));
  for (const Json& item : get_array(json, "failures")) {
    if (item.is_string()) trace.failures.push_back(item.get<std::string>());
  }
  return trace;
}

}  // namespace lwb
