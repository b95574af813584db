// Text: strings, UTF-8, encodings, lines, and bytes on their way to a sink.
//
// Called by generated code, by all other rooms of the standard library, and by runtime/input.
#ifndef SBC_STDLIB_ROOM_TEXT_H
#define SBC_STDLIB_ROOM_TEXT_H

#include "stdlib/text/bit_places.h"
#include "stdlib/text/bytes64.h"
#include "stdlib/text/encode.h"
#include "stdlib/text/encoding.h"
#include "stdlib/text/foreign_text.h"
#include "stdlib/text/lines.h"
#include "stdlib/text/list_build.h"
#include "stdlib/text/not_text.h"
#include "stdlib/text/path.h"
#include "stdlib/text/resemble.h"
#include "stdlib/text/row_fix.h"
#include "stdlib/text/string.h"
#include "stdlib/text/text_out.h"
#include "stdlib/text/url.h"
#include "stdlib/text/utf8.h"

#endif
