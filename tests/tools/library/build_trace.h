// A small trace of a build that several tests use.
#pragma once

#include "tests/tools/library/small_trace.h"

namespace etwpipe::test {

/// Thread 10 compiles on processor 0, thread 20 a function on processor 1:
///
///   10: Compiler [1000, 1100), in it FrontEndPass [1010, 1050), in it FrontEndFile [1020, 1040), in it FileInput 1030
///   20: Function [1000, 1080), in it an event of a program 1060
inline SmallTrace SmallBuild() {
  SmallTrace trace;
  trace.AddBuild({.opcode = 1, .event_id = 7, .instance = 1, .name = "a.cpp", .time = 1000});
  trace.AddBuild({.opcode = 1, .event_id = 14, .instance = 2, .name = "", .time = 1010});
  trace.AddBuild({.opcode = 1, .event_id = 13, .instance = 3, .name = "a.h", .time = 1020});
  trace.AddBuild({.opcode = 0, .event_id = 11, .instance = 0, .name = "a.cpp", .time = 1030});
  trace.AddBuild({.opcode = 2, .event_id = 13, .instance = 3, .name = "", .time = 1040});
  trace.AddBuild({.opcode = 2, .event_id = 14, .instance = 2, .name = "", .time = 1050});
  trace.AddBuild({.opcode = 2, .event_id = 7, .instance = 1, .name = "", .time = 1100});
  trace.AddBuild({.opcode = 1, .event_id = 15, .instance = 5, .name = "f", .tid = 20, .time = 1000, .cpu = 1});
  etl::EventFields fields;
  fields.provider = GuidOf("11111111-2222-3333-4444-555555555555");
  fields.id = 42;
  fields.version = 3;
  fields.opcode = 10;
  fields.level = 2;
  fields.task = 9;
  fields.keyword = 0x8000000000000001;
  fields.pid = 100;
  fields.tid = 20;
  fields.timestamp = 1060;
  trace.Add(fields, std::as_bytes(std::span("payload", 7)), 1);
  trace.AddBuild({.opcode = 2, .event_id = 15, .instance = 5, .name = "", .tid = 20, .time = 1080, .cpu = 1});
  return trace;
}

}  // namespace etwpipe::test
