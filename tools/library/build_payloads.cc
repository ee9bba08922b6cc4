#include "tools/library/build_payloads.h"

#include <charconv>
#include <cstring>

#include "formats/schema/utf16.h"

namespace etwpipe::session {
namespace {

constexpr std::string_view kVcperfProvider = "f78a07b0-796a-5da4-5c20-61aa526e77af";

constexpr uint16_t Place(size_t offset) { return static_cast<uint16_t>(offset); }

template <int tool>
constexpr PayloadField kInvocation[] = {
    {FieldType::kInt32, Place(offsetof(InvocationData, msvc_tool_code)), {"ToolCode"}, tool},
    {FieldType::kVersion, Place(offsetof(InvocationData, tool_version)), {"ToolVersion"}},
    {FieldType::kNarrow, Place(offsetof(InvocationData, tool_version_string)), {"ToolVersionString"}},
    {FieldType::kWide, Place(offsetof(InvocationData, working_directory)), {"WorkingDirectory"}},
    {FieldType::kWide, Place(offsetof(InvocationData, tool_path)), {"ToolPath"}},
    {FieldType::kOrdinal, Place(offsetof(InvocationData, invocation_id))},
};
template <int pass>
constexpr PayloadField kPass[] = {
    // No field tells it: the event does.
    {FieldType::kInt32, Place(offsetof(ClPassData, translation_unit_pass_code)), {}, pass},
    {FieldType::kWide, Place(offsetof(ClPassData, input_source_path)), {"InputSourcePath", "Component"}},
    {FieldType::kWide, Place(offsetof(ClPassData, output_object_path)), {"OutputObjectPath"}},
};
template <int type>
constexpr PayloadField kFile[] = {
    {FieldType::kWide, Place(offsetof(FileData, path)), {"Name"}, 1},
    {FieldType::kInt32, Place(offsetof(FileData, type_code)), {"TypeCode"}, type},
};
constexpr PayloadField kFrontEndFile[] = {
    {FieldType::kNarrow, Place(offsetof(FrontEndFileData, path)), {"Name", "IncludedPath"}, 1},
};
constexpr PayloadField kFunction[] = {
    {FieldType::kNarrow, Place(offsetof(FunctionData, name)), {"Name", "FunctionName"}, 1},
};
constexpr PayloadField kForceInlinee[] = {
    {FieldType::kNarrow, Place(offsetof(ForceInlineeData, name)), {"Name", "StringValue"}, 1},
    {FieldType::kUint16, Place(offsetof(ForceInlineeData, size)), {"Size", "NumericValue"}},
};
constexpr PayloadField kNameValue[] = {
    {FieldType::kWide, Place(offsetof(NameValuePairData, name)), {"Name"}, 1},
    {FieldType::kWide, Place(offsetof(NameValuePairData, value)), {"Value"}, 1},
};
constexpr PayloadField kSymbol[] = {
    {FieldType::kUint64, Place(offsetof(SymbolNameData, key)), {"Key"}},
    {FieldType::kNarrow, Place(offsetof(SymbolNameData, name)), {"Name"}, 1},
};
constexpr PayloadField kTemplate[] = {
    {FieldType::kUint64,
     Place(offsetof(TemplateInstantiationData, specialization_symbol_key)),
     {"SpecializationSymbolKey"}},
    {FieldType::kUint64,
     Place(offsetof(TemplateInstantiationData, primary_template_symbol_key)),
     {"PrimaryTemplateSymbolKey"}},
    {FieldType::kInt32, Place(offsetof(TemplateInstantiationData, kind_code)), {"KindCode"}},
};
// vcperf gives the line as the value of a property.
constexpr PayloadField kCommandLine[] = {{FieldType::kWide, 0, {"Value", "Name"}, 1}};

constexpr PayloadShape kCompilerShape = {sizeof(InvocationData), false, kInvocation<0>};
constexpr PayloadShape kLinkerShape = {sizeof(InvocationData), false, kInvocation<1>};
constexpr PayloadShape kFrontPassShape = {sizeof(ClPassData), false, kPass<0>};
constexpr PayloadShape kBackPassShape = {sizeof(ClPassData), false, kPass<1>};
constexpr PayloadShape kFileShapes[] = {{sizeof(FileData), false, kFile<0>}, {sizeof(FileData), false, kFile<1>},
                                        {sizeof(FileData), false, kFile<2>}, {sizeof(FileData), false, kFile<3>},
                                        {sizeof(FileData), false, kFile<4>}, {sizeof(FileData), false, kFile<5>}};
constexpr PayloadShape kFrontEndFileShape = {sizeof(FrontEndFileData), false, kFrontEndFile};
constexpr PayloadShape kFunctionShape = {sizeof(FunctionData), false, kFunction};
constexpr PayloadShape kForceInlineeShape = {sizeof(ForceInlineeData), false, kForceInlinee};
constexpr PayloadShape kNameValueShape = {sizeof(NameValuePairData), false, kNameValue};
constexpr PayloadShape kSymbolShape = {sizeof(SymbolNameData), false, kSymbol};
constexpr PayloadShape kTemplateShape = {sizeof(TemplateInstantiationData), false, kTemplate};
constexpr PayloadShape kCommandLineShape = {sizeof(const uint16_t*), true, kCommandLine};

void Store(std::byte* place, FieldType type, uint64_t value) {
  switch (type) {
    case FieldType::kUint16: StoreAt(place, 0, static_cast<uint16_t>(value)); break;
    case FieldType::kInt32: StoreAt(place, 0, static_cast<uint32_t>(value)); break;
    default: StoreAt(place, 0, value); break;
  }
}

// As many of the four numbers as the text has.
void StoreVersion(std::byte* place, std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < 4; ++i) {
    uint16_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return;
    StoreAt(place, i * sizeof number, number);
    if (next == end || *next != '.') return;
    at = next + 1;
  }
}

std::string TextOf(const PayloadField& field, facts::RecordFields& fields) {
  for (const std::string_view name : field.names) {
    if (name.empty()) break;
    if (std::string text = fields.Text(name); !text.empty()) return text;
  }
  return {};
}

uint64_t NumberOf(const PayloadField& field, facts::RecordFields& fields) {
  for (const std::string_view name : field.names) {
    if (name.empty()) break;
    if (const auto number = fields.Number(name)) return *number;
  }
  return static_cast<uint64_t>(int64_t{field.fallback});
}

// Of names that differ in case and underscores only: OPT_ICF, OptICF.
bool SameName(std::string_view a, std::string_view b) {
  const auto next = [](std::string_view text, size_t& at) {
    while (at < text.size() && text[at] == '_') ++at;
    if (at == text.size()) return '\0';
    const char c = text[at++];
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (size_t i = 0, k = 0;;) {
    const char first = next(a, i);
    if (first != next(b, k)) return false;
    if (first == '\0') return true;
  }
}

const EventKindInfo* KindNamed(std::string_view name) {
  for (const EventKindInfo& kind : kEventKinds) {
    if (SameName(kind.name, name)) return &kind;
  }
  // A thread is named after what it works for: CodeGenerationThread.
  return name.ends_with("Thread") ? FindEventKind(static_cast<uint64_t>(EventId::kThread)) : nullptr;
}

const EventKindInfo* VcperfKind(const EventHeader& row, facts::RecordFields& fields) {
  constexpr uint16_t kNarrowProperty = 1;
  constexpr uint16_t kWideProperty = 2;
  constexpr uint16_t kFunctionDetail = 1501;
  constexpr uint16_t kTemplates = 2000;
  switch (row.id) {
    case kNarrowProperty:
    case kWideProperty: return fields.Text("Name") == "CommandLine" ? KindNamed("CommandLine") : nullptr;
    case kFunctionDetail: return KindNamed(fields.Text("EventName"));
    case kTemplates: return KindNamed("TemplateInstantiation");
    default: return KindNamed(fields.Text("ActivityName"));
  }
}

}  // namespace

const PayloadShape* ShapeOf(EventId id) {
  switch (id) {
    case EventId::kCompiler: return &kCompilerShape;
    case EventId::kLinker: return &kLinkerShape;
    case EventId::kFrontEndPass: return &kFrontPassShape;
    case EventId::kBackEndPass: return &kBackPassShape;
    case EventId::kFileInput: return &kFileShapes[0];
    case EventId::kObjOutput: return &kFileShapes[1];
    case EventId::kExecutableImageOutput: return &kFileShapes[2];
    case EventId::kLibOutput: return &kFileShapes[3];
    case EventId::kImpLibOutput: return &kFileShapes[4];
    case EventId::kExpOutput: return &kFileShapes[5];
    case EventId::kFrontEndFile: return &kFrontEndFileShape;
    case EventId::kFunction: return &kFunctionShape;
    case EventId::kForceInlinee: return &kForceInlineeShape;
    case EventId::kEnvironmentVariable: return &kNameValueShape;
    case EventId::kSymbolName: return &kSymbolShape;
    case EventId::kTemplateInstantiation: return &kTemplateShape;
    case EventId::kCommandLine: return &kCommandLineShape;
    default: return nullptr;
  }
}

const void* BuildPayload::Fill(EventId id, facts::RecordFields& fields, uint64_t ordinal) {
  static_assert(sizeof(InvocationData) <= kMaxSize);
  const PayloadShape* shape = ShapeOf(id);
  if (shape == nullptr) return nullptr;
  std::memset(data_.data(), 0, shape->size);
  size_t narrow = 0;
  size_t wide = 0;
  for (const PayloadField& field : shape->fields) {
    std::byte* const place = data_.data() + field.offset;
    switch (field.type) {
      case FieldType::kOrdinal: Store(place, field.type, ordinal); break;
      case FieldType::kVersion: StoreVersion(place, TextOf(field, fields)); break;
      case FieldType::kNarrow: {
        std::string& text = narrow_[narrow++];
        text = TextOf(field, fields);
        const char* pointer = text.empty() && field.fallback == 0 ? nullptr : text.c_str();
        std::memcpy(place, &pointer, sizeof pointer);
        break;
      }
      case FieldType::kWide: {
        std::u16string& text = wide_[wide++];
        text = schema::Utf8ToUtf16(TextOf(field, fields));
        const char16_t* pointer = text.empty() && field.fallback == 0 ? nullptr : text.c_str();
        std::memcpy(place, &pointer, sizeof pointer);
        break;
      }
      default: Store(place, field.type, NumberOf(field, fields)); break;
    }
  }
  if (shape->text_only) return wide_[0].c_str();
  return data_.data();
}

BuildRecords::BuildRecords(const TraceContext& trace)
    : ingest_(trace.providers->Intern(ProviderGuidFromName("etwpipe.ingest")).value_or(ProviderTable::kMaxProviders)),
      vcperf_(trace.providers->Intern(GuidOf(kVcperfProvider)).value_or(ProviderTable::kMaxProviders)) {}

const EventKindInfo* BuildRecords::KindOf(const EventHeader& row, bool activity, facts::RecordFields& fields) const {
  const EventKindInfo* kind = nullptr;
  if (row.provider == ingest_) {
    kind = FindEventKind(fields.Number("EventId").value_or(0));
  } else if (row.provider == vcperf_) {
    kind = VcperfKind(row, fields);
  }
  // One that says otherwise than the table is none of its events.
  return kind != nullptr && kind->activity == activity ? kind : nullptr;
}

}  // namespace etwpipe::session
