#include "ui/run/journal_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QElapsedTimer>
#include <QtConcurrent>
#include <algorithm>
#include <iterator>

namespace lwb {

namespace {

constexpr int kLookMs = 150;        // how often the file is looked at
constexpr int kSliceMs = 8;         // of folding, before the event loop goes on
constexpr long long kChunkBytes = 4LL << 20;

std::string read_at(int descriptor, long long offset, long long bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), offset);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

}  // namespace

JournalFollower::JournalFollower(QObject* parent) : QObject(parent) {
  look_timer_.setInterval(kLookMs);
  fold_timer_.setInterval(0);
  connect(&look_timer_, &QTimer::timeout, this, &JournalFollower::look);
  connect(&fold_timer_, &QTimer::timeout, this, &JournalFollower::fold_slice);
  connect(&reader_, &QFutureWatcher<Chunk>::finished, this, [this] { take(reader_.result()); });
}

JournalFollower::~JournalFollower() {
  reader_.waitForFinished();
}

void JournalFollower::follow(const std::filesystem::path& file) {
  ++generation_;
  file_ = file;
  offset_ = 0;
  inode_ = 0;
  state_ = RunState{};
  waiting_.clear();
  fold_timer_.stop();
  Q_EMIT restarted();
  if (file_.empty()) {
    look_timer_.stop();
    return;
  }
  look_timer_.start();
  look();
}

void JournalFollower::look() {
  if (file_.empty() || reader_.isRunning() || !waiting_.empty()) return;
  reader_.setFuture(QtConcurrent::run(&JournalFollower::read_more, file_, generation_, offset_,
                                      inode_));
}

JournalFollower::Chunk JournalFollower::read_more(std::filesystem::path file, int generation,
                                                  long long offset, unsigned long long inode) {
  Chunk chunk;
  chunk.generation = generation;
  chunk.offset = offset;
  chunk.inode = inode;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    chunk.replaced = inode != 0;  // archived: the next run has not begun to write
    if (chunk.replaced) chunk.inode = 0, chunk.offset = 0;
    return chunk;
  }
  struct stat facts {};
  ::fstat(descriptor, &facts);
  if (facts.st_ino != inode || facts.st_size < offset) {
    chunk.replaced = inode != 0;
    chunk.inode = facts.st_ino;
    chunk.offset = 0;
  }
  const long long left = facts.st_size - chunk.offset;
  std::string text = read_at(descriptor, chunk.offset, std::min(kChunkBytes, left));
  if (left > kChunkBytes && text.find('\n') == std::string::npos) {  // one line of several MiB
    text = read_at(descriptor, chunk.offset, left);
  }
  ::close(descriptor);
  auto parsed = parse_journal_part(text, file);
  if (!parsed) {
    chunk.problem = QString::fromStdString(parsed.error().sentence);
    return chunk;
  }
  chunk.offset += static_cast<long long>(parsed->bytes);
  chunk.events = std::move(parsed->events);
  return chunk;
}

void JournalFollower::take(const Chunk& chunk) {
  if (chunk.generation != generation_) {
    look();
    return;
  }
  if (!chunk.problem.isEmpty()) {
    look_timer_.stop();
    Q_EMIT failed(chunk.problem);
    return;
  }
  offset_ = chunk.offset;
  inode_ = chunk.inode;
  if (chunk.replaced) {
    state_ = RunState{};
    waiting_.clear();
    Q_EMIT restarted();
  }
  if (chunk.events.empty()) return;
  waiting_.insert(waiting_.end(), chunk.events.begin(), chunk.events.end());
  fold_timer_.start();
}

void JournalFollower::fold_slice() {
  QElapsedTimer clock;
  clock.start();
  std::vector<Event> folded_now;
  while (!waiting_.empty() && clock.elapsed() < kSliceMs) {
    state_.apply_event(waiting_.front());
    folded_now.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (waiting_.empty()) {
    fold_timer_.stop();
    look();  // a long journal comes in several chunks
  }
  if (!folded_now.empty()) Q_EMIT folded(folded_now);
}

}  // namespace lwb
