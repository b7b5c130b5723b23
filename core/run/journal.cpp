#include "core/run/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDateTime>
#include <cerrno>
#include <system_error>

#include "core/base/files.h"

namespace lwb {
namespace {

tl::unexpected<Error> cannot_write(const fs::path& file, int code) {
  return fail(
      ErrorKind::kPreflight,
      fmt::format("The journal {} cannot be written ({}); free disk space or make the folder "
                  "writable, then start the same command again.",
                  file.string(), std::generic_category().message(code)));
}

std::shared_ptr<const int> owned(int fd) {
  return {new int(fd), [](const int* held) {
            ::close(*held);
            delete held;
          }};
}

Result<Event> parse_event(std::string_view line, const std::string& what) {
  auto document = parse_json(line, what);
  if (!document) return tl::unexpected(document.error());
  if (const long long schema = get_integer(*document, "v"); schema != kJournalSchema) {
    return fail(ErrorKind::kPreflight,
                fmt::format("The {} was written with journal schema {}, but this program reads {}; "
                            "open it with the program that wrote it, or move the journal away.",
                            what, schema, kJournalSchema));
  }
  Event event{get_integer(*document, "seq"), get_string(*document, "time"),
              get_string(*document, "type"), Json::object()};
  if (event.seq <= 0 || event.type.empty()) {
    return fail(
        ErrorKind::kPreflight,
        fmt::format("The {} is no event (it has no seq or type); move the journal away.", what));
  }
  if (const auto data = document->find("data"); data != document->end())
    event.data = std::move(*data);
  return event;
}

// A last line is torn when it has no line end, or when it is no JSON: a power cut can leave a line
// of zeros. Anywhere else an unreadable line is damage that nobody may pass over.
Result<JournalPart> parse_lines(std::string_view content, const fs::path& file) {
  JournalPart parsed;
  for (long long number = 1; parsed.bytes < content.size(); ++number) {
    const std::size_t end = content.find('\n', parsed.bytes);
    if (end == std::string_view::npos) break;
    const std::string_view line = content.substr(parsed.bytes, end - parsed.bytes);
    auto event = parse_event(line, fmt::format("journal {}, line {}", file.string(), number));
    if (!event) {
      const bool is_last = end + 1 == content.size();
      if (is_last && !Json::accept(line)) break;
      return tl::unexpected(event.error());
    }
    parsed.events.push_back(std::move(*event));
    parsed.bytes = end + 1;
  }
  return parsed;
}

int write_line(int fd, std::string_view line) {
  struct stat before {};
  if (::fstat(fd, &before) != 0) return errno;
  while (!line.empty()) {
    const ssize_t count = ::write(fd, line.data(), line.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int code = errno;
      [[maybe_unused]] const int cut = ::ftruncate(fd, before.st_size);
      return code;
    }
    line.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace

Json to_json(const Event& event) {
  return {{"v", kJournalSchema},
          {"seq", event.seq},
          {"time", event.time},
          {"type", event.type},
          {"data", event.data}};
}

Result<std::vector<Event>> read_journal(const fs::path& file) {
  const auto content = read_file(file);
  if (!content) return tl::unexpected(content.error());
  auto parsed = parse_lines(*content, file);
  if (!parsed) return tl::unexpected(parsed.error());
  return std::move(parsed->events);
}

Result<JournalPart> parse_journal_part(std::string_view text, const fs::path& file) {
  return parse_lines(text, file);
}

Result<Journal> Journal::open(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  const bool is_new = !fs::exists(file, error);
  const int fd = ::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return cannot_write(file, errno);
  Journal journal;
  journal.file_ = file;
  journal.descriptor_ = owned(fd);
  if (is_new) {  // the file's name must survive a power cut as well as its lines
    const auto folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    const auto handle = owned(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ::fsync(*handle);
    return journal;
  }
  const auto content = read_file(file);
  if (!content) return tl::unexpected(content.error());
  auto parsed = parse_lines(*content, file);
  if (!parsed) return tl::unexpected(parsed.error());
  if (parsed->bytes < content->size() && ::ftruncate(fd, static_cast<off_t>(parsed->bytes)) != 0) {
    return cannot_write(file, errno);
  }
  journal.events_ = std::move(parsed->events);
  return journal;
}

Result<void> Journal::append(const std::string& type, Json data, bool durable) {
  if (!descriptor_) {
    return fail(ErrorKind::kInternal,
                fmt::format("The event '{}' has no journal to go to; open one first.", type));
  }
  const auto now = QDateTime::currentDateTimeUtc().toString(Qt::ISODateWithMs).toStdString();
  Event event{events_.empty() ? 1 : events_.back().seq + 1, now, type, std::move(data)};
  if (const int code = write_line(*descriptor_, print_json(to_json(event)) + "\n")) {
    return cannot_write(file_, code);
  }
  events_.push_back(std::move(event));
  if (durable && ::fsync(*descriptor_) != 0) return cannot_write(file_, errno);
  if (listener_) listener_(events_.back());
  return {};
}

}  // namespace lwb
