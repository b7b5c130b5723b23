// A process seam on a machine without a GPU: what needs one is answered by arithmetic (times that
// follow from the settings in a kernel file), everything else runs for real with Triton's
// interpreter. Nothing deeper than the seam is replaced.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/process/process.h"

namespace lwb {

class SimulatedGpu final : public ProcessRunner {
 public:
  // What the settings in a bucket of a variant file, or of a sweep point, make faster.
  std::map<std::string, double> gain{{"loop_stages", 1.3}, {"num_warps", 1.04}};
  std::set<std::string> failing_tests;               // by id, with a changed kernel
  std::set<std::string> always_failing;              // with the unchanged kernel too
  std::set<std::string> skipping_tests;              // skipped with a changed kernel
  std::function<void(const ProcessSpec&)> on_start;  // may cancel, write, look
  int started = 0;

  Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink& sink = {}) override {
    ++started;
    if (on_start) on_start(spec);
    if (cancel != nullptr && cancel->cancelled()) {
      ProcessOutcome outcome;
      outcome.end = ProcessEnd::kCancelled;
      return outcome;
    }
    const std::string script =
        spec.argv.size() > 2 ? fs::path(spec.argv[2]).filename().string() : "";
    const auto job = parse_json(spec.stdin_text.empty() ? "{}" : spec.stdin_text, "job");
    if (spec.argv[0] == "nvidia-smi")
      return answer("NVIDIA H200, GPU-0, 580.1, 0 MiB, 143771 MiB\n", sink);
    if (script == "lwb_probe.py" && get_array(*job, "checks").size() > 1) return probe(spec, sink);
    if (script == "lwb_measure.py") return answer(measure(*job), sink);
    if (script == "lwb_sweep.py") return answer(sweep(*job), sink);
    if (spec.env.count("LWB_PYTEST_EVENTS") > 0) return tests(spec, sink);
    return system_.run(spec, sink);
  }
  std::chrono::milliseconds child_wall() const override { return system_.child_wall(); }
  const CancelToken* cancel = nullptr;

 private:
  static Result<ProcessOutcome> answer(const std::string& out, const LineSink& sink) {
    ProcessOutcome outcome;
    outcome.out = out;
    if (sink) {
      for (const std::string& line : split_lines(out)) sink(Stream::kOut, line);
    }
    return outcome;
  }
  static std::string line(const Json& event) { return print_json(event) + "\n"; }

  // The real probe, but for what only a GPU can say.
  Result<ProcessOutcome> probe(const ProcessSpec& spec, const LineSink& sink) {
    auto real = system_.run(spec);
    if (!real) return real;
    std::string out;
    for (const std::string& text : split_lines(real->out)) {
      const auto event = parse_json(text, "event");
      const std::string name = event ? get_string(*event, "name") : "";
      if (name != "gpu" && name != "torch") out += text + "\n";
      if (name == "torch") {
        out += line({{"event", "fact"},
                     {"name", "torch"},
                     {"ok", true},
                     {"data",
                      {{"version", "2.11.0"},
                       {"device",
                        {{"name", "NVIDIA H200"},
                         {"capability", {9, 0}},
                         {"sm_count", 132},
                         {"l2_bytes", 62914560}}}}}});
      }
    }
    return answer(out, sink);
  }

  static std::string identity(const Json& side) {
    return line({{"event", "identity"},
                 {"side", get_string(side, "name")},
                 {"module", get_string(side, "module")},
                 {"file", get_string(side, "file")},
                 {"sha256", get_string(side, "sha256")},
                 {"matches", true}});
  }

  // Large calls are slower; the backward takes twice the time.
  static double base_us(const Json& call, const std::string& pass) {
    double elements = 0;
    for (const Json& argument : get_array(call, "args")) {
      double count = 1;
      const Json& shape = get_array(get_object(argument, "tensor"), "shape");
      for (const Json& n : shape) count *= n.get<double>();
      if (!shape.empty()) elements += count;
    }
    return (10 + elements / 1e4) * (pass == "backward" ? 2 : 1);
  }
  double gain_of_text(const std::string& text) const {
    double result = 1;
    for (const auto& [key, factor] : gain) {
      if (text.find("\"" + key + "\": ") != std::string::npos) result *= factor;
    }
    return result;
  }
  // The same for every process: a sample's place decides its noise of up to 0.4 %.
  double noise() {
    return 1 + 0.004 * ((noise_ = noise_ * 1103515245u + 12345u) % 1000 / 500.0 - 1);
  }

  std::string measure(const Json& job) {
    std::string out;
    for (const Json& side : get_array(job, "sides")) out += identity(side);
    for (const Json& call : get_array(job, "calls")) {
      for (const Json& pass : get_array(job, "passes")) {
        for (const Json& side : get_array(job, "sides")) {
          auto text = read_file(get_string(side, "file"));
          const double us = base_us(call, pass) / gain_of_text(text ? *text : "");
          Json times = Json::array(), mhz = Json::array();
          for (int i = 0; i < 20; ++i) {
            times.push_back(us * noise());
            mhz.push_back(1980);
          }
          out += line({{"event", "samples"},
                       {"call", get_string(call, "id")},
                       {"pass", pass},
                       {"side", get_string(side, "name")},
                       {"round", get_integer(job, "round")},
                       {"us", times},
                       {"held", true},
                       {"clock", "events"},
                       {"sm_mhz", mhz},
                       {"enqueue_us", Json::array()},
                       {"spin_us", Json::array()},
                       {"tail_us", Json::array()},
                       {"wall_us", {us + 100}}});
        }
      }
      for (const Json& side : get_array(job, "sides")) {
        out += line({{"event", "memory"},
                     {"call", get_string(call, "id")},
                     {"side", get_string(side, "name")},
                     {"peak_bytes", 1e8}});
      }
    }
    for (const Json& bytes : get_array(job, "copy_sizes")) {
      out += line({{"event", "copy_rate"},
                   {"bytes", bytes},
                   {"asked_bytes", bytes},
                   {"us", {bytes.get<double>() / 4e6}},
                   {"clock", "events"}});
    }
    return out + line({{"event", "done"}});
  }

  std::string sweep(const Json& job) {
    std::string out = identity(get_object(job, "side"));
    for (const Json& hook : get_array(job, "hooks")) {
      Json candidates = get_array(hook, "candidates");
      candidates.insert(candidates.begin(), Json::object());
      for (const Json& id : get_array(hook, "calls")) {
        for (const Json& settings : candidates) {
          double us = 0;
          for (const Json& call : get_array(job, "calls")) {
            if (get_string(call, "id") == id) us = base_us(call, get_string(hook, "pass"));
          }
          for (const auto& [key, value] : settings.items()) {
            // One value of each knob is the good one, the others do harm.
            const bool good = value == 4 || value == true;
            us = good && gain.count(key) > 0 ? us / gain.at(key) : us * 1.02;
          }
          out += line({{"event", "point"},
                       {"hook", get_string(hook, "function")},
                       {"call", id},
                       {"settings", settings},
                       {"status", "correct"},
                       {"us", {us}},
                       {"median_us", us},
                       {"clock", "events"},
                       {"registers", 40},
                       {"spills", 0},
                       {"shared_bytes", 0},
                       {"compile_ms", 1}});
        }
      }
    }
    return out + line({{"event", "done"}});
  }

  Result<ProcessOutcome> tests(const ProcessSpec& spec, const LineSink& sink) {
    std::string events, file, sha;
    for (const fs::path& input : spec.inputs) {
      if (input.string().find("/ops/") == std::string::npos) continue;
      file = fs::canonical(input).string();
      sha = *sha256_of_file(input);
    }
    const bool changed = file.empty() || read_file(file)->find("_settings(") != std::string::npos;
    events += line({{"event", "collected"}, {"tests", 2}});
    bool failed = false;
    for (const std::string id : {"test/a.py::test_one", "test/a.py::test_two"}) {
      const bool fails = always_failing.count(id) > 0 || (changed && failing_tests.count(id) > 0);
      const bool skips = changed && skipping_tests.count(id) > 0;
      failed = failed || fails;
      events += line({{"event", "test"},
                      {"id", id},
                      {"outcome", fails   ? "failed"
                                  : skips ? "skipped"
                                          : "passed"},
                      {"seconds", 1},
                      {"message", ""}});
    }
    events += line({{"event", "imported"},
                    {"module", spec.env.at("LWB_PYTEST_MODULE")},
                    {"file", file},
                    {"sha256", sha}});
    events += line({{"event", "finished"}, {"exit_code", failed ? 1 : 0}});
    if (auto written = write_file_atomically(spec.env.at("LWB_PYTEST_EVENTS"), events); !written) {
      return tl::unexpected(written.error());
    }
    auto outcome = answer("", sink);
    outcome->exit_code = failed ? 1 : 0;
    return outcome;
  }

  SystemRunner system_;
  unsigned noise_ = 1;
};

}  // namespace lwb
