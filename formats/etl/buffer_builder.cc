#include "formats/etl/buffer_builder.h"

#include "pipeline/byte_reader.h"

namespace etwpipe::etl {

void WriteBufferHeader(std::byte* header, const BufferFields& fields, uint32_t buffer_size, uint32_t data_end) {
  std::memset(header, 0, buffer::kHeaderSize);
  StoreAt(header, buffer::kBufferSize, buffer_size);
  StoreAt(header, buffer::kSavedOffset, data_end);
  StoreAt(header, buffer::kCurrentOffset, data_end);
  StoreAt(header, buffer::kTimeStamp, fields.time_stamp);
  StoreAt(header, buffer::kSequenceNumber, fields.sequence_number);
  StoreAt(header, buffer::kProcessor, fields.cpu);
  StoreAt(header, buffer::kState, fields.state);
  StoreAt(header, buffer::kOffset, data_end);
  StoreAt(header, buffer::kFlag, fields.flags);
  StoreAt(header, buffer::kType, fields.type);
}

std::span<const std::byte> BufferBuilder::Finish(const BufferFields& fields) {
  WriteBufferHeader(bytes_.get(), fields, size_, used());
  std::memset(bytes_.get() + used_, 0xFF, size_ - used_);
  return {bytes_.get(), size_};
}

}  // namespace etwpipe::etl
