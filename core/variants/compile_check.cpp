#include "core/variants/compile_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/measure/script.h"

namespace lwb {
namespace {

int number_or_unknown(const Json& event, const char* key) {
  return event.contains(key) && event[key].is_number_integer() ? event[key].get<int>() : -1;
}

CompiledLaunch launch_of(const Json& event) {
  const Json& launch = get_object(event, "launch");
  CompiledLaunch result;
  result.kernel = get_string(event, "kernel");
  result.call = get_string(launch, "call");
  result.pass = parse_pass(get_string(launch, "pass")).value_or(Pass::kForward);
  result.capability = static_cast<int>(get_integer(event, "capability"));
  result.ok = get_bool(event, "ok");
  result.registers = number_or_unknown(event, "registers");
  result.spills = number_or_unknown(event, "spills");
  result.shared_bytes = number_or_unknown(event, "shared_bytes");
  result.message = get_string(event, "message");
  return result;
}

}  // namespace

Result<std::vector<CompiledLaunch>> compile_for(ProcessRunner& runner, const PythonTools& tools,
                                                const Side& side, const LaunchTrace& trace,
                                                const std::vector<int>& capabilities) {
  ScriptJob job;
  job.script = "lwb_compile.py";
  job.label = "compile " + side.name + " for other architectures";
  Json launches = Json::array();
  for (const LaunchRecord& launch : trace.launches) launches.push_back(launch.event);
  job.job = {{"side", to_json(side)},
             {"launches", launches},
             {"capabilities", capabilities},
             {"settings", Json::object()}};
  job.inputs = {side.file};
  auto run = run_script(runner, tools, job);
  if (!run) return tl::unexpected(run.error());
  if (!run->healthy()) {
    return tl::unexpected(
        script_error(*run, "Compiling " + side.name + " for other architectures"));
  }
  if (auto same = check_identities(run->events, {to_json(side)}); !same) {
    return tl::unexpected(same.error());
  }
  std::vector<CompiledLaunch> compiled;
  for (const Json& event : run->events) {
    if (get_string(event, "event") == "compiled") compiled.push_back(launch_of(event));
  }
  return compiled;
}

std::string describe(const CompiledLaunch& launch) {
  const std::string where = fmt::format("sm_{}: {} ({} of {}): ", launch.capability, launch.kernel,
                                        to_string(launch.pass), launch.call);
  if (!launch.ok) return where + "does not compile: " + launch.message;
  if (launch.registers < 0)
    return where + "compiles; its resources are not known without cuobjdump";
  return where + fmt::format("{} registers, {} spills, {} shared memory", launch.registers,
                             std::max(0, launch.spills),
                             format_bytes(static_cast<double>(std::max(0LL, launch.shared_bytes))));
}

}  // namespace lwb
