// Real children recorded in one place and replayed in another (design rule 2).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/process/recorded_call.h"
#include "core/process/recording.h"

namespace lwb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A folder of its own for each test, removed at the end.
class Recording : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("lwb-recording-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  // A "checkout" with an input file that names its own folder, and a script that reads it.
  fs::path place(const std::string& name) {
    const fs::path folder = root_ / name;
    EXPECT_TRUE(
        write_file_atomically(folder / "input.json", R"({"src": ")" + folder.string() + R"("})"));
    return folder;
  }
  static PathTokens tokens(const fs::path& folder) {
    return {{{folder.string(), "@CHECKOUT@"}, {(folder / "work").string(), "@WORK@"}}};
  }
  ProcessSpec spec(const fs::path& folder, const std::string& script) const {
    ProcessSpec spec;
    spec.label = "child of a test";
    spec.argv = {"/bin/sh", "-c", script, folder.string()};
    spec.env = {{"PATH", "/usr/bin:/bin"}};
    spec.cwd = folder;
    spec.inputs = {folder / "input.json"};
    return spec;
  }
  RecordingHeader header() const {
    RecordingHeader header;
    header.recorded_on = "NVIDIA H200";
    header.recorded_at = "2026-01-02";
    header.program_version = "0.1.0";
    header.techniques = {"sweep", "round_robin_rows"};
    return header;
  }

  fs::path root_;
  SystemRunner system_;
};

TEST_F(Recording, IsReplayedElsewhereUnderOtherPaths) {
  const fs::path here = place("here");
  const fs::path there = place("somewhere else/ü");
  const fs::path file = root_ / "recording.jsonl";
  const std::string script =
      "job=$(cat); echo \"got $job\"; echo \"in $0/work\" >&2; mkdir -p work; "
      "echo \"file of $0/work\" > work/out.txt; printf '\\377\\000' > work/out.bin; exit 3";
  const auto call = [&](const fs::path& folder) {
    ProcessSpec asked = spec(folder, script);
    asked.stdin_text = R"({"checkout": ")" + folder.string() + R"("})";
    asked.outputs = {folder / "work/out.txt", folder / "work/out.bin", folder / "work/none.txt"};
    return asked;
  };
  const auto recorder = make_recorder(system_, file, header(), tokens(here));
  const auto then = recorder->run(call(here));
  ASSERT_TRUE(then.has_value());
  EXPECT_FALSE(then->recorded);
  EXPECT_THAT(*read_file(file), Not(HasSubstr(root_.string())));

  auto replay = make_replay(file, tokens(there));
  ASSERT_TRUE(replay.has_value()) << replay.error().sentence;
  ASSERT_TRUE(write_file_atomically(there / "work/none.txt", "stale"));
  std::vector<std::string> lines;
  const auto now = (*replay)->run(call(there), [&](Stream stream, std::string_view line) {
    lines.push_back((stream == Stream::kOut ? "out " : "err ") + std::string(line));
  });
  ASSERT_TRUE(now.has_value()) << now.error().sentence << now.error().details;
  EXPECT_EQ(now->end, ProcessEnd::kExited);
  EXPECT_EQ(now->exit_code, 3);
  EXPECT_TRUE(now->recorded);
  EXPECT_EQ(now->recorded_on, "NVIDIA H200");
  EXPECT_EQ((*replay)->recorded_on(), "NVIDIA H200");
  EXPECT_EQ(now->wall, then->wall);
  EXPECT_EQ(now->out, "got {\"checkout\": \"" + there.string() + "\"}\n");
  EXPECT_THAT(lines, ElementsAre("out got {\"checkout\": \"" + there.string() + "\"}",
                                 "err in " + there.string() + "/work"));
  EXPECT_EQ(*read_file(there / "work/out.txt"), "file of " + there.string() + "/work\n");
  EXPECT_EQ(*read_file(there / "work/out.bin"), std::string("\xff\0", 2));
  EXPECT_FALSE(fs::exists(there / "work/none.txt"));  // the child did not write it
}

TEST_F(Recording, RefusesByNameWhatWasNotRecorded) {
  const fs::path folder = place("a");
  const fs::path file = root_ / "recording.jsonl";
  const auto recorder = make_recorder(system_, file, header(), tokens(folder));
  ProcessSpec asked = spec(folder, "cat");
  asked.stdin_text = "seed 17";
  ASSERT_TRUE(recorder->run(asked).has_value());
  auto replay = make_replay(file, tokens(folder));
  ASSERT_TRUE(replay.has_value());

  asked.label = "smoke v2";
  asked.stdin_text = "seed 18";
  const auto answer = (*replay)->run(asked);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(answer.error().sentence, HasSubstr("'smoke v2' (/bin/sh -c cat "));
  EXPECT_THAT(answer.error().details, HasSubstr("Standard input differs at byte 6"));

  asked.stdin_text = "seed 17";
  EXPECT_TRUE((*replay)->run(asked).has_value());  // the label does not count
  ASSERT_TRUE(write_file_atomically(folder / "input.json", "changed"));
  const auto changed = (*replay)->run(asked);
  ASSERT_FALSE(changed.has_value());
  EXPECT_THAT(changed.error().details, HasSubstr("Input @CHECKOUT@/input.json has other content"));
}

TEST_F(Recording, TheSameCallIsAnsweredInTheOrderOfRecordingThenByItsLastAnswer) {
  const fs::path folder = place("a");
  const fs::path file = root_ / "recording.jsonl";
  const auto recorder = make_recorder(system_, file, header(), tokens(folder));
  const ProcessSpec count = spec(folder, "echo x >> n; wc -l < n | tr -d ' '");
  const ProcessSpec other = spec(folder, "echo other");
  ASSERT_TRUE(recorder->run(count).has_value());
  ASSERT_TRUE(recorder->run(other).has_value());
  ASSERT_TRUE(recorder->run(count).has_value());
  auto replay = make_replay(file, tokens(folder));
  ASSERT_TRUE(replay.has_value());
  std::vector<std::string> answers;
  for (const auto* asked : {&count, &count, &other, &count}) {
    answers.push_back(trim((*replay)->run(*asked)->out));
  }
  EXPECT_THAT(answers, ElementsAre("1", "2", "other", "2"));
}

TEST_F(Recording, KeepsOtherEndsThanAnExit) {
  const fs::path folder = place("a");
  const fs::path file = root_ / "recording.jsonl";
  const auto recorder = make_recorder(system_, file, header(), tokens(folder));
  ProcessSpec aborts = spec(folder, "kill -ABRT $$");
  ProcessSpec hangs = spec(folder, "sleep 50");
  hangs.wall_limit = std::chrono::milliseconds(200);
  ProcessSpec missing = spec(folder, "");
  missing.argv = {"no-such-tool", "check"};
  for (const auto* asked : {&aborts, &hangs, &missing}) {
    ASSERT_TRUE(recorder->run(*asked).has_value());
  }
  auto replay = make_replay(file, tokens(folder));
  ASSERT_TRUE(replay.has_value());
  EXPECT_EQ((*replay)->run(aborts)->signal, 6);
  EXPECT_EQ((*replay)->run(hangs)->end, ProcessEnd::kWallLimit);
  EXPECT_EQ((*replay)->run(missing)->end, ProcessEnd::kFailedToStart);
}

TEST_F(Recording, DoesNotKeepWhatTheUserStopped) {
  const fs::path folder = place("a");
  const fs::path file = root_ / "recording.jsonl";
  CancelToken cancel;
  cancel.cancel();
  SystemRunner stopped(&cancel);
  const auto recorder = make_recorder(stopped, file, header(), tokens(folder));
  EXPECT_EQ(recorder->run(spec(folder, "sleep 50"))->end, ProcessEnd::kCancelled);
  EXPECT_EQ(split_lines(*read_file(file)).size(), 1u);
}

TEST_F(Recording, KeepsAFolderOfOutputsAndStaysSmall) {
  const fs::path folder = place("a");
  const fs::path file = root_ / "recording.jsonl";
  const auto recorder = make_recorder(system_, file, header(), tokens(folder));
  ProcessSpec asked =
      spec(folder,
           "mkdir -p plots/sub; echo 1 > plots/b.txt; echo 2 > plots/sub/a.txt; "
           "i=0; while [ $i -lt 20000 ]; do echo '{\"event\":\"sample\",\"us\":62.4}';"
           " i=$((i+1)); done");
  asked.outputs = {folder / "plots"};
  const auto then = recorder->run(asked);
  ASSERT_TRUE(then.has_value());
  EXPECT_GT(then->out.size(), 500000u);
  EXPECT_LT(fs::file_size(file), 20000u);
  fs::remove_all(folder / "plots");
  auto replay = make_replay(file, tokens(folder));
  ASSERT_TRUE(replay.has_value());
  EXPECT_EQ((*replay)->run(asked)->out, then->out);
  EXPECT_EQ(*read_file(folder / "plots/sub/a.txt"), "2\n");
}

TEST_F(Recording, SaysWhatItIs) {
  const fs::path file = root_ / "recording.jsonl";
  static_cast<void>(make_recorder(system_, file, header(), {}));
  const auto read = read_recording_header(file);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->recorded_on, "NVIDIA H200");
  EXPECT_EQ(read->recorded_at, "2026-01-02");
  EXPECT_THAT(read->techniques, ElementsAre("sweep", "round_robin_rows"));
  EXPECT_EQ(read->journal_schema, 1);
}

TEST_F(Recording, RefusesWhatIsNoRecording) {
  const fs::path file = root_ / "recording.jsonl";
  EXPECT_FALSE(make_replay(file, {}).has_value());
  for (const char* content : {"", "no json\n", "{}\n", "{\"recording\":99}\n",
                              "{\"recording\":1}\n{\"key\":\"made up\"}\n"}) {
    ASSERT_TRUE(write_file_atomically(file, content));
    const auto replay = make_replay(file, {});
    ASSERT_FALSE(replay.has_value()) << content;
    EXPECT_EQ(replay.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(replay.error().sentence, HasSubstr(file.string()));
  }
}

TEST_F(Recording, AFullDiskIsSaid) {
  const auto recorder = make_recorder(system_, "/proc/no/recording", header(), {});
  EXPECT_FALSE(recorder->run(spec(place("a"), "exit 0")).has_value());
}

TEST(RecordingKey, DependsOnContentNotOnPlaceEnvironmentOrPythonsName) {
  ProcessSpec here;
  here.argv = {"/home/me/venv/bin/python3.12", "-u", "/home/me/scripts/a.py"};
  here.stdin_text = R"({"src":"/home/me/liger/src"})";
  ProcessSpec there = here;
  there.argv = {"python", "-u", "/opt/lwb/scripts/a.py"};
  there.stdin_text = R"({"src":"/tmp/x/src"})";
  there.env = {{"X", "1"}};
  there.cwd = "/";
  const PathTokens tokens_here{{{"/home/me/liger", "@C@"}, {"/home/me/scripts", "@S@"}}};
  const PathTokens tokens_there{{{"/tmp/x", "@C@"}, {"/opt/lwb/scripts", "@S@"}}};
  EXPECT_EQ(recording_key(here, tokens_here), recording_key(there, tokens_there));
  there.argv[1] = "-v";
  EXPECT_NE(recording_key(here, tokens_here), recording_key(there, tokens_there));
  // Parts do not run into each other.
  ProcessSpec two;
  two.argv = {"a", "b", "c"};
  ProcessSpec one = two;
  one.argv = {"a", "bc"};
  EXPECT_NE(recording_key(two, {}), recording_key(one, {}));
}

TEST(PathTokens, ReplaceTheLongestPathAndWholeNamesOnly) {
  const PathTokens tokens{{{"/a/liger", "@C@"}, {"/a/liger/work/", "@W@"}, {"/", "@ROOT@"}}};
  EXPECT_EQ(tokens.tokenize("/a/liger/work/x /a/liger/src \"/a/liger\" -I/a/liger."),
            "@W@/x @C@/src \"@C@\" -I@C@.");
  EXPECT_EQ(tokens.tokenize("/a/liger2 /a/liger-0.8.5 /a/liger_x"),
            "/a/liger2 /a/liger-0.8.5 /a/liger_x");
  EXPECT_EQ(tokens.expand("@W@/x @C@"), "/a/liger/work/x /a/liger");
}

TEST(PathTokens, KnowPathsAsJsonInAsciiWritesThem) {
  const PathTokens tokens{{{"/tmp/b/ü repo", "@C@"}, {"/real/ü repo", "@C@"}}};
  EXPECT_EQ(tokens.tokenize(R"({"file": "/tmp/b/\u00fc repo/x"})"), R"({"file": "@C@/x"})");
  EXPECT_EQ(tokens.tokenize("/real/ü repo/x"), "@C@/x");
  EXPECT_EQ(tokens.expand("@C@/x"), "/tmp/b/ü repo/x");
}

TEST(RecordedBytes, SurvivePacking) {
  for (const std::string& bytes :
       {std::string(), std::string("text\n"), std::string("\xff\xfe\0\1", 4),
        std::string("a\0b", 3), std::string(100000, 'x'), "ü" + std::string(5000, 'y')}) {
    EXPECT_EQ(unpack(*parse_json(print_json(pack(bytes)), "packed")), bytes);
  }
}

}  // namespace
}  // namespace lwb
