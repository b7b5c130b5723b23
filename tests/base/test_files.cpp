// Reading and durable writing (field-notes C41): a failed write leaves the old bytes and no litter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/base/files.h"

namespace lwb {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("lwb-files-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  static mode_t mode_of(const fs::path& file) {
    struct stat facts {};
    ::stat(file.c_str(), &facts);
    return facts.st_mode & 07777;
  }

  fs::path root_;
};

TEST_F(Files, WritesWhatItReads) {
  const fs::path file = root_ / "new/folder/ü file.txt";
  const std::string content("one\r\ntwo\0three", 14);
  ASSERT_TRUE(write_file_atomically(file, content));
  EXPECT_EQ(*read_file(file), content);
  ASSERT_TRUE(write_file_atomically(file, ""));
  EXPECT_EQ(*read_file(file), "");
  EXPECT_THAT(names_in(file.parent_path()), UnorderedElementsAre("ü file.txt"));
}

TEST_F(Files, ReadsFilesOfUnknownSize) {
  EXPECT_THAT(*read_file("/proc/self/status"), HasSubstr("Pid:"));
}

TEST_F(Files, SaysWhichFileCannotBeRead) {
  for (const fs::path& file : {root_ / "missing", root_}) {
    const auto result = read_file(file);
    ASSERT_FALSE(result.has_value());
    EXPECT_THAT(result.error().sentence, HasSubstr(file.string() + " cannot be read ("));
  }
}

TEST_F(Files, KeepsPermissionsAndFollowsTheUmaskForNewFiles) {
  const fs::path file = root_ / "script.sh";
  const mode_t before = ::umask(027);
  ASSERT_TRUE(write_file_atomically(file, "1"));
  EXPECT_EQ(mode_of(file), 0640u);
  ASSERT_EQ(::chmod(file.c_str(), 0751), 0);
  ASSERT_TRUE(write_file_atomically(file, "2"));
  ::umask(before);
  EXPECT_EQ(mode_of(file), 0751u);
  EXPECT_EQ(*read_file(file), "2");
}

TEST_F(Files, WritesTheFileBehindALink) {
  ASSERT_TRUE(write_file_atomically(root_ / "real/file", "old"));
  fs::create_symlink("real/file", root_ / "link");
  ASSERT_TRUE(write_file_atomically(root_ / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
  EXPECT_EQ(*read_file(root_ / "real/file"), "new");
}

// In a child of its own: the limit cannot be lifted again by an ordinary user.
TEST_F(Files, AWriteThatFailsHalfWayLeavesTheOldFileAndNoLitter) {
  const fs::path file = root_ / "kernel.py";
  ASSERT_TRUE(write_file_atomically(file, "original"));
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto result = write_file_atomically(file, std::string(1 << 20, 'x'));
    const bool right = !result && result.error().kind == ErrorKind::kPreflight &&
                       result.error().sentence.find("free disk space") != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*read_file(file), "original");
  EXPECT_THAT(names_in(root_), UnorderedElementsAre("kernel.py"));
}

TEST_F(Files, AFullDiskLeavesTheOldFileAndNoLitter) {
  const fs::path disk = root_ / "disk";
  fs::create_directories(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "only root may mount a small file system";
  }
  const fs::path file = disk / "kernel.py";
  EXPECT_TRUE(write_file_atomically(file, "original"));
  const auto result = write_file_atomically(file, std::string(1 << 20, 'x'));
  EXPECT_FALSE(result.has_value());
  if (!result) {
    EXPECT_THAT(result.error().sentence, HasSubstr("No space left on device"));
  }
  EXPECT_EQ(*read_file(file), "original");
  EXPECT_THAT(names_in(disk), UnorderedElementsAre("kernel.py"));
  const auto space = free_bytes(disk);
  EXPECT_TRUE(space && *space > 0 && *space <= 256 * 1024);
  ::umount(disk.c_str());
}

TEST_F(Files, AFolderThatCannotBeWrittenIsSaid) {
  const auto result = write_file_atomically("/proc/nowhere/file", "x");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::kPreflight);
  ASSERT_TRUE(write_file_atomically(root_ / "file", "x"));
  EXPECT_FALSE(write_file_atomically(root_ / "file/below", "x").has_value());
}

// kill -9 of a writer at any moment: the file is one of its versions, whole.
TEST_F(Files, AKilledWriterLeavesAWholeFile) {
  const fs::path file = root_ / "kernel.py";
  ASSERT_TRUE(write_file_atomically(file, std::string(200000, 'a')));
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
        static_cast<void>(write_file_atomically(file, std::string(200000, letter)));
      }
    }
    ::usleep(static_cast<useconds_t>(2000 + round * 700));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto content = read_file(file);
    ASSERT_TRUE(content.has_value());
    ASSERT_EQ(content->size(), 200000u);
    ASSERT_EQ(*content, std::string(200000, content->front()));
  }
}

TEST_F(Files, HashesAsSha256sumDoes) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  ASSERT_TRUE(write_file_atomically(root_ / "abc", "abc"));
  EXPECT_EQ(*sha256_of_file(root_ / "abc"), sha256_hex("abc"));
  EXPECT_FALSE(sha256_of_file(root_ / "none").has_value());
}

TEST_F(Files, CopiesATreeWithItsLinksInsideOnly) {
  const fs::path from = root_ / "from";
  ASSERT_TRUE(write_file_atomically(from / "src/a.py", "a"));
  ASSERT_TRUE(write_file_atomically(from / "run.sh", "r"));
  ASSERT_TRUE(write_file_atomically(from / ".git/config", "g"));
  ASSERT_TRUE(write_file_atomically(root_ / "secret", "s"));
  fs::permissions(from / "run.sh", fs::perms::owner_all);
  fs::create_directories(from / "empty");
  fs::create_symlink("src/a.py", from / "inside.py");
  fs::create_symlink("src", from / "inside");
  fs::create_symlink("..", from / "src/loop");
  fs::create_symlink("../secret", from / "outside");
  fs::create_symlink("nowhere", from / "dangling");
  ASSERT_EQ(::mkfifo((from / "pipe").c_str(), 0600), 0);
  const fs::path to = root_ / "to";
  ASSERT_TRUE(copy_tree(from, to, [](const fs::path& path) { return path == ".git"; }));
  EXPECT_THAT(names_in(to), UnorderedElementsAre("src", "run.sh", "empty", "inside.py", "inside"));
  EXPECT_EQ(*read_file(to / "inside.py"), "a");
  EXPECT_FALSE(fs::is_symlink(to / "inside.py"));
  EXPECT_THAT(names_in(to / "inside"), UnorderedElementsAre("a.py"));
  EXPECT_EQ(mode_of(to / "run.sh"), 0700u);
}

TEST_F(Files, CopiesATreeIntoAFolderOfItsOwn) {
  ASSERT_TRUE(write_file_atomically(root_ / "a", "a"));
  const fs::path to = root_ / "optimization/sandbox";
  ASSERT_TRUE(copy_tree(root_, to));
  EXPECT_THAT(names_in(to), UnorderedElementsAre("a", "optimization"));
  EXPECT_FALSE(copy_tree(root_, root_).has_value());
  EXPECT_FALSE(copy_tree(root_ / "none", to).has_value());
}

TEST_F(Files, TellsFreeSpaceForAFileThatIsNotThereYet) {
  const auto space = free_bytes(root_ / "not/yet/there");
  ASSERT_TRUE(space.has_value());
  EXPECT_GT(*space, 0u);
}

}  // namespace
}  // namespace lwb
