#include "driver/header.h"

#include "driver/header_arrow.h"

#include "runtime/abi.h"

// As users write a type, and without any header.
static const struct { const char *name, *built_in; } c_types[] = {
    [TYPE_BOOL] = {"bool", "_Bool"},
    [TYPE_I8] = {"int8_t", "__INT8_TYPE__"},
    [TYPE_I16] = {"int16_t", "__INT16_TYPE__"},
    [TYPE_I32] = {"int32_t", "__INT32_TYPE__"},
    [TYPE_I64] = {"int64_t", "__INT64_TYPE__"},
    [TYPE_U8] = {"uint8_t", "__UINT8_TYPE__"},
    [TYPE_U16] = {"uint16_t", "__UINT16_TYPE__"},
    [TYPE_U32] = {"uint32_t", "__UINT32_TYPE__"},
    [TYPE_U64] = {"uint64_t", "__UINT64_TYPE__"},
    [TYPE_F32] = {"float", "float"},
    [TYPE_F64] = {"double", "double"},
    [TYPE_STR] = {"SbStr", "struct SbStr"},
    [TYPE_BYTES] = {"SbStr", "struct SbStr"},
    [TYPE_DATE] = {"int32_t", "__INT32_TYPE__"},
    [TYPE_TIMESTAMP] = {"int64_t", "__INT64_TYPE__"},
    [TYPE_DURATION] = {"int64_t", "__INT64_TYPE__"},
};

// What the number of a time means.
static const char *unit_of(const Type *type) {
    static const char *const units[] = {"seconds", "milliseconds", "microseconds", "nanoseconds"};
    if (type->kind == TYPE_DATE) return "days since 1970-01-01";
    if (type->kind == TYPE_DURATION) return "microseconds";
    return type->kind == TYPE_TIMESTAMP ? units[type->unit] : nullptr;
}

typedef enum { NAMED, BUILT_IN } Spelling;

static const char *c_type(const Type *type, Spelling spelling) {
    TypeKind kind = type_base(type)->kind;
    if (kind >= countof(c_types) || !c_types[kind].name) return "void";
    return spelling == NAMED ? c_types[kind].name : c_types[kind].built_in;
}

static bool gives_status(const ExternFn *fn) {
    return fn->ref->traits & (FN_FALLIBLE | FN_MAYBE);
}

// A function over batches. The structs are declared first, so that they mean the same inside the
// prototype as in the C file.
static void print_batch_prototype(TextBuf *buf, const ExternFn *fn, Spelling spelling) {
    Text symbol = fn->ref->symbol;
    bool named = spelling == NAMED;
    if (fn->ref->traits & FN_STATE)
        text_buf_format(buf, named ? "void *%.*s_init(struct SbBatch *batch);\n"
                                     "void %.*s_close(void *state);\n"
                                   : "struct SbBatch; void *(%.*s_init)(struct SbBatch *); "
                                     "void (%.*s_close)(void *); ",
                        TEXT_ARG(symbol), TEXT_ARG(symbol));
    if (named)
        text_buf_format(buf, "int32_t %.*s(const struct ArrowSchema *schema, "
                             "struct ArrowArray *rows,\n    struct ArrowArray *result, "
                             "struct SbBatch *batch);", TEXT_ARG(symbol));
    else
        text_buf_format(buf, "struct ArrowSchema; struct ArrowArray; struct SbBatch; "
                             "__INT32_TYPE__ (%.*s)(const struct ArrowSchema *, "
                             "struct ArrowArray *, struct ArrowArray *, struct SbBatch *);",
                        TEXT_ARG(symbol));
}

// NAMED: with the names of the parameters. BUILT_IN: without, and what the C file has made of the
// name of the function by a macro does not matter.
static void print_prototype(TextBuf *buf, const ExternFn *fn, Spelling spelling) {
    if (fn->ref->traits & FN_BATCH) {
        print_batch_prototype(buf, fn, spelling);
        return;
    }
    bool status = gives_status(fn), named = spelling == NAMED;
    text_buf_format(buf, named ? "%s %.*s(" : "%s (%.*s)(",
                    status ? named ? "int32_t" : "__INT32_TYPE__" : c_type(fn->result, spelling),
                    TEXT_ARG(fn->ref->symbol));
    for (uint32_t i = 0; i < fn->param_count; i++) {
        const Type *type = fn->params[i].type;
        text_buf_format(buf, type->nullable ? "%sconst %s *" : "%s%s ", i ? ", " : "",
                        c_type(type, spelling));
        if (named) text_buf_add(buf, fn->params[i].name);
    }
    if (status)
        text_buf_format(buf, "%s%s *%s", fn->param_count ? ", " : "", c_type(fn->result, spelling),
                        named ? "out" : "");
    text_buf_add(buf, fn->param_count || status ? TEXT(");") : TEXT("void);"));
}

// The formats of the columns and of the result, and the prototype.
static void print_batch(TextBuf *buf, const ExternFn *fn) {
    text_buf_format(buf, ", over batches%s%s\n// rows:",
                    fn->ref->traits & FN_FALLIBLE ? "; batch->errors rejects rows" : "",
                    fn->ref->traits & FN_ALONE ? "; one call at a time" : "");
    for (uint32_t i = 0; i < fn->param_count; i++) {
        text_buf_format(buf, " %.*s ", TEXT_ARG(fn->params[i].name));
        header_arrow_format(buf, fn->params[i].type);
        text_buf_char(buf, ',');
    }
    text_buf_add(buf, TEXT(" result: "));
    header_arrow_format(buf, fn->result);
    text_buf_char(buf, '\n');
    print_batch_prototype(buf, fn, NAMED);
    text_buf_char(buf, '\n');
}

// The declaration as the program has it, and the prototype.
static void print_function(TextBuf *buf, const ExternFn *fn) {
    text_buf_format(buf, "\n// %.*s(", TEXT_ARG(fn->ref->name));
    for (uint32_t i = 0; i < fn->param_count; i++) {
        text_buf_format(buf, "%s%.*s: ", i ? ", " : "", TEXT_ARG(fn->params[i].name));
        type_print(buf, fn->params[i].type);
    }
    text_buf_add(buf, TEXT(") -> "));
    type_print(buf, fn->result);
    if (fn->ref->traits & FN_BATCH) {
        print_batch(buf, fn);
        return;
    }
    if (gives_status(fn))
        text_buf_format(buf, "; returns %s", !(fn->ref->traits & FN_MAYBE) ? "SB_OK or SB_FAILED"
                        : fn->ref->traits & FN_FALLIBLE ? "SB_OK, SB_NULL or SB_FAILED"
                                                        : "SB_OK or SB_NULL");
    for (uint32_t i = 0; i < fn->param_count; i++) {
        const char *unit = unit_of(type_base(fn->params[i].type));
        if (unit) text_buf_format(buf, "; %.*s in %s", TEXT_ARG(fn->params[i].name), unit);
    }
    if (unit_of(type_base(fn->result)))
        text_buf_format(buf, "; the result in %s", unit_of(type_base(fn->result)));
    text_buf_char(buf, '\n');
    print_prototype(buf, fn, NAMED);
    text_buf_char(buf, '\n');
}

Text header_prototype(Arena *arena, const ExternFn *fn) {
    TextBuf buf = {0};
    print_prototype(&buf, fn, NAMED);
    return text_buf_take(&buf, arena);
}

static Text header_text(const Session *s) {
    TextBuf buf = {0};
    // More than one of these headers may be in a C file: prototypes may stand there twice.
    text_buf_format(&buf,
                    "// The extern functions of %s, written by `sbc header`. A C file that the\n"
                    "// program names may include it as \"pipeline.h\" without it being there.\n"
                    "#ifndef SBC_PIPELINE_TYPES\n"
                    "#define SBC_PIPELINE_TYPES\n"
                    "#include <stdbool.h>\n#include <stdint.h>\n\n"
                    "#ifndef SBC_RUNTIME_ABI_H\n"
                    "typedef struct SbStr {  // str and bytes: len bytes at ptr, not yours\n"
                    "    const char *ptr;\n    int64_t     len;\n} SbStr;\n\n"
                    "enum { SB_OK = %d, SB_NULL = %d };  // A result is at *out; there is none\n"
                    "#endif\n"
                    "enum { SB_FAILED = %d };  // The row is rejected with SB7027\n"
                    "#endif\n",
                    s->name, SB_OK, SB_NULL, SB_FAULT_EXTERN_FAILED);
    bool batches = false;
    for (size_t i = 0; i < s->program->extern_count; i++)
        batches |= (s->program->externs[i].ref->traits & (FN_BATCH | FN_PYTHON)) == FN_BATCH;
    if (batches) text_buf_add(&buf, header_arrow_structs());
    for (size_t i = 0; i < s->program->extern_count; i++)
        if (!(s->program->externs[i].ref->traits & FN_PYTHON))
            print_function(&buf, &s->program->externs[i]);
    return text_buf_take(&buf, s->arena);
}

ExternHeader header_of(const Session *s) {
    size_t count = s->program->extern_count;
    ExternDecl *decls = arena_new_array(s->arena, ExternDecl, count + 1);
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        const ExternFn *fn = &s->program->externs[i];
        if (fn->ref->traits & FN_PYTHON) continue;
        Span span = fn->name_span;
        TextBuf buf = {0};
        print_prototype(&buf, fn, BUILT_IN);
        unsigned line = source_position(s->sources, span.file, span.start).line;
        decls[made++] = (ExternDecl){.ref = fn->ref, .prototype = text_buf_take(&buf, s->arena),
                                     .path = s->sources->files[span.file].path, .line = line};
    }
    return (ExternHeader){header_text(s), decls, made};
}

int header_command(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++) {
        Session s = session_new(options);
        if (session_load(&s, options->files[i])) {
            session_check(&s, (CheckAs){.want_tests = true});
            if (!s.diags->errors) {
                Text text = header_text(&s);
                fwrite(text.at, 1, text.len, stdout);
            }
        }
        int worse = session_report(&s);
        if (worse > status) status = worse;
    }
    return status;
}
