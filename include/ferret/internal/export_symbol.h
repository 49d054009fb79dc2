// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Marks what libferret.so shows to programs; everything else in it is hidden.

#ifndef FERRET_INTERNAL_EXPORT_SYMBOL_H_
#define FERRET_INTERNAL_EXPORT_SYMBOL_H_

#define FERRET_EXPORT_SYMBOL __attribute__((visibility("default")))

#endif  // FERRET_INTERNAL_EXPORT_SYMBOL_H_
