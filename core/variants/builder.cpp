#include "core/variants/builder.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "core/variants/builder_facts.h"
#include "core/variants/edits.h"

namespace lwb {
namespace {

constexpr const char* kHeaderBegin = "# Liger Workbench variant ";
constexpr const char* kHeaderEnd = "# (end of the variant's header)";
constexpr const char* kBuilder = "launch-settings";

// One launch while its parts are collected.
struct Tuned {
  Hook hook;
  std::string variable;
  LaunchPlan plan;
  std::vector<Edit> edits;  // of its techniques
};

// `text` as further arguments or parameters before a closing parenthesis.
Edit before_close(const SourceModel& model, const Span& close, bool empty, bool trailing_comma,
                  const std::vector<std::string>& items, const std::string& technique) {
  const std::string& text = model.text;
  const std::size_t begin = line_begin(text, close.begin);
  const std::string lead = text.substr(begin, close.begin - begin);
  if (trailing_comma && lead.find_first_not_of(" \t") == std::string::npos) {
    std::string lines;
    for (const std::string& item : items) lines += lead + "    " + item + "," + model.newline;
    return {begin, begin, lines, technique, "passes the settings on"};
  }
  std::string joined;
  for (const std::string& item : items) {
    if (!joined.empty()) joined += ", ";
    joined += item;
  }
  if (trailing_comma)
    joined = " " + joined + ",";
  else if (!empty)
    joined = ", " + joined;
  return {close.begin, close.begin, joined, technique, "passes the settings on"};
}

std::set<long long> warp_values(const TechniqueContext& context, const Launch& launch, bool few) {
  std::map<int, int> counts;
  for (const LaunchRecord* record : records_of(context, launch)) {
    if (record->num_warps > 0) ++counts[record->num_warps];
  }
  std::set<long long> values;
  if (counts.empty()) return values;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [warps, count] : counts) {
    if (few && warps != most->first) continue;
    const long long w = warps;
    const std::vector<long long> around =
        few ? std::vector<long long>{w / 2, w, 2 * w}
            : std::vector<long long>{w / 4, w / 2, w, 2 * w, 4 * w};
    for (const long long value : around) {
      if (value >= 1 && value <= 32) values.insert(value);
    }
  }
  return values;
}

void add_own_knobs(const TechniqueContext& context, const Launch& launch, Tuned& tuned) {
  auto& knobs = tuned.hook.knobs;
  const bool few = !knobs.empty();
  const bool staged = std::any_of(knobs.begin(), knobs.end(),
                                  [](const Knob& knob) { return knob.name == "loop_stages"; });
  Knob warps{"num_warps", {}, nullptr, ""};
  for (const long long value : warp_values(context, launch, few)) warps.values.push_back(value);
  if (!warps.values.empty()) knobs.insert(knobs.begin(), std::move(warps));
  const Function* kernel = kernel_of(context.model, launch);
  if (kernel && !kernel->loops.empty() && !staged) {
    knobs.push_back({"num_stages", {1, 2, 3, 4}, nullptr, ""});
  }
}

// The launch's own options read the settings; new parameters of the kernel are passed.
void launch_edits(const SourceModel& model, const Launch& launch, const Tuned& tuned,
                  std::vector<Edit>& edits) {
  const std::string& settings = tuned.variable;
  std::vector<std::string> missing, items;
  for (const std::string key : {"num_warps", "num_stages", "maxnreg"}) {
    const Expr* value = launch.call.keyword(key);
    if (!value) {
      missing.push_back("\"" + key + "\"");
      continue;
    }
    edits.push_back({value->span.begin, value->span.end,
                     settings + ".get(\"" + key + "\", " + value->text + ")", kBuilder,
                     key + " by shape"});
  }
  for (const auto& parameter : tuned.plan.parameters) {
    items.push_back(parameter.name + "=" + settings + ".get(\"" + parameter.settings_key + "\", " +
                    parameter.default_text + ")");
  }
  const bool options =
      std::any_of(tuned.hook.knobs.begin(), tuned.hook.knobs.end(), [&](const Knob& k) {
        return std::count(missing.begin(), missing.end(), "\"" + k.name + "\"") > 0;
      });
  if (options) {
    std::string keys;
    for (const std::string& key : missing) keys += (keys.empty() ? "" : ", ") + key;
    if (missing.size() == 1) keys += ",";
    const std::string chosen =
        "**{k: v for k, v in " + settings + ".items() if k in (" + keys + ")}";
    const auto& arguments = launch.call.arguments;
    const auto unpacked = std::find_if(arguments.rbegin(), arguments.rend(),
                                       [](const Argument& a) { return a.name == "**"; });
    if (unpacked != arguments.rend()) {
      const Expr& dict = unpacked->value;
      const bool plain = dict.kind == "Name" || dict.kind == "Dict" || dict.kind == "Call" ||
                         dict.kind == "Attribute";
      const std::string text = plain ? dict.text : "(" + dict.text + ")";
      edits.push_back({dict.span.begin, dict.span.end, "{**" + text + ", " + chosen + "}", kBuilder,
                       "launch options by shape"});
    } else {
      items.push_back(chosen);
    }
  }
  if (items.empty()) return;
  edits.push_back(before_close(model, launch.call.close, launch.call.arguments.empty(),
                               launch.call.trailing_comma, items, kBuilder));
}

// Where the settings are read first, and the white space that the line begins with.
struct Place {
  std::size_t position = 0;
  std::string indent;
};

Place definition_place(const SourceModel& model, const Launch& launch, const Function& host,
                       const Tuned* tuned) {
  int index = launch.call.statement;
  while (host.statements[index].parent >= 0) {
    const Statement& statement = host.statements[index];
    if (statement.own_line && model.text.compare(statement.span.begin, 4, "elif") != 0) break;
    index = statement.parent;
  }
  Place place;
  const std::size_t begin = host.statements[index].span.begin;
  place.position = line_begin(model.text, begin);
  place.indent = model.text.substr(place.position, begin - place.position);
  if (!tuned) return place;
  for (const Edit& edit : tuned->edits) {
    const bool inside = edit.begin >= host.body.begin && edit.begin < place.position;
    if (!inside || edit.text.find(tuned->variable + ".get(") == std::string::npos) continue;
    place.position = edit.begin;
    place.indent = edit.text.substr(0, edit.text.find_first_not_of(" \t"));
  }
  return place;
}

// Module level: before the function, class or decorated method that holds the launch, and before
// the comment that belongs to it.
std::size_t module_place(const SourceModel& model, const Function& host) {
  std::size_t begin = host.span.begin;
  for (const Function& outer : model.functions) {
    if (outer.span.begin < begin && outer.span.end >= host.span.end) begin = outer.span.begin;
  }
  for (const ClassDefinition& outer : model.classes) {
    if (outer.span.begin < begin && outer.span.end >= host.span.end) begin = outer.span.begin;
  }
  begin = line_begin(model.text, begin);
  while (begin > 0) {
    const std::size_t previous = line_begin(model.text, begin - 1);
    if (model.text[previous] != '#' && model.text[previous] != '@') break;
    begin = previous;
  }
  return begin;
}

std::string settings_source(const VariantPlan& plan, const Hook& hook) {
  for (const SettingsTable& table : plan.tables) {
    if (table.function == hook.function) return settings_function_source(table, hook.kernel);
  }
  std::string arguments;
  for (const std::string& feature : hook.features) arguments += feature + ", ";
  return "def " + hook.function + "(" + arguments + "dtype, device):\n    \"\"\"Settings of " +
         hook.kernel + " by shape; None: as the launch says.\"\"\"\n    return None\n";
}

std::string with_newlines(const std::string& text, const std::string& newline) {
  if (newline == "\n") return text;
  std::string result;
  for (const char c : text) {
    if (c == '\n')
      result += newline;
    else
      result += c;
  }
  return result;
}

std::string header(const VariantPlan& plan, const std::vector<std::string>& changes,
                   const std::string& newline) {
  std::string text = kHeaderBegin + plan.name + ", based on " + plan.based_on + ".\n";
  for (const std::string& change : changes) text += "# - " + one_line(change, 96) + "\n";
  return with_newlines(text + kHeaderEnd + "\n", newline);
}

// After a byte order mark, a "#!" line and an encoding line.
std::size_t header_place(const std::string& text) {
  std::size_t place = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (int i = 0; i < 2; ++i) {
    const std::size_t end = next_line(text, place);
    const std::string line = text.substr(place, end - place);
    if (!line.starts_with("#!") && !(line.starts_with("#") && line.find("coding") < 12)) break;
    place = end;
  }
  return place;
}

// `import name` before the file's first import; nothing where it is imported already.
std::optional<Edit> import_of(const SourceModel& model, const std::string& name) {
  std::size_t first = std::string::npos;
  for (const Import& import : model.imports) {
    if (import.module == name && import.name.empty() && import.alias.empty()) return std::nullopt;
    const bool indented = line_begin(model.text, import.span.begin) != import.span.begin;
    if (import.module != "__future__" && !indented) first = std::min(first, import.span.begin);
  }
  if (first == std::string::npos) return std::nullopt;  // no Triton file is without one
  return Edit{first, first, "import " + name + model.newline, kBuilder, "caches the settings"};
}

// Appends what is not there yet: launches of one kernel want the same edits in it.
void merge(std::vector<Edit>& all, const std::vector<Edit>& more) {
  for (const Edit& edit : more) {
    if (std::none_of(all.begin(), all.end(), [&](const Edit& other) {
          return std::tie(other.begin, other.end, other.text) ==
                 std::tie(edit.begin, edit.end, edit.text);
        })) {
      all.push_back(edit);
    }
  }
}

std::vector<Tuned> tuned_launches(const TechniqueContext& context,
                                  std::vector<std::string>* left_out) {
  std::vector<Tuned> result;
  std::set<std::string> functions;
  std::map<std::string, int> variables;  // by host function
  for (std::size_t i = 0; i < context.model.launches.size(); ++i) {
    const Launch& launch = context.model.launches[i];
    std::string reason;
    bool good = tunable(context, launch, &reason);
    Tuned tuned;
    if (good) {
      const Function& host = *context.model.function(launch.host_function);
      const std::size_t place = definition_place(context.model, launch, host, nullptr).position;
      tuned.hook.features = features_at(context, launch, place);
      if (tuned.hook.features.empty() || tensor_at(context, launch, place).empty()) {
        good = false;
        reason = launch.kernel + ": no integer variable and tensor tell its shape before line " +
                 std::to_string(launch.call.span.line);
      }
    }
    if (!good) {
      if (left_out) left_out->push_back(reason);
      continue;
    }
    const std::size_t bare = launch.kernel.find_first_not_of('_');
    const std::string wanted =
        "_" + launch.kernel.substr(bare == std::string::npos ? 0 : bare) + "_settings";
    tuned.hook.function = unique_name(context.model, wanted);
    for (int n = 2; !functions.insert(tuned.hook.function).second; ++n) {
      tuned.hook.function = unique_name(context.model, wanted + "_" + std::to_string(n));
    }
    tuned.hook.kernel = launch.kernel;
    tuned.hook.host_function = launch.host_function;
    tuned.hook.launch = i;
    tuned.hook.pass = records_of(context, launch).front()->pass;
    const int n = ++variables[launch.host_function];
    tuned.variable =
        unique_name(context.model, n == 1 ? "settings" : "settings_" + std::to_string(n));
    result.push_back(std::move(tuned));
  }
  return result;
}

// The kernel's new parameters, its launch and the settings of one tuned launch.
Result<void> finish(const TechniqueContext& context, const VariantPlan& plan, Tuned& tuned,
                    std::vector<Edit>& edits) {
  const SourceModel& model = context.model;
  const Launch& launch = model.launches[tuned.hook.launch];
  const Function& host = *model.function(launch.host_function);
  tuned.hook.knobs = tuned.plan.knobs;
  add_own_knobs(context, launch, tuned);
  const Place place = definition_place(model, launch, host, &tuned);
  tuned.hook.features = features_at(context, launch, place.position);
  const std::string tensor = tensor_at(context, launch, place.position);
  if (tuned.hook.features.empty() || tensor.empty()) {
    return fail(ErrorKind::kInternal,
                "The settings of " + launch.kernel + " are wanted where its shapes are not known.");
  }
  for (const LaunchRecord* record : records_of(context, launch)) {
    ShapePoint shape{record->call, {}, record->dtype};
    for (const std::string& feature : tuned.hook.features) {
      shape.features[feature] = record->locals.at(feature);
    }
    tuned.hook.shapes.push_back(std::move(shape));
  }
  std::vector<Edit> own;
  std::string call = tuned.hook.function + "(";
  for (const std::string& feature : tuned.hook.features) call += feature + ", ";
  own.push_back({place.position, place.position,
                 place.indent + "# Settings measured for this shape; empty: as below." +
                     model.newline + place.indent + tuned.variable + " = " + call + tensor +
                     ".dtype, " + tensor + ".device) or {}" + model.newline,
                 kBuilder, "reads the settings"});
  const std::size_t module = module_place(model, host);
  own.push_back({module, module,
                 with_newlines(settings_source(plan, tuned.hook) + "\n\n", model.newline), kBuilder,
                 "settings by shape"});
  const Function* kernel = kernel_of(model, launch);
  for (const auto& parameter : tuned.plan.parameters) {
    own.push_back(before_close(model, kernel->signature_close, kernel->parameters.empty(),
                               kernel->signature_trailing_comma,
                               {parameter.name + ": " + triton_language_alias(model) +
                                ".constexpr = " + parameter.default_text},
                               kBuilder));
  }
  launch_edits(model, launch, tuned, own);
  merge(edits, own);
  merge(edits, tuned.edits);
  return {};
}

}  // namespace

Result<BuiltVariant> build_variant(const TechniqueContext& context, const VariantPlan& plan,
                                   std::vector<std::string>* left_out) {
  std::vector<Tuned> launches = tuned_launches(context, left_out);
  BuiltVariant result;
  std::vector<std::string> changes = plan.changes;
  for (const std::string& id : plan.techniques) {
    if (!find_technique(id)) {
      return fail(ErrorKind::kUsage, "There is no technique " + id + " in the catalog.");
    }
  }
  for (const auto& technique : catalog()) {
    const auto& wanted = plan.techniques;
    if (std::find(wanted.begin(), wanted.end(), technique->id()) == wanted.end()) continue;
    const Applicability found = applicability_of(*technique, context);
    for (const std::string& reason : found.reasons) {
      if (left_out) left_out->push_back(technique->id() + " does not apply to " + reason);
    }
    for (const Site& site : found.sites) {
      const auto tuned = std::find_if(launches.begin(), launches.end(),
                                      [&](const Tuned& t) { return t.hook.launch == site.launch; });
      LaunchPlan none;
      const bool hooked = tuned != launches.end();
      auto edits = technique->edits(context, site, hooked ? tuned->variable : "",
                                    hooked ? tuned->plan : none);
      if (!edits) return tl::unexpected<Error>(edits.error());
      if (!hooked && (!none.knobs.empty() || !none.parameters.empty())) continue;
      if (hooked)
        merge(tuned->edits, *edits);
      else
        merge(result.edits, *edits);
      if (plan.changes.empty()) changes.push_back(technique->title() + ": " + site.what);
    }
  }
  for (Tuned& tuned : launches) {
    auto done = finish(context, plan, tuned, result.edits);
    if (!done) return tl::unexpected<Error>(done.error());
    if (plan.changes.empty())
      changes.push_back("launch settings of " + tuned.hook.kernel + " by shape");
    result.hooks.push_back(tuned.hook);
  }
  if (std::any_of(plan.tables.begin(), plan.tables.end(), settings_function_caches)) {
    auto import = import_of(context.model, "functools");
    if (import) result.edits.push_back(std::move(*import));
  }
  const std::size_t top = header_place(context.model.text);
  result.edits.insert(
      result.edits.begin(),
      Edit{top, top, header(plan, changes, context.model.newline), kBuilder, "header"});
  auto text = apply_edits(context.model.text, result.edits);
  if (!text) return tl::unexpected<Error>(text.error());
  result.text = std::move(*text);
  return result;
}

std::vector<Settings> candidates(const Hook& hook, std::size_t limit) {
  std::vector<Settings> all{Settings{}};
  for (const Knob& knob : hook.knobs) {
    std::vector<Settings> next = all;
    for (const Settings& before : all) {
      for (const Json& value : knob.values) {
        if (value == knob.original) continue;
        Settings settings = before;
        settings[knob.name] = value;
        next.push_back(std::move(settings));
      }
    }
    all = std::move(next);
  }
  if (all.size() <= limit || limit == 0) return all;
  // Evenly thinned, the original's path kept.
  std::vector<Settings> thinned;
  for (std::size_t i = 0; i < limit; ++i) thinned.push_back(all[i * all.size() / limit]);
  return thinned;
}

std::string with_variant_header(const std::string& text, const VariantPlan& plan) {
  std::string file = strip_variant_header(text);
  const std::string newline = file.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  return file.insert(header_place(file), header(plan, plan.changes, newline));
}

std::string strip_variant_header(const std::string& text) {
  const std::size_t begin = header_place(text);
  if (text.compare(begin, std::string(kHeaderBegin).size(), kHeaderBegin) != 0) return text;
  const std::size_t end = text.find(kHeaderEnd, begin);
  if (end == std::string::npos) return text;
  return text.substr(0, begin) + text.substr(next_line(text, end));
}

}  // namespace lwb
