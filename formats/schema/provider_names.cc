#include "formats/schema/provider_names.h"

#include <algorithm>

#include "pipeline/registry.h"

namespace etwpipe::schema {
namespace {

struct NamedText {
  std::string_view guid;
  std::string_view name;
};

// Records that merging tools add: etl-format.md 4.4.
struct MergeRecord {
  std::string_view guid;
  std::string_view name;
  std::string_view event_class;
};
constexpr MergeRecord kMergeRecords[] = {
    {"9b79ee91-b5fd-41c0-a243-4248e266e9d0", kWindowsKernel, "SystemConfigEx"},
    {"b3e675d7-2554-4f18-830b-2762732560de", "KernelTraceControl", "ImageID"},
    {"bbccf6c1-6cd1-48c4-80ff-839482e37671", "KernelTraceControl", "MetaData"},
    {"ed54dff8-c409-4cf6-bf83-05e1e61a09c4", "KernelTraceControl", "WinSAT"},
};

// etl-format.md 2.9; the class names are those of the public MOF.
constexpr NamedText kKernelClasses[] = {
    {"68fdd900-4a3e-11d1-84f4-0000f80464e3", "EventTrace"},  {"3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c", "DiskIo"},
    {"3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c", "PageFault"},   {"3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", "Process"},
    {"90cbdc39-4a3e-11d1-84f4-0000f80464e3", "FileIo"},      {"3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", "Thread"},
    {"9a280ac0-c8e0-11d1-84e2-00c04fb998a2", "TcpIp"},       {"3282fc76-feed-498e-8aa7-e70f459d430e", "Job"},
    {"bf3a50c5-a9c9-4988-a005-2df0b7c80f80", "UdpIp"},       {"ae53722e-c863-11d2-8659-00c04fa321a1", "Registry"},
    {"13976d09-a327-438c-950b-7f03192815c7", "DbgPrint"},    {"01853a65-418f-4f36-aefc-dc0f1d2fd235", "SystemConfig"},
    {"99134383-5248-43fc-834b-529454e75df3", "Spare1"},      {"42695762-ea50-497a-9068-5cbbb35e0b95", "Wnf"},
    {"0268a8b6-74fd-4302-9dd0-6e8f1795c0cf", "Pool"},        {"ce1dbfb4-137e-4da6-87b0-3f59aa102cbc", "PerfInfo"},
    {"222962ab-6180-4b88-a825-346b75f2a24a", "Heap"},        {"89497f50-effe-4440-8cf2-ce6b1cdcaca7", "Object"},
    {"e43445e0-0903-48c3-b878-ff0fccebdd04", "Power"},       {"a9152f00-3f58-4bee-92a1-70c7d079d5dd", "ModBound"},
    {"2cb15d1d-5fc1-11d2-abe1-00a0c911f518", "Image"},       {"b2d14872-7c5b-463d-8419-ee9bf7d23e04", "Dpc"},
    {"7687a439-f752-45b8-b741-321aec0f8df9", "Cc"},          {"3ac66736-cc59-4cff-8115-8df50e39816b", "CritSec"},
    {"def2fe46-7bd6-4b80-bd94-f57fe20d0ce3", "StackWalk"},   {"9aec974b-5b8e-4118-9b92-3186d8002ce5", "Ums"},
    {"45d8cccd-539f-4b72-a8b7-5c683142609a", "Alpc"},        {"d837ca92-12b9-44a5-ad6a-3a65b3578aa8", "SplitIo"},
    {"c861d0e2-a2c1-4d36-9f9c-970bab943a12", "ThreadPool"},  {"7f2a405c-69b5-4bf9-a1f5-30e8f1afab5e", "Hypervisor"},
    {"2ce9a149-effe-42f0-a635-a1d39e26c8f2", "HypervisorX"},
};

constexpr NamedText kProviders[] = {
    // The common language runtime: semantics.md 6.1.
    {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", "Microsoft-Windows-DotNETRuntime"},
    {"a669021c-c450-4609-a035-5af59af4df18", "Microsoft-Windows-DotNETRuntimeRundown"},
    {"763fd754-7086-4dfe-95eb-c01a46faf4ca", "Microsoft-Windows-DotNETRuntimePrivate"},
    {"cc2bcbba-16b6-4cf3-8990-d74c2e8af500", "Microsoft-Windows-DotNETRuntimeStress"},
    // Our own: design.md section 2.
    {"56e4a0cd-0f35-5584-7110-f7ea1385f7bd", "etwpipe"},
    {"db0dcde2-b09f-5816-161d-383eaa5152ec", "etwpipe.ingest"},
    {"59c006b1-41ca-5ea1-b5e8-be24e5caf8dc", "etwpipe.profiler"},
    // Public providers of Windows and .NET.
    {"f78a07b0-796a-5da4-5c20-61aa526e77af", "Microsoft.VisualCpp.BuildInsights"},
    {"a8a71ac1-040f-54a2-07ca-00a89b5ab761", "PerfView"},
    {"8e9f5090-2d75-4d03-8a81-e5afbf85daf1", "System.Diagnostics.Eventing.FrameworkEventSource"},
    {"2e5dba47-a3d2-4d16-8ee0-6671ffdcd7b5", "System.Threading.Tasks.TplEventSource"},
    {"49592c0f-5a05-516d-aa4b-a64e02026c89", "System.Runtime"},
    {"d30b5633-7ef1-5485-b4e0-94979b102068", "System.Net.Http"},
    {"adb401e1-5296-51f8-c125-5fda75826144", "Microsoft-Diagnostics-DiagnosticSource"},
    {"3ac73b97-af73-50e9-0822-5da4367920d0", "Microsoft-Extensions-Logging"},
    {"9ded64a4-414c-5251-dcf7-1e4e20c15e70", "Microsoft.AspNetCore.Hosting"},
    {"22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", "Microsoft-Windows-Kernel-Process"},
    {"edd08927-9cc4-4e65-b970-c2560fb5c289", "Microsoft-Windows-Kernel-File"},
    {"7dd42a49-5329-4832-8dfd-43d979153a88", "Microsoft-Windows-Kernel-Network"},
    {"70eb4f03-c1de-4f73-a051-33d13d5413bd", "Microsoft-Windows-Kernel-Registry"},
    {"c7bde69a-e1e0-4177-b6ef-283ad1525271", "Microsoft-Windows-Kernel-Disk"},
    {"331c3b3a-2005-44c2-ac5e-77220c37d6b4", "Microsoft-Windows-Kernel-Power"},
    {"b675ec37-bdb6-4648-bc92-f3fdc74d3ca2", "Microsoft-Windows-Kernel-EventTracing"},
    {"a0c1853b-5c40-4b15-8766-3cf1c58f985a", "Microsoft-Windows-PowerShell"},
    {"1c95126e-7eea-49a9-a3fe-a378b03ddb4d", "Microsoft-Windows-DNS-Client"},
    {"315a8872-923e-4ea2-9889-33cd4754bf64", "Microsoft-Windows-Immersive-Shell"},
    {"2f07e2ee-15db-40f1-90ef-9d7ba282188a", "Microsoft-Windows-TCPIP"},
    {"e53c6823-7bb8-44bb-90dc-3f86090d48a6", "Microsoft-Windows-Winsock-AFD"},
    {"43d1a55c-76d6-4f7e-995c-64c711e5cafe", "Microsoft-Windows-WinINet"},
    {"7d44233d-3055-4b9c-ba64-0d47ca40a232", "Microsoft-Windows-WinHttp"},
    {"dd5ef90a-6398-47a4-ad34-4dcecdef795f", "Microsoft-Windows-HttpService"},
    {"6ad52b32-d609-4be9-ae07-ce8dae937e39", "Microsoft-Windows-RPC"},
    {"802ec45a-1e99-4b83-9920-87c98277ba9d", "Microsoft-Windows-DxgKrnl"},
    {"9e9bba3c-2e38-40cb-99f4-9e8281425164", "Microsoft-Windows-Dwm-Core"},
    {"8c416c79-d49b-4f01-a467-e56d3aa8234c", "Microsoft-Windows-Win32k"},
    {"54849625-5478-4994-a5ba-3e3b0328c30d", "Microsoft-Windows-Security-Auditing"},
    {"2a576b87-09a7-520e-c21a-4942f0271d67", "Microsoft-Antimalware-Scan-Interface"},
    {"9e814aad-3204-11d2-9a82-006008a86939", "MSNT_SystemTrace"},
    {"3a2a4e84-4c21-4981-ae10-3fda0d9b0f83", "IIS_Trace"},
};

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::vector<ProviderName> MakeTable() {
  std::vector<ProviderName> table;
  for (const auto& kernel : kKernelClasses) table.push_back({GuidOf(kernel.guid), kWindowsKernel, kernel.name});
  for (const auto& record : kMergeRecords) table.push_back({GuidOf(record.guid), record.name, record.event_class});
  for (const auto& provider : kProviders) table.push_back({GuidOf(provider.guid), provider.name, {}});
  return table;
}

}  // namespace

const std::vector<ProviderName>& KnownProviders() {
  static const std::vector<ProviderName> kTable = MakeTable();
  return kTable;
}

const ProviderName* FindProvider(const Guid& guid) {
  for (const auto& provider : KnownProviders()) {
    if (provider.guid == guid) return &provider;
  }
  return nullptr;
}

std::string NameOrGuid(const Guid& guid) {
  const ProviderName* known = FindProvider(guid);
  return known != nullptr ? std::string(known->name) : ToString(guid);
}

std::vector<Guid> ProvidersNamed(std::string_view name) {
  std::vector<Guid> guids;
  if (name.empty()) return guids;
  for (const auto& provider : KnownProviders()) {
    if (EqualIgnoringCase(provider.name, name) || EqualIgnoringCase(provider.event_class, name)) {
      guids.push_back(provider.guid);
    }
  }
  return guids;
}

std::vector<std::string> NearProviderNames(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& provider : KnownProviders()) {
    names.emplace_back(provider.name);
    if (!provider.event_class.empty()) names.emplace_back(provider.event_class);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return NearNames(name, names);
}

}  // namespace etwpipe::schema
