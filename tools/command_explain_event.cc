// etwpipe explain-event: how an event is laid out, and what its documentation says where that differs.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <map>
#include <optional>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/clr_aliases.h"
#include "formats/schema/manifest_files.h"
#include "formats/schema/provider_names.h"
#include "formats/schema/schema_text.h"
#include "formats/schema/schema_words.h"
#include "pipeline/platform.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/json_writer.h"
#include "tools/standard_output.h"

namespace etwpipe {
namespace {

namespace po = boost::program_options;
using schema::ClrAlias;
using schema::ClrAliasRule;
using schema::EventSchema;
using Schemas = std::vector<std::shared_ptr<const EventSchema>>;

// An event as it is asked for: by number, or by a name such as GC/Start.
struct Wanted {
  std::optional<uint16_t> number;
  std::string name;
};

Wanted WantedOf(const std::string& text) {
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return {number, {}};
  return {std::nullopt, text};
}

// All schemas of a provider: those of the files the user gave first, of which the built-in ones do not tell.
Schemas SchemasOf(const std::vector<Guid>& providers, const Schemas& files, const std::string& name) {
  Schemas schemas;
  for (const auto& schema : files) {
    const bool wanted = std::find(providers.begin(), providers.end(), schema->provider->guid) != providers.end();
    if (wanted || schema->provider->name == name) schemas.push_back(schema);
  }
  for (const Guid& provider : providers) {
    const auto& built_in = schema::BuiltInSchemas(provider);
    schemas.insert(schemas.end(), built_in.begin(), built_in.end());
  }
  return schemas;
}

std::string_view RuleText(ClrAliasRule rule) {
  switch (rule) {
    case ClrAliasRule::kSame: return "same";
    case ClrAliasRule::kSafe: return "understood, unless --clr-ids strict";
    case ClrAliasRule::kLenient: return "understood with --clr-ids lenient only";
    case ClrAliasRule::kNever: return "never understood";
  }
  return "";
}

// What the documentation says of the events shown, or of the id asked for, and the manifest contradicts.
std::vector<const ClrAlias*> Documented(const std::vector<Guid>& providers, const Wanted& wanted,
                                        const Schemas& shown) {
  std::vector<const ClrAlias*> documented;
  for (const ClrAlias& alias : schema::ClrAliases()) {
    if (alias.rule == ClrAliasRule::kSame) continue;
    const bool asked =
        wanted.number == alias.id && std::find(providers.begin(), providers.end(), alias.provider) != providers.end();
    const bool is_shown = std::any_of(shown.begin(), shown.end(), [&](const auto& schema) {
      return schema->provider->guid == alias.manifest_provider && schema->key.number == alias.manifest_id;
    });
    if (asked || is_shown) documented.push_back(&alias);
  }
  return documented;
}

std::string DocumentedText(const ClrAlias& alias) {
  const auto* provider = schema::FindProvider(alias.manifest_provider);
  return fmt::format("# documentation: {} has id {}; manifest: id {} of {}. {}. {}.\n", alias.event, alias.id,
                     alias.manifest_id, provider == nullptr ? ToString(alias.manifest_provider) : provider->name,
                     alias.reason, RuleText(alias.rule));
}

void WriteFields(JsonWriter& json, const EventSchema& schema, size_t begin, size_t end) {
  json.BeginArray();
  for (size_t i = begin; i < end; ++i) {
    const schema::Property& property = schema.properties[i];
    const auto extent = [&](std::string_view key, schema::Extent kind, uint16_t value) {
      switch (kind) {
        case schema::Extent::kNone: return;
        case schema::Extent::kFixed: json.Key(key).Uint(value); return;
        case schema::Extent::kField: json.Key(key).String(schema.properties[value].name); return;
        case schema::Extent::kPrefix16: json.Key(key).String("u16"); return;
        case schema::Extent::kRest: json.Key(key).String("*"); return;
      }
    };
    json.BeginObject();
    json.Key("name").String(property.name);
    json.Key("type").String(property.in == schema::InType::kStruct ? "struct" : WordOf(property.in));
    if (property.out != schema::OutType::kDefault) json.Key("show").String(WordOf(property.out));
    extent("count", property.count, property.count_value);
    extent("length", property.length, property.length_value);
    if (property.optional) json.Key("optional").Bool(true);
    if (property.map != schema::kNoMap) {
      json.Key("map").BeginObject();
      for (const auto& entry : schema.maps[property.map]->entries)
        json.Key(std::to_string(entry.value)).String(entry.name);
      json.EndObject();
    }
    if (property.in == schema::InType::kStruct) {
      json.Key("fields");
      WriteFields(json, schema, property.first_member, size_t{property.first_member} + property.member_count);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteJson(JsonWriter& json, const Schemas& shown, const std::vector<const ClrAlias*>& documented) {
  json.BeginObject();
  json.Key("events").BeginArray();
  for (const auto& schema : shown) {
    json.BeginObject();
    json.Key("provider").String(ToString(schema->provider->guid));
    json.Key("provider_name").String(schema->provider->name);
    json.Key("name").String(schema->name);
    json.Key(schema->key.classic ? "opcode" : "id").Uint(schema->key.number);
    json.Key("first_version").Uint(schema->key.first_version);
    json.Key("last_version").Uint(schema->key.last_version);
    json.Key("level").Uint(schema->level);
    json.Key("keyword").Hex(schema->keyword);
    json.Key("origin").String(ToString(schema->origin));
    json.Key("message").StringOrNull(schema->message);
    json.Key("note").StringOrNull(schema->note);
    json.Key("fields");
    WriteFields(json, *schema, 0, schema->top_level);
    json.EndObject();
  }
  json.EndArray();
  json.Key("documentation").BeginArray();
  for (const ClrAlias* alias : documented) {
    json.BeginObject();
    json.Key("event").String(alias->event);
    json.Key("id").Uint(alias->id);
    json.Key("manifest_id").Uint(alias->manifest_id);
    json.Key("understood").String(RuleText(alias->rule));
    json.Key("reason").String(alias->reason);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  json.EndLine();
}

// The same schemas, whose provider has no keywords but theirs.
Schemas WithOwnKeywords(const Schemas& schemas) {
  std::map<Guid, std::shared_ptr<schema::ProviderSchema>> providers;
  Schemas trimmed;
  for (const auto& schema : schemas) {
    auto& provider = providers[schema->provider->guid];
    if (provider == nullptr) {
      provider = std::make_shared<schema::ProviderSchema>(*schema->provider);
      std::erase_if(provider->keywords, [&](const auto& keyword) {
        return std::none_of(schemas.begin(), schemas.end(), [&](const auto& other) {
          return other->provider->guid == provider->guid && (other->keyword & keyword.mask) != 0;
        });
      });
    }
    auto copy = std::make_shared<EventSchema>(*schema);
    copy->provider = provider;
    trimmed.push_back(std::move(copy));
  }
  return trimmed;
}

class ExplainEventCommand final : public Subcommand {
 public:
  CommandHelp help() const override {
    return {.name = "explain-event",
            .summary = "Prints how an event is laid out, and what its documentation says where that differs.",
            .arguments = "PROVIDER EVENT",
            .details =
                "PROVIDER is a GUID or a name; a class of the kernel (Process, DiskIo ...) is a name too. EVENT is an "
                "id, the opcode\nof a classic event, or a name such as GC/Start. All versions are printed, as schema "
                "text (formats/schema/SCHEMA_TEXT.md).",
            .examples =
                "  etwpipe explain-event Microsoft-Windows-DotNETRuntime 143\n"
                "  etwpipe explain-event Process Process/Start\n"
                "  etwpipe explain-event --manifest w3core.man.xml IIS_Trace 1",
            .min_arguments = 2,
            .max_arguments = 2};
  }

  void AddOptions(po::options_description& options) override {
    format_.Add(options, {"text", "json"});
    options.add_options()("manifest", po::value(&manifests_)->value_name("FILE|DIR"),
                          "look into a manifest (.man, .xml, .schema) first; repeatable");
  }

  Status Run(const CommandArgs& args) override {
    ETWPIPE_RETURN_IF_ERROR(format_.Check());
    const auto files = schema::LoadManifestFiles(manifests_, Environment("ETWPIPE_MANIFEST_PATH").c_str());
    if (!files.ok()) return files.status();
    for (const auto& problem : files->problems) PrintNote(problem);
    const std::string& name = args.arguments[0];
    const auto guid = ParseGuid(name);
    const std::vector<Guid> providers = guid ? std::vector<Guid>{*guid} : schema::ProvidersNamed(name);
    const Schemas all = SchemasOf(providers, files->schemas, name);
    if (all.empty()) {
      const std::string near = guid ? std::string() : DidYouMean(name, schema::NearProviderNames(name), "");
      return Status::InvalidArgument(
          fmt::format("explain-event: no schema of a provider \"{}\"{}; --manifest adds some", name, near));
    }
    const Wanted wanted = WantedOf(args.arguments[1]);
    Schemas shown;
    for (const auto& schema : all) {
      if (wanted.number ? schema->key.number == *wanted.number : schema->name == wanted.name) shown.push_back(schema);
    }
    const auto documented = Documented(providers, wanted, shown);
    for (const ClrAlias* alias : documented) {
      if (wanted.number != alias->id) continue;
      for (const auto& schema : schema::BuiltInSchemas(alias->manifest_provider)) {
        const bool known = std::find(shown.begin(), shown.end(), schema) != shown.end();
        if (schema->key.number == alias->manifest_id && !known) shown.push_back(schema);
      }
    }
    if (shown.empty() && documented.empty()) return NoSuchEvent(name, args.arguments[1], all);
    if (format_.json()) {
      JsonWriter json;
      WriteJson(json, shown, documented);
      return Print(json.text());
    }
    std::string text = schema::PrintSchemaText(WithOwnKeywords(shown));
    if (!documented.empty()) text += '\n';
    for (const ClrAlias* alias : documented) text += DocumentedText(*alias);
    return Print(text);
  }

 private:
  static Status NoSuchEvent(const std::string& provider, const std::string& event, const Schemas& all) {
    std::vector<std::string> names;
    for (const auto& schema : all) names.push_back(schema->name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return Status::InvalidArgument(
        fmt::format("explain-event: \"{}\" has no event \"{}\"{}", provider, event, DidYouMean(event, names, "")));
  }

  FormatOption format_;
  std::vector<std::string> manifests_;
};

}  // namespace

std::unique_ptr<Subcommand> MakeExplainEventCommand() { return std::make_unique<ExplainEventCommand>(); }

}  // namespace etwpipe
