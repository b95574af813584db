// Reading a text as a value: one table of library functions by type.
#include "codegen/emit_scan.h"

#include "stdlib/number.h"

#include <string.h>

// int32_t NAME([SbCall *,] const char *ptr, int64_t len, [extra...,] T *out)
static const char *const readers[] = {
    [TYPE_BOOL] = "sb_read_bool", [TYPE_I8] = "sb_read_i8", [TYPE_I16] = "sb_read_i16",
    [TYPE_I32] = "sb_read_i32", [TYPE_I64] = "sb_read_i64", [TYPE_U8] = "sb_read_u8",
    [TYPE_U16] = "sb_read_u16", [TYPE_U32] = "sb_read_u32", [TYPE_U64] = "sb_read_u64",
    [TYPE_F16] = "sb_read_f16", [TYPE_BF16] = "sb_read_bf16", [TYPE_F32] = "sb_read_f32",
    [TYPE_F64] = "sb_read_f64", [TYPE_DATE] = "sb_read_date", [TYPE_DURATION] = "sb_read_duration",
};

static const char *const point_readers[] = {
    [TYPE_F16] = "sb_read_f16_point", [TYPE_BF16] = "sb_read_bf16_point",
    [TYPE_F32] = "sb_read_f32_point", [TYPE_F64] = "sb_read_f64_point",
};

// An SbDecimalForm by value: four bytes in one register.
static Val decimal_form(const Emit *e, const Type *type, char point) {
    SbDecimalForm form = {type->precision, type->scale, point, true};
    static_assert(sizeof form == sizeof(uint32_t), "passed in a register");
    uint32_t bits;
    memcpy(&bits, &form, sizeof bits);
    return emit_i32(e, bits);
}

Val emit_source_zone(Emit *e, const SourceOp *source) {
    bool utc = !source->options.zone.len || text_is(source->options.zone, "UTC");
    return utc ? LLVMConstNull(e->ptr) : emit_zone(e, source->options.zone);
}

Val emit_read_text(Emit *e, const SourceOp *source, const Type *type, Value text, Val slot,
                   bool hot) {
    Arg args[8] = {arg(text.a), arg(text.b)};
    unsigned count = 2;
    const char *symbol = type->kind < countof(readers) ? readers[type->kind] : nullptr;
    bool comma = source->options.csv.decimal && source->options.csv.decimal != '.';
    if (type_is_float(type) && comma) {
        symbol = point_readers[type->kind];
        args[count++] = (Arg){.a = emit_int(e, e->i8, (uint8_t)source->options.csv.decimal),
                              .is_signed = true};
    } else if (type->kind == TYPE_TIMESTAMP) {
        symbol = "sb_read_timestamp";
        args[count++] = arg(emit_i32(e, (uint32_t)type->unit));
        args[count++] = arg(emit_source_zone(e, source));
    } else if (type->kind == TYPE_DECIMAL) {
        symbol = emit_type(e, type) == e->i64 ? "sb_read_decimal64" : "sb_read_decimal";
        args[count++] = arg(decimal_form(e, type, comma ? source->options.csv.decimal : '.'));
    } else if (type->kind == TYPE_BYTES) {
        return emit_callv(e, "sb_base64_read", e->i32, arg(emit_call_context(e)),
                          arg_pair(text.a, text.b), arg(slot));
    } else if (type_is_nested(type) || type->kind == TYPE_JSON) {
        return emit_callv(e, "sb_field_json", e->i32, arg(emit_call_context(e)),
                          arg_pair(emit_sbtype(e, type), emit_source_zone(e, source)),
                          arg(text.a), arg(text.b), arg(slot));
    }
    args[count++] = arg(slot);
    Val status = emit_call(e, symbol, e->i32, args, count);
    if (hot) emit_hot(e, status);
    else emit_cold(e, status);
    return status;
}
