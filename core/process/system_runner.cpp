// Starting and watching a real child process. QProcess does the forking, the pipes and the reaping;
// the group, the watchdogs and the order of ending are ours.

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <QProcess>
#include <QProcessEnvironment>
#include <QThread>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/process/process.h"

namespace lwb {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPoll{100};
constexpr milliseconds kGrace{3000};    // between SIGTERM and SIGKILL
constexpr milliseconds kGiveUp{10000};  // after SIGKILL: a process stuck in the driver stays
constexpr std::size_t kErrorLimit = 4u << 20;
constexpr int kStandbys = 2;

milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

// argv[0] as the child would find it: with a slash relative to its folder, else in its own PATH.
std::string find_program(const std::string& name, const Environment& env,
                         const std::filesystem::path& cwd) {
  std::error_code error;
  const std::filesystem::path base = cwd.empty() ? std::filesystem::current_path(error) : cwd;
  if (name.find('/') != std::string::npos) return (base / name).string();
  const auto path = env.find("PATH");
  if (path == env.end()) return {};
  for (const std::string& folder : split(path->second, ':')) {
    const std::filesystem::path candidate = base / (folder.empty() ? "." : folder) / name;
    if (std::filesystem::is_regular_file(candidate, error) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return candidate.string();
    }
  }
  return {};
}

// Runs in the child between fork and exec: only calls that are safe there.
void set_up_child(pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  // What this process ignores or blocks must not reach the child: it has to be endable.
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE, SIGXFSZ}) {
    ::signal(number, SIG_DFL);
  }
}

std::unique_ptr<QProcess> make_process(const std::string& program,
                                       const std::vector<std::string>& argv, const Environment& env,
                                       const std::filesystem::path& cwd, bool with_stdin) {
  auto process = std::make_unique<QProcess>();
  process->setProgram(QString::fromStdString(program));
  QStringList arguments;
  for (std::size_t i = 1; i < argv.size(); ++i) arguments << QString::fromStdString(argv[i]);
  process->setArguments(arguments);
  QProcessEnvironment environment;
  for (const auto& [name, value] : env) {
    environment.insert(QString::fromStdString(name), QString::fromStdString(value));
  }
  // QProcess takes an empty environment for "inherit ours", which is never meant here.
  if (environment.isEmpty()) environment.insert(QStringLiteral("LC_ALL"), QStringLiteral("C"));
  process->setProcessEnvironment(environment);
  process->setWorkingDirectory(QString::fromStdString(cwd.string()));
  if (!with_stdin) process->setStandardInputFile(QProcess::nullDevice());
  process->setChildProcessModifier([parent = ::getpid()] { set_up_child(parent); });
  return process;
}

// Cuts one stream into lines and hands them to the sink.
class LineCutter {
 public:
  LineCutter(Stream stream, const LineSink& sink) : stream_(stream), sink_(sink) {}

  void add(std::string_view bytes) {
    if (!sink_) return;
    for (std::size_t end; (end = bytes.find('\n')) != std::string_view::npos;) {
      rest_.append(bytes.substr(0, end));
      deliver();
      bytes.remove_prefix(end + 1);
    }
    rest_.append(bytes);
  }
  void finish() {
    if (sink_ && !rest_.empty()) deliver();
  }

 private:
  void deliver() {
    std::string_view line = rest_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    sink_(stream_, line);
    rest_.clear();
  }

  Stream stream_;
  const LineSink& sink_;
  std::string rest_;
};

// Whether a process of this group still runs. Zombies do not count: in a container nobody may ever
// reap them, and they hold nothing.
bool group_runs(pid_t group) {
  if (::kill(-group, 0) != 0) return false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    std::ifstream file(entry.path() / "stat");
    std::string stat((std::istreambuf_iterator<char>(file)), {});
    const std::size_t name_end = stat.rfind(')');  // the name may hold blanks and parentheses
    if (name_end == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    int its_group = 0;
    const char* rest = stat.c_str() + name_end + 1;
    if (std::sscanf(rest, " %c %d %d", &state, &parent, &its_group) != 3) continue;
    if (its_group == group && state != 'Z' && state != 'X') return true;
  }
  return false;
}

// One child from start to end.
class Child {
 public:
  Child(const ProcessSpec& spec, const LineSink& sink, const CancelToken* cancel,
        std::unique_ptr<QProcess> standby)
      : spec_(spec),
        cancel_(cancel),
        out_(Stream::kOut, sink),
        err_(Stream::kErr, sink),
        process_(std::move(standby)) {}

  ProcessOutcome run() {
    if (!start()) {
      outcome_.end = ProcessEnd::kFailedToStart;
      outcome_.wall = since(started_);
      return std::move(outcome_);
    }
    watch();
    end_group();
    collect();
    out_.finish();
    err_.finish();
    trim_errors(kErrorLimit);
    outcome_.wall = since(started_);
    // What SIGKILL does not end (a process that waits inside a driver) cannot be waited for either.
    if (process_->state() != QProcess::NotRunning) static_cast<void>(process_.release());
    return std::move(outcome_);
  }

 private:
  // A standby is running already and reads its order.
  bool start() {
    if (process_) {
      started_ = last_output_ = Clock::now();
      group_ = static_cast<pid_t>(process_->processId());
      write_stdin(print_json(Json(spec_.argv.back())) + "\n" + spec_.stdin_text);
      return true;
    }
    started_ = last_output_ = Clock::now();
    if (spec_.argv.empty() || spec_.argv.front().empty()) {
      outcome_.err = "No program was named.";
      return false;
    }
    const std::string program = find_program(spec_.argv.front(), spec_.env, spec_.cwd);
    if (program.empty()) {
      outcome_.err = fmt::format(
          "The program {} is not in the child's PATH; install it or name it "
          "by its full path.",
          spec_.argv.front());
      return false;
    }
    process_ = make_process(program, spec_.argv, spec_.env, spec_.cwd, !spec_.stdin_text.empty());
    process_->start();
    if (!process_->waitForStarted(-1)) {
      outcome_.err = fmt::format("The program {} could not be started in {} ({}).", program,
                                 spec_.cwd.empty() ? "this folder" : spec_.cwd.string(),
                                 process_->errorString().toStdString());
      return false;
    }
    group_ = static_cast<pid_t>(process_->processId());
    if (!spec_.stdin_text.empty()) write_stdin(spec_.stdin_text);
    return true;
  }

  void write_stdin(const std::string& text) {
    process_->write(text.data(), static_cast<qint64>(text.size()));
    process_->closeWriteChannel();  // takes effect when all is written
  }

  void watch() {
    while (process_->state() != QProcess::NotRunning) {
      process_->waitForReadyRead(static_cast<int>(kPoll.count()));
      collect();
      if (process_->state() == QProcess::NotRunning) break;
      if (cancel_ != nullptr && cancel_->cancelled()) return end_with(ProcessEnd::kCancelled);
      if (spec_.wall_limit.count() > 0 && since(started_) >= spec_.wall_limit) {
        return end_with(ProcessEnd::kWallLimit);
      }
      if (spec_.silence_limit.count() > 0 && since(last_output_) >= spec_.silence_limit) {
        return end_with(ProcessEnd::kSilenceLimit);
      }
    }
    if (process_->exitStatus() == QProcess::CrashExit) {
      outcome_.end = ProcessEnd::kSignaled;
      outcome_.signal = process_->exitCode();  // where QProcess keeps the signal's number
    } else {
      outcome_.end = ProcessEnd::kExited;
      outcome_.exit_code = process_->exitCode();
    }
  }

  void end_with(ProcessEnd end) {
    outcome_.end = end;
    ::kill(-group_, SIGTERM);
    wait_for_end(kGrace);
    if (process_->state() == QProcess::NotRunning) return;
    ::kill(-group_, SIGKILL);
    wait_for_end(kGiveUp);
  }

  void wait_for_end(milliseconds limit) {
    const auto begin = Clock::now();
    while (process_->state() != QProcess::NotRunning && since(begin) < limit) {
      process_->waitForReadyRead(static_cast<int>(kPoll.count() / 2));
      collect();
    }
  }

  // The child is gone; whoever it left behind in its group goes too: asked first (once), then
  // killed.
  void end_group() {
    const bool asked_before =
        outcome_.end != ProcessEnd::kExited && outcome_.end != ProcessEnd::kSignaled;
    if (!asked_before && group_runs(group_)) {
      ::kill(-group_, SIGTERM);
      const auto begin = Clock::now();
      while (group_runs(group_) && since(begin) < kGrace) {
        std::this_thread::sleep_for(milliseconds(20));
      }
    }
    if (group_runs(group_)) ::kill(-group_, SIGKILL);
  }

  void collect() {
    const QByteArray out = process_->readAllStandardOutput();
    const QByteArray err = process_->readAllStandardError();
    if (!out.isEmpty() || !err.isEmpty()) last_output_ = Clock::now();
    const std::string_view out_bytes(out.constData(), static_cast<std::size_t>(out.size()));
    const std::string_view err_bytes(err.constData(), static_cast<std::size_t>(err.size()));
    outcome_.out.append(out_bytes);
    outcome_.err.append(err_bytes);
    trim_errors(2 * kErrorLimit);  // rarely, so that it costs nothing
    out_.add(out_bytes);
    err_.add(err_bytes);
  }

  void trim_errors(std::size_t allowed) {
    if (outcome_.err.size() > allowed) outcome_.err.erase(0, outcome_.err.size() - kErrorLimit);
  }

  const ProcessSpec& spec_;
  const CancelToken* cancel_;
  LineCutter out_;
  LineCutter err_;
  std::unique_ptr<QProcess> process_;  // running already where a standby is taken
  pid_t group_ = 0;
  ProcessOutcome outcome_;
  Clock::time_point started_;
  Clock::time_point last_output_;
};

}  // namespace

// The standbys that wait, and how to start the next. There are two, for a short script may end
// before the one after it has its imports behind it.
class SystemRunner::Spare {
 public:
  explicit Spare(Standby standby) : standby_(std::move(standby)) {
    for (int i = 0; i < kStandbys; ++i) start();
  }
  ~Spare() { end(); }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;

  // The waiting process where it fits what is asked for, and another one in its place; else null.
  std::unique_ptr<QProcess> take(const ProcessSpec& spec) {
    if (!fits(spec)) return nullptr;
    std::unique_ptr<QProcess> taken;
    while (!taken && !waiting_.empty()) {
      taken = std::move(waiting_.front());
      waiting_.pop_front();
      taken->waitForReadyRead(0);  // so that a process that ended is seen to have ended
      if (taken->state() != QProcess::Running) taken.reset();
    }
    start();
    return taken;
  }

 private:
  bool fits(const ProcessSpec& spec) const {
    const auto& argv = standby_.argv;
    return QThread::currentThread() == thread_ && spec.argv.size() == argv.size() &&
           std::equal(argv.begin(), argv.end() - 1, spec.argv.begin()) &&
           std::filesystem::path(spec.argv.back()).parent_path() ==
               std::filesystem::path(argv.back()).parent_path() &&
           spec.env == standby_.env && spec.cwd == standby_.cwd && !spec.stdin_text.empty();
  }

  void start() {
    const std::string program = find_program(standby_.argv.front(), standby_.env, standby_.cwd);
    if (program.empty()) return;
    auto process = make_process(program, standby_.argv, standby_.env, standby_.cwd, true);
    process->start();
    if (!process->waitForStarted(-1)) return;
    const std::string line = standby_.first_line + "\n";
    process->write(line.data(), static_cast<qint64>(line.size()));
    while (process->bytesToWrite() > 0 && process->waitForBytesWritten(5000)) {
    }
    waiting_.push_back(std::move(process));
  }

  void end() {
    for (const auto& process : waiting_) {
      if (process->state() == QProcess::NotRunning) continue;
      ::kill(-static_cast<pid_t>(process->processId()), SIGKILL);
      process->waitForFinished(2000);
    }
  }

  Standby standby_;
  QThread* thread_ = QThread::currentThread();
  std::deque<std::unique_ptr<QProcess>> waiting_;
};

SystemRunner::~SystemRunner() = default;

SystemRunner::SystemRunner(const CancelToken* cancel) : cancel_(cancel) {}

void SystemRunner::keep_standby(Standby standby) {
  spare_.reset();  // the one before ends first
  spare_ = std::make_unique<Spare>(std::move(standby));
}

Result<ProcessOutcome> SystemRunner::run(const ProcessSpec& spec, const LineSink& sink) {
  {
    const std::lock_guard lock(busy_mutex_);
    if (busy_++ == 0) busy_since_ = std::chrono::steady_clock::now();
  }
  ProcessOutcome outcome = Child(spec, sink, cancel_, spare_ ? spare_->take(spec) : nullptr).run();
  const std::lock_guard lock(busy_mutex_);
  if (--busy_ == 0) child_wall_ += std::chrono::steady_clock::now() - busy_since_;
  return outcome;
}

std::chrono::milliseconds SystemRunner::child_wall() const {
  const std::lock_guard lock(busy_mutex_);
  return std::chrono::duration_cast<std::chrono::milliseconds>(child_wall_);
}

std::string describe_end(const ProcessOutcome& outcome) {
  const std::string after = format_duration(static_cast<double>(outcome.wall.count()) / 1000);
  switch (outcome.end) {
    case ProcessEnd::kExited:
      return fmt::format("exited with code {}", outcome.exit_code);
    case ProcessEnd::kSignaled:
      return fmt::format("was killed by signal {} ({})", outcome.signal,
                         ::strsignal(outcome.signal));
    case ProcessEnd::kWallLimit:
      return fmt::format("ran too long and was ended after {}", after);
    case ProcessEnd::kSilenceLimit:
      return fmt::format("gave no output for too long and was ended after {}", after);
    case ProcessEnd::kFailedToStart:
      return fmt::format("did not start: {}", outcome.err);
    case ProcessEnd::kCancelled:
      return fmt::format("was stopped by the user after {}", after);
  }
  return "ended";
}

}  // namespace lwb
