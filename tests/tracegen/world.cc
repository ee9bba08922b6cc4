#include "tests/tracegen/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/tracegen/words.h"

namespace etwpipe::tracegen {
namespace {

struct Program {
  std::string_view image;
  std::string_view arguments;
  bool managed = false;
  bool pointer32 = false;
  bool boot = false;  ///< runs when the trace starts
};
constexpr std::array<Program, 20> kPrograms = {{
    {.image = "smss.exe", .arguments = "", .boot = true},
    {.image = "csrss.exe", .arguments = "ObjectDirectory=\\Windows SharedSection=1024,20480,768", .boot = true},
    {.image = "services.exe", .arguments = "", .boot = true},
    {.image = "dotnet.exe", .arguments = "Contoso.Orders.dll --urls http://*:5000", .managed = true, .boot = true},
    {.image = "w3wp.exe", .arguments = "-ap \"DefaultAppPool\" -v \"v4.0\"", .managed = true, .boot = true},
    {.image = "svchost.exe", .arguments = "-k netsvcs -p -s Schedule", .boot = true},
    {.image = "FabrikamService.exe", .arguments = "/service", .managed = true, .pointer32 = true, .boot = true},
    {.image = "svchost.exe", .arguments = "-k LocalService -p", .boot = true},
    {.image = "explorer.exe", .arguments = "", .boot = true},
    {.image = "lsass.exe", .arguments = "", .boot = true},
    {.image = "sqlservr.exe", .arguments = "-sMSSQLSERVER", .boot = true},
    {.image = "devenv.exe", .arguments = "Contoso.sln", .managed = true, .boot = true},
    {.image = "dwm.exe", .arguments = "", .boot = true},
    {.image = "MSBuild.exe", .arguments = "/m Contoso.sln /nr:true", .managed = true, .boot = true},
    {.image = "svchost.exe", .arguments = "-k NetworkService -p -s Dnscache", .boot = true},
    {.image = "cl.exe", .arguments = "/c /O2 /std:c++20"},
    {.image = "link.exe", .arguments = "/OUT:contoso.exe /LTCG"},
    {.image = "conhost.exe", .arguments = "0x4"},
    {.image = "git.exe", .arguments = "status --porcelain"},
    {.image = "Northwind.Report.exe", .arguments = "--daily", .managed = true},
}};
constexpr uint32_t kFirstTransient = 15;
constexpr uint32_t kPlanned64 = 3;  // dotnet.exe
constexpr uint32_t kPlanned32 = 6;  // FabrikamService.exe

constexpr std::array<std::string_view, 8> kKernelImages = {"ntoskrnl.exe", "hal.dll", "ntfs.sys",   "tcpip.sys",
                                                           "storport.sys", "afd.sys", "fltmgr.sys", "win32kfull.sys"};
constexpr std::array<std::string_view, 22> kUserImages = {
    "ntdll.dll",   "kernel32.dll", "KernelBase.dll", "msvcrt.dll",      "ucrtbase.dll",  "combase.dll",
    "rpcrt4.dll",  "sechost.dll",  "advapi32.dll",   "user32.dll",      "gdi32full.dll", "ws2_32.dll",
    "mswsock.dll", "crypt32.dll",  "bcrypt.dll",     "ole32.dll",       "shell32.dll",   "propsys.dll",
    "c2.dll",      "c1xx.dll",     "mspdbcore.dll",  "vcruntime140.dll"};
constexpr std::array<std::string_view, 6> kManagedImages = {
    "coreclr.dll",     "clrjit.dll",     "System.Private.CoreLib.dll",
    "System.Linq.dll", "hostpolicy.dll", "System.Net.Http.dll"};
constexpr size_t kBaseImages = 6;  // of kUserImages, in every process

constexpr uint64_t kKernelBase = 0xFFFFF80243000000;
constexpr uint64_t kUserBase = 0x00007FF8A0000000;
constexpr uint64_t kExecutableBase = 0x00007FF6C0000000;
constexpr uint32_t kMaxIds = 60'000;  // handed out before old ones come back

}  // namespace

World::World(Random& random, uint32_t processors, uint32_t process_count, Truth& truth)
    : random_(random), truth_(truth), running_(processors, kIdleThread) {
  MakeImages();
  for (int i = 0; i < 400; ++i) data_paths.push_back(Wide(MakeDataPath(random)));
  for (int i = 0; i < 200; ++i) registry_keys.push_back(Wide(MakeRegistryKey(random)));
  MakeBootProcesses(process_count);
}

void World::MakeImages() {
  const auto add = [this](std::string_view name, std::string_view folder, uint64_t& next_base) {
    ImageFile file;
    file.name = name;
    file.nt_path = Wide(fmt::format("\\Device\\HarddiskVolume3\\{}\\{}", folder, name));
    file.base = next_base;
    file.size = 0x10000 * static_cast<uint32_t>(random_.Between(8, 160));
    file.checksum = random_.Next32() >> 8;
    file.timestamp = 0x5E000000 + (random_.Next32() >> 8);
    file.pdb_guid = random_.NextGuid();
    file.pdb_path = fmt::format("{}.pdb", name.substr(0, name.find_last_of('.')));
    next_base += file.size + 0x10000 * static_cast<uint64_t>(random_.Between(1, 40));
    image_files.push_back(std::move(file));
    return static_cast<uint32_t>(image_files.size() - 1);
  };
  uint64_t kernel_base = kKernelBase;
  for (const std::string_view name : kKernelImages) {
    kernel_images.push_back(add(name, "Windows\\System32\\drivers", kernel_base));
    for (int i = 0; i < 24; ++i) {
      kernel_code.push_back(image_files.back().base + 0x1000 + random_.Below(image_files.back().size - 0x1000));
    }
  }
  uint64_t user_base = kUserBase;
  for (const std::string_view name : kUserImages) add(name, "Windows\\System32", user_base);
  for (const std::string_view name : kManagedImages) {
    add(name, "Program Files\\dotnet\\shared\\Microsoft.NETCore.App\\6.0.4", user_base);
  }
  uint64_t executable_base = kExecutableBase;
  for (const Program& program : kPrograms) add(program.image, "Program Files\\Contoso", executable_base);
}

void World::MakeBootProcesses(uint32_t count) {
  Process idle;
  idle.image = "Idle";
  processes.push_back(std::move(idle));
  threads.emplace_back();

  Process system;
  system.pid = 4;
  system.image = "System";
  system.key = 0xFFFFE00001000040;
  system.images = kernel_images;
  system.truth = truth_.processes.Add({.pid = 4, .image = "System", .start = {}, .stop = {}});
  processes.push_back(std::move(system));
  for (int i = 0; i < 4; ++i) StartThread(kSystemProcess);

  for (uint32_t i = 0; i < count; ++i) {
    const ProcessIndex process = AddProcess(i % kFirstTransient, kSystemProcess);
    const int64_t more_threads = random_.Between(1, 5);
    for (int64_t j = 0; j < more_threads; ++j) StartThread(process);
  }
}

ProcessIndex World::StartProcess(ProcessIndex parent) {
  const auto transient = static_cast<uint32_t>(kPrograms.size()) - kFirstTransient;
  return AddProcess(kFirstTransient + random_.Below(transient), parent);
}

ProcessIndex World::StartPlanned(bool pointer32, uint32_t pid) {
  if (pid != 0) free_ids_.erase(std::find(free_ids_.begin(), free_ids_.end(), pid));
  const ProcessIndex index = AddProcess(pointer32 ? kPlanned32 : kPlanned64, kSystemProcess, pid);
  processes[index].planned = true;
  return index;
}

ProcessIndex World::AddProcess(uint32_t program_index, ProcessIndex parent, uint32_t pid) {
  const Program& program = kPrograms[program_index];
  Process process;
  process.pid = pid != 0 ? pid : NewId();
  process.parent = processes[parent].pid;
  process.session = random_.Below(2);
  process.key = 0xFFFFE00000000000 + (uint64_t{random_.Next32()} << 6);
  process.image = program.image;
  process.boot = program.boot;
  process.managed = program.managed;
  process.pointer32 = program.pointer32;
  process.command_line = Wide(fmt::format("\"C:\\Program Files\\Contoso\\{}\" {}", program.image, program.arguments));
  if (!program.boot) process.command_line += Wide(fmt::format(" {}", MakeSourcePath(random_)));

  const auto first_user = static_cast<uint32_t>(kKernelImages.size());
  const auto first_managed = first_user + static_cast<uint32_t>(kUserImages.size());
  const auto first_executable = first_managed + static_cast<uint32_t>(kManagedImages.size());
  process.images.push_back(first_executable + program_index);
  for (uint32_t i = 0; i < kUserImages.size(); ++i) {
    if (i < kBaseImages || random_.Chance(25)) process.images.push_back(first_user + i);
  }
  if (program.managed) {
    for (uint32_t i = 0; i < kManagedImages.size(); ++i) process.images.push_back(first_managed + i);
  }
  for (int i = 0; i < 24; ++i) {
    std::vector<uint64_t> chain(static_cast<size_t>(random_.Between(8, 32)));
    for (uint64_t& frame : chain) frame = PickUserAddress(random_, process);
    process.call_chains.push_back(std::move(chain));
  }
  process.truth = truth_.processes.Add({.pid = process.pid,
                                        .parent = process.parent,
                                        .image = process.image,
                                        .managed = process.managed,
                                        .pointer32 = process.pointer32,
                                        .start = {},
                                        .stop = {}});
  const auto index = static_cast<ProcessIndex>(processes.size());
  processes.push_back(std::move(process));
  living_.push_back(index);
  StartThread(index);
  return index;
}

ThreadIndex World::StartThread(ProcessIndex process) {
  Thread thread;
  thread.tid = NewId();
  thread.process = process;
  thread.kernel_stack = 0xFFFFF98000000000 + (uint64_t{random_.Next32()} << 12);
  thread.user_stack = 0x000000A000000000 + (uint64_t{random_.Next32()} << 12);
  thread.start_address =
      process == kSystemProcess ? random_.Pick(kernel_code) : PickUserAddress(random_, processes[process]);
  thread.teb = 0x000000A100000000 + (uint64_t{random_.Below(1 << 20)} << 12);
  thread.priority = static_cast<int8_t>(random_.Between(8, 15));
  if (random_.Chance(20)) thread.name = Wide(fmt::format(".NET TP Worker {}", random_.Below(32)));
  const auto index = static_cast<ThreadIndex>(threads.size());
  threads.push_back(std::move(thread));
  processes[process].threads.push_back(index);
  AddWaiting(index);
  return index;
}

void World::EndThread(ThreadIndex thread) {
  RemoveWaiting(thread);
  threads[thread].alive = false;
  std::vector<ThreadIndex>& siblings = processes[threads[thread].process].threads;
  siblings.erase(std::find(siblings.begin(), siblings.end(), thread));
  free_ids_.push_back(threads[thread].tid);
}

void World::EndProcess(ProcessIndex process) {
  processes[process].alive = false;
  free_ids_.push_back(processes[process].pid);
  // Nothing looks at these again.
  processes[process].call_chains.clear();
  living_.erase(std::find(living_.begin(), living_.end(), process));
}

void World::Switch(uint16_t cpu, ThreadIndex thread) {
  const ThreadIndex old = running_[cpu];
  if (old != kIdleThread) {
    threads[old].cpu = -1;
    AddWaiting(old);
  }
  if (thread != kIdleThread) {
    RemoveWaiting(thread);
    threads[thread].cpu = cpu;
  }
  running_[cpu] = thread;
}

ThreadIndex World::PickWaiting(Random& random) const {
  return waiting_.empty() ? kIdleThread : waiting_[random.Index(waiting_.size())];
}

ProcessIndex World::PickProcess(Random& random) const { return living_[random.Index(living_.size())]; }

uint64_t World::PickUserAddress(Random& random, const Process& process) const {
  const ImageFile& file = image_files[process.images[random.Index(process.images.size())]];
  return file.base + 0x1000 + random.Below(file.size - 0x1000);
}

uint32_t World::NewId() {
  if (free_ids_.empty() || (next_id_ < 4 * kMaxIds && (free_ids_.size() < 64 || random_.Chance(50)))) {
    next_id_ += 4 * static_cast<uint32_t>(random_.Between(1, 3));
    return next_id_;
  }
  const uint32_t id = free_ids_.front();
  free_ids_.pop_front();
  return id;
}

void World::AddWaiting(ThreadIndex thread) {
  threads[thread].wait_slot = static_cast<uint32_t>(waiting_.size());
  waiting_.push_back(thread);
}

void World::RemoveWaiting(ThreadIndex thread) {
  const uint32_t slot = threads[thread].wait_slot;
  waiting_[slot] = waiting_.back();
  threads[waiting_[slot]].wait_slot = slot;
  waiting_.pop_back();
}

}  // namespace etwpipe::tracegen
