// One round of a measurement: one fresh process (or one a side), its events, and what is done when
// a process dies. Internal to core/measure; measure() in op_time.h is the door.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/measure/op_time.h"
#include "core/measure/script.h"

namespace lwb {

class RoundRunner {
 public:
  RoundRunner(ProcessRunner& runner, const PythonTools& tools, const std::vector<Side>& sides,
              const MeasureOptions& options, Measurement& measurement,
              const std::function<void(const SampleBatch&)>& on_batch)
      : runner_(runner),
        tools_(tools),
        sides_(sides),
        options_(options),
        measurement_(measurement),
        on_batch_(on_batch) {}

  Result<void> run(int round, const std::vector<CapturedCall>& calls,
                   const std::vector<Pass>& passes);
  const std::set<std::string>& failed_calls() const { return failed_calls_; }

 private:
  struct Process;  // what one process of a round gave

  // All sides in one process, or one process a side; a process that dies is started again for
  // the calls after the one that killed it.
  Result<void> attempt(int round, const std::vector<CapturedCall>& calls,
                       const std::vector<Pass>& passes, Process& all);
  Result<void> process(int round, const std::vector<CapturedCall>& calls,
                       const std::vector<Pass>& passes, const std::vector<Side>& sides,
                       Process& all);
  Result<ScriptRun> start(int round, const std::vector<CapturedCall>& calls,
                          const std::vector<Pass>& passes, const std::vector<Side>& sides);
  void take(const Json& event, int round, Process& all);
  void take_gpu(const Json& event, int round, Process& all);
  // After a death: the calls still to do, the culprit left out and listed.
  std::vector<CapturedCall> after_death(const ScriptRun& run,
                                        const std::vector<CapturedCall>& calls,
                                        const std::vector<Pass>& passes, Process& all);
  void keep(Process& all);
  void note(const std::string& text);

  ProcessRunner& runner_;
  const PythonTools& tools_;
  const std::vector<Side>& sides_;
  const MeasureOptions& options_;
  Measurement& measurement_;
  const std::function<void(const SampleBatch&)>& on_batch_;
  std::set<std::string> failed_calls_;
  bool one_process_a_side_ = false;
  bool copies_done_ = false;
};

}  // namespace lwb
