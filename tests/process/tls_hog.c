// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A library with thread-local data for which the loader has to find static room. Loaded under many names it takes all.

static __thread char hog[HOG_BYTES] __attribute__((tls_model("initial-exec")));

char* touch_hog(void);
char* touch_hog(void) { return hog; }
