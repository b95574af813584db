// CSV by hand: a sum by a small number, or a copy of three fields. `csv IN OUT sum|copy FORM`,
// where FORM is like `,5:0:2:3:4:q`: delimiter, fields, the fields id, zone, note and value, and
// letters: q quotes have a meaning, a all fields are quoted, r lines end in CR LF. Checks nothing:
// zones below 1,024, two digits after the point.
#include "halves.h"

enum { GROUPS = 1024 };

typedef struct Form {
    char delimiter;
    uint32_t fields, id, zone, note, value;
    bool quoted, all, carriage;
} Form;

typedef struct Group {
    int64_t rows, cents, bytes;
} Group;

typedef struct State {
    _Alignas(64) Group groups[GROUPS];
} State;

static Form form;
static bool copies;
static State states[THREADS];

// Bytes of a quoted text of which every quote is doubled.
static int64_t text_bytes(const char *at, const char *end) {
    int64_t quotes = 0;
    for (const char *c = at; c < end; c += 64) {
        uint64_t bits = match(c, '"');
        if (end - c < 64) bits &= (UINT64_C(1) << (end - c)) - 1;
        quotes += __builtin_popcountll(bits);
    }
    return end - at - quotes / 2;
}

typedef struct Field {
    const char *at, *end;
} Field;

static inline Field field_of(const char *at, const uint32_t *ends, uint32_t start, uint32_t which) {
    Field f = {at + (which ? ends[which - 1] + 1 : start), at + ends[which]};
    if (which + 1 == form.fields) f.end -= form.carriage;
    if (form.all) f.at++, f.end--;
    return f;
}

static inline char *put_field(char *to, Field f, char after) {
    memcpy(to, f.at, (size_t)(f.end - f.at));
    to += f.end - f.at;
    *to = after;
    return to + 1;
}

static void row_of(Half *h, const char *at, const uint32_t *ends, uint32_t start) {
    Field zone = field_of(at, ends, start, form.zone), note = field_of(at, ends, start, form.note);
    Field value = field_of(at, ends, start, form.value);
    uint64_t number = digits(zone.at, zone.end);
    if (copies) {
        if (number <= 250) return;
        h->to = put_field(h->to, field_of(at, ends, start, form.id), ',');
        h->to = put_field(h->to, zone, ',');
        h->to = put_field(h->to, value, '\n');
        return;
    }
    Group *g = &states[h->number].groups[number];
    g->rows++;
    g->cents += cents(value.at, value.end);
    bool in_quotes = form.quoted && !form.all && *note.at == '"';
    g->bytes += in_quotes ? text_bytes(note.at + 1, note.end - 1) : note.end - note.at;
}

static void read_half(Half *h) {
    // Of a stretch that ends inside a row this is read with the next one.
    for (const char *at = h->rows.at, *end = at + h->rows.len; at < end;) {
        size_t left = (size_t)(end - at), len = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        want_pages(at, len);
        size_t count = form.quoted ? index_quoted(at, at + len, form.delimiter, h->ends)
                                   : index_fields(at, at + len, form.delimiter, h->ends);
        uint32_t start = 0;
        for (size_t i = 0; i + form.fields <= count; i += form.fields) {
            row_of(h, at, h->ends + i, start);
            start = h->ends[i + form.fields - 1] + 1;
        }
        at += start;
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    char letters[8] = "";
    copies = argv[3][0] == 'c';
    sscanf(argv[4], "%c%u:%u:%u:%u:%u:%7s", &form.delimiter, &form.fields, &form.id, &form.zone,
           &form.note, &form.value, letters);
    form.quoted = strchr(letters, 'q'), form.all = strchr(letters, 'a');
    form.carriage = strchr(letters, 'r');
    Text text = map_text(argv[1]);
    if (copies) {
        write_halves(argv[2], "id,zone,value\n", text, form.quoted, read_half);
        return 0;
    }
    run_halves(text, form.quoted, read_half);
    FILE *out = open_output(argv[2]);
    fprintf(out, "zone,n,s,t\n");
    for (int i = 0; i < GROUPS; i++) {
        const Group a = states[0].groups[i], b = states[1].groups[i];
        if (a.rows + b.rows)
            fprintf(out, "%d,%ld,%.17g,%ld\n", i, a.rows + b.rows,
                    (double)(a.cents + b.cents) / 100, a.bytes + b.bytes);
    }
    return fclose(out) ? 3 : 0;
}
