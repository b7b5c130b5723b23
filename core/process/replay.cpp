#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/process/recorded_call.h"

namespace lwb {
namespace {

Result<RecordingHeader> parse_header(std::string_view line, const fs::path& file) {
  const auto document =
      parse_json(line, fmt::format("recording {}, line 1", file.string()), ErrorKind::kUsage);
  if (!document) return tl::unexpected(document.error());
  RecordingHeader header;
  header.schema = static_cast<int>(get_integer(*document, "recording"));
  if (header.schema != kRecordingSchema) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} is no recording of schema {}; record again with this program.",
                            file.string(), kRecordingSchema));
  }
  header.recorded_on = get_string(*document, "recorded_on");
  header.recorded_at = get_string(*document, "recorded_at");
  header.program_version = get_string(*document, "program_version");
  header.journal_schema = static_cast<int>(get_integer(*document, "journal_schema"));
  for (const Json& technique : get_array(*document, "techniques")) {
    if (technique.is_string()) header.techniques.push_back(technique.get<std::string>());
  }
  return header;
}

// Where two texts part, with a little of what stands there.
std::string first_difference(std::string_view then, std::string_view now) {
  const auto [a, b] = std::mismatch(then.begin(), then.end(), now.begin(), now.end());
  const auto at = static_cast<std::size_t>(a - then.begin());
  const std::size_t begin = at < 30 ? 0 : at - 30;
  return fmt::format("at byte {}: recorded “…{}…”, now “…{}…”", at, then.substr(begin, 90),
                     now.substr(begin, 90));
}

// What tells two calls apart, for whoever has to find out why a recording no longer fits.
std::string explain(const RecordedCall& then, const CallIdentity& now) {
  std::string text = fmt::format("The most similar recorded call is '{}'.\n", then.label);
  const CallIdentity& recorded = then.identity;
  if (recorded.program != now.program) {
    text += fmt::format("Program: recorded {}, now {}.\n", recorded.program, now.program);
  }
  if (recorded.arguments != now.arguments) {
    text += fmt::format("Arguments: recorded {}, now {}.\n", join(recorded.arguments, " "),
                        join(now.arguments, " "));
  }
  if (recorded.stdin_text != now.stdin_text) {
    text += fmt::format("Standard input differs {}.\n",
                        first_difference(recorded.stdin_text, now.stdin_text));
  }
  for (std::size_t i = 0; i < std::max(recorded.inputs.size(), now.inputs.size()); ++i) {
    if (i >= recorded.inputs.size()) {
      text += fmt::format("Input {} is new.\n", now.inputs[i].first);
    } else if (i >= now.inputs.size()) {
      text += fmt::format("Input {} is missing now.\n", recorded.inputs[i].first);
    } else if (recorded.inputs[i].second != now.inputs[i].second) {
      text += fmt::format("Input {} has other content.\n", now.inputs[i].first);
    }
  }
  return text;
}

int similarity(const RecordedCall& then, const std::string& label, const CallIdentity& now) {
  return (then.label == label ? 8 : 0) + (then.identity.arguments == now.arguments ? 4 : 0) +
         (then.identity.program == now.program ? 2 : 0) +
         (then.identity.inputs == now.inputs ? 1 : 0) +
         (then.identity.stdin_text == now.stdin_text ? 1 : 0);
}

void deliver(Stream stream, const std::string& text, const LineSink& sink) {
  if (!sink) return;
  for (const std::string& line : split_lines(text)) sink(stream, line);
}

class Replay final : public ProcessRunner {
 public:
  Replay(fs::path file, RecordingHeader header, std::vector<RecordedCall> calls, PathTokens tokens)
      : file_(std::move(file)),
        header_(std::move(header)),
        calls_(std::move(calls)),
        tokens_(std::move(tokens)) {
    for (std::size_t i = 0; i < calls_.size(); ++i) by_key_[calls_[i].key].push_back(i);
  }

  Result<ProcessOutcome> run(const ProcessSpec& spec, const LineSink& sink) override {
    const auto start = std::chrono::steady_clock::now();
    const CallIdentity identity = identify(spec, tokens_);
    const RecordedCall* call = next(key_of(identity));
    if (call == nullptr) return refuse(spec, identity);
    if (auto written = write_outputs(*call, spec); !written) {
      return tl::unexpected(written.error());
    }
    ProcessOutcome outcome = call->outcome;
    outcome.out = tokens_.expand(std::move(outcome.out));
    outcome.err = tokens_.expand(std::move(outcome.err));
    outcome.recorded = true;
    outcome.recorded_on = header_.recorded_on;
    deliver(Stream::kOut, outcome.out, sink);
    deliver(Stream::kErr, outcome.err, sink);
    const std::lock_guard guard(mutex_);
    spent_ += std::chrono::steady_clock::now() - start;
    return outcome;
  }

  std::string recorded_on() const override { return header_.recorded_on; }
  std::chrono::milliseconds child_wall() const override {
    const std::lock_guard guard(mutex_);
    return std::chrono::duration_cast<std::chrono::milliseconds>(spent_);
  }

 private:
  const RecordedCall* next(const std::string& key) {
    const std::lock_guard guard(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    std::size_t& used = used_[key];
    const std::size_t index = std::min(used++, found->second.size() - 1);
    return &calls_[found->second[index]];
  }

  tl::unexpected<Error> refuse(const ProcessSpec& spec, const CallIdentity& identity) const {
    std::string details;
    const auto nearest =
        std::max_element(calls_.begin(), calls_.end(), [&](const auto& a, const auto& b) {
          return similarity(a, spec.label, identity) < similarity(b, spec.label, identity);
        });
    if (nearest != calls_.end()) details = explain(*nearest, identity);
    return fail(
        ErrorKind::kUsage,
        fmt::format("'{}' ({}) was not recorded in {}; run it live on a machine with a GPU, "
                    "or ask for what the recording holds.",
                    spec.label, join(spec.argv, " "), file_.string()),
        details);
  }

  // The caller's own paths are used where the lists agree, so that a folder without a token works.
  Result<void> write_outputs(const RecordedCall& call, const ProcessSpec& spec) const {
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const RecordedOutput& output = call.outputs[i];
      const fs::path target = spec.outputs.size() == call.outputs.size()
                                  ? spec.outputs[i]
                                  : fs::path(tokens_.expand(output.path));
      std::error_code error;
      if (output.files.empty() && !output.is_folder) fs::remove(target, error);
      if (output.is_folder) fs::create_directories(target, error);
      for (const RecordedFile& file : output.files) {
        const fs::path path = file.path.empty() ? target : target / file.path;
        const bool is_text = is_utf8(file.content);
        auto written =
            write_file_atomically(path, is_text ? tokens_.expand(file.content) : file.content);
        if (!written) return written;
      }
    }
    return {};
  }

  fs::path file_;
  RecordingHeader header_;
  std::vector<RecordedCall> calls_;
  PathTokens tokens_;
  std::map<std::string, std::vector<std::size_t>> by_key_;
  std::map<std::string, std::size_t> used_;
  std::chrono::steady_clock::duration spent_{0};
  mutable std::mutex mutex_;
};

Result<std::vector<std::string>> lines_of(const fs::path& file) {
  const auto content = read_file(file);
  if (!content) return fail(ErrorKind::kUsage, content.error().sentence);
  return split_lines(*content);
}

}  // namespace

Result<RecordingHeader> read_recording_header(const fs::path& file) {
  const auto lines = lines_of(file);
  if (!lines) return tl::unexpected(lines.error());
  return parse_header(lines->empty() ? std::string_view() : lines->front(), file);
}

Result<std::unique_ptr<ProcessRunner>> make_replay(const fs::path& file, PathTokens tokens) {
  const auto lines = lines_of(file);
  if (!lines) return tl::unexpected(lines.error());
  auto header = parse_header(lines->empty() ? std::string_view() : lines->front(), file);
  if (!header) return tl::unexpected(header.error());
  std::vector<RecordedCall> calls;
  for (std::size_t i = 1; i < lines->size(); ++i) {
    const std::string what = fmt::format("recording {}, line {}", file.string(), i + 1);
    const auto document = parse_json((*lines)[i], what, ErrorKind::kUsage);
    if (!document) return tl::unexpected(document.error());
    auto call = recorded_call(*document, what);
    if (!call) return tl::unexpected(call.error());
    calls.push_back(std::move(*call));
  }
  return std::make_unique<Replay>(file, std::move(*header), std::move(calls), std::move(tokens));
}

}  // namespace lwb
