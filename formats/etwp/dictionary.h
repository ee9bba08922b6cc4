// What the blocks of an archive share: numbers of kinds of records and annotations, and their prefix.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/etwp/block_prefix.h"
#include "formats/etwp/record_template.h"
#include "pipeline/annotation.h"
#include "proto/archive.pb.h"

namespace etwpipe::etwp {

/// Kinds beyond this many are kept as raw records, so that a hostile recording cannot make the dictionary grow.
constexpr uint32_t kMaxKinds = 65535;
constexpr uint32_t kMaxAnnotations = 4096;

/// What a reader knows of the dictionary. References stay valid as entries are added.
class Dictionary {
 public:
  Dictionary();

  /// Adds the entries of a frame; known ones may be repeated. The text says what is wrong with it, empty if nothing;
  /// entries before the wrong one are kept.
  std::string Add(const v1::Dictionary& frame);
  /// The template of a kind, or null.
  const RecordTemplate* kind(uint32_t number) const;
  /// The declaration of an annotation, or null.
  const AnnotationInfo* annotation(uint32_t number) const;
  /// Numbers of all kinds known, ascending, kind 0 included.
  std::vector<uint32_t> kind_numbers() const;
  std::vector<AnnotationInfo> annotations() const;
  /// Texts of schemas (formats/schema/SCHEMA_TEXT.md).
  const std::vector<std::string>& schemas() const { return schemas_; }
  /// What blocks are compressed with; null as long as it is not known.
  const BlockPrefix& prefix() const { return prefix_; }
  void set_prefix(BlockPrefix prefix) { prefix_ = std::move(prefix); }

 private:
  BlockPrefix prefix_;
  std::deque<RecordTemplate> templates_;
  std::deque<AnnotationInfo> infos_;
  std::vector<std::string> schemas_;
  std::unordered_map<uint32_t, const RecordTemplate*> kinds_;
  std::unordered_map<uint32_t, const AnnotationInfo*> annotations_;
  size_t fields_ = 0;  // of all layouts
};

/// Gives out the numbers while writing. Not for several threads.
class DictionaryWriter {
 public:
  /// The number of a kind; a new one goes to `fresh`. kRawKind for the raw template, or when there are too many.
  uint32_t KindNumber(const RecordTemplate& kind, uint64_t hash, v1::Dictionary& fresh);
  /// The template of a number as it stands in the dictionary: with numbers for the contexts of its fields.
  const RecordTemplate& numbered(uint32_t number) const { return number == kRawKind ? raw_ : numbered_[number - 1]; }
  /// The number of an annotation; nullopt when there are too many.
  std::optional<uint32_t> AnnotationNumber(const AnnotationInfo& info, v1::Dictionary& fresh);
  /// Everything given out so far, for the complete frame.
  const v1::Dictionary& complete() const { return complete_; }

 private:
  v1::Dictionary complete_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  std::shared_ptr<const PayloadLayout> NumberContexts(const PayloadLayout& layout);

  RecordTemplate raw_;
  std::deque<RecordTemplate> templates_;             // number - 1
  std::deque<RecordTemplate> numbered_;              // number - 1
  std::unordered_map<uint32_t, uint32_t> contexts_;  // by hash of the name
  size_t fields_ = 0;                                // of all layouts
  std::vector<AnnotationInfo> infos_;                // number - 1
};

}  // namespace etwpipe::etwp
