#include "core/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QByteArray>
#include <QCryptographicHash>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <set>
#include <system_error>

namespace lwb {
namespace {

std::string reason(int code) {
  return std::generic_category().message(code);
}

tl::unexpected<Error> cannot(std::string_view what, const fs::path& file, int code) {
  const char* advice = "check the path and its permissions";
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) advice = "free disk space";
  if (code == EROFS) advice = "make its file system writable";
  return fail(ErrorKind::kPreflight,
              fmt::format("{} cannot be {} ({}); {}.", file.string(), what, reason(code), advice));
}

// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  // The error number of close(), which is where a network file system reports a failed write.
  int close() {
    const int failed = ::close(fd_) == 0 ? 0 : errno;
    fd_ = -1;
    return failed;
  }

 private:
  int fd_;
};

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// Not mkstemp: that one ignores the umask, which decides the mode of a new file.
int open_temporary(const fs::path& target, fs::path& temporary) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    temporary = target.parent_path() / fmt::format(".{}.{}-{}-{:x}.tmp", target.filename().string(),
                                                   ::getpid(), counter++, now);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Zero, or the error number of the step that failed.
int fill_and_rename(Descriptor& fd, const fs::path& temporary, const fs::path& target,
                    std::string_view content) {
  struct stat old {};
  if (::stat(target.c_str(), &old) == 0) {
    // A file of another owner stays theirs where we are allowed to; else it becomes ours.
    [[maybe_unused]] const int owner = ::fchown(fd.get(), old.st_uid, old.st_gid);
    if (::fchmod(fd.get(), old.st_mode & 07777) != 0) return errno;
  }
  if (const int code = write_all(fd.get(), content)) return code;
  if (::fsync(fd.get()) != 0) return errno;
  if (const int code = fd.close()) return code;
  if (::rename(temporary.c_str(), target.c_str()) != 0) return errno;
  return 0;
}

int sync_folder(const fs::path& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return errno;
  // Some network file systems cannot sync a folder and say EINVAL: nothing more can be done there.
  return ::fsync(fd.get()) == 0 || errno == EINVAL ? 0 : errno;
}

bool is_inside(const fs::path& path, const fs::path& root) {
  const auto [rest, end] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return rest == root.end();
}

class TreeCopy {
 public:
  // `target` counts as open from the start: a copy that lies in its own original would never end.
  TreeCopy(fs::path root, const fs::path& target, bool (*skip)(const fs::path&))
      : root_(std::move(root)), skip_(skip), open_{target} {}

  Result<void> folder(const fs::path& from, const fs::path& to, const fs::path& relative) {
    std::error_code error;
    const fs::path real = fs::canonical(from, error);
    if (error) return cannot("read", from, error.value());
    if (!open_.insert(real).second) return {};
    fs::create_directories(to, error);
    if (error) return cannot("created", to, error.value());
    fs::directory_iterator entries(from, error);
    if (error) return cannot("read", from, error.value());
    for (const fs::directory_iterator end; entries != end; entries.increment(error)) {
      if (error) return cannot("read", from, error.value());
      const fs::path name = entries->path().filename();
      if (skip_ != nullptr && skip_(relative / name)) continue;
      if (auto done = entry(*entries, to / name, relative / name); !done) return done;
    }
    open_.erase(real);
    return {};
  }

 private:
  Result<void> entry(const fs::directory_entry& from, const fs::path& to,
                     const fs::path& relative) {
    std::error_code error;
    if (from.is_symlink(error)) {
      const fs::path target = fs::canonical(from.path(), error);
      if (error || !is_inside(target, root_)) return {};
    }
    if (from.is_directory(error)) return folder(from.path(), to, relative);
    if (!from.is_regular_file(error)) return {};
    fs::copy_file(from.path(), to, fs::copy_options::overwrite_existing, error);
    if (error) return cannot(fmt::format("copied to {}", to.string()), from.path(), error.value());
    return {};
  }

  fs::path root_;
  bool (*skip_)(const fs::path&);
  std::set<fs::path> open_;  // real paths of the folders that we are in, and the target
};

}  // namespace

Result<std::string> read_file(const fs::path& file) {
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return cannot("read", file, errno);
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) return cannot("read", file, errno);
  std::string content;
  std::size_t filled = 0;
  // Files of /proc say size 0: read until nothing more comes, whatever the size said.
  content.resize(static_cast<std::size_t>(std::max<off_t>(facts.st_size, 0)) + 1);
  for (;;) {
    if (filled == content.size()) content.resize(content.size() * 2);
    const ssize_t count = ::read(fd.get(), content.data() + filled, content.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("read", file, errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  content.resize(filled);
  return content;
}

Result<void> write_file_atomically(const fs::path& file, std::string_view content) {
  std::error_code error;
  fs::path target = fs::absolute(file, error);
  if (error) return cannot("written", file, error.value());
  if (fs::is_symlink(target, error)) {
    target = fs::canonical(target, error);
    if (error) return cannot("written", file, error.value());
  }
  fs::create_directories(target.parent_path(), error);
  if (error) return cannot("created", target.parent_path(), error.value());
  fs::path temporary;
  Descriptor fd(open_temporary(target, temporary));
  if (fd.get() < 0) return cannot("written", file, errno);
  if (const int code = fill_and_rename(fd, temporary, target, content)) {
    ::unlink(temporary.c_str());
    return cannot("written", file, code);
  }
  if (const int code = sync_folder(target.parent_path())) {
    return cannot("synced to disk", target.parent_path(), code);
  }
  return {};
}

std::string sha256_hex(std::string_view bytes) {
  QCryptographicHash hash(QCryptographicHash::Sha256);
  hash.addData(QByteArray::fromRawData(bytes.data(), static_cast<qsizetype>(bytes.size())));
  return hash.result().toHex().toStdString();
}

Result<std::string> sha256_of_file(const fs::path& file) {
  return read_file(file).map([](const std::string& content) { return sha256_hex(content); });
}

Result<void> copy_tree(const fs::path& from, const fs::path& to,
                       bool (*skip)(const fs::path& relative)) {
  std::error_code error;
  const fs::path root = fs::canonical(from, error);
  if (error) return cannot("read", from, error.value());
  fs::create_directories(to, error);
  if (error) return cannot("created", to, error.value());
  const fs::path target = fs::canonical(to, error);
  if (error || target == root) return cannot("copied to itself", from, error.value());
  return TreeCopy(root, target, skip).folder(root, to, {});
}

Result<std::uintmax_t> free_bytes(const fs::path& path) {
  std::error_code error;
  fs::path existing = fs::absolute(path, error);
  while (!fs::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  const fs::space_info space = fs::space(existing, error);
  if (error) return cannot("asked for its free space", existing, error.value());
  return space.available;
}

}  // namespace lwb
