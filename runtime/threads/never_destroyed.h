// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// NeverDestroyed: an object that is there before anything runs and is not destroyed at exit, as what threads use that
// were left behind.
//
// Unlike a static object of a function it has no guard. A fork may find a guard taken by a thread that the child does not
// have, and then the child waits at it for ever: so what a Ferret thread may be the first to use is one of these.

#ifndef FERRET_RUNTIME_THREADS_NEVER_DESTROYED_H_
#define FERRET_RUNTIME_THREADS_NEVER_DESTROYED_H_

namespace ferret {

template <typename Type>
union NeverDestroyed {
  constexpr NeverDestroyed() : object() {}
  ~NeverDestroyed() {}
  Type object;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_THREADS_NEVER_DESTROYED_H_
