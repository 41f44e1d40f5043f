/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the pacer is there for: paced against stock in the same simulated session (sim-pacer.h),
 * over links, activities, topologies and trouble. Nothing is drawn by chance, so a run repeats
 * itself.
 * --verbose prints the tables.
 */
#include "sim-pacer.h"

#define NAMES 64

static void
report(const SimCell *cell, const SimResult *stock, const SimResult *paced)
{
    g_test_message(
        "%-30s %8.1f %8.1f  %8.1f %8.1f  %6.2f %6.2f  %4.2f  %5" G_GUINT64_FORMAT
        " %5.0f  %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT,
        cell->name, stock->p50, paced->p50, stock->p95, paced->p95, stock->mbit, paced->mbit,
        stock->p50 > 0 ? paced->p50 / stock->p50 : 0, paced->pacer.holds,
        paced->pacer.holds > 0 ? (double)paced->hold_us / 1000 / (double)paced->pacer.holds : 0,
        paced->pacer.stalls, paced->pacer.pauses);
}

static void
report_head(void)
{
    g_test_message("%-30s %8s %8s  %8s %8s  %6s %6s  %4s  %5s %5s  %s", "cell (ms, Mbit/s)", "p50",
                   "paced", "p95", "paced", "Mbit/s", "paced", "p50/", "holds", "ms",
                   "stalls/pauses");
}

/* Both clients in one session each; what holds in every cell is asserted here. */
static void
compare(const SimCell *cell, SimResult *stock, SimResult *paced)
{
    sim_run(cell, FALSE, stock);
    sim_run(cell, TRUE, paced);
    report(cell, stock, paced);
    g_assert_false(stock->wrapped);
    g_assert_false(paced->wrapped);
    g_assert_cmpuint(paced->keys, >=, 100);
    g_assert_cmpint(paced->pacer.longest_us, <=, SA_PACER_HOLD_MAX_US);
    g_assert_cmpfloat(paced->p50, <=, stock->p50 * 1.05 + 3);
    g_assert_cmpfloat(paced->p95, <=, stock->p95 * 1.05 + 3);
    g_assert_cmpfloat(paced->mbit, >=, stock->mbit * 0.95);
}

typedef enum Activity { IDLE, BUSY, HEAVY, STREAM, N_ACTIVITIES } Activity;

/* Columns of one frame as spice-server sent them in the reference measurements: QUIC at 20 ms,
 * JPEG at 80 ms and more; noise is some 42 kB either way. A stream is one message a frame. */
static const struct Link {
    const char *name;
    double rtt_ms, mbit;
    guint window, busy, heavy;
    double heavy_ratio; /* most of stock's p50 behind a relay */
} links[] = {
    {"20:50", 20, 50, 20, 21400, 42500, 0.67}, {"80:50", 80, 50, 40, 3600, 42900, 1},
    {"80:10", 80, 10, 40, 3400, 42000, 0.5},   {"80:5", 80, 5, 40, 3400, 42000, 0.67},
    {"150:2", 150, 2, 40, 3400, 42000, 0.67},
};

static void
matrix_cell(SimCell *cell, char name[NAMES], const struct Link *link, Activity activity,
            gboolean relay, double repair_every_ms)
{
    static const char *const names[] = {"idle", "busy", "heavy", "stream"};

    g_snprintf(name, NAMES, "%s %s %s%s", link->name, names[activity], relay ? "relay" : "direct",
               repair_every_ms > 0 ? ", losses" : "");
    *cell = (SimCell){
        .name = name,
        .rtt_ms = link->rtt_ms,
        .mbit = link->mbit,
        .window = link->window,
        .columns = activity == IDLE     ? 0
                   : activity == STREAM ? 1
                                        : 21,
        .column_bytes = activity == BUSY    ? link->busy
                        : activity == HEAVY ? link->heavy
                                            : 20000,
        /* a relay's buffers take a whole window; Linux gives a socket's about four times the
         * bandwidth-delay product when nobody reads */
        .path_bytes = relay ? 6e6 : 4 * link->rtt_ms * link->mbit * 125,
        .decode_us = 100,
        .repair_every_ms = repair_every_ms,
        .repair_ms = 2 * link->rtt_ms,
        .seconds = 400,
        .seed = 1,
    };
}

static void
run_matrix(double repair_every_ms)
{
    report_head();
    for (guint l = 0; l < G_N_ELEMENTS(links); l++) {
        for (Activity activity = 0; activity < N_ACTIVITIES; activity++) {
            for (int relay = 0; relay <= 1; relay++) {
                SimResult stock, paced;
                char name[NAMES];
                SimCell cell;

                matrix_cell(&cell, name, &links[l], activity, relay, repair_every_ms);
                compare(&cell, &stock, &paced);
                if (relay && activity == HEAVY)
                    g_assert_cmpfloat(paced.p50, <=, stock.p50 * links[l].heavy_ratio);
                /* nothing is worth holding for: equal to stock, to the microsecond */
                if (activity == IDLE ||
                    (activity == BUSY && links[l].mbit / links[l].rtt_ms > 0.3 &&
                     links[l].rtt_ms > 20)) {
                    g_assert_cmpuint(paced.pacer.holds, ==, 0);
                    g_assert_cmpfloat(paced.p95, ==, stock.p95);
                }
            }
        }
    }
}

static void
test_matrix(void)
{
    run_matrix(0);
}

/* Cubic on a queue of one bandwidth-delay product loses a packet every four seconds or so. */
static void
test_matrix_losses(void)
{
    run_matrix(4000);
}

/* Large and small draws by turns, in groups: messages say little about time. */
static void
test_mixed_sizes(void)
{
    static const guint groups[] = {1, 4, 10, 20};

    report_head();
    for (guint l = 0; l < G_N_ELEMENTS(links); l++) {
        for (guint g = 0; g < G_N_ELEMENTS(groups); g++) {
            for (int relay = 0; relay <= 1; relay++) {
                SimResult stock, paced;
                char name[NAMES];
                SimCell cell;

                matrix_cell(&cell, name, &links[l], HEAVY, relay, 0);
                g_snprintf(name, NAMES, "%s groups of %u %s", links[l].name, groups[g],
                           relay ? "relay" : "direct");
                cell.columns = 40;
                cell.small_group = groups[g];
                compare(&cell, &stock, &paced);
                if (relay && links[l].mbit <= 10)
                    g_assert_cmpfloat(paced.p50, <=, stock.p50 * (groups[g] > 4 ? 0.65 : 0.52));
            }
        }
    }
}

#define HEAVY_COLUMNS .columns = 21, .column_bytes = 42000, .path_bytes = 6e6, .decode_us = 100
#define BUSY_COLUMNS  .columns = 21, .column_bytes = 3400, .path_bytes = 6e6, .decode_us = 100

static void
test_trouble(void)
{
    static const struct {
        SimCell cell;
        double ratio; /* most of stock's p50 */
        gboolean stalls;
    } cases[] = {
        {{"10 -> 4 Mbit", 80, 10, 40, HEAVY_COLUMNS, .change_at_s = 100, .change_mbit = 4,
          .seconds = 300},
         0.5,
         FALSE},
        {{"4 -> 16 Mbit", 80, 4, 40, HEAVY_COLUMNS, .change_at_s = 100, .change_mbit = 16,
          .seconds = 300},
         0.7,
         FALSE},
        {{"2 -> 50 Mbit", 80, 2, 40, HEAVY_COLUMNS, .change_at_s = 100, .change_mbit = 50,
          .seconds = 300},
         0.8,
         FALSE},
        {{"outage of 2 s", 80, 10, 40, HEAVY_COLUMNS, .outage_at_s = 100, .outage_s = 2,
          .seconds = 200},
         0.5,
         FALSE},
        {{"outage of 20 s", 80, 10, 40, HEAVY_COLUMNS, .outage_at_s = 100, .outage_s = 20,
          .seconds = 200},
         0.6,
         FALSE},
        {{"activity stops", 80, 10, 40, HEAVY_COLUMNS, .stop_at_s = 150, .seconds = 200},
         0.6,
         FALSE},
        {{"jitter of 20 ms", 80, 10, 40, HEAVY_COLUMNS, .jitter_ms = 20, .seconds = 300},
         0.5,
         FALSE},
        {{"jitter of 20 ms, busy", 80, 10, 40, BUSY_COLUMNS, .jitter_ms = 20, .seconds = 100},
         1.03,
         FALSE},
        {{"round trip 40 ms longer", 80, 10, 40, HEAVY_COLUMNS, .rtt_error_ms = 40, .seconds = 300},
         0.5,
         TRUE},
        {{"round trip 70 ms longer", 80, 50, 20, HEAVY_COLUMNS, .rtt_error_ms = 70, .seconds = 200},
         1,
         TRUE},
        {{"70 ms longer, busy", 80, 10, 40, BUSY_COLUMNS, .rtt_error_ms = 70, .seconds = 200},
         1,
         TRUE},
        {{"slow server", 20, 50, 20, HEAVY_COLUMNS, .encode_us = 4000, .seconds = 100}, 0.7, FALSE},
        {{"window of 1", 80, 10, 1, HEAVY_COLUMNS, .seconds = 100}, 1.01, FALSE},
        {{"window of 5", 80, 10, 5, HEAVY_COLUMNS, .seconds = 100}, 1.01, FALSE},
        {{"window of 200", 80, 10, 200, HEAVY_COLUMNS, .seconds = 300}, 0.9, FALSE},
    };

    report_head();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        SimCell cell = cases[i].cell;
        SimResult stock, paced;

        cell.seed = 1;
        sim_run(&cell, FALSE, &stock);
        sim_run(&cell, TRUE, &paced);
        report(&cell, &stock, &paced);
        g_assert_false(paced.wrapped);
        g_assert_cmpfloat(paced.p50, <=, stock.p50 * cases[i].ratio + 3);
        g_assert_cmpfloat(paced.p95, <=, stock.p95 * 1.05 + 3);
        g_assert_cmpfloat(paced.mbit, >=, stock.mbit * 0.95);
        if (cases[i].stalls)
            g_assert_cmpint(paced.pacer.lost_us, >, 0);
    }
}

/* The viewer is the limit: its socket fills, on any link. */
static void
test_slow_viewer(void)
{
    static const SimCell cells[] = {
        {"5 ms a message, LAN", 0.4, 940, 20, .columns = 21, .column_bytes = 21000,
         .path_bytes = 6e6, .decode_us = 5000, .seconds = 100},
        {"20 ms a message, LAN", 0.4, 940, 20, .columns = 21, .column_bytes = 21000,
         .path_bytes = 6e6, .decode_us = 20000, .seconds = 100},
        {"20 ms a message, 20:50", 20, 50, 20, .columns = 21, .column_bytes = 21000,
         .path_bytes = 6e6, .decode_us = 20000, .seconds = 100},
        {"5 ms a message, 20:50", 20, 50, 20, .columns = 21, .column_bytes = 21000,
         .path_bytes = 6e6, .decode_us = 5000, .seconds = 100},
    };

    report_head();
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++) {
        SimCell cell = cells[i];
        SimResult stock, paced;

        cell.seed = 1;
        compare(&cell, &stock, &paced);
        g_assert_cmpfloat(paced.p50, <=, stock.p50 * 0.75);
        g_assert_cmpuint(paced.pacer.stalls, ==, 0);
    }
}

/* Frames of a few or many draws that fill a share of the link: no backlog, nothing to gain. */
static void
test_load(void)
{
    report_head();
    for (guint tenths = 1; tenths <= 9; tenths++) {
        for (guint columns = 1; columns <= 21; columns += 4) {
            g_autofree char *name = g_strdup_printf("%u draws, load %u0 %%", columns, tenths);
            SimCell cell = {
                .name = name,
                .rtt_ms = 40,
                .mbit = 20,
                .window = 20,
                .columns = columns,
                .column_bytes = tenths * 8325 / columns,
                .path_bytes = 6e6,
                .decode_us = 100,
                .seconds = 60,
                .seed = 1,
            };
            SimResult stock, paced;

            compare(&cell, &stock, &paced);
            if (tenths <= 6)
                g_assert_cmpuint(paced.pacer.holds, ==, 0);
        }
    }
}

/* A fast link and a viewer that keeps up: zero holds whatever the activity. */
static void
test_lan(void)
{
    static const SimCell cells[] = {
        {"LAN busy", 0.4, 940, 20, .columns = 21, .column_bytes = 21000, .path_bytes = 6e6,
         .decode_us = 500, .seconds = 50},
        {"LAN heavy", 0.4, 940, 20, .columns = 21, .column_bytes = 42000, .path_bytes = 6e6,
         .decode_us = 1000, .seconds = 50},
        {"LAN stream", 0.4, 940, 20, .columns = 1, .column_bytes = 60000, .path_bytes = 6e6,
         .decode_us = 5000, .seconds = 50},
        {"50 ms, small draws", 50, 300, 20, .columns = 21, .column_bytes = 800, .path_bytes = 6e6,
         .decode_us = 100, .seconds = 50},
    };

    report_head();
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++) {
        SimCell cell = cells[i];
        SimResult stock, paced;

        cell.seed = 1;
        compare(&cell, &stock, &paced);
        g_assert_cmpuint(paced.pacer.holds, ==, 0);
        g_assert_cmpfloat(paced.p50, ==, stock.p50);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pacer-sim/matrix", test_matrix);
    g_test_add_func("/pacer-sim/matrix-losses", test_matrix_losses);
    g_test_add_func("/pacer-sim/mixed-sizes", test_mixed_sizes);
    g_test_add_func("/pacer-sim/trouble", test_trouble);
    g_test_add_func("/pacer-sim/slow-viewer", test_slow_viewer);
    g_test_add_func("/pacer-sim/load", test_load);
    g_test_add_func("/pacer-sim/lan", test_lan);
    return g_test_run();
}
