// SHA-256 of files, by way of OpenSSL.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace etwpipe::etwp {

class Sha256 {
 public:
  static constexpr size_t kSize = 32;

  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    ok_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
  }
  void Update(std::span<const std::byte> bytes) {
    ok_ = ok_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  }
  /// The 32 bytes; empty if the library failed. Once.
  std::string Finish() {
    std::string digest(kSize, '\0');
    unsigned size = 0;
    auto* out = reinterpret_cast<unsigned char*>(digest.data());
    ok_ = ok_ && EVP_DigestFinal_ex(context_.get(), out, &size) == 1 && size == kSize;
    return ok_ ? digest : std::string();
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
  bool ok_ = false;
};

}  // namespace etwpipe::etwp
