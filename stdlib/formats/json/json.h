// What the parts of the format say to each other.
#ifndef SBC_STDLIB_FORMATS_JSON_H
#define SBC_STDLIB_FORMATS_JSON_H

// The fields of a file: is it an array, and where its first row begins.
enum { JSON_FIELD_ARRAY, JSON_FIELD_BEGIN, JSON_FIELDS };

#endif
