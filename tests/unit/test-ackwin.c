/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/ackwin.h"

#include "ackwin-schedules.h"

#define MS ((gint64)1000)

/* SET_ACK read and answered at time t. */
static void
open_window(SaAckwin *win, guint32 window, gint64 rtt_us, gint64 t)
{
    sa_ackwin_init(win);
    sa_ackwin_set_rtt(win, rtt_us);
    sa_ackwin_set_ack(win, 1, window, 14, t);
    sa_ackwin_ack_sync(win, 1, t);
}

static void
messages(SaAckwin *win, guint n, gint64 t)
{
    for (guint i = 0; i < n; i++)
        sa_ackwin_message(win, 100, t);
}

static void
test_unknown(void)
{
    SaAckwin win;

    sa_ackwin_init(&win);
    sa_ackwin_set_rtt(&win, 80 * MS);
    messages(&win, 500, 5);
    sa_ackwin_ack(&win, 6);
    sa_ackwin_ack_sync(&win, 0, 6);
    sa_ackwin_ack(&win, 7);
    g_assert_false(win.known);
    g_assert_false(win.synced);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, 0);
    g_assert_cmpuint(sa_ackwin_in_flight(&win), ==, 0);
    g_assert_cmpuint(sa_ackwin_limit(&win), ==, 0);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 10), ==, G_MAXUINT64);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 1000 * MS), ==, 0);
    g_assert_cmpuint(win.total_messages, ==, 500);
    g_assert_cmpuint(win.total_bytes, ==, 50000);
    g_assert_cmpuint(win.total_acks, ==, 2);
    g_assert_cmpuint(win.ignored_acks, ==, 2);
}

typedef struct Counts {
    const char *name;
    guint32 window;
    guint read; /* messages after SET_ACK */
    guint acks;
    guint64 credit, in_flight, limit;
} Counts;

static const Counts counts[] = {
    {"SET_ACK counts", 20, 0, 0, 41, 40, 41},
    {"one window read", 20, 20, 0, 41, 20, 41},
    {"one window acknowledged", 20, 20, 1, 61, 40, 41},
    {"all read, nothing acknowledged", 20, 40, 0, 41, 0, 41},
    {"more read than granted", 20, 45, 0, 41, 0, 41},
    {"wide window", 40, 80, 2, 161, 80, 81},
    {"window of one", 1, 1, 1, 4, 2, 3},
    {"acknowledged early", 20, 0, 1, 61, 60, 41},
    {"the server does not count", 0, 100, 3, 0, 0, 0},
    {"largest window", G_MAXUINT32, 0, 2, 4 * (guint64)G_MAXUINT32 + 1, 4 * (guint64)G_MAXUINT32,
     2 * (guint64)G_MAXUINT32 + 1},
};

static void
test_counts(gconstpointer data)
{
    const Counts *c = data;
    SaAckwin win;

    open_window(&win, c->window, 80 * MS, 1);
    messages(&win, c->read, 2);
    for (guint i = 0; i < c->acks; i++)
        sa_ackwin_ack(&win, 3);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, c->credit);
    g_assert_cmpuint(sa_ackwin_in_flight(&win), ==, c->in_flight);
    g_assert_cmpuint(sa_ackwin_limit(&win), ==, c->limit);
    g_assert_cmpuint(win.received, ==, c->read + 1);
}

static void
test_saturation(void)
{
    SaAckwin win;

    open_window(&win, G_MAXUINT32, 80 * MS, 1);
    win.acks = G_GUINT64_CONSTANT(1) << 62;
    sa_ackwin_ack(&win, 2);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, G_MAXUINT64);
    g_assert_cmpuint(sa_ackwin_in_flight(&win), ==, G_MAXUINT64 - 1);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 1000 * MS), ==, G_MAXUINT64 - 1);
}

/* ACKs count once ACK_SYNC has named the present generation, and only until the next SET_ACK. */
static void
test_generations(void)
{
    SaAckwin win;

    sa_ackwin_init(&win);
    sa_ackwin_set_ack(&win, 7, 20, 14, 1);
    sa_ackwin_ack(&win, 2);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, 41);
    g_assert_cmpuint(win.ignored_acks, ==, 1);
    sa_ackwin_ack_sync(&win, 6, 3);
    g_assert_false(win.synced);
    sa_ackwin_ack(&win, 4);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, 41);
    sa_ackwin_ack_sync(&win, 7, 5);
    g_assert_true(win.synced);
    sa_ackwin_ack(&win, 6);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, 61);
    /* a wrong one takes the server's trust away again */
    sa_ackwin_ack_sync(&win, 8, 7);
    sa_ackwin_ack(&win, 8);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, 61);

    messages(&win, 30, 9);
    sa_ackwin_set_ack(&win, 8, 40, 14, 10);
    g_assert_false(win.synced);
    g_assert_cmpuint(win.received, ==, 1);
    g_assert_cmpuint(win.acks, ==, 0);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, 81);
    sa_ackwin_ack(&win, 11);
    g_assert_cmpuint(sa_ackwin_credit(&win), ==, 81);
    g_assert_cmpuint(win.total_set_acks, ==, 2);
    g_assert_cmpuint(win.total_messages, ==, 32);
    g_assert_cmpuint(win.total_bytes, ==, 3028);
    g_assert_cmpuint(win.total_acks, ==, 5);
    g_assert_cmpuint(win.ignored_acks, ==, 4);
}

static void
test_peak(void)
{
    SaAckwin win;

    open_window(&win, 20, 80 * MS, 1);
    g_assert_cmpuint(win.peak_in_flight, ==, 40);
    for (guint i = 0; i < 10; i++) {
        messages(&win, 20, 2);
        sa_ackwin_ack(&win, 2);
    }
    g_assert_cmpuint(win.peak_in_flight, ==, 40);
    messages(&win, 19, 3);
    sa_ackwin_ack(&win, 3);
    g_assert_cmpuint(win.peak_in_flight, ==, 41);
}

/* W = 20, round trip 80 ms, everything the server may send is here at 10 ms. */
static void
limit_at_10(SaAckwin *win)
{
    open_window(win, 20, 80 * MS, 1);
    messages(win, 39, 10 * MS);
    g_assert_cmpuint(sa_ackwin_credit_left(win, 10 * MS), ==, 1);
    g_assert_cmpuint(win->stalls, ==, 0);
    messages(win, 1, 10 * MS);
    g_assert_cmpuint(sa_ackwin_credit_left(win, 10 * MS), ==, 0);
    g_assert_cmpuint(win->stalls, ==, 1);
}

static void
test_limit_runs(void)
{
    SaAckwin win;

    limit_at_10(&win);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 10 * MS), ==, 0);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 11 * MS), ==, 1 * MS);
    /* a question never takes time back */
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 5 * MS), ==, 1 * MS);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 1000 * MS), ==, 990 * MS);
    g_assert_cmpint(win.at_limit_us, ==, 990 * MS);
}

/* An ACK shows after one round trip, and the time ends there whenever it is asked for. */
static void
test_limit_ends_with_ack(void)
{
    SaAckwin win;

    limit_at_10(&win);
    sa_ackwin_ack(&win, 30 * MS);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 110 * MS - 1), ==, 0);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 110 * MS), ==, 20);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 50 * MS), ==, 40 * MS);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 500 * MS), ==, 100 * MS);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 900 * MS), ==, 100 * MS);
    messages(&win, 19, 950 * MS);
    g_assert_cmpuint(win.stalls, ==, 1);
    messages(&win, 1, 950 * MS);
    g_assert_cmpuint(win.stalls, ==, 2);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 960 * MS), ==, 110 * MS);
}

static void
test_limit_ends_before_message(void)
{
    SaAckwin win;

    limit_at_10(&win);
    sa_ackwin_ack(&win, 30 * MS);
    messages(&win, 1, 200 * MS);
    g_assert_cmpint(win.at_limit_us, ==, 100 * MS);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 300 * MS), ==, 100 * MS);
    g_assert_cmpuint(win.stalls, ==, 1);
}

/* A message before any ACK can have shown: the round trip is shorter than thought. By what is
 * known the limit goes on, without a second stall. */
static void
test_limit_early_message(void)
{
    SaAckwin win;

    limit_at_10(&win);
    sa_ackwin_ack(&win, 30 * MS);
    messages(&win, 1, 60 * MS);
    g_assert_cmpuint(win.stalls, ==, 1);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 70 * MS), ==, 60 * MS);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 500 * MS), ==, 100 * MS);
}

static void
test_limit_ends_with_set_ack(void)
{
    SaAckwin win;

    limit_at_10(&win);
    sa_ackwin_set_ack(&win, 2, 20, 14, 25 * MS);
    g_assert_cmpint(win.at_limit_us, ==, 15 * MS);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 500 * MS), ==, 15 * MS);
    /* the ACK of the old generation is forgotten with it */
    sa_ackwin_ack(&win, 26 * MS);
    messages(&win, 40, 30 * MS);
    g_assert_cmpuint(win.stalls, ==, 2);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 500 * MS), ==, 485 * MS);
}

/* Several ACKs: the one that matters is the first that allows more than was received. */
static void
test_limit_needs_several_acks(void)
{
    SaAckwin win;

    limit_at_10(&win);
    messages(&win, 25, 20 * MS);
    sa_ackwin_ack(&win, 30 * MS);
    sa_ackwin_ack(&win, 40 * MS);
    sa_ackwin_ack(&win, 50 * MS);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 110 * MS), ==, 0);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 120 * MS), ==, 15);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 500 * MS), ==, 110 * MS);
}

static void
test_rtt_changes(void)
{
    SaAckwin win;

    limit_at_10(&win);
    sa_ackwin_ack(&win, 30 * MS);
    sa_ackwin_set_rtt(&win, 20 * MS);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 50 * MS), ==, 20);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 500 * MS), ==, 40 * MS);

    limit_at_10(&win);
    sa_ackwin_set_rtt(&win, 0);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 50 * MS), ==, G_MAXUINT64);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 500 * MS), ==, 0);
    messages(&win, 1, 510 * MS);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 600 * MS), ==, 0);
    g_assert_cmpuint(win.stalls, ==, 1);
    sa_ackwin_set_rtt(&win, -5);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 600 * MS), ==, G_MAXUINT64);
}

/* More ACKs within a round trip than are remembered: the limit is left early, never late. */
static void
test_ring_overflow(void)
{
    const guint over = 10;
    SaAckwin win;

    open_window(&win, 1, 80 * MS, 1);
    messages(&win, 2, 10 * MS);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 10 * MS), ==, 0);
    for (guint i = 0; i < SA_ACKWIN_RECENT; i++)
        sa_ackwin_ack(&win, 20 * MS + i);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 21 * MS), ==, 0);
    for (guint i = 0; i < over; i++)
        sa_ackwin_ack(&win, 30 * MS + i);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 31 * MS), ==, over);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 100 * MS + over), ==, over + 1);
    g_assert_cmpuint(sa_ackwin_credit_left(&win, 111 * MS), ==, over + SA_ACKWIN_RECENT);
    g_assert_cmpint(sa_ackwin_at_limit_us(&win, 500 * MS), ==, 20 * MS);
}

static void
add_case(const char *group, const char *name, gconstpointer data, GTestDataFunc func)
{
    g_autofree char *path = g_strdup_printf("/ackwin/%s/%s", group, name);

    g_test_add_data_func(g_strdelimit(path, " ", '-'), data, func);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ackwin/unknown", test_unknown);
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++)
        add_case("counts", counts[i].name, &counts[i], test_counts);
    g_test_add_func("/ackwin/saturation", test_saturation);
    g_test_add_func("/ackwin/generations", test_generations);
    g_test_add_func("/ackwin/peak", test_peak);
    g_test_add_func("/ackwin/limit/runs", test_limit_runs);
    g_test_add_func("/ackwin/limit/ends-with-ack", test_limit_ends_with_ack);
    g_test_add_func("/ackwin/limit/ends-before-message", test_limit_ends_before_message);
    g_test_add_func("/ackwin/limit/early-message", test_limit_early_message);
    g_test_add_func("/ackwin/limit/ends-with-set-ack", test_limit_ends_with_set_ack);
    g_test_add_func("/ackwin/limit/needs-several-acks", test_limit_needs_several_acks);
    g_test_add_func("/ackwin/rtt-changes", test_rtt_changes);
    g_test_add_func("/ackwin/ring-overflow", test_ring_overflow);
    add_ackwin_schedules();
    return g_test_run();
}
