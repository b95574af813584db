// Header, Arrow: what C files of functions over batches see, as `sbc header` prints it.
#ifndef SBC_DRIVER_HEADER_ARROW_H
#define SBC_DRIVER_HEADER_ARROW_H

#include "ir/type.h"

// The structs of the Arrow C Data Interface and SbBatch, each unless it is there.
Text header_arrow_structs(void);
// The format of an Arrow array with values of the type, nested ones with those inside.
void header_arrow_format(TextBuf *buf, const Type *type);

#endif
