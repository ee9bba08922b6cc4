#include "formats/etwp/dictionary.h"

#include <fmt/format.h>

#include <algorithm>

namespace etwpipe::etwp {
namespace {

void ToProto(const AnnotationInfo& info, v1::AnnotationDeclaration& declaration) {
  declaration.set_name(info.name);
  declaration.set_type(static_cast<v1::AnnotationDeclaration::Type>(info.type));
  declaration.set_unit(static_cast<v1::AnnotationDeclaration::Unit>(info.unit));
  declaration.set_message_type(info.message_type);
}

std::optional<AnnotationInfo> FromProto(const v1::AnnotationDeclaration& declaration) {
  if (!v1::AnnotationDeclaration::Type_IsValid(declaration.type())) return std::nullopt;
  if (!v1::AnnotationDeclaration::Unit_IsValid(declaration.unit())) return std::nullopt;
  return AnnotationInfo{declaration.name(), static_cast<AnnotationType>(declaration.type()),
                        static_cast<AnnotationUnit>(declaration.unit()), declaration.message_type()};
}

}  // namespace

Dictionary::Dictionary() { kinds_.emplace(kRawKind, &templates_.emplace_back()); }

std::string Dictionary::Add(const v1::Dictionary& frame) {
  for (const auto& kind : frame.kinds()) {
    const auto made = RecordTemplate::FromProto(kind);
    if (!made || kind.number() > kMaxKinds)
      return fmt::format("kind {} of its dictionary makes no sense", kind.number());
    const auto found = kinds_.find(kind.number());
    if (found == kinds_.end()) {
      fields_ += made->layout() == nullptr ? 0 : made->layout()->fields.size();
      if (fields_ > PayloadLayout::kMaxFileFields) return "its dictionary has too many fields";
      kinds_.emplace(kind.number(), &templates_.emplace_back(*made));
    } else if (!(*found->second == *made)) {
      return fmt::format("kind {} of its dictionary has another meaning than before", kind.number());
    }
  }
  for (const auto& declaration : frame.annotations()) {
    const auto made = FromProto(declaration);
    const uint32_t number = declaration.number();
    if (!made || number == 0 || number > kMaxAnnotations) {
      return fmt::format("annotation {} of its dictionary makes no sense", number);
    }
    const auto found = annotations_.find(number);
    if (found == annotations_.end()) {
      annotations_.emplace(number, &infos_.emplace_back(*made));
    } else if (!(*found->second == *made)) {
      return fmt::format("annotation {} of its dictionary has another meaning than before", number);
    }
  }
  if (frame.complete() && schemas_.empty()) schemas_.assign(frame.schemas().begin(), frame.schemas().end());
  return {};
}

const RecordTemplate* Dictionary::kind(uint32_t number) const {
  const auto found = kinds_.find(number);
  return found == kinds_.end() ? nullptr : found->second;
}

const AnnotationInfo* Dictionary::annotation(uint32_t number) const {
  const auto found = annotations_.find(number);
  return found == annotations_.end() ? nullptr : found->second;
}

std::vector<uint32_t> Dictionary::kind_numbers() const {
  std::vector<uint32_t> numbers;
  for (const auto& [number, made] : kinds_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<AnnotationInfo> Dictionary::annotations() const { return {infos_.begin(), infos_.end()}; }

std::shared_ptr<const PayloadLayout> DictionaryWriter::NumberContexts(const PayloadLayout& layout) {
  auto numbered = std::make_shared<PayloadLayout>(layout);
  for (auto& field : numbered->fields) {
    const auto [found, added] = contexts_.try_emplace(field.context, static_cast<uint32_t>(contexts_.size()) + 1);
    // The numbers of a hostile recording run out; fields may share one, only worse predicted.
    field.context = std::min(found->second, PayloadLayout::kMaxContexts);
  }
  return numbered;
}

uint32_t DictionaryWriter::KindNumber(const RecordTemplate& kind, uint64_t hash, v1::Dictionary& fresh) {
  if (kind.raw()) return kRawKind;
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if (templates_[entry->second - 1] == kind) return entry->second;
  }
  if (templates_.size() == kMaxKinds) return kRawKind;
  templates_.push_back(kind);
  auto& numbered = numbered_.emplace_back(kind);
  if (kind.layout() != nullptr) {
    const bool fits = fields_ + kind.layout()->fields.size() <= PayloadLayout::kMaxFileFields;
    numbered.set_layout(fits ? NumberContexts(*kind.layout()) : nullptr);
    if (fits) fields_ += kind.layout()->fields.size();
  }
  const auto number = static_cast<uint32_t>(templates_.size());
  by_hash_.emplace(hash, number);
  auto& added = *complete_.add_kinds();
  added.set_number(number);
  numbered.ToProto(added);
  *fresh.add_kinds() = added;
  return number;
}

std::optional<uint32_t> DictionaryWriter::AnnotationNumber(const AnnotationInfo& info, v1::Dictionary& fresh) {
  const auto found = std::find(infos_.begin(), infos_.end(), info);
  if (found != infos_.end()) return static_cast<uint32_t>(found - infos_.begin()) + 1;
  if (infos_.size() == kMaxAnnotations) return std::nullopt;
  infos_.push_back(info);
  auto& added = *complete_.add_annotations();
  added.set_number(static_cast<uint32_t>(infos_.size()));
  ToProto(info, added);
  *fresh.add_annotations() = added;
  return added.number();
}

}  // namespace etwpipe::etwp
