#include "core/process/recorded_call.h"

#include <fmt/format.h>

#include <QByteArray>
#include <algorithm>
#include <array>
#include <system_error>

#include "core/base/files.h"

namespace lwb {
namespace {

constexpr std::size_t kShort = 4096;  // bytes; what is longer is compressed

constexpr std::array<std::pair<ProcessEnd, std::string_view>, 6> kEnds = {{
    {ProcessEnd::kExited, "exited"},
    {ProcessEnd::kSignaled, "signaled"},
    {ProcessEnd::kWallLimit, "wall_limit"},
    {ProcessEnd::kSilenceLimit, "silence_limit"},
    {ProcessEnd::kFailedToStart, "failed_to_start"},
    {ProcessEnd::kCancelled, "cancelled"},
}};

std::string_view name_of(ProcessEnd end) {
  const auto found =
      std::find_if(kEnds.begin(), kEnds.end(), [&](const auto& pair) { return pair.first == end; });
  return found->second;
}

// python, python3 and python3.12 are one program: the recording's machine had another one.
std::string program_name(const std::string& argv0) {
  std::string name = fs::path(argv0).filename().string();
  constexpr std::string_view kPython = "python";
  if (name.starts_with(kPython) &&
      name.find_first_not_of("0123456789.", kPython.size()) == std::string::npos) {
    return std::string(kPython);
  }
  return name;
}

std::string tokenized_content(const fs::path& file, const PathTokens& tokens) {
  auto content = read_file(file);
  if (!content) return {};
  return is_utf8(*content) ? tokens.tokenize(std::move(*content)) : std::move(*content);
}

std::string input_hash(const fs::path& input, const PathTokens& tokens) {
  std::error_code error;
  if (!fs::exists(input, error)) return "absent";
  if (!fs::is_directory(input, error)) return sha256_hex(tokenized_content(input, tokens));
  std::string all;
  for (const fs::path& file : files_below(input)) {
    all += file.generic_string() + '\0' + sha256_hex(tokenized_content(input / file, tokens));
  }
  return sha256_hex(all);
}

Json outputs_to_json(const std::vector<RecordedOutput>& outputs) {
  Json all = Json::array();
  for (const RecordedOutput& output : outputs) {
    Json files = Json::array();
    for (const RecordedFile& file : output.files) {
      files.push_back({{"path", file.path}, {"content", pack(file.content)}});
    }
    all.push_back({{"path", output.path}, {"folder", output.is_folder}, {"files", files}});
  }
  return all;
}

std::vector<RecordedOutput> outputs_from_json(const Json& all) {
  std::vector<RecordedOutput> outputs;
  for (const Json& entry : all) {
    RecordedOutput output{get_string(entry, "path"), get_bool(entry, "folder"), {}};
    for (const Json& file : get_array(entry, "files")) {
      output.files.push_back({get_string(file, "path"), unpack(file.value("content", Json()))});
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  // nlohmann's serializer is the judge, so that what passes here prints and parses unchanged.
  try {
    static_cast<void>(Json(bytes).dump());
    return bytes.find('\0') == std::string_view::npos;
  } catch (const Json::exception&) {
    return false;
  }
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) files.push_back(entry->path().lexically_relative(folder));
  }
  std::sort(files.begin(), files.end());
  return files;
}

CallIdentity identify(const ProcessSpec& spec, const PathTokens& tokens) {
  CallIdentity identity;
  if (!spec.argv.empty()) identity.program = program_name(spec.argv.front());
  for (std::size_t i = 1; i < spec.argv.size(); ++i) {
    identity.arguments.push_back(tokens.tokenize(spec.argv[i]));
  }
  identity.stdin_text = tokens.tokenize(spec.stdin_text);
  for (const fs::path& input : spec.inputs) {
    identity.inputs.emplace_back(tokens.tokenize(input.string()), input_hash(input, tokens));
  }
  return identity;
}

std::string key_of(const CallIdentity& identity) {
  std::string all;
  const auto add = [&](char kind, std::string_view part) {  // lengths keep the parts apart
    all += fmt::format("{}{}:", kind, part.size());
    all += part;
  };
  add('p', identity.program);
  for (const std::string& argument : identity.arguments) add('a', argument);
  add('s', identity.stdin_text);
  for (const auto& [path, hash] : identity.inputs) add('i', hash);
  return sha256_hex(all);
}

std::string recording_key(const ProcessSpec& spec, const PathTokens& tokens) {
  return key_of(identify(spec, tokens));
}

Json pack(std::string_view bytes) {
  const bool is_text = is_utf8(bytes);
  if (is_text && bytes.size() <= kShort) return bytes;
  const auto raw = QByteArray::fromRawData(bytes.data(), static_cast<qsizetype>(bytes.size()));
  const QByteArray small = qCompress(raw, 9).toBase64();
  if (static_cast<std::size_t>(small.size()) < bytes.size()) {
    return {{"z", std::string(small.constData(), static_cast<std::size_t>(small.size()))}};
  }
  if (is_text) return bytes;
  return {{"b64", raw.toBase64().toStdString()}};
}

std::string unpack(const Json& packed) {
  if (packed.is_string()) return packed.get<std::string>();
  const std::string zipped = get_string(packed, "z");
  const std::string plain = get_string(packed, "b64");
  if (zipped.empty()) return QByteArray::fromBase64(QByteArray::fromStdString(plain)).toStdString();
  return qUncompress(QByteArray::fromBase64(QByteArray::fromStdString(zipped))).toStdString();
}

Json to_json(const RecordingHeader& header) {
  return {{"recording", header.schema},        {"recorded_on", header.recorded_on},
          {"recorded_at", header.recorded_at}, {"program_version", header.program_version},
          {"techniques", header.techniques},   {"journal_schema", header.journal_schema}};
}

Json to_json(const RecordedCall& call) {
  Json inputs = Json::array();
  for (const auto& [path, hash] : call.identity.inputs) inputs.push_back({path, hash});
  const ProcessOutcome& outcome = call.outcome;
  return {{"key", call.key},
          {"label", call.label},
          {"program", call.identity.program},
          {"arguments", call.identity.arguments},
          {"stdin", pack(call.identity.stdin_text)},
          {"inputs", inputs},
          {"end", name_of(outcome.end)},
          {"exit_code", outcome.exit_code},
          {"signal", outcome.signal},
          {"wall_ms", outcome.wall.count()},
          {"out", pack(outcome.out)},
          {"err", pack(outcome.err)},
          {"outputs", outputs_to_json(call.outputs)}};
}

Result<RecordedCall> recorded_call(const Json& line, std::string_view what) {
  RecordedCall call;
  call.key = get_string(line, "key");
  call.label = get_string(line, "label");
  call.identity.program = get_string(line, "program");
  for (const Json& argument : get_array(line, "arguments")) {
    if (argument.is_string()) call.identity.arguments.push_back(argument.get<std::string>());
  }
  call.identity.stdin_text = unpack(line.value("stdin", Json()));
  for (const Json& input : get_array(line, "inputs")) {
    if (input.is_array() && input.size() == 2 && input[0].is_string() && input[1].is_string()) {
      call.identity.inputs.emplace_back(input[0].get<std::string>(), input[1].get<std::string>());
    }
  }
  const std::string end = get_string(line, "end");
  const auto found = std::find_if(kEnds.begin(), kEnds.end(),
                                  [&](const auto& pair) { return pair.second == end; });
  if (call.key != key_of(call.identity) || found == kEnds.end()) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("The {} is damaged: its key does not belong to its call; record again.", what));
  }
  call.outcome.end = found->first;
  call.outcome.exit_code = static_cast<int>(get_integer(line, "exit_code"));
  call.outcome.signal = static_cast<int>(get_integer(line, "signal"));
  call.outcome.wall = std::chrono::milliseconds(get_integer(line, "wall_ms"));
  call.outcome.out = unpack(line.value("out", Json()));
  call.outcome.err = unpack(line.value("err", Json()));
  call.outputs = outputs_from_json(get_array(line, "outputs"));
  return call;
}

}  // namespace lwb
