#include "core/run/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDateTime>
#include <array>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <system_error>
#include <thread>

#include "core/base/files.h"
#include "core/base/json.h"

namespace lwb {
namespace {

tl::unexpected<Error> cannot(std::string_view what, const fs::path& file, int code) {
  return fail(
      ErrorKind::kPreflight,
      fmt::format("The lock {} cannot be {} ({}); make it writable, or remove it when no run "
                  "uses it.",
                  file.string(), what, std::generic_category().message(code)));
}

// Field 22 of /proc/<pid>/stat (proc(5)), in clock ticks since boot; 0 when there is no such
// process or it is only a zombie.
long long start_ticks(long long pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return 0;
  const std::size_t name_end = stat->rfind(')');  // the name may hold blanks and parentheses
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat->substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22 && fields >> field; ++number) {
    if (number == 3 && (field == "Z" || field == "X")) return 0;
  }
  return fields ? std::atoll(field.c_str()) : 0;
}

std::string user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    return found->pw_name;
  }
  return fmt::format("user {}", ::getuid());
}

std::string host_name() {
  std::array<char, 256> buffer{};
  ::gethostname(buffer.data(), buffer.size() - 1);
  return buffer.data();
}

LockOwner this_process(const std::string& kernel) {
  LockOwner owner;
  owner.pid = ::getpid();
  owner.start_ticks = start_ticks(owner.pid);
  owner.host = host_name();
  owner.user = user_name();
  owner.kernel = kernel;
  owner.since = QDateTime::currentDateTimeUtc().toString(Qt::ISODate).toStdString();
  return owner;
}

std::string record_of(const LockOwner& owner) {
  return print_json({{"pid", owner.pid},
                     {"start_ticks", owner.start_ticks},
                     {"host", owner.host},
                     {"user", owner.user},
                     {"kernel", owner.kernel},
                     {"since", owner.since}}) +
         "\n";
}

// Nothing when the file is empty or is just being written.
std::optional<LockOwner> read_record(const fs::path& file) {
  const auto content = read_file(file);
  if (!content || content->empty()) return std::nullopt;
  const auto record = parse_json(*content, "lock");
  if (!record) return std::nullopt;
  return LockOwner{get_integer(*record, "pid"),   get_integer(*record, "start_ticks"),
                   get_string(*record, "host"),   get_string(*record, "user"),
                   get_string(*record, "kernel"), get_string(*record, "since")};
}

// Opens without O_CREAT first: in a shared sticky folder Linux refuses O_CREAT on other users'
// files (fs.protected_regular). Every user may take the lock, whatever the umask of who made the
// file.
int open_lock_file(const fs::path& file) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd >= 0) {
      [[maybe_unused]] const int mode = ::fchmod(fd, 0666);
      return fd;
    }
    if (errno != EEXIST) return fd;
  }
  return -1;
}

// Whether the file that we locked is still the one that others find: somebody may have removed it.
bool is_current(int fd, const fs::path& file) {
  struct stat ours {};
  struct stat theirs {};
  return ::fstat(fd, &ours) == 0 && ::stat(file.c_str(), &theirs) == 0 &&
         ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

// Closing gives the lock back; before that the record is wiped, so that one which is found later
// belongs to a process that died.
std::shared_ptr<const int> held_descriptor(int fd) {
  return {new int(fd), [](const int* held) {
            [[maybe_unused]] const int wiped = ::ftruncate(*held, 0);
            ::close(*held);
            delete held;
          }};
}

}  // namespace

std::string describe(const LockOwner& owner) {
  return fmt::format("the run of {} by {} on {} (process {}, since {})", owner.kernel, owner.user,
                     owner.host, owner.pid, owner.since);
}

bool is_alive(const LockOwner& owner) {
  const long long ticks = owner.pid > 0 ? start_ticks(owner.pid) : 0;
  return ticks != 0 && ticks == owner.start_ticks;
}

Result<Lock> Lock::take(const fs::path& file, const std::string& kernel, const CancelToken& cancel,
                        const std::function<void(const LockOwner&)>& waiting) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  std::string told;
  for (;;) {
    const int fd = open_lock_file(file);
    if (fd < 0) return cannot("opened", file, errno);
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
      if (is_current(fd, file)) {
        Lock lock;
        lock.taken_over_from_ = read_record(file);
        lock.descriptor_ = held_descriptor(fd);
        lock.owner_ = this_process(kernel);
        const std::string record = record_of(lock.owner_);
        if (::ftruncate(fd, 0) != 0 ||
            ::pwrite(fd, record.data(), record.size(), 0) != static_cast<ssize_t>(record.size())) {
          return cannot("written", file, errno);
        }
        return lock;
      }
      ::close(fd);
      continue;  // removed between open and flock: lock the new one
    }
    const int code = errno;
    ::close(fd);
    if (code != EWOULDBLOCK && code != EINTR)
      return cannot("locked on this file system", file, code);
    if (const auto owner = read_record(file); owner && waiting && describe(*owner) != told) {
      told = describe(*owner);
      waiting(*owner);
    }
    if (cancel.cancelled()) {
      return fail(
          ErrorKind::kStopped,
          fmt::format("Stopped while waiting for the lock {}{}; start the same command again "
                      "later.",
                      file.string(), told.empty() ? "" : " held by " + told));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

std::optional<LockOwner> lock_holder(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  // Shared, for a moment: who wants to take the lock just then looks again 200 ms later.
  const bool is_free = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
  ::close(fd);
  return is_free ? std::nullopt : read_record(file);
}

namespace {

// The folder that all users share, made when it is missing.
Result<void> make_lock_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0777) == 0) {
    if (::chmod(folder.c_str(), 01777) != 0)
      return cannot("shared with other users", folder, errno);
  } else if (errno != EEXIST) {
    return cannot("created", folder, errno);
  }
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) {
    return cannot("used as a folder", folder, ENOTDIR);
  }
  return {};
}

}  // namespace

Result<fs::path> checkout_lock_file(const fs::path& root, const fs::path& folder) {
  struct stat facts {};
  if (::stat(root.c_str(), &facts) != 0) return cannot("named for the checkout", root, errno);
  if (auto made = make_lock_folder(folder); !made) return tl::unexpected(made.error());
  return folder / fmt::format("checkout-{:x}-{:x}.lock", facts.st_dev, facts.st_ino);
}

Result<fs::path> gpu_lock_file(const std::string& uuid, const fs::path& folder) {
  if (auto made = make_lock_folder(folder); !made) return tl::unexpected(made.error());
  std::string name;  // a UUID as the driver prints it; anything else cannot leave the folder
  for (const char c : uuid) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    name += plain ? c : '_';
  }
  return folder / ("gpu-" + (name.empty() ? "unknown" : name) + ".lock");
}

}  // namespace lwb
