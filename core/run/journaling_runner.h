// Journals every child that ended: the console of the window and of `lwb show` is a fold of these.
#pragma once

#include <mutex>
#include <vector>

#include "core/process/process.h"
#include "core/run/journal.h"

namespace lwb {

// Passes calls on to `inner`. What ends before a journal is attached is kept and journaled then:
// the pre-flight of a request that is refused leaves no trace, that of a run stands in its journal.
// run() may be called on several threads at once, as pre-flight does.
class JournalingRunner final : public ProcessRunner {
 public:
  explicit JournalingRunner(ProcessRunner& inner) : inner_(inner) {}
  Result<void> attach(Journal* journal);

  Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink& sink = {}) override;
  std::string recorded_on() const override { return inner_.recorded_on(); }
  std::chrono::milliseconds child_wall() const override { return inner_.child_wall(); }

 private:
  ProcessRunner& inner_;
  std::mutex mutex_;  // of what follows, and of appending to the journal here
  Journal* journal_ = nullptr;
  std::vector<Json> early_;  // of children that ended before
};

}  // namespace lwb
