// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The chunk protocol as a program for the explorer: threads that record scopes with the real recording path, recorder
// and pool, and the real drain, which makes a number of passes meanwhile.
//
//     producer 1 … n   scopes; from the second chunk on they need what the drain recycles, or are refused and counted
//     drain            passes
//     -- barrier --    then one after the other: producers try once more, exit; the drain reads the rest
//
// What must hold: every record that was accepted reaches the builder once, whole and in order; each refusal is told by
// a loss record or still untold; no byte is read and written without order; when chunks are free, nobody is refused.

#ifndef FERRET_TESTS_EXPLORER_PROTOCOL_H_
#define FERRET_TESTS_EXPLORER_PROTOCOL_H_

#include <string>
#include <vector>

#include "tests/explorer/explorer.h"

namespace ferret::explorer {

struct Protocol {
  std::vector<int> scopes = {4};  // of each producer
  int chunks = 2;
  int passes = 2;
  // Each scope has another one in it, which takes the inlined way; else they are ops, of which each needs a chunk.
  bool nested = false;
  // Producers exit before the barrier, not after it.
  bool exits_early = false;
  // The queues carry the owner word's value with a chunk. Without it they would order nothing at all, and a chunk's
  // taker could find an owner from before.
  bool queues_carry_owner = true;
};

std::string Text(const Protocol& protocol);

MakeProgram Make(const Protocol& protocol);

}  // namespace ferret::explorer

#endif  // FERRET_TESTS_EXPLORER_PROTOCOL_H_
