// The standby: a script run by a Python that was started ahead must not differ from one of its own.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/process/process.h"

namespace lwb {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class StandbyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("standby-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::copy_file(fs::path(LWB_SOURCE_DIR) / "resources/python/lwb_standby.py",
                  folder_ / "lwb_standby.py");
    ASSERT_TRUE(write_file_atomically(
        folder_ / "script.py",
        "import os, sys\n"
        "warm = 'noisy' in sys.modules\n"
        "print(f'pid={os.getpid()} argv={sys.argv[0]} name={__name__} warm={warm}')\n"
        "job = sys.stdin.read()\n"
        "print('job=' + job)\n"
        "sys.exit(7 if 'fail' in job else 0)\n"));
    ASSERT_TRUE(write_file_atomically(folder_ / "noisy.py", "print('a module that talks')\n"));
    environment_ = {{"PATH", "/usr/bin:/bin"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  }
  ProcessSpec spec(const std::string& job) const {
    ProcessSpec spec;
    spec.argv = {"python3", "-u", (folder_ / "script.py").string()};
    spec.env = environment_;
    spec.cwd = folder_;
    spec.stdin_text = job;
    spec.wall_limit = 30s;
    return spec;
  }
  void keep(const std::string& first_line = R"(["noisy", "no_such_module"])") {
    runner_.keep_standby({{"python3", "-u", (folder_ / "lwb_standby.py").string()},
                          environment_,
                          folder_,
                          first_line});
  }
  std::vector<std::string> lines(const ProcessSpec& spec) {
    auto outcome = runner_.run(spec);
    EXPECT_TRUE(outcome);
    last_ = *outcome;
    return split_lines(outcome->out);
  }
  fs::path folder_;
  Environment environment_;
  SystemRunner runner_;
  ProcessOutcome last_;
};

TEST_F(StandbyTest, RunsTheScriptWithItsImportsDoneAndItsJob) {
  keep();
  const auto out = lines(spec("one\ntwo"));
  ASSERT_EQ(out.size(), 3u) << last_.out << last_.err;
  EXPECT_THAT(out[0],
              HasSubstr("argv=" + (folder_ / "script.py").string() + " name=__main__ warm=True"));
  EXPECT_EQ(out[1], "job=one");
  EXPECT_EQ(out[2], "two");
  EXPECT_THAT(last_.err, HasSubstr("a module that talks"));
  EXPECT_TRUE(last_.ok());
}

TEST_F(StandbyTest, EachScriptGetsAProcessOfItsOwnAndItsExitCode) {
  keep();
  const auto first = lines(spec("one"));
  const auto second = lines(spec("fail"));
  EXPECT_EQ(last_.exit_code, 7);
  EXPECT_NE(first[0], second[0]);
  EXPECT_THAT(second[0], HasSubstr("warm=True"));
}

TEST_F(StandbyTest, AnotherEnvironmentFolderOrProgramIsStartedAsBefore) {
  keep();
  ProcessSpec other = spec("job");
  other.env["EXTRA"] = "1";
  EXPECT_THAT(lines(other)[0], HasSubstr("warm=False"));
  other = spec("job");
  other.cwd = "/";
  EXPECT_THAT(lines(other)[0], HasSubstr("warm=False"));
  other = spec("job");
  other.argv.push_back("argument");
  EXPECT_THAT(lines(other)[0], HasSubstr("warm=False"));
}

TEST_F(StandbyTest, AStandbyThatDiedIsReplacedByAnOrdinaryStart) {
  ASSERT_TRUE(write_file_atomically(folder_ / "deadly.py", "import os\nos._exit(3)\n"));
  keep(R"(["deadly"])");
  std::this_thread::sleep_for(500ms);
  const auto out = lines(spec("job"));
  ASSERT_FALSE(out.empty());
  EXPECT_THAT(out[0], HasSubstr("warm=False"));
  EXPECT_TRUE(last_.ok());
}

TEST_F(StandbyTest, OnAnotherThreadItIsNotUsed) {
  keep();
  std::thread([&] { EXPECT_THAT(lines(spec("job"))[0], HasSubstr("warm=False")); }).join();
}

TEST_F(StandbyTest, NoneIsLeftBehind) {
  ASSERT_TRUE(write_file_atomically(folder_ / "tells.py",
                                    "import os\nopen('pid', 'w').write(str(os.getpid()))\n"));
  {
    SystemRunner runner;
    runner.keep_standby({{"python3", "-u", (folder_ / "lwb_standby.py").string()},
                         environment_,
                         folder_,
                         R"(["tells"])"});
    for (int i = 0; i < 200 && !fs::exists(folder_ / "pid"); ++i) std::this_thread::sleep_for(20ms);
    std::this_thread::sleep_for(100ms);
  }
  const auto pid = read_file(folder_ / "pid");
  ASSERT_TRUE(pid);
  EXPECT_NE(::kill(std::stoi(*pid), 0), 0);
}

}  // namespace
}  // namespace lwb
