#include "tools/library/event_copy.h"

#include <cstdlib>
#include <cstring>

#include "tools/library/build_payloads.h"

namespace etwpipe::session {
namespace {

// Lays parts one behind the other; without memory it only counts.
class Layout {
 public:
  explicit Layout(std::byte* memory) : memory_(memory) {}

  // Where the copy stands; null without memory or bytes.
  std::byte* Add(const void* bytes, size_t size, size_t alignment) {
    used_ = (used_ + alignment - 1) / alignment * alignment;
    std::byte* place = memory_ == nullptr || bytes == nullptr ? nullptr : memory_ + used_;
    if (bytes != nullptr) used_ += size;
    if (place != nullptr && size != 0) std::memcpy(place, bytes, size);
    return place;
  }
  const char* Add(const char* text) {
    return reinterpret_cast<const char*>(Add(text, text == nullptr ? 0 : std::strlen(text) + 1, 1));
  }
  const uint16_t* Add(const uint16_t* text) {
    size_t units = 0;
    while (text != nullptr && text[units] != 0) ++units;
    return reinterpret_cast<const uint16_t*>(Add(text, (units + 1) * sizeof *text, alignof(uint16_t)));
  }
  size_t used() const { return used_; }

 private:
  std::byte* memory_;
  size_t used_ = 0;
};

// Copies the text that a member points to, and lets the member of the copy point there.
template <typename Unit>
void CopyText(Layout& layout, const std::byte* from, std::byte* to) {
  const Unit* text = nullptr;
  std::memcpy(&text, from, sizeof text);
  const Unit* copied = layout.Add(text);
  if (to != nullptr) std::memcpy(to, &copied, sizeof copied);
}

const void* CopyData(Layout& layout, const EventData& event) {
  if (event.data == nullptr) return nullptr;
  if (event.event_id == kOtherEvent) {
    const auto& record = *static_cast<const RecordData*>(event.data);
    auto* copied = reinterpret_cast<RecordData*>(layout.Add(&record, sizeof record, alignof(RecordData)));
    const char* name = layout.Add(record.provider_name);
    const auto* payload = reinterpret_cast<const uint8_t*>(layout.Add(record.payload, record.payload_size, 8));
    if (copied != nullptr) {
      copied->provider_name = name;
      copied->payload = payload;
    }
    return copied;
  }
  const PayloadShape* shape = ShapeOf(static_cast<EventId>(event.event_id));
  if (shape == nullptr) return nullptr;
  if (shape->text_only) return layout.Add(static_cast<const uint16_t*>(event.data));
  const auto* from = static_cast<const std::byte*>(event.data);
  std::byte* to = layout.Add(from, shape->size, 8);
  for (const PayloadField& field : shape->fields) {
    std::byte* member = to == nullptr ? nullptr : to + field.offset;
    if (field.type == FieldType::kNarrow) CopyText<char>(layout, from + field.offset, member);
    if (field.type == FieldType::kWide) CopyText<uint16_t>(layout, from + field.offset, member);
  }
  return to;
}

EventData* CopyInto(Layout& layout, const EventData& event) {
  auto* copied = reinterpret_cast<EventData*>(layout.Add(&event, sizeof event, alignof(EventData)));
  const void* data = CopyData(layout, event);
  const char* name = layout.Add(event.event_name);
  const uint16_t* wide_name = layout.Add(event.event_wide_name);
  if (copied != nullptr) {
    copied->data = data;
    copied->event_name = name;
    copied->event_wide_name = wide_name;
  }
  return copied;
}

}  // namespace

EventData* CopyEvent(const EventData& event) {
  Layout size(nullptr);
  CopyInto(size, event);
  auto* memory = static_cast<std::byte*>(std::malloc(size.used()));
  if (memory == nullptr) return nullptr;
  Layout layout(memory);
  return CopyInto(layout, event);
}

}  // namespace etwpipe::session
