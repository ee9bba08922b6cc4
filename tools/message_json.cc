#include "tools/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>

namespace etwpipe {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void WriteFields(JsonWriter& json, const Message& message);

// `at` is -1 for a field that is not repeated.
void WriteValue(JsonWriter& json, const Message& message, const FieldDescriptor& field, int at) {
  const auto& reflection = *message.GetReflection();
  const auto get = [&](auto one, auto of_list) {
    return at < 0 ? (reflection.*one)(message, &field) : (reflection.*of_list)(message, &field, at);
  };
  using Reflection = google::protobuf::Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return json.Int(get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
    case FieldDescriptor::CPPTYPE_INT64: return json.Int(get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
    case FieldDescriptor::CPPTYPE_UINT32: return json.Uint(get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t value = get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
      return field.type() == FieldDescriptor::TYPE_FIXED64 ? json.Id(value) : json.Uint(value);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return json.Double(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return json.Double(static_cast<double>(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat)));
    case FieldDescriptor::CPPTYPE_BOOL: return json.Bool(get(&Reflection::GetBool, &Reflection::GetRepeatedBool));
    case FieldDescriptor::CPPTYPE_ENUM:
      return json.String(get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum)->name());
    case FieldDescriptor::CPPTYPE_STRING:
      return json.String(get(&Reflection::GetString, &Reflection::GetRepeatedString));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return WriteFields(
          json, at < 0 ? reflection.GetMessage(message, &field) : reflection.GetRepeatedMessage(message, &field, at));
  }
}

void WriteFields(JsonWriter& json, const Message& message) {
  const auto& reflection = *message.GetReflection();
  const auto& descriptor = *message.GetDescriptor();
  json.BeginObject();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    json.Key(field.name());
    if (field.is_repeated()) {
      json.BeginArray();
      for (int at = 0; at < reflection.FieldSize(message, &field); ++at) WriteValue(json, message, field, at);
      json.EndArray();
    } else if (field.has_presence() && !reflection.HasField(message, &field)) {
      json.Null();
    } else {
      WriteValue(json, message, field, -1);
    }
  }
  json.EndObject();
}

}  // namespace

void WriteMessage(JsonWriter& json, const Message& message) { WriteFields(json, message); }

void WriteMessage(JsonWriter& json, std::string_view type, std::string_view bytes) {
  const auto* descriptor = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(std::string(type));
  if (descriptor == nullptr) return json.Null();
  const std::unique_ptr<Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return json.Null();
  WriteFields(json, *message);
}

}  // namespace etwpipe
