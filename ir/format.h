// Format: what the compiler knows of a format of files before it emits code.
//
// ir/formats.def names the formats. Each describes itself in stdlib/formats/FOLDER/describe.c.
// Checker, passes, plan and code generation ask for facts and never for the format's name.
//
// Called by frontend, ir/passes, ir/plan, codegen and driver.
//
// Worked example: a format of one number a line, `read numbers("x.num") as {n: i64}`.
//
//   ir/formats.def       FORMAT(NUMBERS, numbers)
//   describe.c           const FormatInfo format_info_numbers = {
//                            .names = {{"numbers", 0}}, .suffixes = {{".num", 0}},
//                            .reads = true, .input = FORMAT_SCANNED, .lines = true,
//                            .read_options = FORMAT_OPTION_ROW_MAX,
//                            .row = FORMAT_ROW_DECLARED,
//                            .read_columns = {.count = 1, .fits = type_is_integer, ...}};
//   emit.c               codegen/emit_format.h: where rows stand, what a column of a row is
//   read.c, write.c      runtime/format.h: where a file's rows begin, and where a row ends
//   reference.c          codegen/reference/format.h: the same for the interpreter
#ifndef SBC_IR_FORMAT_H
#define SBC_IR_FORMAT_H

#include "ir/expr.h"
#include "ir/type.h"

typedef enum Format {
#define FORMAT(NAME, folder) FORMAT_##NAME,
#include "ir/formats.def"
#undef FORMAT
    FORMAT_COUNT
} Format;

// The options of `read` and `write`: which ones a format knows.
typedef enum FormatOption : unsigned {
    FORMAT_OPTION_DELIMITER = 1u << 0,
    FORMAT_OPTION_QUOTE = 1u << 1,
    FORMAT_OPTION_HEADER = 1u << 2,
    FORMAT_OPTION_COMMENT = 1u << 3,
    FORMAT_OPTION_NULL = 1u << 4,
    FORMAT_OPTION_DECIMAL = 1u << 5,
    FORMAT_OPTION_ZONE = 1u << 6,
    FORMAT_OPTION_ROW_MAX = 1u << 7,
    FORMAT_OPTION_BYTES = 1u << 8,
    FORMAT_OPTION_FILES = 1u << 9,
    FORMAT_OPTION_ENCODING = 1u << 10,
    FORMAT_OPTION_SKIP = 1u << 11,
    FORMAT_OPTION_THOUSANDS = 1u << 12,
    FORMAT_OPTION_MISSING = 1u << 13,
    FORMAT_OPTION_STACKED = 1u << 14,
    FORMAT_OPTION_APPEND = 1u << 15,
} FormatOption;

// How rows come into a stage.
typedef enum FormatInput {
    FORMAT_SCANNED,  // Emitted code goes along the bytes of a range of a file.
    FORMAT_FILLED,   // The runtime fills entries; each file is a row.
} FormatInput;

// Where the type of a row is known from.
typedef enum FormatRow {
    FORMAT_ROW_FIXED,     // The format: FormatInfo.fixed.
    FORMAT_ROW_FIELDS,    // `as`, or guessed from the fields of the first rows.
    FORMAT_ROW_OBJECTS,   // `as`, or guessed from the objects of the first rows.
    FORMAT_ROW_VALUES,    // The same of objects that may span lines.
    FORMAT_ROW_DECLARED,  // `as`, or the front of the file: FormatInfo.row_of.
} FormatRow;

// In which form a format writes the records of rejects.
typedef enum FormatRecords { FORMAT_RECORDS_NONE, FORMAT_RECORDS_JSONL, FORMAT_RECORDS_CSV }
    FormatRecords;

// A name for the format, and the delimiter that it stands for; 0: it has none.
typedef struct FormatName {
    const char *name;
    char        delimiter;
} FormatName;

typedef struct FormatColumn {
    const char *name;
    TypeKind    kind;
} FormatColumn;

// Which columns rows of a format may have, and what the checker says of others.
typedef struct FormatColumns {
    uint32_t    count;                    // How many there are; 0: any number.
    bool      (*fits)(const Type *type);  // May a column have the type? Null: any may.
    const char *words;                    // Read: "a CSV field", which cannot be read as T.
                                          // Written: "one column of type str", which it takes.
    const char *fix;                      // What to do instead.
} FormatColumns;

enum : uint32_t { FILE_TENSOR_MAX = 1 << 20 };  // Elements.

// An array that a file holds, as a constant.
typedef struct FileTensor {
    const Type *type;
    Const       value;   // Its items are the elements, in C order.
    Text        bytes;   // Of the file.
    Text        wrong;   // Why it is none, after the path.
} FileTensor;

typedef struct FormatInfo {
    FormatName    names[3];      // After `read` and `write`; the first one is the format's own.
    FormatName    suffixes[4];   // Of file names from which `sbc schema` knows the format.
    bool          reads, writes;
    FormatInput   input;
    unsigned      read_options, write_options;  // FormatOption.
    FormatRow     row;
    FormatColumn  fixed[3];      // FORMAT_ROW_FIXED: the columns, up to one without a name.
    const Type *(*row_of)(TypeTable *types, Text front, TextBuf *error);  // Null: error says why.
    // Of all bytes of a file. False: out->wrong says why not. Null: the format has no arrays.
    bool        (*tensor_of)(Arena *arena, TypeTable *types, Text bytes, FileTensor *out);
    FormatColumns read_columns, write_columns;
    FormatColumns apart_columns;  // Of files of one row (FileOptions.apart).
    FormatRecords records;
    bool          dialect;       // Values are fields between delimiters, as CsvOptions says.
    bool          spells;        // Values stand as texts, whose spelling can be kept.
    bool          one_bool;      // There is one spelling of a bool.
    bool          lines;         // A row has a number of a line.
    bool          side_by_side;  // Written rows are values of one column, with nothing in between.
} FormatInfo;

#define FORMAT(NAME, folder) extern const FormatInfo format_info_##folder;
#include "ir/formats.def"
#undef FORMAT

const FormatInfo *format_info(Format format);
// The format's own name.
const char *format_name(Format format);
// The folder below stdlib/formats/, of which symbols have their names.
const char *format_folder(Format format);
// The columns of a format whose rows have one type.
const Type *format_fixed_row(TypeTable *types, const FormatInfo *info);

#endif
