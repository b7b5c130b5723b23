// A lock between processes: one run at a time on one checkout and on one GPU (spec section 9). It
// says who holds it, is taken over when the holder has died, and waits for a living one.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/process/process.h"

namespace lwb {

// Who holds a lock, as written in its file.
struct LockOwner {
  long long pid = 0;
  long long start_ticks = 0;  // field 22 of /proc/<pid>/stat: tells a pid used again
  std::string host;
  std::string user;
  std::string kernel;  // what the run works on
  std::string since;   // ISO 8601 UTC
};

// "the run of rms_norm by anna on host7 (process 4711, since 2026-01-02T03:04:05Z)"
std::string describe(const LockOwner& owner);

// True while that process lives: same pid and same start time. Only meaningful on `owner.host`.
bool is_alive(const LockOwner& owner);

// Held from take() until destroyed (or release()). The lock itself is the kernel's flock on the
// file: it ends with the process that holds it however it dies, and a run that waits then takes
// over. The owner's record in the file is for people; the file stays, empty, when nobody holds the
// lock.
class Lock {
 public:
  Lock() = default;

  // Waits while another process holds it, looking every 200 ms; `waiting` is told for whom, once
  // for each owner. kStopped when cancelled meanwhile, kPreflight when the file cannot be made.
  static Result<Lock> take(const std::filesystem::path& file, const std::string& kernel,
                           const CancelToken& cancel,
                           const std::function<void(const LockOwner&)>& waiting = {});

  bool held() const { return descriptor_ != nullptr; }
  const LockOwner& owner() const { return owner_; }  // us
  // The holder that died without releasing it, when it was taken over from one.
  const std::optional<LockOwner>& taken_over_from() const { return taken_over_from_; }
  void release() { descriptor_.reset(); }

 private:
  std::shared_ptr<const int> descriptor_;
  LockOwner owner_;
  std::optional<LockOwner> taken_over_from_;
};

// Who holds the lock now, if anybody does; for looking at it without taking it.
std::optional<LockOwner> lock_holder(const std::filesystem::path& file);

// Where the locks of this machine lie, for all users.
inline constexpr const char* kLockFolder = "/tmp/liger-workbench-locks";

// The lock file of a checkout: whatever the kernel, the work area and the path by which it was
// named, two runs never write one tree at once. Outside of the tree, where nothing but a workspace
// and the winner may be written (spec section 9), and which may be read-only. The folder is known
// by its device and inode, so links and mounts of it are the same. Makes `folder` (mode 1777).
Result<std::filesystem::path> checkout_lock_file(const std::filesystem::path& root,
                                                 const std::filesystem::path& folder = kLockFolder);

// The lock file of a GPU, named by its UUID; makes `folder` (mode 1777) when it is missing.
Result<std::filesystem::path> gpu_lock_file(const std::string& uuid,
                                            const std::filesystem::path& folder = kLockFolder);

}  // namespace lwb
