// The journal: every fact of a run, one JSON line each, append-only (design rule 1).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace lwb {

// Written into every line as "v". A journal of a newer schema is refused, never guessed at.
inline constexpr int kJournalSchema = 1;

struct Event {
  long long seq = 0;  // 1, 2, 3, …
  std::string time;   // ISO 8601 UTC, milliseconds
  std::string type;   // "run_started", "samples", "variant", …: listed in state.h
  Json data;
};

class Journal {
 public:
  // Opens or creates, with missing folders. A torn last line (kill -9 or a power cut while writing)
  // is cut off; a line that cannot be read anywhere else is an error that names it. Only one
  // process writes: see lock.h.
  static Result<Journal> open(const std::filesystem::path& file);
  Journal() = default;

  // Appends one line and hands it to the operating system in one write; `durable` also fsyncs
  // (before and after a write to the user's tree). When the line could not be written whole (full
  // disk) the file is cut back to what it was and the event is not part of events().
  Result<void> append(const std::string& type, Json data, bool durable = false);
  const std::vector<Event>& events() const { return events_; }
  const std::filesystem::path& file() const { return file_; }
  // Told of each event after it was written.
  void on_event(std::function<void(const Event&)> listener) { listener_ = std::move(listener); }

 private:
  std::filesystem::path file_;
  std::shared_ptr<const int> descriptor_;  // closes with the last copy
  std::vector<Event> events_;
  std::function<void(const Event&)> listener_;
};

// What the file holds so far; a last line that is still being written is left out. Also for a
// journal that another process is writing.
Result<std::vector<Event>> read_journal(const std::filesystem::path& file);
// Lines of a journal that is followed while it grows. `bytes`: the length of the complete lines; what
// comes after them is read again with the next part. `file` is for the error's sentence.
struct JournalPart {
  std::vector<Event> events;
  std::size_t bytes = 0;
};
Result<JournalPart> parse_journal_part(std::string_view text, const std::filesystem::path& file);
Json to_json(const Event&);

}  // namespace lwb
