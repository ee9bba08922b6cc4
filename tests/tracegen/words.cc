#include "tests/tracegen/words.h"

#include <array>
#include <initializer_list>

namespace etwpipe::tracegen {
namespace {

constexpr std::array<std::string_view, 10> kCompanies = {"Contoso",  "Fabrikam",      "Northwind", "Litware",
                                                         "System",   "System",        "System",    "Microsoft.Ext",
                                                         "Tailspin", "AdventureWorks"};
constexpr std::array<std::string_view, 24> kAreas = {
    "Billing", "Orders",  "Inventory", "Shipping", "Customers", "Catalog",  "Security",      "Identity",
    "Storage", "Caching", "Net",       "Http",     "Text",      "Json",     "Collections",   "Threading",
    "Tasks",   "Linq",    "IO",        "Data",     "Reporting", "Pipeline", "Configuration", "Diagnostics"};
constexpr std::array<std::string_view, 32> kNouns = {
    "Order",   "Customer", "Invoice", "Item",    "Cache",    "Session", "Token",    "Buffer",
    "Stream",  "Reader",   "Writer",  "Request", "Response", "Context", "Options",  "Channel",
    "Message", "Queue",    "Task",    "Worker",  "Index",    "Query",   "Document", "Schema",
    "Field",   "Record",   "Batch",   "Header",  "Payload",  "Counter", "Lock",     "Snapshot"};
constexpr std::array<std::string_view, 20> kRoles = {"Repository", "Service",  "Manager",    "Factory",    "Builder",
                                                     "Provider",   "Handler",  "Controller", "Comparer",   "Serializer",
                                                     "Collection", "Resolver", "Adapter",    "Dispatcher", "Validator",
                                                     "Formatter",  "Pool",     "Store",      "Visitor",    "Helper"};
constexpr std::array<std::string_view, 32> kVerbs = {
    "Get",     "Set",    "TryGet", "Create",     "Update",  "Delete", "Find",    "Load",
    "Save",    "Parse",  "Format", "Read",       "Write",   "Open",   "Close",   "Process",
    "Handle",  "Invoke", "Add",    "Remove",     "Insert",  "Append", "Resolve", "Validate",
    "Compute", "Begin",  "End",    "Initialize", "Dispose", "Flush",  "Merge",   "Split"};
constexpr std::array<std::string_view, 12> kTypes = {"class System.String",
                                                     "int32",
                                                     "bool",
                                                     "int64",
                                                     "class System.Object",
                                                     "valuetype System.DateTime",
                                                     "float64",
                                                     "unsigned int8[]",
                                                     "class System.Threading.CancellationToken",
                                                     "!!0",
                                                     "class System.Collections.Generic.IEnumerable`1<!0>",
                                                     "native int"};
constexpr std::array<std::string_view, 16> kFolders = {"src",      "include", "core",   "net",     "storage", "ui",
                                                       "common",   "render",  "audio",  "physics", "tools",   "tests",
                                                       "platform", "math",    "script", "db"};
constexpr std::array<std::string_view, 4> kSourceEnds = {".cpp", ".h", ".hpp", ".inl"};
constexpr std::array<std::string_view, 6> kDataEnds = {".dat", ".log", ".json", ".db", ".tmp", ".idx"};
constexpr std::array<std::string_view, 8> kRoots = {"ProgramData\\Contoso",
                                                    "Windows\\System32\\config",
                                                    "Users\\build\\AppData\\Local\\Temp",
                                                    "inetpub\\logs\\LogFiles\\W3SVC1",
                                                    "Program Files\\Northwind\\Data",
                                                    "Windows\\ServiceProfiles\\LocalService\\AppData",
                                                    "Users\\build\\source\\repos",
                                                    "Windows\\WinSxS\\amd64_fabrikam"};
constexpr std::array<std::string_view, 6> kHives = {"MACHINE\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion",
                                                    "MACHINE\\SYSTEM\\ControlSet001\\Services",
                                                    "MACHINE\\SOFTWARE\\Classes\\CLSID",
                                                    "USER\\S-1-5-18\\Software\\Contoso",
                                                    "MACHINE\\SOFTWARE\\Policies\\Fabrikam",
                                                    "MACHINE\\SYSTEM\\ControlSet001\\Control\\Session Manager"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

/// The parts in a row. A braced list is evaluated from left to right, arguments of a function in any order: with it
/// random parts are the same for every compiler.
std::string Join(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace

std::u16string Wide(std::string_view ascii) { return {ascii.begin(), ascii.end()}; }

std::string MakeNamespace(Random& random) {
  std::string name = Join({random.Pick(kCompanies), ".", random.Pick(kAreas)});
  if (random.Chance(40)) name += Join({".", random.Pick(kAreas)});
  return name;
}

std::string MakeTypeName(Random& random) {
  std::string name = Join({random.Pick(kNouns), random.Pick(kRoles)});
  if (random.Chance(12)) name += random.Chance(50) ? "`1" : "`2";
  if (random.Chance(8)) {
    name += Join({"+<", random.Pick(kVerbs), random.Pick(kNouns), ">d__", std::to_string(random.Below(40))});
  }
  return name;
}

std::string MakeFullTypeName(Random& random) { return Join({MakeNamespace(random), ".", MakeTypeName(random)}); }

std::string MakeMethodName(Random& random) {
  if (random.Chance(8)) return random.Chance(50) ? ".ctor" : "MoveNext";
  if (random.Chance(15)) return Join({random.Chance(70) ? "get_" : "set_", random.Pick(kNouns)});
  return Join({random.Pick(kVerbs), random.Pick(kNouns), random.Chance(15) ? "Async" : ""});
}

std::string MakeSignature(Random& random) {
  std::string text = random.Chance(70) ? "instance " : "";
  text += Join({random.Chance(40) ? std::string_view("void") : random.Pick(kTypes), "  ("});
  const uint32_t count = random.Skewed(4);
  for (uint32_t i = 0; i < count; ++i) text += Join({i == 0 ? "" : ",", random.Pick(kTypes)});
  return text + ")";
}

std::string MakeSourcePath(Random& random) {
  return Join({"C:\\Users\\build\\source\\", Lower(random.Pick(kAreas)), "\\", random.Pick(kFolders), "\\",
               random.Pick(kFolders), "\\", Lower(random.Pick(kNouns)), "_", Lower(random.Pick(kRoles)),
               random.Pick(kSourceEnds)});
}

std::string MakeDataPath(Random& random) {
  return Join({"\\Device\\HarddiskVolume3\\", random.Pick(kRoots), "\\", Lower(random.Pick(kAreas)), "\\",
               Lower(random.Pick(kNouns)), "_", std::to_string(random.Skewed(10000)), random.Pick(kDataEnds)});
}

std::string MakeRegistryKey(Random& random) {
  return Join({"\\REGISTRY\\", random.Pick(kHives), "\\", random.Pick(kAreas), random.Pick(kNouns)});
}

std::string MakeQuery(Random& random) {
  return Join({"SELECT ", random.Pick(kNouns), ", ", random.Pick(kNouns), " FROM ", random.Pick(kNouns), "s WHERE ",
               random.Pick(kNouns), "Id = ", std::to_string(random.Skewed(100'000))});
}

}  // namespace etwpipe::tracegen
