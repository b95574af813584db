// A4, Q1 by hand. Checks nothing: 17 ends a row, amounts with two decimals, flags of one letter.
#include "scan.h"

enum { COLUMNS = 17, QUANTITY = 4, PRICE, DISCOUNT, TAX, FLAG, STATUS, SHIPDATE, GROUPS = 64 };

typedef struct Group {
    int64_t quantity, price, disc_price, charge, discount, orders;
} Group;

typedef struct State {
    _Alignas(64) Group groups[GROUPS];  // By flag, then status.
    uint32_t ends[FIELDS_MAX];
} State;

static void each(void *argument, Text block) {
    State *s = argument;
    size_t count = index_fields(block.at, block.at + block.len, '|', s->ends);
    for (const uint32_t *e = s->ends; e < s->ends + count; e += COLUMNS) {
        const char *at = block.at;
        if (memcmp(at + e[SHIPDATE - 1] + 1, "1998-09-02", 10) > 0) continue;
        Group *g = &s->groups[(at[e[FLAG - 1] + 1] & 31) * 2 + (at[e[STATUS - 1] + 1] == 'O')];
        int64_t price = cents(at + e[PRICE - 1] + 1, at + e[PRICE]);
        int64_t discount = two_digits(at + e[DISCOUNT] - 2);
        int64_t quantity = (int64_t)digits(at + e[QUANTITY - 1] + 1, at + e[QUANTITY]);
        int64_t disc_price = price * (100 - discount);
        g->quantity += quantity;
        g->price += price;
        g->disc_price += disc_price;
        g->charge += disc_price * (100 + two_digits(at + e[TAX] - 2));
        g->discount += discount;
        g->orders++;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    static State states[THREADS];
    scan_rows(map_text(argv[1]), each, states, sizeof *states);
    FILE *out = open_output(argv[2]);
    fprintf(out, "returnflag,linestatus,sum_quantity,sum_price,sum_disc_price,sum_charge,"
                 "mean_quantity,mean_price,mean_discount,orders\n");
    for (int i = 0; i < GROUPS; i++) {
        Group a = states[0].groups[i], b = states[1].groups[i];
        double n = (double)(a.orders + b.orders);
        if (n == 0) continue;
        double quantity = (double)(a.quantity + b.quantity), price = (double)(a.price + b.price);
        fprintf(out, "%c,%c,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.0f\n", '@' + i / 2,
                i % 2 ? 'O' : 'F', quantity, price / 1e2,
                (double)(a.disc_price + b.disc_price) / 1e4, (double)(a.charge + b.charge) / 1e6,
                quantity / n, price / 1e2 / n, (double)(a.discount + b.discount) / 1e2 / n, n);
    }
    return fclose(out) ? 3 : 0;
}
