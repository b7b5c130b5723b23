// A process seam that answers from a list of canned processes, in order, and keeps what was asked.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/process/process.h"

namespace lwb {

struct CannedProcess {
  std::vector<std::string> lines;  // standard output
  int exit_code = 0;
  ProcessEnd end = ProcessEnd::kExited;
  int signal = 0;
  std::string err{};
  std::function<void(const ProcessSpec&)> effect{};  // what it writes
};

class FakeRunner final : public ProcessRunner {
 public:
  std::deque<CannedProcess> answers;
  std::function<CannedProcess(const ProcessSpec&)> answer;  // used when the list is empty
  std::vector<ProcessSpec> asked;
  std::vector<Json> jobs;

  Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink& sink = {}) override {
    asked.push_back(spec);
    const auto job = parse_json(spec.stdin_text, "job");
    jobs.push_back(job ? *job : Json());
    CannedProcess canned;
    if (!answers.empty()) {
      canned = answers.front();
      answers.pop_front();
    } else if (answer) {
      canned = answer(spec);
    } else {
      return fail(ErrorKind::kInternal, "The fake has no answer for " + spec.label + ".");
    }
    if (canned.effect) canned.effect(spec);
    ProcessOutcome outcome;
    outcome.end = canned.end;
    outcome.exit_code = canned.exit_code;
    outcome.signal = canned.signal;
    outcome.err = canned.err;
    outcome.wall = std::chrono::milliseconds(1500);
    for (const std::string& line : canned.lines) {
      outcome.out += line + "\n";
      if (sink) sink(Stream::kOut, line);
    }
    return outcome;
  }
  std::chrono::milliseconds child_wall() const override { return std::chrono::milliseconds(0); }
};

inline std::string event_line(const Json& event) {
  return print_json(event);
}
inline std::string done_line() {
  return R"({"event":"done"})";
}

// A call as the capture script writes it.
inline Json call_json(const std::string& id, int x = 2048, int width = 4096) {
  return {{"id", id},
          {"origin", "stock"},
          {"cell",
           {{"kernel_name", "scaled_add"},
            {"provider", "ours"},
            {"x_name", "T"},
            {"x", x},
            {"config", {{"hidden_size", width}, {"dtype", "torch.bfloat16"}, {"eps", 1e-6}}}}},
          {"function", {{"module", "pkg.ops.scaled_add"}, {"qualname", "ScaledAdd"}}},
          {"args",
           {{{"tensor",
              {{"shape", {x, width}},
               {"stride", {width, 1}},
               {"dtype", "bfloat16"},
               {"requires_grad", true},
               {"values", {{"kind", "normal"}, {"mean", 0.0}, {"std", 1.0}}}}}},
            {{"value", 0.5}}}},
          {"kwargs", Json::object()},
          {"grads", {true}},
          {"outputs", {{{"shape", {x, width}}, {"dtype", "bfloat16"}}}},
          {"reference", nullptr}};
}

}  // namespace lwb
