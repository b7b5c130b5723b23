// Real children of the process seam: exit truth, lines, limits, groups, cancel (field-notes C35,
// C37, C43).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/process/process.h"

namespace lwb {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.label = "test child";
  spec.argv = {"/bin/sh", "-c", script};
  spec.env = {{"PATH", "/usr/bin:/bin"}};
  spec.cwd = "/";
  spec.wall_limit = 60s;
  spec.silence_limit = 60s;
  return spec;
}

ProcessOutcome run(const ProcessSpec& spec, const LineSink& sink = {},
                   const CancelToken* cancel = nullptr) {
  SystemRunner runner(cancel);
  auto outcome = runner.run(spec, sink);
  EXPECT_TRUE(outcome.has_value());
  return outcome.value_or(ProcessOutcome{});
}

// Whether a process runs (a zombie does not).
bool runs(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat((std::istreambuf_iterator<char>(file)), {});
  const auto end = stat.rfind(')');
  return end != std::string::npos && stat.substr(end + 2, 1) != "Z";
}

bool gone_soon(int pid) {
  for (int i = 0; i < 100 && runs(pid); ++i) std::this_thread::sleep_for(20ms);
  return !runs(pid);
}

TEST(SystemRunner, GivesOutputAndExitCode) {
  const auto outcome = run(shell("echo one; echo two >&2; exit 3"));
  EXPECT_EQ(outcome.end, ProcessEnd::kExited);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.out, "one\n");
  EXPECT_EQ(outcome.err, "two\n");
  EXPECT_EQ(describe_end(outcome), "exited with code 3");
  EXPECT_FALSE(outcome.recorded);
}

TEST(SystemRunner, AFailureAfterMuchOutputIsSeen) {
  const auto outcome =
      run(shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; "
                "exit 1"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(split_lines(outcome.out).size(), 20000u);
  EXPECT_EQ(split_lines(outcome.out).back(), "line 19999");
}

TEST(SystemRunner, TellsSignalFromExit) {
  const auto outcome = run(shell("kill -ABRT $$"));
  EXPECT_EQ(outcome.end, ProcessEnd::kSignaled);
  EXPECT_EQ(outcome.signal, SIGABRT);
  EXPECT_THAT(describe_end(outcome), HasSubstr("signal 6"));
}

TEST(SystemRunner, DeliversCompleteLinesWhileTheChildRuns) {
  std::vector<std::string> lines;
  std::vector<double> at;
  const auto start = std::chrono::steady_clock::now();
  const auto outcome =
      run(shell("printf 'a'; sleep 0.4; printf 'b\\nc\\r\\n\\n'; sleep 0.6; printf "
                "'end'"),
          [&](Stream stream, std::string_view line) {
            EXPECT_EQ(stream, Stream::kOut);
            lines.emplace_back(line);
            at.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
          });
  EXPECT_THAT(lines, ElementsAre("ab", "c", "", "end"));
  ASSERT_EQ(at.size(), 4u);
  EXPECT_LT(at[0], at[3] - 0.4);  // came when it was printed, not at the end
  EXPECT_EQ(outcome.out, "ab\nc\r\n\nend");
}

TEST(SystemRunner, WritesALargeStandardInputToAChildThatAnswersMeanwhile) {
  ProcessSpec spec = shell("cat; echo done >&2");
  spec.stdin_text = std::string(3 << 20, 'x') + "\nlast";
  const auto outcome = run(spec);
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.out, spec.stdin_text);
  EXPECT_EQ(outcome.err, "done\n");
}

TEST(SystemRunner, AChildThatDoesNotReadItsInputIsNoFailure) {
  ProcessSpec spec = shell("exit 0");
  spec.stdin_text = std::string(3 << 20, 'x');
  EXPECT_TRUE(run(spec).ok());
}

TEST(SystemRunner, WithoutInputTheChildReadsEndOfFileAtOnce) {
  EXPECT_EQ(run(shell("cat; echo end")).out, "end\n");
}

TEST(SystemRunner, LooksTheProgramUpInTheChildsOwnPath) {
  const auto folder = fs::temp_directory_path() / ("lwb path ü " + std::to_string(::getpid()));
  ASSERT_TRUE(write_file_atomically(folder / "my-tool", "#!/bin/sh\necho mine \"$1\" in $PWD\n"));
  fs::permissions(folder / "my-tool", fs::perms::owner_all);
  ProcessSpec spec = shell("");
  spec.argv = {"my-tool", "a b'c\"$d"};
  spec.env["PATH"] = "/nonexistent:" + folder.string() + ":/bin";
  spec.cwd = folder;
  EXPECT_EQ(run(spec).out, "mine a b'c\"$d in " + folder.string() + "\n");
  spec.argv[0] = "./my-tool";  // relative to the child's folder
  EXPECT_TRUE(run(spec).ok());
  fs::remove_all(folder);
}

TEST(SystemRunner, AProgramThatDoesNotStartIsAnOutcome) {
  ProcessSpec spec = shell("");
  spec.argv = {"no-such-program-anywhere"};
  auto outcome = run(spec);
  EXPECT_EQ(outcome.end, ProcessEnd::kFailedToStart);
  EXPECT_FALSE(outcome.ok());
  EXPECT_THAT(describe_end(outcome), HasSubstr("no-such-program-anywhere"));
  spec.argv = {"/etc/passwd"};  // not executable
  EXPECT_EQ(run(spec).end, ProcessEnd::kFailedToStart);
  spec = shell("exit 0");
  spec.cwd = "/no/such/folder";
  EXPECT_EQ(run(spec).end, ProcessEnd::kFailedToStart);
  spec.argv.clear();
  EXPECT_EQ(run(spec).end, ProcessEnd::kFailedToStart);
}

TEST(SystemRunner, TheChildGetsExactlyItsEnvironment) {
  ::setenv("LWB_LEAK", "yes", 1);
  ProcessSpec spec = shell("");
  spec.argv = {"env"};
  spec.env = {{"PATH", "/usr/bin:/bin"}, {"ONE", "1"}};
  auto lines = split_lines(run(spec).out);
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre("PATH=/usr/bin:/bin", "ONE=1"));
  spec.argv = {"/usr/bin/env"};
  spec.env.clear();
  EXPECT_THAT(run(spec).out, ::testing::Not(HasSubstr("LWB_LEAK")));
}

TEST(SystemRunner, EndsAChildThatRunsTooLong) {
  ProcessSpec spec = shell("while :; do echo busy; sleep 0.05; done");
  spec.wall_limit = 400ms;
  const auto outcome = run(spec);
  EXPECT_EQ(outcome.end, ProcessEnd::kWallLimit);
  EXPECT_LT(outcome.wall, 2000ms);
  EXPECT_THAT(outcome.out, HasSubstr("busy"));
  EXPECT_THAT(describe_end(outcome), HasSubstr("ran too long"));
}

TEST(SystemRunner, EndsASilentChild) {
  ProcessSpec spec = shell("echo hello; sleep 50");
  spec.silence_limit = 400ms;
  const auto outcome = run(spec);
  EXPECT_EQ(outcome.end, ProcessEnd::kSilenceLimit);
  EXPECT_LT(outcome.wall, 2000ms);
  EXPECT_EQ(outcome.out, "hello\n");
}

TEST(SystemRunner, KillsAChildThatIgnoresSigtermAfterTheGrace) {
  ProcessSpec spec = shell("trap '' TERM; echo $$; while :; do sleep 1; done");
  spec.wall_limit = 300ms;
  const auto outcome = run(spec);
  EXPECT_EQ(outcome.end, ProcessEnd::kWallLimit);
  EXPECT_GE(outcome.wall, 3200ms);
  EXPECT_LT(outcome.wall, 5000ms);
  EXPECT_FALSE(runs(std::stoi(outcome.out)));
}

TEST(SystemRunner, EndsTheWholeGroupAndNobodyElse) {
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(1);
  }
  // The child's own child ignores SIGTERM and holds the pipe open.
  ProcessSpec spec = shell("(trap '' TERM; sleep 61) & echo $!; wait");
  spec.wall_limit = 300ms;
  const auto outcome = run(spec);
  EXPECT_EQ(outcome.end, ProcessEnd::kWallLimit);
  EXPECT_TRUE(gone_soon(std::stoi(outcome.out)));
  EXPECT_TRUE(runs(stranger));
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

TEST(SystemRunner, WhoIsLeftAfterANormalExitIsEnded) {
  const auto outcome = run(shell("sleep 62 & echo $!"));
  EXPECT_TRUE(outcome.ok());
  EXPECT_LT(outcome.wall, 3000ms);
  EXPECT_TRUE(gone_soon(std::stoi(outcome.out)));
}

TEST(SystemRunner, CancelEndsTheChild) {
  CancelToken cancel;
  std::thread canceller([&] {
    std::this_thread::sleep_for(300ms);
    cancel.cancel();
  });
  const auto outcome = run(shell("echo begun; sleep 50"), {}, &cancel);
  canceller.join();
  EXPECT_EQ(outcome.end, ProcessEnd::kCancelled);
  EXPECT_LT(outcome.wall, 2000ms);
  EXPECT_EQ(outcome.out, "begun\n");
}

TEST(SystemRunner, TheChildCanBeEndedThoughWeBlockAndIgnoreSignals) {
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  ProcessSpec spec = shell("sleep 50");
  spec.argv = {"/bin/sleep", "50"};
  spec.wall_limit = 200ms;
  const auto outcome = run(spec);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(outcome.end, ProcessEnd::kWallLimit);
  EXPECT_LT(outcome.wall, 2000ms);  // SIGTERM reached it
}

TEST(SystemRunner, KeepsTheEndOfALongStandardError) {
  const auto outcome = run(shell("head -c 9000000 /dev/zero | tr '\\0' 'e' >&2; echo last >&2"));
  EXPECT_EQ(outcome.err.size(), 4u << 20);
  EXPECT_TRUE(outcome.err.ends_with("elast\n"));
}

TEST(SystemRunner, WaitingForAChildThatClosedItsOutputCostsNoProcessorTime) {
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  EXPECT_TRUE(run(shell("exec >&- 2>&-; sleep 1.5")).ok());
  ::getrusage(RUSAGE_SELF, &after);
  const auto seconds = [](const rusage& usage) {
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  };
  EXPECT_LT(seconds(after) - seconds(before), 0.4);
}

TEST(SystemRunner, WorksOnSeveralThreadsAtOnceAndCountsSharedTimeOnce) {
  SystemRunner runner;
  const auto before = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      ProcessSpec spec = shell("cat; sleep 0.2");
      spec.stdin_text = "input " + std::to_string(i);
      const auto outcome = runner.run(spec);
      ASSERT_TRUE(outcome.has_value());
      EXPECT_EQ(outcome->out, spec.stdin_text);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GE(runner.child_wall(), 200ms);
  const auto wall = std::chrono::steady_clock::now() - before;
  EXPECT_LE(runner.child_wall(), wall);
}

TEST(SystemRunner, WhenWeDieTheChildDies) {
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const pid_t us = ::fork();
  if (us == 0) {
    SystemRunner runner;
    const auto report = [&](Stream, std::string_view line) {
      const std::string text = std::string(line) + "\n";
      [[maybe_unused]] const auto count = ::write(channel[1], text.data(), text.size());
    };
    static_cast<void>(runner.run(shell("echo $$; exec sleep 63"), report));
    ::_exit(0);
  }
  char buffer[32] = {};
  ASSERT_GT(::read(channel[0], buffer, sizeof buffer - 1), 0);
  const int child = std::stoi(buffer);
  EXPECT_TRUE(runs(child));
  ::kill(us, SIGKILL);
  ::waitpid(us, nullptr, 0);
  EXPECT_TRUE(gone_soon(child));
}

}  // namespace
}  // namespace lwb
