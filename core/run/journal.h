// The journal: every fact of a run, one JSON line each, append-only (design rule 1).
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace lwb {

inline constexpr int kJournalSchema = 1;

struct Event {
  long long seq = 0;
  std::string time;  // ISO 8601 UTC, milliseconds
  std::string type;  // "request", "cells", "samples", "variant", "verdicts", …: see events.h
  Json data;
};

class Journal {
 public:
  // Opens or creates; a torn last line (kill -9 while writing) is cut off. Only one process writes.
  static Result<Journal> open(const std::filesystem::path& file);
  Journal() = default;

  // Appends and flushes to the operating system; `durable` also fsyncs (before and after a write to
  // the user's tree).
  Result<void> append(const std::string& type, Json data, bool durable = false);
  const std::vector<Event>& events() const { return events_; }
  const std::filesystem::path& file() const { return file_; }
  // Told of each event after it was written.
  void on_event(std::function<void(const Event&)> listener) { listener_ = std::move(listener); }

 private:
  std::filesystem::path file_;
  std::vector<Event> events_;
  std::function<void(const Event&)> listener_;
};

Result<std::vector<Event>> read_journal(const std::filesystem::path& file);
Json to_json(const Event&);

}  // namespace lwb
