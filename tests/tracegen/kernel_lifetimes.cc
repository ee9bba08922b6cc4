#include "tests/tracegen/kernel_lifetimes.h"

#include <array>

#include "formats/etl/kernel_groups.h"
#include "tests/tracegen/words.h"

namespace etwpipe::tracegen {
namespace {

using etl::kTypePerfInfo64;
using etl::kTypeSystem64;

constexpr uint8_t kImageLoadOpcode = 10;  // logged under the process group
constexpr size_t kMaxProcesses = 80;
constexpr uint64_t kBytesPerThread = 130;
constexpr uint64_t kBytesPerImage = 220;
constexpr uint64_t kBytesPerProcess = 420;

/// S-1-5-18 as the kernel logs it: TOKEN_USER of a 64-bit kernel, then the SID (etl-format.md 8.1).
constexpr std::array<uint8_t, 28> kLocalSystem = {0x40, 0xF2, 0x1B, 0xA3, 0x8F, 0xD5, 0xFF, 0xFF, 0, 0, 0,  0, 0, 0,
                                                  0,    0,    1,    1,    0,    0,    0,    0,    0, 5, 18, 0, 0, 0};

FullKind MakeImageIdKind(uint8_t opcode, uint16_t version) {
  FullKind kind;
  kind.fields.guid = GuidOf("b3e675d7-2554-4f18-830b-2762732560de");
  kind.fields.opcode = opcode;
  kind.fields.version = version;
  return kind;
}

}  // namespace

KernelLifetimes::KernelLifetimes(Simulation& simulation, const std::vector<Topic*>& topics)
    : sim_(simulation),
      topics_(topics),
      described_images_(simulation.world.image_files.size()),
      process_start_(MakeSystemKind(kTypeSystem64, etl::kGroupProcess, 1, 4)),
      process_end_(MakeSystemKind(kTypeSystem64, etl::kGroupProcess, 2, 4)),
      process_dc_start_(MakeSystemKind(kTypeSystem64, etl::kGroupProcess, 3, 4)),
      process_dc_end_(MakeSystemKind(kTypeSystem64, etl::kGroupProcess, 4, 4)),
      terminate_(MakeSystemKind(kTypeSystem64, etl::kGroupProcess, 11, 2)),
      thread_start_(MakeSystemKind(kTypeSystem64, etl::kGroupThread, 1, 3)),
      thread_end_(MakeSystemKind(kTypeSystem64, etl::kGroupThread, 2, 3)),
      thread_dc_start_(MakeSystemKind(kTypeSystem64, etl::kGroupThread, 3, 3)),
      thread_dc_end_(MakeSystemKind(kTypeSystem64, etl::kGroupThread, 4, 3)),
      thread_name_(MakeSystemKind(kTypeSystem64, etl::kGroupThread, 72, 2)),
      image_load_(MakeSystemKind(kTypeSystem64, etl::kGroupProcess, kImageLoadOpcode, 3)),
      image_unload_(MakeSystemKind(kTypeSystem64, etl::kGroupImage, 2, 3)),
      image_dc_start_(MakeSystemKind(kTypePerfInfo64, etl::kGroupImage, 3, 3)),
      image_dc_start_system_(MakeSystemKind(kTypeSystem64, etl::kGroupImage, 3, 3)),
      image_dc_end_(MakeSystemKind(kTypePerfInfo64, etl::kGroupImage, 4, 3)),
      image_info_(MakeImageIdKind(0, 2)),
      image_pdb_(MakeImageIdKind(36, 2)),
      image_version_(MakeImageIdKind(64, 0)) {}

void KernelLifetimes::Begin() {
  const World& world = sim_.world;
  for (const uint32_t image : world.kernel_images) {
    EmitImageIds(0, world.image_files[image], 4, true);
    EmitImage(image_dc_start_system_, 0, world.image_files[image], 0);
  }
  EmitAll(process_dc_start_, thread_dc_start_, image_dc_start_);
}

void KernelLifetimes::EmitAll(SystemKind& process_kind, SystemKind& thread_kind, SystemKind& image_kind) {
  World& world = sim_.world;
  for (ProcessIndex index = World::kSystemProcess; index < world.processes.size(); ++index) {
    const Process& process = world.processes[index];
    if (!process.alive) continue;
    const auto cpu = static_cast<uint16_t>(index % sim_.options.processors);
    EmitProcess(process_kind, cpu, process, 0x103);
    for (const ThreadIndex thread : process.threads) EmitThread(thread_kind, cpu, world.threads[thread]);
    if (index == World::kSystemProcess) continue;
    for (const uint32_t image : process.images) {
      if (!described_images_[image]) EmitImageIds(cpu, world.image_files[image], process.pid, true);
      described_images_[image] = true;
      EmitImage(image_kind, cpu, world.image_files[image], process.pid);
    }
  }
}

void KernelLifetimes::Step() {
  const uint32_t dice = sim_.random.Below(100);
  if (dice < 12) return StartProcess();
  if (dice < 24) return EndProcess();
  if (dice < 44) return StartThread();
  if (dice < 62) return EndThread();
  LoadImage();
}

void KernelLifetimes::StartProcess() {
  World& world = sim_.world;
  if (world.living().size() >= kMaxProcesses) return;
  const uint16_t cpu = sim_.BusyCpu();
  const ThreadIndex creator = world.running(cpu);
  Start(cpu, world.StartProcess(world.threads[creator].process));
}

void KernelLifetimes::Start(uint16_t cpu, ProcessIndex index) {
  World& world = sim_.world;
  const Process& process = world.processes[index];
  EmitProcess(process_start_, cpu, process, 0x103);
  if (ProcessTruth* truth = sim_.truth.processes.Find(process.truth)) truth->start = sim_.writer.last_ticks(cpu);
  const int64_t more_threads = process.planned ? 0 : sim_.random.Between(0, 4);
  for (int64_t i = 0; i < more_threads; ++i) world.StartThread(index);
  for (const ThreadIndex thread : process.threads) EmitThread(thread_start_, cpu, world.threads[thread]);
  const uint16_t own_cpu = sim_.Run(process.threads.front());
  for (const uint32_t image : process.images) {
    EmitImageIds(own_cpu, world.image_files[image], process.pid, false);
    EmitImage(image_load_, own_cpu, world.image_files[image], process.pid);
  }
  for (Topic* topic : topics_) topic->ProcessStarted(index);
}

void KernelLifetimes::EndProcess() {
  World& world = sim_.world;
  const ProcessIndex index = world.PickProcess(sim_.random);
  // Those of the boot stay, so that the trace does not run dry.
  if (!world.processes[index].boot) End(index);
}

void KernelLifetimes::End(ProcessIndex index) {
  World& world = sim_.world;
  const Process& process = world.processes[index];
  const uint16_t cpu = sim_.BusyCpu();
  EndThreads(cpu, index);
  if (sim_.random.Chance(50)) {
    for (const uint32_t image : process.images) {
      EmitImage(image_unload_, cpu, world.image_files[image], process.pid);
    }
  }
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(process.pid);
  sim_.EmitAs(terminate_, cpu, 0, process.pid, payload.bytes());
  EmitProcess(process_end_, cpu, process, sim_.random.Chance(90) ? 0 : 1);
  if (ProcessTruth* truth = sim_.truth.processes.Find(process.truth)) truth->stop = sim_.writer.last_ticks(cpu);
  for (Topic* topic : topics_) topic->ProcessEnded(index);
  world.EndProcess(index);
}

void KernelLifetimes::EndThreads(uint16_t cpu, ProcessIndex index) {
  World& world = sim_.world;
  const std::vector<ThreadIndex> threads = world.processes[index].threads;
  for (const ThreadIndex thread : threads) {
    const int32_t running_on = world.threads[thread].cpu;
    if (running_on >= 0) sim_.SwitchTo(static_cast<uint16_t>(running_on), World::kIdleThread);
    EmitThread(thread_end_, cpu, world.threads[thread]);
    world.EndThread(thread);
  }
}

void KernelLifetimes::StartThread() {
  World& world = sim_.world;
  const ProcessIndex index = world.PickProcess(sim_.random);
  if (world.processes[index].threads.size() > 60) return;
  const ThreadIndex thread = world.StartThread(index);
  const uint16_t cpu = sim_.BusyCpu();
  EmitThread(thread_start_, cpu, world.threads[thread]);
  const Thread& started = world.threads[thread];
  if (started.name.empty()) return;
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(world.processes[index].pid).Add(started.tid).AddUnicode(started.name);
  sim_.Emit(thread_name_, cpu, payload);
}

void KernelLifetimes::EndThread() {
  World& world = sim_.world;
  const Process& process = world.processes[world.PickProcess(sim_.random)];
  const ThreadIndex thread = process.threads.back();
  const Thread& ending = world.threads[thread];
  if (process.threads.size() < 2 || ending.reserved) return;
  if (ending.cpu >= 0) sim_.SwitchTo(static_cast<uint16_t>(ending.cpu), World::kIdleThread);
  EmitThread(thread_end_, sim_.BusyCpu(), ending);
  if (ending.cpu >= 0) sim_.SwitchTo(static_cast<uint16_t>(ending.cpu), World::kIdleThread);
  world.EndThread(thread);
}

void KernelLifetimes::LoadImage() {
  World& world = sim_.world;
  const uint16_t cpu = sim_.BusyCpu();
  const Process& process = sim_.RunningProcess(cpu);
  if (process.pid <= 4) return;
  EmitImage(image_load_, cpu, world.image_files[sim_.random.Pick(process.images)], process.pid);
}

void KernelLifetimes::EmitProcess(SystemKind& kind, uint16_t cpu, const Process& process, uint32_t exit_status) {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(process.key).Add(process.pid).Add(process.parent).Add(process.session).Add(exit_status);
  payload.Add(process.key ^ 0x1AB000).Add(uint32_t{process.pointer32 ? 2u : 0u});
  payload.AddBytes(std::as_bytes(std::span(kLocalSystem))).AddAnsi(process.image).AddUnicode(process.command_line);
  payload.AddUnicode(std::u16string_view()).AddUnicode(std::u16string_view());
  sim_.Emit(kind, cpu, payload);
}

void KernelLifetimes::EmitThread(SystemKind& kind, uint16_t cpu, const Thread& thread) {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(sim_.world.processes[thread.process].pid).Add(thread.tid);
  payload.Add(thread.kernel_stack).Add(thread.kernel_stack - 0x6000).Add(thread.user_stack);
  payload.Add(thread.user_stack - 0x8000).Add(uint64_t{0xFF}).Add(thread.start_address).Add(thread.teb);
  payload.Add(uint32_t{0}).Add(thread.priority).Add(uint8_t{5}).Add(uint8_t{2}).Add(uint8_t{0}).AddUnicode(thread.name);
  sim_.Emit(kind, cpu, payload);
}

void KernelLifetimes::EmitImage(SystemKind& kind, uint16_t cpu, const ImageFile& file, uint32_t pid) {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(file.base).Add(uint64_t{file.size}).Add(pid).Add(file.checksum).Add(file.timestamp);
  payload.Add(uint8_t{12}).Add(uint8_t{1}).Add(uint16_t{0}).Add(file.base).AddZeros(16).AddUnicode(file.nt_path);
  sim_.Emit(kind, cpu, payload);
}

void KernelLifetimes::EmitImageIds(uint16_t cpu, const ImageFile& file, uint32_t pid, bool with_version) {
  // As a merge tool injects them: right before the image event, at a time of its own processor.
  if (with_version) {
    etl::PayloadWriter& version = sim_.NewPayload();
    version.Add(file.size).Add(file.timestamp).AddUnicode(file.name).AddUnicode("Contoso component");
    version.AddUnicode("10.0.19041.1 (WinBuild.160101.0800)")
        .AddUnicode("10.0.19041.1")
        .AddUnicode("English (United States)");
    version.AddUnicode("Contoso Operating System").AddUnicode("Contoso Corporation").AddUnicode("10.0.19041.1");
    version.AddUnicode("").AddUnicode("");
    sim_.Emit(image_version_, cpu, version);
  }
  etl::PayloadWriter& info = sim_.NewPayload();
  info.Add(file.base).Add(uint64_t{file.size}).Add(pid).Add(file.timestamp).AddUnicode(file.name);
  sim_.Emit(image_info_, cpu, info);
  etl::PayloadWriter& pdb = sim_.NewPayload();
  pdb.Add(file.base).Add(pid).Add(file.pdb_guid).Add(file.pdb_age).AddAnsi(file.pdb_path);
  sim_.Emit(image_pdb_, cpu, pdb);
}

void KernelLifetimes::End() { EmitAll(process_dc_end_, thread_dc_end_, image_dc_end_); }

uint64_t KernelLifetimes::end_size() const {
  uint64_t bytes = 0;
  for (const ProcessIndex index : sim_.world.living()) {
    const Process& process = sim_.world.processes[index];
    bytes += kBytesPerProcess + kBytesPerThread * process.threads.size() + kBytesPerImage * process.images.size();
  }
  return bytes;
}

}  // namespace etwpipe::tracegen
