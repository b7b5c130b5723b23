// One call as a recording keeps it; shared by the recorder and the replay.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/process/process.h"
#include "core/process/recording.h"

namespace lwb {

// What decides a call's result, with today's paths replaced by tokens.
struct CallIdentity {
  std::string program;  // base name
  std::vector<std::string> arguments;
  std::string stdin_text;
  std::vector<std::pair<std::string, std::string>> inputs;  // path (not in the key), content hash
};

CallIdentity identify(const ProcessSpec& spec, const PathTokens& tokens);
std::string key_of(const CallIdentity& identity);

// A file that a child wrote; content is tokenized when it is text.
struct RecordedFile {
  std::string path;  // relative to the output it belongs to; empty: the output itself
  std::string content;
};

struct RecordedOutput {
  std::string path;  // tokenized
  bool is_folder = false;
  std::vector<RecordedFile> files;  // none: the child did not write it
};

struct RecordedCall {
  std::string key;
  std::string label;
  CallIdentity identity;
  ProcessOutcome outcome;  // out and err tokenized
  std::vector<RecordedOutput> outputs;
};

Json to_json(const RecordedCall& call);
Result<RecordedCall> recorded_call(const Json& line, std::string_view what);
Json to_json(const RecordingHeader& header);

// Bytes as a member of a JSON line: a string when they are short UTF-8, {"z": base64 of zlib} when
// that is shorter, {"b64": …} otherwise.
Json pack(std::string_view bytes);
std::string unpack(const Json& packed);

// The regular files in `folder`, relative, in order of their names.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

bool is_utf8(std::string_view bytes);

}  // namespace lwb
