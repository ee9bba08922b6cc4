// What annotation columns are called in outputs.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/annotation.h"

namespace etwpipe {

/// The last part of each column's name, or all of it where two columns share the last part.
inline std::vector<std::string> AnnotationKeys(const std::vector<AnnotationInfo>& columns) {
  std::vector<std::string> keys;
  for (const auto& column : columns) {
    const auto same = std::count_if(columns.begin(), columns.end(), [&](const AnnotationInfo& other) {
      return other.short_name() == column.short_name();
    });
    keys.emplace_back(same > 1 ? std::string_view(column.name) : column.short_name());
  }
  return keys;
}

}  // namespace etwpipe
