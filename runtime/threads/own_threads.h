// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Ferret's own threads, so that they are not taken for the program's: a process whose threads all end by pthread_exit ends
// with the last of them, and that one must not be Ferret's, which never ends by itself and blocks the signals that would.

#ifndef FERRET_RUNTIME_THREADS_OWN_THREADS_H_
#define FERRET_RUNTIME_THREADS_OWN_THREADS_H_

namespace ferret {

// The calling thread is Ferret's until it ends.
void ThisThreadIsFerrets();

// Whether the main thread has ended, and every thread that is left is Ferret's. False where it cannot be told. Takes a
// tenth of a second if it seems so: a list of threads is not one moment's, so two in a row have to say the same.
bool OnlyFerretsThreadsAreLeft();

}  // namespace ferret

#endif  // FERRET_RUNTIME_THREADS_OWN_THREADS_H_
