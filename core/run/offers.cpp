#include "core/run/offers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

constexpr const char* kPrefix = "variant_";
constexpr const char* kEvent = "variant_offered";

// Names grow with time: the oldest comes first.
std::vector<fs::path> offers_in(const fs::path& inbox) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(inbox, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && entry.path().extension() == ".json") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Json to_json(const VariantOffer& offer) {
  return {{"text", offer.text},
          {"title", offer.title},
          {"based_on", offer.based_on},
          {"author", offer.author}};
}

VariantOffer offer_from_json(const Json& json, const std::string& id) {
  return {get_string(json, "text"), get_string(json, "title"), get_string(json, "based_on", "v0"),
          get_string(json, "author", "engineer"), id};
}

std::optional<VariantOffer> journaled(const Journal& journal, int number) {
  for (const Event& event : journal.events()) {
    if (event.type == kEvent && get_integer(event.data, "number") == number) {
      return offer_from_json(event.data, get_string(event.data, "id"));
    }
  }
  return std::nullopt;
}

bool was_taken(const Journal& journal, const std::string& id) {
  const auto& events = journal.events();
  return std::any_of(events.begin(), events.end(), [&](const Event& event) {
    return event.type == kEvent && get_string(event.data, "id") == id;
  });
}

// The catalog is at this number: it was made, or its steps have begun.
bool is_begun(const Journal& journal, int number) {
  const std::string end = " v" + std::to_string(number);
  const auto& events = journal.events();
  return std::any_of(events.begin(), events.end(), [&](const Event& event) {
    return (event.type == "variant" && get_integer(event.data, "number") == number) ||
           (event.type == "step_started" && get_string(event.data, "step").ends_with(end));
  });
}

class Offers final : public ApprovalSource {
 public:
  explicit Offers(fs::path inbox) : inbox_(std::move(inbox)) {}
  std::optional<ApprovalAnswer> poll(const ApprovalRequest&) override {
    if (!variant_is_offered(inbox_)) return std::nullopt;
    return ApprovalAnswer{kVariantOffered, "", "inbox"};
  }

 private:
  fs::path inbox_;
};

void remove_quietly(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
}

}  // namespace

Result<void> offer_variant(const fs::path& inbox, VariantOffer offer) {
  if (trim(offer.text).empty()) {
    return fail(ErrorKind::kUsage, "The offered variant is empty: give a whole kernel file.");
  }
  std::replace(offer.title.begin(), offer.title.end(), '\n', ' ');
  offer.title = trim(offer.title);
  if (offer.title.empty()) {
    return fail(ErrorKind::kUsage,
                "The offered variant has no title: say in one line what it changes.");
  }
  std::error_code error;
  fs::create_directories(inbox, error);
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const fs::path file = inbox / fmt::format("{}{:017}_{}.json", kPrefix, now.count(), ::getpid());
  return write_file_atomically(file, print_json(to_json(offer)));
}

std::string offer_problem(const RunState& state) {
  if (state.started.empty()) return "There is no run of this kernel yet: lwb run begins one.";
  if (!state.recorded_on.empty()) {
    return "This run is played from a recording: nothing new can be measured in it.";
  }
  if (state.finished)
    return "The run of " + state.kernel + " is finished: lwb run begins a new one.";
  if (!state.apply.empty() || !state.gates.empty()) {
    return "The winner of " + state.kernel + " is decided: a new run takes further variants.";
  }
  return {};
}

bool variant_is_offered(const fs::path& inbox) {
  return !offers_in(inbox).empty();
}

std::unique_ptr<ApprovalSource> offered_variants(fs::path inbox) {
  return std::make_unique<Offers>(std::move(inbox));
}

Result<std::optional<VariantOffer>> take_offer(Journal& journal, const fs::path& inbox,
                                               int number) {
  if (auto offer = journaled(journal, number)) return offer;
  if (is_begun(journal, number)) return std::nullopt;
  for (const fs::path& file : offers_in(inbox)) {
    const std::string id = file.stem().string();
    if (was_taken(journal, id)) {  // killed between journal and removal
      remove_quietly(file);
      continue;
    }
    const auto text = read_file(file);
    const auto json = text ? parse_json(*text, "offer " + file.string())
                           : Result<Json>(tl::unexpected(text.error()));
    if (!json || trim(get_string(*json, "text")).empty()) {
      std::error_code error;
      fs::rename(file, fs::path(file).replace_extension(".read"), error);
      continue;
    }
    VariantOffer offer = offer_from_json(*json, id);
    Json event = to_json(offer);
    event["number"] = number;
    event["id"] = id;
    if (auto written = journal.append(kEvent, std::move(event), true); !written) {
      return tl::unexpected(written.error());
    }
    remove_quietly(file);
    return offer;
  }
  return std::nullopt;
}

}  // namespace lwb
