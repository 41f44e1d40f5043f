/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each rule of the pacer alone: messages at chosen times, and when exactly the ACK goes. */
#include "pacer-viewer.h"

static void
test_unknown(void)
{
    Viewer v;

    /* no round trip */
    viewer_init(&v, 40, 0);
    viewer_messages(&v, 400, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.passed[SA_PACER_UNKNOWN], ==, 10);
    sa_pacer_round_trip(&v.p, -1);
    viewer_messages(&v, 40, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.holds, ==, 0);
    sa_pacer_round_trip(&v.p, 80 * MS);
    viewer_messages(&v, 40, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.holds, ==, 1);

    /* no rate: the first messages of a connection */
    viewer_init(&v, 20, 20 * MS);
    viewer_messages(&v, 7, BIG, 30 * MS, 0);
    v.to_ack = 1;
    viewer_message(&v, BIG, 30 * MS, 0);
    g_assert_cmpuint(v.p.passed[SA_PACER_UNKNOWN], ==, 1);

    /* a small window is judged by eight messages */
    viewer_init(&v, 4, 1 * MS);
    viewer_messages(&v, 7, BIG, 100 * MS, 0); /* SET_ACK is the first */
    g_assert_cmpuint(v.p.passed[SA_PACER_UNKNOWN], ==, 1);
    viewer_message(&v, BIG, 100 * MS, 0);
    g_assert_cmpuint(v.p.holds, ==, 1);

    /* before ACK_SYNC the server ignores ACKs */
    viewer_heavy(&v);
    viewer_wait(&v, 3 * SEC);
    viewer_set_ack(&v, 40);
    viewer_messages(&v, 40, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.passed[SA_PACER_UNKNOWN], ==, 1);

    /* a server that does not count, and one whose window is absurd */
    viewer_init(&v, 0, 20 * MS);
    viewer_messages(&v, 100, BIG, 30 * MS, 0);
    viewer_ack(&v);
    g_assert_cmpuint(v.p.passed[SA_PACER_UNKNOWN], ==, 1);
    viewer_init(&v, G_MAXUINT32, 20 * MS);
    viewer_messages(&v, 600, BIG, 30 * MS, 0);
    viewer_ack(&v);
    viewer_wait(&v, 60 * SEC);
    g_assert_cmpuint(v.p.held, ==, 0);

    /* all at one instant */
    viewer_init(&v, 20, 20 * MS);
    viewer_messages(&v, 100, BIG, 0, 0);
    g_assert_cmpuint(v.p.holds, ==, 0);
}

static void
test_just_in_time(void)
{
    static const struct {
        const char *name;
        guint window;
        gint64 rtt, spacing;
        gboolean holds;
    } cases[] = {
        {"80 ms 10 Mbit", 40, 80 * MS, 36 * MS, TRUE},
        {"20 ms 50 Mbit", 20, 20 * MS, 7 * MS, TRUE},
        {"80 ms 5 Mbit", 40, 80 * MS, 72 * MS, TRUE},
        {"150 ms 2 Mbit", 40, 150 * MS, 172 * MS, TRUE},
        {"window of 8", 8, 20 * MS, 36 * MS, TRUE},
        {"a window within the round trip", 40, 80 * MS, 2240, FALSE},
        {"just more than that", 40, 80 * MS, 2260, TRUE},
        {"window of 1", 1, 80 * MS, 36 * MS, FALSE},
        {"window of 2", 2, 80 * MS, 36 * MS, FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        gint64 spacing = cases[i].spacing;
        /* one round trip and 10 ms before the last granted message would be here */
        double hold = cases[i].window * (double)spacing - cases[i].rtt - 10 * MS;
        Viewer v;
        gint64 emitted;

        g_test_message("%s", cases[i].name);
        viewer_init(&v, cases[i].window, cases[i].rtt);
        sa_pacer_local_backlog(&v.p, 60 * MS, 0); /* always worth a hold */
        viewer_messages(&v, MAX(4 * cases[i].window, 16), BIG, spacing, 0);
        g_assert_cmpuint(v.p.held > 0, ==, cases[i].holds);
        if (!cases[i].holds)
            continue;
        emitted = v.emitted;
        viewer_messages(&v, cases[i].window - 1, BIG, spacing, 0);
        viewer_wait(&v, spacing - 1);
        g_assert_cmpint(ABS(v.written - emitted - hold), <=, 2);
        g_assert_cmpuint(v.p.released[SA_PACER_JUST_IN_TIME], >, 0);
        g_assert_cmpuint(total(v.p.released), ==, v.p.released[SA_PACER_JUST_IN_TIME]);
        g_assert_cmpint(ABS(v.p.longest_us - hold), <=, 2);
    }
}

/* Nothing arrives any more: the rate goes on in thought, and the timer is exact. */
static void
test_projection(void)
{
    Viewer v;
    gint64 due;

    viewer_heavy(&v);
    viewer_messages(&v, 34, BIG, 36 * MS, 0); /* 6 of 40 are to come */
    due = v.now + 6 * 36 * MS - 80 * MS - 10 * MS;
    g_assert_cmpint(ABS(sa_pacer_next(&v.p, v.now) - due), <=, 1);
    due = sa_pacer_next(&v.p, v.now);
    g_assert_cmpuint(sa_pacer_release(&v.p, due - 1), ==, 0);
    g_assert_cmpint(sa_pacer_next(&v.p, due - 1), ==, due);
    g_assert_cmpuint(sa_pacer_release(&v.p, due), ==, 1);
    g_assert_cmpint(sa_pacer_next(&v.p, due), ==, -1);
    g_assert_cmpuint(sa_pacer_release(&v.p, due), ==, 0);
}

static void
test_small_backlog(void)
{
    static const struct {
        const char *name;
        gint64 rtt, spacing;
        guint64 held;
    } cases[] = {
        /* 40 messages with the ACK let go; 100 ms beyond the round trip */
        {"under the target", 60 * MS, 3990, 0},
        {"over the target", 60 * MS, 4010, 1},
        {"a longer round trip carries more", 62 * MS, 4010, 0},
    };
    Viewer v;

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_message("%s", cases[i].name);
        viewer_init(&v, 20, cases[i].rtt);
        viewer_messages(&v, 20, BIG, cases[i].spacing, 0);
        g_assert_cmpuint(v.p.holds, ==, cases[i].held);
        g_assert_cmpuint(v.p.passed[SA_PACER_SMALL_BACKLOG], ==, 1 - cases[i].held);
    }

    /* the target is an option */
    viewer_init(&v, 20, 20 * MS);
    sa_pacer_init(&v.p, &v.win, 300 * MS);
    sa_pacer_round_trip(&v.p, 20 * MS);
    viewer_messages(&v, 20, BIG, 7 * MS, 0); /* 280 - 20 ms */
    g_assert_cmpuint(v.p.passed[SA_PACER_SMALL_BACKLOG], ==, 1);
    g_assert_cmpint(ABS(sa_pacer_backlog_us(&v.p) - 400 * MS), <=, 1); /* and one more ACK's */

    /* held until the target is met, before the last moment: 4 ms * (20 + 20 - n) - 20 <= 100 */
    viewer_init(&v, 20, 20 * MS);
    viewer_until_ack(&v, 4 * MS);
    g_assert_cmpuint(v.p.held, ==, 1);
    viewer_messages(&v, 9, BIG, 4 * MS, 0);
    g_assert_cmpuint(v.p.held, ==, 1);
    viewer_message(&v, BIG, 4 * MS, 0);
    g_assert_cmpuint(v.p.released[SA_PACER_SMALL_BACKLOG], ==, 1);
}

/* Is the last window of messages believed to be one busy period? */
static void
test_busy(void)
{
    static const struct {
        const char *name;
        guint32 bytes;
        gint64 spacing;       /* of 20 messages, */
        gint64 waited, every; /* and waits before every so many of them */
        gint64 long_wait;     /* and one more */
        gboolean believed;
    } cases[] = {
        {"one busy period", BIG, 10 * MS, 0, 1, 0, TRUE},
        {"one long pause", BIG, 10 * MS, 0, 1, 300 * MS, TRUE},
        {"short waits", BIG, 10 * MS, 5 * MS, 1, 0, TRUE},
        {"longer ones", BIG, 10 * MS, 5 * MS + 1, 1, 0, FALSE},
        {"longer ones, few", BIG, 10 * MS, 6 * MS, 4, 0, TRUE},
        {"and more", BIG, 10 * MS, 6 * MS, 2, 0, FALSE},
        {"packets of a slow link", 9000, 36 * MS, 17 * MS, 1, 0, TRUE},
        {"longer than three packets", 9000, 36 * MS, 19 * MS, 1, 0, FALSE},
        {"packets on ticks", 1500, 36 * MS, 24 * MS, 1, 0, TRUE},
        {"an idle display's ticks", 1500, 36 * MS, 26 * MS, 1, 0, FALSE},
        {"a picture's burst", BIG, 1680, 0, 1, 0, FALSE},
        {"longer than two ticks", BIG, 1700, 0, 1, 0, TRUE},
        {"bursts and a pause", BIG, 1680, 0, 1, 40 * MS, FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        Viewer v;

        g_test_message("%s", cases[i].name);
        viewer_init(&v, 20, 1 * MS);
        sa_pacer_init(&v.p, &v.win, 0); /* any backlog is worth it, if believed */
        sa_pacer_round_trip(&v.p, 1 * MS);
        for (guint n = 0; n < 40; n++) {
            gint64 extra = n == 30 ? cases[i].long_wait : 0;
            gint64 waited = n % cases[i].every == 0 ? cases[i].waited : 0;

            viewer_message(&v, cases[i].bytes, cases[i].spacing + extra, waited + extra);
        }
        g_assert_cmpint(sa_pacer_backlog_us(&v.p) >= 0, ==, cases[i].believed);
        g_assert_cmpuint(v.p.held, ==, cases[i].believed ? 1 : 0);
    }
}

/* Waits are no part of the rate: a burst after a pause runs at the path's. */
static void
test_burst_rate(void)
{
    Viewer v;
    gint64 emitted;

    viewer_init(&v, 40, 80 * MS);
    sa_pacer_local_backlog(&v.p, 60 * MS, 0);
    viewer_messages(&v, 79, BIG, 10 * MS, 0);
    viewer_message(&v, BIG, 300 * MS, 290 * MS);
    emitted = v.emitted;
    g_assert_cmpuint(v.p.held, ==, 1);
    g_assert_cmpint(ABS(sa_pacer_backlog_us(&v.p) - 720 * MS), <, 4 * MS);
    viewer_messages(&v, 39, BIG, 10 * MS, 0);
    /* 40 * 10 - 90 ms */
    g_assert_cmpint(ABS(v.written - emitted - 310 * MS), <, 4 * MS);
}

static void
test_silence(void)
{
    Viewer v;
    gint64 last;

    viewer_heavy(&v);
    last = v.now;
    /* 250 ms, the round trip, a message */
    g_assert_cmpint(ABS(sa_pacer_next(&v.p, v.now) - (last + 366 * MS)), <=, 1);
    viewer_wait(&v, 365 * MS);
    g_assert_cmpuint(v.p.held, ==, 1);
    viewer_wait(&v, 2 * MS);
    g_assert_cmpuint(v.p.held, ==, 0);
    g_assert_cmpuint(v.p.released[SA_PACER_SILENCE], ==, 1);
    g_assert_cmpint(ABS(v.written - (last + 366 * MS)), <=, 1);

    /* each message starts it anew */
    viewer_heavy(&v);
    viewer_messages(&v, 3, BIG, 300 * MS, 0);
    g_assert_cmpuint(v.p.held, ==, 1);
}

static void
test_limit(void)
{
    Viewer v;

    viewer_init(&v, 40, 80 * MS);
    viewer_until_ack(&v, 300 * MS); /* 40 of them take 12 s */
    g_assert_cmpuint(v.p.held, ==, 1);
    viewer_messages(&v, 39, BIG, 300 * MS, 0);
    g_assert_cmpuint(v.p.released[SA_PACER_LIMIT], ==, 1);
    g_assert_cmpint(v.p.longest_us, ==, 10 * SEC);
    g_assert_cmpint(sa_pacer_hold_us(&v.p, v.now), ==, 10 * SEC);

    /* a server that sends beyond its window, an option that asks for the impossible */
    viewer_heavy(&v);
    for (guint i = 0; i < 10; i++) {
        viewer_ack(&v);
        g_assert_cmpuint(v.p.held, <=, SA_PACER_HELD_MAX);
        viewer_release(&v);
        g_assert_cmpuint(v.p.held, <, SA_PACER_HELD_MAX);
    }
    g_assert_cmpuint(v.p.released[SA_PACER_LIMIT], ==, 8);
}

static void
test_local_backlog(void)
{
    Viewer v;

    /* nothing on the path: one message each 30 ms, waited for */
    viewer_init(&v, 20, 20 * MS);
    viewer_messages(&v, 20, 5000, 30 * MS, 27 * MS);
    g_assert_cmpuint(v.p.passed[SA_PACER_SMALL_BACKLOG], ==, 1);
    sa_pacer_local_backlog(&v.p, 50 * MS, 0);
    viewer_messages(&v, 20, 5000, 30 * MS, 27 * MS);
    g_assert_cmpuint(v.p.passed[SA_PACER_SMALL_BACKLOG], ==, 2);
    sa_pacer_local_backlog(&v.p, 51 * MS, 0);
    viewer_messages(&v, 20, 5000, 30 * MS, 27 * MS);
    g_assert_cmpuint(v.p.held, ==, 1);
    sa_pacer_local_backlog(&v.p, 10 * MS, 0);
    g_assert_cmpuint(viewer_release(&v), ==, 1);
    g_assert_cmpuint(v.p.released[SA_PACER_SMALL_BACKLOG], ==, 1);
    sa_pacer_local_backlog(&v.p, 25 * MS, 26 * MS);
    viewer_messages(&v, 20, 5000, 30 * MS, 27 * MS);
    g_assert_cmpuint(v.p.held, ==, 1);
    sa_pacer_local_backlog(&v.p, -1, -1);
    g_assert_cmpuint(viewer_release(&v), ==, 1);
}

/* Frames inside a decoder are still to come: what is granted may run out meanwhile. */
static void
test_decoder_backlog(void)
{
    Viewer v;
    gint64 last;

    viewer_heavy(&v);
    sa_pacer_local_backlog(&v.p, 0, 400 * MS);
    viewer_messages(&v, 40 - 1, BIG, 36 * MS, 0);
    last = v.now;
    g_assert_cmpuint(v.p.held, ==, 1); /* one to come, and eleven in the decoder */
    sa_pacer_local_backlog(&v.p, 0, 100 * MS);
    g_assert_cmpuint(viewer_release(&v), ==, 0);
    sa_pacer_local_backlog(&v.p, 0, 60 * MS);
    g_assert_cmpuint(viewer_release(&v), ==, 0); /* 96 ms; 90 are the lead */
    sa_pacer_local_backlog(&v.p, 0, 40 * MS);
    g_assert_cmpuint(viewer_release(&v), ==, 1);
    g_assert_cmpint(v.now, ==, last);
    g_assert_cmpuint(v.p.released[SA_PACER_JUST_IN_TIME], ==, 1);

    /* it never gets less: silence ends it */
    viewer_heavy(&v);
    sa_pacer_local_backlog(&v.p, 0, 400 * MS);
    viewer_messages(&v, 40 - 1, BIG, 36 * MS, 0);
    viewer_wait(&v, 400 * MS);
    g_assert_cmpuint(v.p.released[SA_PACER_SILENCE], ==, 1);
}

static void
test_flush(void)
{
    Viewer v;

    viewer_heavy(&v);
    viewer_ack(&v);
    g_assert_cmpuint(sa_pacer_flush(&v.p, v.now), ==, 2);
    g_assert_cmpuint(v.p.released[SA_PACER_FLUSH], ==, 2);
    g_assert_cmpuint(v.p.held, ==, 0);
    g_assert_cmpint(sa_pacer_next(&v.p, v.now), ==, -1);
    g_assert_cmpuint(sa_pacer_flush(&v.p, v.now), ==, 0);
    g_assert_cmpuint(sa_pacer_release(&v.p, v.now), ==, 0);

    /* a new SET_ACK makes what is held void; it goes before the ACK_SYNC */
    viewer_heavy(&v);
    viewer_set_ack(&v, 40);
    g_assert_cmpint(sa_pacer_next(&v.p, v.now), ==, v.now);
    g_assert_cmpuint(viewer_release(&v), ==, 1);
    g_assert_cmpuint(v.p.released[SA_PACER_FLUSH], ==, 1);
    g_assert_cmpuint(v.win.acks, ==, 0);
}

static void
test_order(void)
{
    Viewer v;

    /* let go but not written: the next one queues up behind it, though it could go at once */
    viewer_heavy(&v);
    v.deaf = TRUE;
    viewer_messages(&v, 39, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.held, ==, 0);
    g_assert_cmpuint(v.n_written, ==, 0);
    sa_pacer_set_enabled(&v.p, FALSE);
    g_assert_true(sa_pacer_ack_emitted(&v.p, v.now));
    g_assert_cmpuint(sa_pacer_release(&v.p, v.now), ==, 1);
    viewer_write(&v, 2);
    sa_pacer_acks_written(&v.p, 2, v.now);
    g_assert_false(sa_pacer_ack_emitted(&v.p, v.now));

    /* what is let go and not written yet counts as granted */
    viewer_heavy(&v);
    v.deaf = TRUE;
    viewer_messages(&v, 39, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.held, ==, 0);
    viewer_message(&v, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.held, ==, 1);
}

static void
test_off(void)
{
    Viewer v;

    viewer_heavy(&v);
    sa_pacer_set_enabled(&v.p, FALSE);
    g_assert_cmpint(sa_pacer_next(&v.p, v.now), ==, v.now);
    g_assert_cmpuint(viewer_release(&v), ==, 1);
    g_assert_cmpuint(v.p.released[SA_PACER_OFF], ==, 1);
    viewer_messages(&v, 40, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.passed[SA_PACER_OFF], ==, 1);
    sa_pacer_set_enabled(&v.p, TRUE);
    viewer_messages(&v, 40, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.held, ==, 1);
}

static void
test_counters(void)
{
    Viewer v;

    viewer_heavy(&v);
    viewer_wait(&v, 100 * MS);
    g_assert_cmpint(sa_pacer_hold_us(&v.p, v.now), ==, 100 * MS);
    g_assert_cmpint(v.p.longest_us, ==, 0);
    viewer_messages(&v, 400, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.holds, ==, 11);
    g_assert_cmpuint(total(v.p.released) + v.p.held, ==, v.p.holds);
    g_assert_cmpuint(total(v.p.passed) + total(v.p.released), ==, v.n_written);
    g_assert_cmpint(sa_pacer_hold_us(&v.p, v.now), >, 10 * SEC);
    for (guint i = 0; i < SA_PACER_N_RULES; i++)
        g_assert_cmpstr(sa_pacer_rule_name(i), !=, "?");
    g_assert_cmpstr(sa_pacer_rule_name(SA_PACER_N_RULES), ==, "?");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pacer/unknown", test_unknown);
    g_test_add_func("/pacer/just-in-time", test_just_in_time);
    g_test_add_func("/pacer/projection", test_projection);
    g_test_add_func("/pacer/small-backlog", test_small_backlog);
    g_test_add_func("/pacer/busy", test_busy);
    g_test_add_func("/pacer/burst-rate", test_burst_rate);
    g_test_add_func("/pacer/silence", test_silence);
    g_test_add_func("/pacer/limit", test_limit);
    g_test_add_func("/pacer/local-backlog", test_local_backlog);
    g_test_add_func("/pacer/decoder-backlog", test_decoder_backlog);
    g_test_add_func("/pacer/flush", test_flush);
    g_test_add_func("/pacer/order", test_order);
    g_test_add_func("/pacer/off", test_off);
    g_test_add_func("/pacer/counters", test_counters);
    return g_test_run();
}
