#include "tests/tracegen/session_events.h"

#include <array>

#include "formats/etl/kernel_groups.h"
#include "tests/tracegen/words.h"

namespace etwpipe::tracegen {
namespace {

using etl::kTypePerfInfo64;
using etl::kTypeSystem64;

constexpr uint8_t kGroupConfig = 0x0B;
constexpr int64_t kStartTime = 133'541'712'345'678'901;  // 2024-03-05, FILETIME
constexpr uint32_t kKernelEventVersion = 80;
constexpr std::array<uint32_t, 8> kGroupMasks = {0x0A00318F, 0x00008286, 0, 0, 0x00020000, 0, 0, 0};

FullKind MakeConfigExKind(uint8_t opcode) {
  FullKind kind;
  kind.fields.guid = GuidOf("9b79ee91-b5fd-41c0-a243-4248e266e9d0");
  kind.fields.opcode = opcode;
  return kind;
}

/// Text in a fixed field of `units` UTF-16 units.
void AddFixed(etl::PayloadWriter& payload, std::string_view text, size_t units) {
  const std::u16string wide = Wide(text);
  payload.AddBytes(std::as_bytes(std::span(wide))).AddZeros(2 * (units - wide.size()));
}

}  // namespace

SessionEvents::SessionEvents(Simulation& simulation)
    : sim_(simulation),
      extension_system_(MakeSystemKind(kTypeSystem64, etl::kGroupHeader, 5, 2)),
      extension_(MakeSystemKind(kTypePerfInfo64, etl::kGroupHeader, 5, 2)),
      end_extension_(MakeSystemKind(kTypePerfInfo64, etl::kGroupHeader, 32, 2)),
      rundown_complete_(MakeSystemKind(kTypePerfInfo64, etl::kGroupHeader, 8, 2)),
      partition_(MakeSystemKind(kTypeSystem64, etl::kGroupHeader, 80, 0)),
      cpu_(MakeSystemKind(kTypeSystem64, kGroupConfig, 10, 3)),
      physical_disk_(MakeSystemKind(kTypeSystem64, kGroupConfig, 11, 2)),
      logical_disk_(MakeSystemKind(kTypeSystem64, kGroupConfig, 12, 2)),
      network_card_(MakeSystemKind(kTypeSystem64, kGroupConfig, 13, 2)),
      service_(MakeSystemKind(kTypeSystem64, kGroupConfig, 15, 3)),
      power_(MakeSystemKind(kTypeSystem64, kGroupConfig, 16, 2)),
      irq_(MakeSystemKind(kTypeSystem64, kGroupConfig, 21, 3)),
      ide_channel_(MakeSystemKind(etl::kTypeSystem32, kGroupConfig, 23, 2)),
      dpi_(MakeSystemKind(kTypeSystem64, kGroupConfig, 28, 2)),
      build_info_(MakeConfigExKind(32)),
      system_paths_(MakeConfigExKind(33)),
      volume_mapping_(MakeConfigExKind(35)) {}

void SessionEvents::WriteHeader() {
  etl::LogFileHeader header;
  header.tid = 9012;
  header.pid = 8764;
  header.base_ticks = sim_.now;
  header.os_build = 19041;
  header.cpu_mhz = 3600;
  header.log_file_mode = etl::kModeSequential;
  header.time_zone.bias = -60;
  header.time_zone.standard_name = "@tzres.dll,-322";
  header.time_zone.daylight_name = "@tzres.dll,-321";
  header.time_zone.standard_date = {0, 10, 0, 5, 3, 0, 0, 0};
  header.time_zone.daylight_date = {0, 3, 0, 5, 2, 0, 0, 0};
  header.time_zone.daylight_bias = -60;
  header.frequency = kTicksPerSecond;
  header.start_time = kStartTime;
  header.boot_time = kStartTime - sim_.now;
  header.session_name = "Synthetic";
  header.log_file_name = "C:\\Traces\\synthetic.etl";
  sim_.writer.Begin(header);
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.AddZeros(48);
  sim_.writer.WriteToHeaderBuffer(partition_, {0, sim_.now, header.tid, header.pid}, payload.bytes());
  sim_.writer.EndHeader();
}

void SessionEvents::EmitGroupMasks(SystemKind& kind) {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(kGroupMasks).Add(kKernelEventVersion);
  sim_.Emit(kind, 0, payload);
}

void SessionEvents::Begin() {
  EmitGroupMasks(extension_system_);
  etl::PayloadWriter& paths = sim_.NewPayload();
  paths.AddUnicode("C:\\Windows\\system32").AddUnicode("C:\\Windows\\");
  sim_.Emit(system_paths_, 0, paths);
  etl::PayloadWriter& volume = sim_.NewPayload();
  volume.AddUnicode("\\Device\\HarddiskVolume3\\").AddUnicode("C:\\");
  sim_.Emit(volume_mapping_, 0, volume);
  EmitGroupMasks(end_extension_);
  EmitGroupMasks(extension_);
}

void SessionEvents::EndOfRundown() { sim_.Emit(rundown_complete_, 0, std::span<const std::byte>()); }

void SessionEvents::End() {
  EmitGroupMasks(extension_);
  EndOfRundown();
  EmitGroupMasks(end_extension_);
  EmitSystemConfig();
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(kStartTime - 400 * 86'400 * kTicksPerSecond).AddUnicode("19041.1.amd64fre.vb_release.191206-1406");
  payload.AddUnicode("Windows 10 Pro");
  sim_.Emit(build_info_, 0, payload);
}

void SessionEvents::EmitSystemConfig() {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(uint32_t{3600})
      .Add(sim_.options.processors)
      .Add(uint32_t{16384})
      .Add(uint32_t{4096})
      .Add(uint32_t{65536});
  AddFixed(payload, "BUILD-07", 256);
  AddFixed(payload, "contoso.example", 134);
  payload.Add(uint64_t{2}).Add(uint64_t{0x00007FFFFFFEFFFF}).Add(uint16_t{9}).Add(uint16_t{6}).Add(uint16_t{0x9E0A});
  payload.Add(uint8_t{1}).Add(uint8_t{1}).Add(uint32_t{2666});
  sim_.Emit(cpu_, 0, payload);

  payload.Clear().Add(uint32_t{0}).Add(uint32_t{512}).Add(uint32_t{63}).Add(uint32_t{255}).Add(uint64_t{121601});
  payload.AddZeros(16);
  AddFixed(payload, "Contoso NVMe 1024", 256);
  payload.Add(uint32_t{3}).Add(uint8_t{1}).Add(uint8_t{0});
  AddFixed(payload, "C:", 3);
  payload.AddZeros(4);
  sim_.Emit(physical_disk_, 0, payload);

  payload.Clear().Add(uint64_t{0x100000}).Add(uint64_t{1000} << 30).Add(uint32_t{0}).Add(uint32_t{0}).Add(uint32_t{3});
  AddFixed(payload, "C:", 4);
  payload.Add(uint32_t{0}).Add(uint32_t{1}).Add(uint32_t{8}).Add(uint32_t{512}).Add(uint32_t{0});
  payload.Add(int64_t{98'000'000}).Add(int64_t{262'000'000});
  AddFixed(payload, "NTFS", 16);
  payload.AddZeros(8);
  sim_.Emit(logical_disk_, 0, payload);

  payload.Clear().Add(uint64_t{0x00155D012345}).Add(uint32_t{6}).Add(uint32_t{4}).Add(uint32_t{4});
  payload.AddUnicode("Contoso Ethernet Adapter").AddUnicode("10.0.0.5;fe80::1c2d:3e4f:0:1").AddUnicode("10.0.0.1");
  sim_.Emit(network_card_, 0, payload);

  constexpr std::array<std::string_view, 6> kServices = {"Schedule", "Dnscache", "LanmanServer",
                                                         "EventLog", "W3SVC",    "MSSQLSERVER"};
  for (const std::string_view name : kServices) {
    const Process& process = sim_.world.processes[sim_.world.PickProcess(sim_.random)];
    payload.Clear().Add(process.pid).Add(uint32_t{4}).Add(uint32_t{17}).AddUnicode(name);
    payload.AddUnicode(name).AddUnicode(process.image);
    sim_.Emit(service_, 0, payload);
  }

  payload.Clear().Add(std::array<uint8_t, 8>{0, 0, 1, 1, 1, 0, 0, 0});
  sim_.Emit(power_, 0, payload);

  for (uint32_t irq = 16; irq < 20; ++irq) {
    payload.Clear().Add(uint64_t{1} << (irq - 16)).Add(uint16_t{0}).Add(uint16_t{0}).Add(irq);
    const std::string_view device = "PCI Express Root Port";
    payload.Add(static_cast<uint32_t>(2 * (device.size() + 1))).AddUnicode(device);
    sim_.Emit(irq_, 0, payload);
  }

  const std::string_view channel = "ATA Channel 0";
  payload.Clear().Add(uint32_t{0}).Add(uint32_t{1}).Add(uint32_t{0x10});
  payload.Add(static_cast<uint32_t>(2 * (channel.size() + 1))).AddUnicode(channel);
  sim_.Emit(ide_channel_, 0, payload);

  payload.Clear().Add(uint32_t{96}).Add(uint32_t{144});
  sim_.Emit(dpi_, 0, payload);
}

}  // namespace etwpipe::tracegen
