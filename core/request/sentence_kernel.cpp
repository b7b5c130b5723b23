// Which op file a sentence means, in any spelling.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/request/words.h"

namespace lwb::sentence {
namespace {

std::string squeezed(const std::string& name) {
  std::string result;
  for (const char c : to_lower(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) result += c;
  }
  return result;
}

struct Match {
  std::string kernel;
  std::size_t begin = 0, end = 0;
  std::size_t length = 0;  // letters
};

// Also with the project's name in front ("LigerSomeNorm") and as a plural.
bool spells(const std::string& words, const std::string& kernel) {
  if (words == kernel || words == kernel + "s") return true;
  static const std::string project = "liger";
  return words.size() > project.size() && words.compare(0, project.size(), project) == 0 &&
         spells(words.substr(project.size()), kernel);
}

std::vector<Match> all_matches(const Reading& reading, const std::vector<std::string>& kernels) {
  std::vector<Match> matches;
  for (const std::string& kernel : kernels) {
    const std::string wanted = squeezed(kernel);
    if (wanted.empty()) continue;
    for (std::size_t begin = 0; begin < reading.size(); ++begin) {
      std::string words;
      for (std::size_t end = begin; reading.free(end) && words.size() <= wanted.size() + 6; ++end) {
        if (reading.words[end].plain.empty()) break;  // a sign
        words += reading.words[end].plain;
        if (!spells(words, wanted)) continue;
        matches.push_back({kernel, begin, end + 1, words.size()});
        break;
      }
    }
  }
  return matches;
}

// A name inside a longer name is not meant ("rms norm" in "fused add rms norm").
std::vector<Match> longest_matches(std::vector<Match> matches) {
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match& a, const Match& b) { return a.length > b.length; });
  std::vector<Match> kept;
  for (const Match& match : matches) {
    const bool overlaps = std::any_of(kept.begin(), kept.end(), [&](const Match& other) {
      return match.begin < other.end && other.begin < match.end;
    });
    if (!overlaps) kept.push_back(match);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Match& a, const Match& b) { return a.begin < b.begin; });
  return kept;
}

// Words of the sentence's own language: an op file of such a name is meant only when no other
// kernel is, or when it follows "kernel".
bool is_language(const Reading& reading, const Match& match) {
  static const std::set<std::string> words = {"memory", "speed",   "forward", "backward",
                                              "full",   "general", "auto",    "balanced"};
  if (match.end - match.begin > 1) return false;
  const std::string& word = reading.words[match.begin].lower;
  return words.count(word) > 0 || is_filler(word);
}

Error unknown_kernel(const Reading& reading, const std::vector<std::string>& kernels) {
  std::set<std::string> near;
  for (std::size_t begin = 0; begin < reading.size(); ++begin) {
    std::string words;
    for (std::size_t end = begin; end < begin + 4 && reading.free(end); ++end) {
      if (end == begin && is_filler(reading.words[end].lower)) break;
      words += (words.empty() ? "" : "_") + reading.words[end].lower;
      if (words.size() < 3) continue;
      for (const std::string& name : nearest_names(words, kernels, 1)) near.insert(name);
    }
  }
  std::vector<std::string> names(near.begin(), near.end());
  if (names.size() > 5) names.resize(5);
  return Error{ErrorKind::kUsage,
               names.empty()
                   ? fmt::format("The sentence names no kernel of this checkout; name one of {}.",
                                 kernels.empty() ? "its op files, of which none were found"
                                                 : join(kernels, ", "))
                   : fmt::format("The sentence names no kernel of this checkout; did you mean {}?",
                                 join(names, " or ")),
               ""};
}

}  // namespace

Result<void> read_kernel(Reading& reading, const std::vector<std::string>& kernels) {
  std::vector<Match> matches = longest_matches(all_matches(reading, kernels));
  const auto own = [&](const Match& match) { return !is_language(reading, match); };
  if (std::any_of(matches.begin(), matches.end(), own)) {
    matches.erase(std::stable_partition(matches.begin(), matches.end(), own), matches.end());
  }
  if (matches.empty()) return tl::unexpected(unknown_kernel(reading, kernels));
  for (const Match& match : matches) {
    if (match.kernel == matches.front().kernel) continue;
    return fail(ErrorKind::kUsage,
                fmt::format("The sentence names two kernels, {} (\"{}\") and {} (\"{}\"); a run "
                            "optimizes one, so name one.",
                            matches.front().kernel,
                            reading.text(matches.front().begin, matches.front().end), match.kernel,
                            reading.text(match.begin, match.end)));
  }
  for (const Match& match : matches) {
    for (std::size_t i = match.begin; i < match.end; ++i) reading.words[i].kernel = true;
    if (auto noted = note(reading, "target_kernel", match.kernel, match.begin, match.end); !noted) {
      return noted;
    }
  }
  reading.parsed.request.kernel = matches.front().kernel;
  return {};
}

}  // namespace lwb::sentence
