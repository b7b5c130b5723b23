#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <system_error>

#include "core/base/files.h"
#include "core/process/recorded_call.h"

namespace lwb {
namespace {

// What the child left behind, read right after it ended.
RecordedOutput read_output(const fs::path& output, const PathTokens& tokens) {
  RecordedOutput recorded{tokens.tokenize(output.string()), false, {}};
  const auto keep = [&](const fs::path& file, std::string relative) {
    auto content = read_file(file);
    if (!content) return;
    if (is_utf8(*content)) content = tokens.tokenize(std::move(*content));
    recorded.files.push_back({std::move(relative), std::move(*content)});
  };
  std::error_code error;
  if (fs::is_directory(output, error)) {
    recorded.is_folder = true;
    for (const fs::path& file : files_below(output)) keep(output / file, file.generic_string());
  } else if (fs::is_regular_file(output, error)) {
    keep(output, "");
  }
  return recorded;
}

class Recorder final : public ProcessRunner {
 public:
  Recorder(ProcessRunner& inner, fs::path file, const RecordingHeader& header, PathTokens tokens)
      : inner_(inner), file_(std::move(file)), tokens_(std::move(tokens)) {
    started_ = write_file_atomically(file_, print_json(to_json(header)) + "\n");
  }

  Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink& sink) override {
    if (!started_) return tl::unexpected(started_.error());
    // Before the child runs: it may write over its own inputs.
    RecordedCall call;
    call.identity = identify(spec, tokens_);
    auto outcome = inner_.run(spec, sink);
    if (!outcome || outcome->end == ProcessEnd::kCancelled) return outcome;
    call.key = key_of(call.identity);
    call.label = spec.label;
    call.outcome = *outcome;
    call.outcome.out = tokens_.tokenize(std::move(call.outcome.out));
    call.outcome.err = tokens_.tokenize(std::move(call.outcome.err));
    for (const fs::path& output : spec.outputs) {
      call.outputs.push_back(read_output(output, tokens_));
    }
    if (auto written = append(print_json(to_json(call)) + "\n"); !written) {
      return tl::unexpected(written.error());
    }
    return outcome;
  }

  std::string recorded_on() const override { return inner_.recorded_on(); }
  std::chrono::milliseconds child_wall() const override { return inner_.child_wall(); }

 private:
  Result<void> append(const std::string& line) {
    const std::lock_guard guard(mutex_);
    const int fd = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    std::size_t done = 0;
    while (fd >= 0 && done < line.size()) {
      const ssize_t count = ::write(fd, line.data() + done, line.size() - done);
      if (count < 0 && errno != EINTR) break;
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    const int code = errno;
    if (fd >= 0) ::close(fd);
    if (done == line.size()) return {};
    return fail(ErrorKind::kPreflight,
                fmt::format("The recording {} cannot be written ({}); free disk space or record "
                            "elsewhere.",
                            file_.string(), std::generic_category().message(code)));
  }

  ProcessRunner& inner_;
  fs::path file_;
  PathTokens tokens_;
  Result<void> started_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<ProcessRunner> make_recorder(ProcessRunner& inner, fs::path file,
                                             RecordingHeader header, PathTokens tokens) {
  return std::make_unique<Recorder>(inner, std::move(file), header, std::move(tokens));
}

}  // namespace lwb
