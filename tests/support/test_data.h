// Where the recordings of the tests are, and what is said when they are not there.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace etwpipe::test {

/// ETWPIPE_TEST_DATA, or ../shared/data beside the project.
inline std::filesystem::path TestDataDir() {
  const char* from_environment = std::getenv("ETWPIPE_TEST_DATA");
  if (from_environment != nullptr && *from_environment != '\0') return from_environment;
  return std::filesystem::path(ETWPIPE_SOURCE_DIR) / "../shared/data";
}

inline std::filesystem::path SamplePath(const std::string& file) { return TestDataDir() / "etl" / file; }

/// What GTEST_SKIP says when a file of the test data is missing; empty when it is there.
inline std::string MissingData(const std::filesystem::path& path) {
  if (std::filesystem::exists(path)) return {};
  return "SKIPPED: no test data at " + path.string() + "; set ETWPIPE_TEST_DATA to a folder with etl/ and expected/";
}

}  // namespace etwpipe::test
