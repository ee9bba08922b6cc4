// Kernel layouts that no recording shows: old versions, 32-bit pointers, rare events. Each line below is a row of the
// tables in etl-format.md 8; a payload is built from it and taken apart by the built-in schema.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "formats/schema/provider_names.h"
#include "tests/formats/schema/kernel_rows.h"

namespace etwpipe::schema {
namespace {

TEST(KernelLayouts, Process) {
  const std::string v2 =
      "UniqueProcessKey ptr, ProcessId u32, ParentId u32, SessionId i32, ExitStatus i32, UserSID sid, ImageFileName "
      "astr, CommandLine wstr";
  const std::string v3 =
      "UniqueProcessKey ptr, ProcessId u32, ParentId u32, SessionId i32, ExitStatus i32, DirectoryTableBase ptr, "
      "UserSID sid, ImageFileName astr, CommandLine wstr";
  const std::string v4 =
      "UniqueProcessKey ptr, ProcessId u32, ParentId u32, SessionId i32, ExitStatus i32, DirectoryTableBase ptr, "
      "Flags x32, UserSID sid, ImageFileName astr, CommandLine wstr, PackageFullName wstr, ApplicationId wstr";
  const char* const names[] = {"", "Process/Start", "Process/Stop", "Process/DCStart", "Process/DCStop"};
  std::vector<Row> rows;
  for (uint8_t type = 1; type <= 4; ++type) {
    rows.push_back({names[type], type, 0, 0, "ProcessId ptr, ParentId ptr, UserSID sid, ImageFileName astr"});
    rows.push_back({names[type], type, 1, 1,
                    "PageDirectoryBase ptr, ProcessId u32, ParentId u32, SessionId i32, ExitStatus i32, UserSID "
                    "nosid, ImageFileName astr"});
    rows.push_back({names[type], type, 2, 2, v2});
    rows.push_back({names[type], type, 3, 3, v3});
    rows.push_back({names[type], type, 4, kOpen, v4});
  }
  rows.push_back({"Process/Defunct", 39, 2, 2, v2});
  rows.push_back({"Process/Defunct", 39, 3, 3, v3});
  rows.push_back({"Process/Defunct", 39, 4, 4, v4});
  rows.push_back({"Process/Terminate", 11, 0, kOpen, "ProcessId u32"});
  rows.push_back({"Process/PerfCtr", 32, 2, kOpen,
                  "ProcessId u32, PageFaultCount u32, HandleCount u32, Reserved u32, PeakVirtualSize size, "
                  "PeakWorkingSetSize size, PeakPagefileUsage size, QuotaPeakPagedPoolUsage size, "
                  "QuotaPeakNonPagedPoolUsage size, VirtualSize size, WorkingSetSize size, PagefileUsage size, "
                  "QuotaPagedPoolUsage size, QuotaNonPagedPoolUsage size, PrivatePageCount size"});
  rows.push_back({"Process/DebugEvent", 112, 2, kOpen, "ProcessId u32, ThreadId u32, Reason u32"});
  CheckRows("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", rows);
}

TEST(KernelLayouts, Thread) {
  const std::string addresses =
      "ProcessId u32, TThreadId u32, StackBase ptr, StackLimit ptr, UserStackBase ptr, UserStackLimit ptr, ";
  const std::string v1 = addresses + "StartAddr ptr, Win32StartAddr ptr, WaitMode i8";
  const std::string v2 = addresses + "StartAddr ptr, Win32StartAddr ptr, TebBase ptr, SubProcessTag x32";
  const std::string v3 = addresses +
                         "Affinity ptr, Win32StartAddr ptr, TebBase ptr, SubProcessTag x32, BasePriority i8, "
                         "PagePriority u8, IoPriority u8, ThreadFlags x8, ThreadName wstr?";
  const char* const names[] = {"", "Thread/Start", "Thread/Stop", "Thread/DCStart", "Thread/DCStop"};
  std::vector<Row> rows;
  for (uint8_t type = 1; type <= 4; ++type) {
    rows.push_back({names[type], type, 0, 0, "TThreadId u32, ProcessId u32"});
    rows.push_back({names[type], type, 1, 1, type % 2 == 1 ? v1 : "ProcessId u32, TThreadId u32"});
    rows.push_back({names[type], type, 2, 2, v2});
    rows.push_back({names[type], type, 3, kOpen, v3});
  }
  const std::string priority = "ThreadId u32, OldPriority i8, NewPriority i8, DynamicPriority i8, Reserved i8";
  const std::vector<Row> others = {
      {"Thread/CSwitch", 36, 1, 1,
       "NewThreadId u32, OldThreadId u32, NewThreadPriority i8, OldThreadPriority i8, NewThreadQuantum i8, "
       "OldThreadQuantum i8, OldThreadWaitReason u8, OldThreadWaitMode i8, OldThreadState u8, "
       "OldThreadWaitIdealProcessor u8, NewThreadWaitTime u32"},
      {"Thread/CSwitch", 36, 2, 3,
       "NewThreadId u32, OldThreadId u32, NewThreadPriority i8, OldThreadPriority i8, PreviousCState u8, SpareByte "
       "i8, OldThreadWaitReason u8, OldThreadWaitMode i8, OldThreadState u8, OldThreadWaitIdealProcessor u8, "
       "NewThreadWaitTime u32, Reserved u32"},
      {"Thread/CSwitch", 36, 4, kOpen,
       "NewThreadId u32, OldThreadId u32, NewThreadPriority i8, OldThreadPriority i8, PreviousCState u8, SpareByte "
       "i8, OldThreadWaitReason u8, ThreadFlags x8, OldThreadState u8, OldThreadWaitIdealProcessor u8, "
       "NewThreadWaitTime u32, Reserved u32"},
      {"Thread/CompCS", 37, 2, kOpen, ""},
      {"Dispatcher/ReadyThread", 50, 2, kOpen,
       "TThreadId u32, AdjustReason u8, AdjustIncrement i8, Flag x8, Reserved u8"},
      {"Thread/SetPriority", 48, 2, kOpen, priority},
      {"Thread/SetBasePriority", 49, 2, kOpen, priority},
      {"Thread/SetPagePriority", 51, 2, kOpen, priority},
      {"Thread/SetIoPriority", 52, 2, kOpen, priority},
      {"Thread/SetAffinity", 53, 2, kOpen, "Affinity ptr, ThreadId u32, Group u16, Reserved u16"},
      {"Thread/WorkerThread", 57, 2, kOpen, "TThreadId u32, StartTime u64, ThreadRoutine ptr"},
      {"Thread/SpinLock", 41, 2, kOpen,
       "SpinLockAddress ptr, CallerAddress ptr, AcquireTime u64, ReleaseTime u64, WaitTimeInCycles u32, SpinCount "
       "u32, ThreadId u32, InterruptCount u32, Irql u8, AcquireDepth u8, Flag x8, Reserved 5*u8"},
      {"Thread/KQueueEnqueue", 62, 2, kOpen, "Entry ptr, ThreadId u32"},
      {"Thread/KQueueDequeue", 63, 2, kOpen, "ThreadId u32, EntryCount n3, Entries 3*ptr"},
      {"Thread/SetName", 72, 2, kOpen, "ProcessId u32, ThreadId u32, ThreadName wstr"},
  };
  rows.insert(rows.end(), others.begin(), others.end());
  CheckRows("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", rows);
}

TEST(KernelLayouts, Image) {
  const char* const tail = "DefaultBase ptr, Reserved1 u32, Reserved2 u32, Reserved3 u32, Reserved4 u32, FileName wstr";
  const std::string head = "ImageBase ptr, ImageSize size, ProcessId u32, ImageChecksum u32, TimeDateStamp u32, ";
  std::vector<Row> rows;
  for (const auto& [type, name] : std::initializer_list<std::pair<uint8_t, const char*>>{
           {10, "Image/Load"}, {2, "Image/Unload"}, {3, "Image/DCStart"}, {4, "Image/DCStop"}}) {
    rows.push_back({name, type, 0, 0, "BaseAddress ptr, ModuleSize u32, ImageFileName wstr"});
    rows.push_back({name, type, 1, 1, "ImageBase ptr, ImageSize size, ProcessId u32, FileName wstr"});
    rows.push_back({name, type, 2, 2, head + "Reserved0 u32, " + tail});
    rows.push_back({name, type, 3, kOpen, head + "SignatureLevel u8, SignatureType u8, Reserved0 u16, " + tail});
  }
  rows.push_back({"Image/KernelBase", 33, 0, kOpen, "ImageBase ptr"});
  rows.push_back({"Image/HypercallPage", 34, 0, kOpen, "HypercallPageVa ptr"});
  CheckRows("2cb15d1d-5fc1-11d2-abe1-00a0c911f518", rows);
}

TEST(KernelLayouts, PerfInfo) {
  const std::string interrupt = "InitialTime i64, Routine ptr, ReturnValue u8, Vector u16, Reserved u8";
  const std::string dpc = "InitialTime i64, Routine ptr";
  const std::string interval = "Source u32, NewInterval u32, OldInterval u32";
  const std::string spin_lock =
      "SpinLockSpinThreshold u32, SpinLockContentionSampleRate u32, SpinLockAcquireSampleRate u32, "
      "SpinLockHoldThreshold u32";
  CheckRows(
      "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc",
      {{"PerfInfo/Mark", 34, 2, kOpen, "Message astr"},
       {"PerfInfo/Sample", 46, 2, kOpen, "InstructionPointer ptr, ThreadId u32, Count u16, Flags x8, Rank u8"},
       {"PerfInfo/PMCSample", 47, 2, kOpen, "InstructionPointer ptr, ThreadId u32, ProfileSource u16, Reserved u16"},
       {"PerfInfo/PMCCounterConfig", 48, 2, kOpen, "CounterCount n2, CounterName 2*wstr"},
       {"PerfInfo/PMCCounterCorruption", 49, 2, kOpen,
        "ProcessorIndex u32, SourceCount n2, ProfileSource u32, LastGoodCount u64, ProfileSource u32, "
        "LastGoodCount u64"},
       {"PerfInfo/MSI", 50, 2, kOpen, interrupt + ", MessageNumber u32"},
       {"PerfInfo/SysClEnter", 51, 2, kOpen, "SysCallAddress ptr"},
       {"PerfInfo/SysClExit", 52, 2, kOpen, "SysCallNtStatus x32"},
       {"PerfInfo/SampleCache", 55, 2, kOpen,
        "EntryCount n2, InstructionPointer ptr, ThreadId u32, Count u16, Flags x8, Rank u8, "
        "InstructionPointer ptr, ThreadId u32, Count u16, Flags x8, Rank u8"},
       {"PerfInfo/DebuggerEnabled", 58, 2, kOpen, ""},
       {"PerfInfo/ThreadedDPC", 66, 0, kOpen, dpc},
       {"PerfInfo/ISR", 67, 1, 1, "InitialTime i64, Routine ptr, ReturnValue u32"},
       {"PerfInfo/ISR", 67, 2, kOpen, interrupt},
       {"PerfInfo/DPC", 68, 0, kOpen, dpc},
       {"PerfInfo/TimerDPC", 69, 0, kOpen, dpc},
       {"PerfInfo/PassiveISR", 95, 2, kOpen, interrupt},
       {"PerfInfo/SetInterval", 72, 2, 2, interval},
       {"PerfInfo/SetInterval", 72, 3, kOpen, interval + ", SourceName wstr"},
       {"PerfInfo/CollectionStart", 73, 2, 2, interval},
       {"PerfInfo/CollectionEnd", 74, 2, 2, interval},
       {"PerfInfo/SpinLockConfigStart", 75, 2, kOpen, spin_lock},
       {"PerfInfo/SpinLockConfigEnd", 76, 2, kOpen, spin_lock},
       {"PerfInfo/ClockInterrupt", 79, 2, kOpen, "InterruptTime u64, Flags x16"}});
}

TEST(KernelLayouts, StackWalkKeys) {
  const std::string key = "EventTimeStamp u64, StackProcess u32, StackThread u32, StackKey ptr";
  CheckRows("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3",
            {{"StackWalk/KeyKernel", 37, 2, kOpen, key}, {"StackWalk/KeyUser", 38, 2, kOpen, key}});
}

// As many frames as the payload holds; bytes that are no whole frame are left over.
TEST(KernelLayouts, StackWalkFrames) {
  const Guid provider = GuidOf("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3");
  for (const uint32_t pointer_size : {4u, 8u}) {
    for (const auto& [type, head] : std::initializer_list<std::pair<uint8_t, std::string>>{
             {32, "EventTimeStamp u64, StackProcess u32, StackThread u32"},
             {34, "StackKey ptr"},
             {35, "StackKey ptr"},
             {36, "StackKey ptr"}}) {
      for (int frames = 0; frames <= 192; frames += 16) {
        const Built built = Build(fmt::format("{}, Stack {}*ptr", head, frames), pointer_size);
        auto decoded = DecodeClassic(provider, type, 2, built.bytes, pointer_size);
        ASSERT_TRUE(decoded);
        EXPECT_EQ(decoded->outcome, DecodeOutcome::kComplete);
        EXPECT_EQ(decoded->lines, built.lines);
        auto longer = built.bytes;
        longer.push_back(std::byte{1});
        decoded = DecodeClassic(provider, type, 2, longer, pointer_size);
        EXPECT_EQ(decoded->outcome, DecodeOutcome::kExtra);
        EXPECT_EQ(decoded->lines, built.lines);
      }
    }
  }
}

TEST(KernelLayouts, SmallClasses) {
  CheckRows("45d8cccd-539f-4b72-a8b7-5c683142609a",
            {{"ALPC/SendMessage", 33, 0, kOpen, "MessageID u32"},
             {"ALPC/ReceiveMessage", 34, 0, kOpen, "MessageID u32"},
             {"ALPC/WaitForReply", 35, 0, kOpen, "MessageID u32"},
             {"ALPC/WaitForNewMessage", 36, 0, kOpen, "IsServerPort u32, PortName astr"},
             {"ALPC/Unwait", 37, 0, kOpen, "Status x32"}});
  CheckRows("222962ab-6180-4b88-a825-346b75f2a24a",
            {{"Heap/Create", 32, 0, kOpen, "HeapHandle ptr, HeapFlags x32"},
             {"Heap/Alloc", 33, 0, kOpen, "HeapHandle ptr, AllocSize size, AllocAddress ptr, SourceId u32"},
             {"Heap/Free", 36, 0, kOpen, "HeapHandle ptr, FreeAddress ptr, SourceId u32"}});
  CheckRows("89497f50-effe-4440-8cf2-ce6b1cdcaca7",
            {{"Object/CreateHandle", 32, 0, kOpen, "Object ptr, Handle x32, ObjectType u16"},
             {"Object/CloseHandle", 33, 0, kOpen, "Object ptr, Handle x32, ObjectType u16"},
             {"Object/DuplicateHandle", 34, 0, kOpen,
              "Object ptr, SourceHandle x32, TargetHandle x32, TargetProcessId u32, ObjectType u16, "
              "SourceProcessId u32"},
             {"Object/TypeDCStart", 36, 0, kOpen, "ObjectType u16, Reserved u16, ObjectTypeName wstr"}});
  CheckRows("13976d09-a327-438c-950b-7f03192815c7",
            {{"DbgPrint/Print", 32, 0, kOpen, "Component u32, Level u32, Message astr"}});
  CheckRows("68fdd900-4a3e-11d1-84f4-0000f80464e3",
            {{"EventTrace/DbgID_RSDS", 64, 0, kOpen, "GuidSig guid, Age u32, PdbFileName astr"},
             {"EventTrace/BinaryPath", 67, 0, kOpen, "GuidCount n2, Guids 2*guid, BinaryPath wstr"},
             {"EventTrace/Extension", 5, 0, kOpen,
              "GroupMask1 x32, GroupMask2 x32, GroupMask3 x32, GroupMask4 x32, GroupMask5 x32, GroupMask6 x32, "
              "GroupMask7 x32, GroupMask8 x32, KernelEventVersion u32?"}});
}

TEST(KernelLayouts, PoolTag) {
  const std::vector<uint8_t> bytes = {1, 0, 0, 0, 'P', 'r', 'o', 'c', 0x40, 0, 0, 0, 0x10, 0x20, 0, 0x80};
  const auto decoded =
      DecodeClassic(GuidOf("0268a8b6-74fd-4302-9dd0-6e8f1795c0cf"), 32, 2, std::as_bytes(std::span(bytes)), 4);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->full_name(), "Windows Kernel/Pool/Alloc");
  EXPECT_EQ(decoded->lines, "Type=0x1\nTag=Proc\nNumberOfBytes=64\nEntry=0x80002010\n");
  EXPECT_EQ(decoded->outcome, DecodeOutcome::kComplete);
}

TEST(KernelLayouts, SystemConfig) {
  const std::string cpu =
      "MHz u32, NumberOfProcessors u32, MemSize u32, PageSize u32, AllocationGranularity u32, ComputerName w256, ";
  const std::string irq = "IRQNum u32, DeviceDescriptionLen u32, DeviceDescription wstr";
  const std::string texts =
      ", DeviceID wstr, DeviceDescription wstr, FriendlyName wstr, PdoName wstr, ServiceName wstr, UpperFilters "
      "2*wstr, LowerFilters 1*wstr";
  CheckRows("01853a65-418f-4f36-aefc-dc0f1d2fd235",
            {{"SystemConfig/CPU", 10, 0, 1, cpu + "DomainName w132, HyperThreadingFlag ptr"},
             {"SystemConfig/CPU", 10, 2, 2, cpu + "DomainName w134, HyperThreadingFlag ptr"},
             {"SystemConfig/CPU", 10, 3, kOpen,
              cpu + "DomainName w134, HyperThreadingFlag ptr, HighestUserAddress ptr, ProcessorArchitecture u16, "
                    "ProcessorLevel u16, ProcessorRevision x16, PaeEnabled u8, NxEnabled u8, MemorySpeed u32?"},
             {"SystemConfig/IRQ", 21, 0, 2, "IRQAffinity x64, " + irq},
             {"SystemConfig/IRQ", 21, 3, kOpen, "IRQAffinity x64, IRQGroup u16, Reserved u16, " + irq},
             {"SystemConfig/PnP", 22, 0, 3,
              "IDLength u32, DescriptionLength u32, FriendlyNameLength u32, DeviceID wstr, DeviceDescription wstr, "
              "FriendlyName wstr"},
             {"SystemConfig/PnP", 22, 4, 4, "ClassGuid guid, UpperFiltersCount n2, LowerFiltersCount n1" + texts},
             {"SystemConfig/PnP", 22, 5, kOpen,
              "ClassGuid guid, UpperFiltersCount n2, LowerFiltersCount n1, DevStatus x32, DevProblem u32" + texts},
             {"SystemConfig/Services", 15, 0, 1, "ServiceName w34, DisplayName w256, ProcessName w34, ProcessId u32"},
             {"SystemConfig/Services", 15, 2, 2,
              "ProcessId u32, ServiceState u32, SubProcessTag x32, ServiceName wstr, DisplayName wstr, ProcessName "
              "wstr"},
             {"SystemConfig/Network", 17, 2, kOpen,
              "TcbTablePartitions u32, MaxHashTableSize u32, MaxUserPort u32, TcpTimedWaitDelay u32"}});
}

TEST(KernelLayouts, ImageIdentities) {
  const std::string pdb = "ImageBase ptr, ProcessId u32, GuidSig guid, Age u32, PdbFileName astr";
  CheckRows("b3e675d7-2554-4f18-830b-2762732560de",
            {{"ImageID", 0, 0, kOpen,
              "ImageBase ptr, ImageSize size, ProcessId u32, TimeDateStamp u32, OriginalFileName wstr"},
             {"ImageID/None", 32, 0, kOpen, "ImageBase ptr, ProcessId u32"},
             {"ImageID/DbgID_RSDS", 36, 0, kOpen, pdb},
             {"ImageID/DbgID_ILRSDS", 37, 0, kOpen, pdb},
             {"ImageID/DbgID_PPDB", 38, 0, kOpen,
              "ImageBase ptr, ProcessId u32, TimeDateStamp u32, MajorVersion u16, MinorVersion u16"},
             {"ImageID/DbgID_Determ", 40, 0, kOpen, "ImageBase ptr, ProcessId u32"}});
}

// Numbers of the documents and their names; what has no name is not lost.
TEST(KernelLayouts, NamesOfValues) {
  const auto name = [](std::string_view provider, uint8_t type, uint16_t version, std::string_view field,
                       uint64_t value) {
    const auto schema = ClassicSchema(GuidOf(provider), type, version);
    const Property& property = schema->properties.at(static_cast<size_t>(schema->IndexOf(field)));
    return schema->maps.at(property.map)->NameOf(value);
  };
  constexpr std::string_view kProcess = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
  constexpr std::string_view kThread = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
  constexpr std::string_view kDiskIo = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
  constexpr std::string_view kPerfInfo = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";
  EXPECT_EQ(name(kProcess, 1, 4, "Flags", 10), "Wow64|Packaged");
  EXPECT_EQ(name(kThread, 36, 2, "OldThreadState", 5), "Waiting");
  EXPECT_EQ(name(kThread, 36, 4, "OldThreadState", 7), "DeferredReady");
  EXPECT_EQ(name(kThread, 36, 4, "OldThreadState", 8), "");
  EXPECT_EQ(name(kThread, 36, 4, "OldThreadWaitReason", 6), "UserRequest");
  EXPECT_EQ(name(kThread, 36, 2, "OldThreadWaitReason", 17), "WrLpcReply");
  EXPECT_EQ(name(kThread, 50, 2, "Flag", 9), "ExecutingDpc|DirectSwitch");
  EXPECT_EQ(name(kDiskIo, 10, 3, "IrpFlags", 0x20043), "Nocache|PagingIo|SynchronousPagingIo|0x20000");
  EXPECT_EQ(name(kPerfInfo, 46, 2, "Flags", 0x72), "ExecutingIsr|0x70");
  EXPECT_EQ(name(kPerfInfo, 73, 3, "Source", 0), "Timer");
}

// Every kernel provider: its names are those of the table of providers, an event's name begins with a class, no two
// schemas describe the same event, and no version is without one.
TEST(KernelLayouts, EveryEventHasOneSchemaAndAName) {
  size_t providers = 0;
  for (const Guid& provider : BuiltInProviders()) {
    const ProviderName* known = FindProvider(provider);
    if (known == nullptr || (known->name != kWindowsKernel && known->name != "KernelTraceControl")) continue;
    ++providers;
    std::map<uint16_t, std::vector<const EventSchema*>> by_type;
    for (const auto& schema : BuiltInSchemas(provider)) {
      EXPECT_EQ(schema->provider->name, known->name) << schema->name;
      EXPECT_TRUE(schema->key.classic) << schema->name;
      const std::string_view class_word = std::string_view(schema->name).substr(0, schema->name.find('/'));
      EXPECT_FALSE(class_word.empty()) << ToString(provider);
      EXPECT_FALSE(schema->name.ends_with('/')) << schema->name;
      by_type[schema->key.number].push_back(schema.get());
    }
    std::map<std::string, uint16_t> type_of;
    for (auto& [type, schemas] : by_type) {
      const std::string& name = schemas.front()->name;
      EXPECT_TRUE(type_of.emplace(name, type).second) << name << " is the name of two types";
      std::sort(schemas.begin(), schemas.end(),
                [](auto* a, auto* b) { return a->key.first_version < b->key.first_version; });
      uint32_t next = 0;
      for (const EventSchema* schema : schemas) {
        EXPECT_EQ(schema->name, name);
        EXPECT_EQ(schema->key.first_version, next) << name << ": versions overlap or are left out";
        next = uint32_t{schema->key.last_version} + 1;
      }
      EXPECT_EQ(next, 0x10000u) << name << ": later versions have no schema";
    }
  }
  EXPECT_EQ(providers, 25u);
}

}  // namespace
}  // namespace etwpipe::schema
