// The words of the schema text form for types, and back.
#pragma once

#include <optional>
#include <string_view>

#include "formats/schema/property.h"

namespace etwpipe::schema {

std::string_view WordOf(InType in);    ///< u32, wstr, ...; empty for a number that is no in-type
std::string_view WordOf(OutType out);  ///< hex, port, ...; empty for kDefault
std::optional<InType> InTypeOf(std::string_view word);
std::optional<OutType> OutTypeOf(std::string_view word);

}  // namespace etwpipe::schema
