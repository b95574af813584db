// Hash: hashes of tables, keys inside entries, identities, digests that users see.
//
// Called by generated code, breakers, aggregates; digest.h is frozen, hash.h is not.
#ifndef SBC_STDLIB_ROOM_HASH_H
#define SBC_STDLIB_ROOM_HASH_H

#include "stdlib/hash/digest.h"
#include "stdlib/hash/hash.h"
#include "stdlib/hash/identity.h"
#include "stdlib/hash/key.h"
#include "stdlib/hash/minhash.h"

#endif
