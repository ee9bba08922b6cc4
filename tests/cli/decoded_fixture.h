// One event with a schema given as text, as the printers of the command line see it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/schema/extended_items.h"
#include "formats/schema/listed_schemas.h"
#include "formats/schema/schema_text.h"
#include "pipeline/byte_reader.h"
#include "tools/decoded_event.h"

namespace etwpipe {

/// Little-endian values side by side.
class PayloadBytes {
 public:
  template <typename T>
  PayloadBytes& Add(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    StoreAt(bytes_.data(), bytes_.size() - sizeof value, value);
    return *this;
  }
  /// Characters without a terminator.
  PayloadBytes& Chars(std::string_view text) {
    for (const char c : text) Add(c);
    return *this;
  }
  PayloadBytes& Wide(std::u16string_view text) {
    for (const char16_t c : text) Add(c);
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// The provider and the event that DecodedFixture's schemas must describe.
constexpr std::string_view kTestEvent =
    "provider \"Test Provider\" 11111111-2222-3333-4444-555555555555\nevent Task/Start id 7\n";

class DecodedFixture : public testing::Test {
 protected:
  /// `schema` is a text of schemas, usually kTestEvent and its fields.
  void SetSchema(const std::string& schema) {
    const auto parsed = schema::ParseSchemaText(schema, "test", schema::SchemaOrigin::kManifestFile);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    auto listed = std::make_shared<schema::ListedSchemas>();
    for (const auto& one : *parsed) listed->Add(one);
    auto registry = std::make_shared<schema::SchemaRegistry>();
    registry->Add(listed);
    trace_.facts->Set(std::shared_ptr<const schema::SchemaRegistry>(registry));
  }

  /// The event of id 7 with this payload, decoded; extended items and all of the record but its header are optional.
  const DecodedEvent& Load(const PayloadBytes& payload, const std::vector<std::byte>& items = {}) {
    constexpr size_t kHeaderBytes = 80;
    record_.assign(kHeaderBytes, std::byte{0});
    StoreAt(record_.data(), 64, activity_);
    record_.insert(record_.end(), items.begin(), items.end());
    record_.insert(record_.end(), payload.bytes().begin(), payload.bytes().end());
    row_ = EventHeader();
    row_.kind = HeaderKind::kEvent64;
    row_.flags = kHasPid | kHasTimestamp | kHasProvider | kPointer64;
    if (!items.empty()) row_.flags |= kHasExtended;
    row_.provider = *trace_.providers->Intern(GuidOf("11111111-2222-3333-4444-555555555555"));
    row_.id = 7;
    row_.record = record_.data();
    row_.record_size = static_cast<uint16_t>(record_.size());
    row_.extended_begin = kHeaderBytes;
    row_.payload_begin = static_cast<uint16_t>(kHeaderBytes + items.size());
    event_ = std::make_unique<DecodedEvent>(trace_);
    event_->Load(row_, true);
    return *event_;
  }

  TraceContext trace_;
  Guid activity_;
  EventHeader row_;
  schema::Value value_;

 private:
  std::vector<std::byte> record_;
  std::unique_ptr<DecodedEvent> event_;
};

}  // namespace etwpipe
