#include "stages/filter_where/keywords.h"

#include "formats/schema/builtin_schemas.h"

namespace etwpipe::where {

std::optional<uint64_t> KeywordMask(const Guid& provider, std::string_view name) {
  constexpr std::string_view kSuffix = "Keyword";
  const auto stem = [&](std::string_view text) {
    if (text.size() > kSuffix.size() && text.ends_with(kSuffix)) text.remove_suffix(kSuffix.size());
    return text;
  };
  const auto& schemas = schema::BuiltInSchemas(provider);
  if (schemas.empty()) return std::nullopt;
  for (const auto& keyword : schemas.front()->provider->keywords) {
    if (stem(keyword.name) == stem(name)) return keyword.mask;
  }
  return std::nullopt;
}

}  // namespace etwpipe::where
