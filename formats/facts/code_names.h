// Names of code by process, address and time: what a stack frame or an instruction pointer is shown as.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "formats/facts/image_table.h"
#include "formats/facts/method_table.h"
#include "formats/facts/symbol_files.h"
#include "pipeline/trace_context.h"

namespace etwpipe::facts {

/// Keeps the names it made, up to a bound. One thread at a time; the facts and symbol files must outlive it.
class CodeNames {
 public:
  /// Uses the MethodTable and the ImageTable of the trace where it has them; `symbols` may be null.
  CodeNames(const TraceContext& trace, const SymbolFiles* symbols);

  /// The first of these that is known; without its module where nobody says which it is:
  ///
  ///   module!Namespace.Method(args)   managed code
  ///   image!Function+0x12             native code with symbols; image is a file name: ntdll.dll
  ///   image!+0x1234                   address within an image
  ///   Function+0x12                   in the perf map of the process
  ///   0x7ff812345678                  the address
  ///
  /// Valid until the next call.
  const std::string& NameOf(uint32_t pid, uint64_t address, int64_t time);

 private:
  // An image with the symbols it has.
  struct Image {
    const SymbolTable* symbols = nullptr;
    std::unordered_map<uint64_t, std::string> names;  // by offset
  };

  const std::string& NameIn(const ImageInstance& image, uint64_t address);
  const SymbolTable* SymbolsOf(const ImageInstance& image) const;
  bool HasPerfMapName(uint32_t pid, uint64_t address);
  void Forget();

  const MethodTable* methods_;
  const ImageTable* images_;
  const SymbolFiles* symbols_;
  std::unordered_map<const MethodVersion*, std::string> methods_named_;
  std::unordered_map<const ImageInstance*, Image> images_named_;
  std::unordered_map<uint32_t, const SymbolTable*> perf_maps_;
  size_t names_ = 0;
  std::string scratch_;
};

}  // namespace etwpipe::facts
