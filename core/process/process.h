// The one seam through which every outside program is started (design rule 2).
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lwb {

using Environment = std::map<std::string, std::string>;

// Set from a signal handler or another thread: children are ended and the run stops, resumable.
class CancelToken {
 public:
  void cancel() noexcept { cancelled_.store(true); }
  bool cancelled() const noexcept { return cancelled_.load(); }

 private:
  std::atomic<bool> cancelled_{false};
};

// What to start. argv is a list (no shell); env is the whole environment of the child.
struct ProcessSpec {
  std::string label;              // for the console: "smoke v2", "stock benchmark v0"
  std::vector<std::string> argv;  // argv[0] is looked up in env's PATH when it has no slash
  Environment env;
  std::filesystem::path cwd;  // empty: ours
  std::string stdin_text;     // written at once, then closed; empty: /dev/null
  // Files whose contents decide the result: their hashes are part of a recording's key.
  std::vector<std::filesystem::path> inputs;
  // Files (or folders of files) that the child writes and we read afterwards: kept in a recording,
  // written back on replay.
  std::vector<std::filesystem::path> outputs;
  // Zero or less: no limit.
  std::chrono::milliseconds wall_limit{std::chrono::minutes(10)};
  std::chrono::milliseconds silence_limit{std::chrono::minutes(5)};  // no output for so long
};

enum class ProcessEnd {
  kExited,
  kSignaled,
  kWallLimit,
  kSilenceLimit,
  kFailedToStart,
  kCancelled,
};

struct ProcessOutcome {
  ProcessEnd end = ProcessEnd::kExited;
  int exit_code = 0;  // valid when kExited
  int signal = 0;     // valid when kSignaled
  std::chrono::milliseconds wall{0};
  std::string out;          // all of standard output
  std::string err;          // standard error, its last 4 MiB; the reason when kFailedToStart
  bool recorded = false;    // answered from a recording, not measured now
  std::string recorded_on;  // "NVIDIA H200" then, else empty

  bool ok() const { return end == ProcessEnd::kExited && exit_code == 0; }
};

enum class Stream { kOut, kErr };
// Called for each complete line (without its line end) while the child runs, on the thread that
// called run(); a last line without line end is delivered when the child has ended.
using LineSink = std::function<void(Stream, std::string_view)>;

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  // Blocks until the child has ended. An Error only when the seam itself cannot answer (a replay
  // without that recording, kCancelled is an outcome); a child that fails is an outcome.
  virtual Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink& sink = {}) = 0;
  // Name of the GPU the answers were recorded on; empty when programs really run.
  virtual std::string recorded_on() const { return {}; }
  // Wall time so far during which at least one child ran: the children's share of it.
  virtual std::chrono::milliseconds child_wall() const = 0;
};

// A Python with its slow imports behind it that waits for the script that it is to run
// (lwb_standby.py), so that a script need not wait for them.
struct Standby {
  std::vector<std::string> argv;  // {python, "-u", "…/lwb_standby.py"}
  Environment env;
  std::filesystem::path cwd;
  std::string first_line;  // what it reads first
};

// Really starts programs: own session and process group, PDEATHSIG, watchdogs on wall time and
// silence, SIGTERM then SIGKILL to the group after a grace of 3 s, streamed lines, exit truth. What
// is left of the group when the child has ended by itself is killed too. run() works on any thread,
// needs no event loop, and may be called on several threads at once.
class SystemRunner final : public ProcessRunner {
 public:
  explicit SystemRunner(const CancelToken* cancel = nullptr);
  ~SystemRunner() override;
  Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink& sink = {}) override;
  std::chrono::milliseconds child_wall() const override;
  // From now on a script beside the standby's own, with the same Python, environment and folder, is
  // run by a standby that is started ahead; each runs one script, and the next is started then.
  // Used on the thread that calls this alone.
  void keep_standby(Standby standby);

 private:
  class Spare;
  const CancelToken* cancel_;
  mutable std::mutex busy_mutex_;
  int busy_ = 0;  // children that run now
  std::chrono::steady_clock::time_point busy_since_;
  std::chrono::steady_clock::duration child_wall_{0};
  std::unique_ptr<Spare> spare_;
};

// How a child ended, as the end of a sentence: "exited with code 1", "was killed by signal 9
// (Killed)", "gave no output for too long and was ended after 5 min 00 s".
std::string describe_end(const ProcessOutcome& outcome);

}  // namespace lwb
