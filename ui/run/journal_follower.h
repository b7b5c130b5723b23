// Follows the journal of a run, written by another process: what the window shows is the fold of it.
#pragma once

#include <QFutureWatcher>
#include <QObject>
#include <QTimer>
#include <deque>
#include <filesystem>
#include <vector>

#include "core/run/journal.h"
#include "core/run/state.h"

namespace lwb {

// Reads and parses on another thread, and folds in slices of a few milliseconds, so that the window
// answers however fast the journal grows. When the file is replaced (a new run of the kernel), it
// begins again.
class JournalFollower : public QObject {
  Q_OBJECT
 public:
  explicit JournalFollower(QObject* parent = nullptr);
  ~JournalFollower() override;

  // The file may not exist yet. An empty path ends following.
  void follow(const std::filesystem::path& file);
  const std::filesystem::path& file() const { return file_; }

  const RunState& state() const { return state_; }
  // Looks at the file now instead of at the next tick.
  void look();
  // Everything that the file held when it was last looked at is folded.
  bool is_idle() const { return waiting_.empty() && !reader_.isRunning(); }

 Q_SIGNALS:
  // The state begins anew: another file, or the file was replaced.
  void restarted();
  // After a slice was folded; the events of that slice, in order.
  void folded(const std::vector<lwb::Event>& events);
  // A line that cannot be read; following has ended.
  void failed(const QString& sentence);

 private:
  struct Chunk {
    int generation = 0;      // of follow(): what was read for another file is dropped
    bool replaced = false;   // the file is another one than before: `events` are all of it
    long long offset = 0;    // where the next chunk begins
    unsigned long long inode = 0;
    std::vector<Event> events;
    QString problem;
  };
  static Chunk read_more(std::filesystem::path file, int generation, long long offset,
                         unsigned long long inode);
  void take(const Chunk& chunk);
  void fold_slice();

  std::filesystem::path file_;
  int generation_ = 0;
  long long offset_ = 0;
  unsigned long long inode_ = 0;
  RunState state_;
  std::deque<Event> waiting_;
  QFutureWatcher<Chunk> reader_;
  QTimer look_timer_, fold_timer_;
};

}  // namespace lwb
