// The runtimes, application domains, assemblies and modules of the CLR, as `methods` shows them.
#pragma once

#include <string>

#include "formats/facts/clr_table.h"
#include "pipeline/trace_context.h"
#include "tools/json_writer.h"

namespace etwpipe {

/// Time of day of a tick; empty where it is one of the extremes of int64, which stand for no time.
std::string TickText(const TraceInfo& info, int64_t ticks);

/// The members runtimes, app_domains, assemblies and modules of the object that is open: arrays of objects.
void WriteClrTables(JsonWriter& json, const facts::ClrTable& clr, const TraceInfo& info);

/// One table for each kind that the trace tells of. A runtime stands with the rundown it has.
std::string ClrTablesText(const facts::ClrTable& clr);

/// The modules, with a line of titles.
std::string ModulesCsv(const facts::ClrTable& clr, const TraceInfo& info);

}  // namespace etwpipe
