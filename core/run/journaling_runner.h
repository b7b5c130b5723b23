// Journals every child that ended: the console of the window and of `lwb show` is a fold of these.
#pragma once

#include "core/process/process.h"
#include "core/run/journal.h"

namespace lwb {

// Passes calls on to `inner`. Nothing is journaled before a journal is attached (pre-flight of a
// request that is then refused leaves no trace).
class JournalingRunner final : public ProcessRunner {
 public:
  explicit JournalingRunner(ProcessRunner& inner) : inner_(inner) {}
  void attach(Journal* journal) { journal_ = journal; }

  Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink& sink = {}) override;
  std::string recorded_on() const override { return inner_.recorded_on(); }
  std::chrono::milliseconds child_wall() const override { return inner_.child_wall(); }

 private:
  ProcessRunner& inner_;
  Journal* journal_ = nullptr;
};

}  // namespace lwb
