// What the session itself writes: the log-file header, group masks, system configuration.
#pragma once

#include "tests/tracegen/simulation.h"

namespace etwpipe::tracegen {

class SessionEvents : public Topic {
 public:
  explicit SessionEvents(Simulation& simulation);

  /// Buffer 0.
  void WriteHeader();
  void Begin() override;
  void Step() override {}
  /// Rundown complete; the other topics have written theirs.
  void EndOfRundown();
  void End() override;

 private:
  void EmitGroupMasks(SystemKind& kind);
  void EmitSystemConfig();

  Simulation& sim_;
  SystemKind extension_system_, extension_, end_extension_, rundown_complete_, partition_;
  SystemKind cpu_, physical_disk_, logical_disk_, network_card_, service_, power_, irq_, ide_channel_, dpi_;
  FullKind build_info_, system_paths_, volume_mapping_;
};

}  // namespace etwpipe::tracegen
