// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/text_prefix.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/export/file/growing_file.h"

namespace ferret {

absl::Status ReadTextPrefix(const std::string& path, uint64_t bytes,
                            absl::FunctionRef<absl::Status(std::string_view piece)> take) {
  // Takes plain files, too.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "re"), &gzclose);
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::vector<char> piece(kPieceBytes);
  uint64_t done = 0;
  while (done < bytes) {
    // Never beyond: what follows may have been cut in the middle.
    const unsigned wanted = static_cast<unsigned>(std::min<uint64_t>(piece.size(), bytes - done));
    const int count = gzread(file.get(), piece.data(), wanted);
    if (count <= 0) {
      return absl::DataLossError(absl::StrCat(path, " has only ", done, " bytes of text of ", bytes));
    }
    if (absl::Status status = take({piece.data(), static_cast<size_t>(count)}); !status.ok()) return status;
    done += static_cast<uint64_t>(count);
  }
  return absl::OkStatus();
}

}  // namespace ferret
