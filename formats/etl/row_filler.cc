#include "formats/etl/row_filler.h"

namespace etwpipe::etl {

RowFiller::~RowFiller() {
  if (providers_.full() && diagnostics_ != nullptr) diagnostics_->AddCount(DiagnosticId::kTooManyProviders, 1);
}

void RowFiller::CountBadItems(const LoadedBuffer& buffer, size_t index) const {
  if (diagnostics_ == nullptr) return;
  const RecordPlace& place = buffer.records[index];
  diagnostics_->Add(DiagnosticId::kExtendedItemBad,
                    {buffer.file_offset + (buffer.compressed ? 0 : place.offset), place.size},
                    "extended items or counter words overrun their record");
}

}  // namespace etwpipe::etl
