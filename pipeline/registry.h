// The stages a program knows: built by an explicit list at start, passed down, never global.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "pipeline/stage.h"

namespace etwpipe {

class Registry {
 public:
  /// Makes a stage from its options message (of info.options' type); an error names the option.
  using Factory = std::function<Result<std::unique_ptr<Stage>>(const google::protobuf::Message& options)>;
  struct Entry {
    StageInfo info;  ///< as far as it does not depend on options
    Factory make;
  };

  /// Adds a stage; its name must be new.
  void Add(Entry entry);
  /// The entry of that name, or null. Valid as long as nothing is added.
  const Entry* Find(std::string_view name) const;
  /// By name.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Names closest to `wanted` among `known`, nearest first, at most three: for "did you mean".
std::vector<std::string> NearNames(std::string_view wanted, const std::vector<std::string>& known);

}  // namespace etwpipe
