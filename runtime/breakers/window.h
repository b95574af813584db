// Window: what its functions give each row of a partition, into the row's entry.
//
// Rows of a partition come in the order of the window, in pieces. All functions go along them side
// by side, as far as each has seen what the results depend on. So rows may be let go that no
// function looks at any more.
//
//   rows       first ──── needed ──── limit ──── end         (numbers in the partition)
//       gone  │ may go   │ looked at │ without │ to come
//             │          │ again     │ results │
#ifndef SBC_RUNTIME_BREAKERS_WINDOW_H
#define SBC_RUNTIME_BREAKERS_WINDOW_H

#include "runtime/abi/program.h"
#include "runtime/host.h"
#include "runtime/memory.h"
#include "runtime/rows.h"

// One function on its way through a partition.
typedef struct WindowState {
    const SbWindowFn *fn;
    int64_t next;           // The first row without a result.
    int64_t low, high;      // Its frame: rows from low on, before high.
    int64_t middle;         // Of a frame that slides: `front` has the rows before this one, `back`
                            // the others.
    char   *front;          // For each row from `front_from` on: a state of it and all that follow
                            // before `middle`.
    int64_t front_from;
    char   *back;           // State of the rows from `middle` to `high`.
    const SbEntry *last;    // FILL: the last row with a value; null: none yet.
    SbRows  kept;           // What outlives its rows: of FILL, and of a running MIN or MAX.
    int64_t number, dense;  // RANK, DENSE_RANK, SESSION: of the row before.
    SbCall  call, query;    // What `front` and `back` hold; what one result takes.
} WindowState;

typedef struct WindowRun {
    const SbBreaker *breaker;
    const SbWindow  *what;
    SbMemory        *memory;
    WindowState    *states;   // By function.
    // The rows that are there: number `first` to number `end`.
    SbEntry *const *rows;
    int64_t first, end;
    bool    complete;         // No row of the partition comes after row `end`.
    int64_t limit;            // Rows before this number have all of their results.
    // What functions of the whole partition give, where that was found out before; or null, and -1.
    const SbEntry *whole;
    int64_t rows_in_all;
} WindowRun;

// Rows that wait for their results have no room for these: fewer bytes go to disk. `bare` becomes
// what such rows are, and *held, from malloc, what they hold. False: no memory.
bool window_bare(const SbBreaker *what, SbBreaker *bare, SbHeld **held);

// False: no memory.
bool window_open(WindowRun *window, const SbBreaker *breaker, SbMemory *memory);
void window_close(WindowRun *window);
// The next rows belong to another partition.
void window_begin(WindowRun *window);
// Gives results to all rows before the limit, which moves as far as it can. A status: a fault of a
// sum, or SB_FAULT_TOO_LARGE where the account is exhausted.
int32_t window_run(WindowRun *window);

// The first row that some function looks at again. Rows before it may go once window_keep has been
// called. -1: a function has to know all of the partition first.
int64_t window_needed(const WindowRun *window);
// Copies what functions still need of rows before number `row`. False: no memory.
bool window_keep(WindowRun *window, int64_t row);

// What functions give that look at the whole partition, from one row after the other.
typedef struct WindowTotals {
    const SbBreaker *breaker, *bare;
    int64_t rows;
    char   *states;        // By function.
    SbRows *kept;          // By function: the row whose value it gives.
    const SbEntry **picks; // The same.
    SbCall  call;
    SbEntry *whole;        // With the results, in the end.
} WindowTotals;

// `bare`: what the rows are.
bool window_totals_open(WindowTotals *totals, const SbBreaker *breaker, const SbBreaker *bare,
                        SbMemory *memory);
void window_totals_close(WindowTotals *totals);
// A row, with or without room for results. A status.
int32_t window_totals_add(WindowTotals *totals, const SbEntry *entry);
// After the last row; window->whole stays as long as `totals`.
int32_t window_totals_end(WindowTotals *totals, WindowRun *window);

bool window_same_partition(const SbWindow *what, const SbEntry *a, const SbEntry *b);

// All partitions of rows that lie in memory, in the order of the window, on all threads.
int32_t window_all(const SbBreaker *breaker, const SbEntry **entries, int64_t count,
                   SbMemory *memory, SbParallel *parallel);

#endif
