// Printing to standard output.
#pragma once

#include <string_view>

#include "pipeline/status.h"

namespace etwpipe {

/// Writes all of `text`. A reader that went away (a closed pipe) is success: nobody wants the rest.
Status Print(std::string_view text);

/// Escape sequences for a heading and for ok, note, error; empty where colour is not wanted: `fd` is no terminal,
/// NO_COLOR is set, or TERM is "dumb".
struct Colours {
  std::string_view bold, green, yellow, red, reset;
};
Colours ColoursFor(int fd);

/// Writes to standard error as it is. Nobody is told if that fails: there is no other place to say so.
void PrintToError(std::string_view text);
/// "etwpipe: <message>" and a line end on standard error; further lines of the message are kept.
void PrintError(std::string_view message);
/// The same without colour, for notes that are not errors.
void PrintNote(std::string_view message);

}  // namespace etwpipe
