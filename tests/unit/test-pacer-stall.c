/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the pacer finds out that a hold cost something, and what it does about it. */
#include "pacer-viewer.h"

/* From an emission: the ACK goes just in time, all older credit is used, and then the viewer waits.
 * catch_up: what was held back meanwhile comes at once. Ends with the next emission. */
static void
stalled_window(Viewer *v, gint64 waited, gboolean catch_up)
{
    gint64 behind = catch_up ? waited : 0;
    guint n = v->win.window;

    g_assert_cmpuint(v->p.held, ==, 1);
    viewer_messages(v, n, BIG, 36 * MS, 0);
    viewer_message(v, BIG, 36 * MS + waited, waited);
    for (guint i = 0; i < n - 1; i++) {
        gint64 after = behind >= 36 * MS ? 0 : 36 * MS;

        behind -= 36 * MS - after;
        viewer_message(v, BIG, after, 0);
    }
}

static void
test_stall(void)
{
    static const struct {
        const char *name;
        gint64 waited;
        gboolean catch_up;
        gint64 decoder; /* it had so much to do, and did it */
        gint64 lost, margin;
    } cases[] = {
        /* half of the loss, less a two-hundredth of 40 * 36 ms; 10 ms at least */
        {"late by 100 ms", 100 * MS, FALSE, 0, 100 * MS, 53 * MS},
        {"late by 200 ms", 200 * MS, FALSE, 0, 200 * MS, 103 * MS},
        {"late by 20 ms", 20 * MS, FALSE, 0, 20 * MS, 13 * MS},
        {"packets of the link", 5 * MS, FALSE, 0, 0, 10 * MS},
        {"loss repair catches up", 150 * MS, TRUE, 0, 0, 10 * MS},
        {"the server had nothing to send", 330 * MS, FALSE, 0, 0, 10 * MS},
        {"a decoder worked meanwhile", 100 * MS, FALSE, 100 * MS, 0, 10 * MS},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        Viewer v;

        g_test_message("%s", cases[i].name);
        viewer_heavy(&v);
        if (cases[i].decoder > 0) {
            viewer_messages(&v, 39, BIG, 36 * MS, 0);
            g_assert_cmpuint(v.p.held, ==, 0);
            sa_pacer_local_backlog(&v.p, 0, cases[i].decoder);
            viewer_message(&v, BIG, 36 * MS, 0);
            /* told between the messages, as the decoder works */
            sa_pacer_local_backlog(&v.p, 0, 0);
            viewer_message(&v, BIG, 36 * MS + cases[i].waited, cases[i].waited);
            viewer_messages(&v, 20, BIG, 36 * MS, 0);
        } else {
            stalled_window(&v, cases[i].waited, cases[i].catch_up);
        }
        g_assert_cmpint(ABS(v.p.lost_us - cases[i].lost), <=, 2 * MS);
        g_assert_cmpint(ABS(v.p.margin_us - cases[i].margin), <=, 2 * MS);
        g_assert_cmpuint(v.p.stalls, ==, 0);
    }
}

/* A wait on another message than the first one an ACK made possible is not ours, nor one that is
 * like the others of that time, nor one behind an ACK that was not held. */
static void
test_not_our_stall(void)
{
    Viewer v;

    viewer_heavy(&v);
    viewer_messages(&v, 39, BIG, 36 * MS, 0);
    viewer_message(&v, BIG, 136 * MS, 100 * MS);
    viewer_messages(&v, 39, BIG, 36 * MS, 0);
    g_assert_cmpint(v.p.lost_us, ==, 0);

    viewer_heavy(&v);
    viewer_messages(&v, 30, BIG, 36 * MS, 0);
    viewer_message(&v, BIG, 106 * MS, 70 * MS);
    viewer_messages(&v, 9, BIG, 36 * MS, 0);
    viewer_message(&v, BIG, 136 * MS, 100 * MS);
    viewer_messages(&v, 39, BIG, 36 * MS, 0);
    g_assert_cmpint(v.p.lost_us, ==, 0);

    viewer_heavy(&v);
    viewer_messages(&v, 39, BIG, 36 * MS, 0);
    sa_pacer_set_enabled(&v.p, FALSE);
    viewer_messages(&v, 41, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.held, ==, 0);
    viewer_messages(&v, 40, BIG, 36 * MS, 0);
    viewer_message(&v, BIG, 136 * MS, 100 * MS);
    viewer_messages(&v, 39, BIG, 36 * MS, 0);
    g_assert_cmpint(v.p.lost_us, ==, 0);

    /* held for a moment only: a window that is too small for the link makes any client wait */
    viewer_init(&v, 20, 215 * MS);
    sa_pacer_local_backlog(&v.p, 60 * MS, 0);
    viewer_messages(&v, 20, BIG, 11 * MS, 0);
    g_assert_cmpuint(v.p.passed[SA_PACER_JUST_IN_TIME], ==, 1);
    sa_pacer_round_trip(&v.p, 208 * MS);
    viewer_messages(&v, 19, BIG, 11 * MS, 0);
    viewer_message(&v, BIG, 11 * MS, 0);
    g_assert_cmpuint(v.p.held, ==, 1);
    viewer_messages(&v, 20, BIG, 11 * MS, 0);
    g_assert_cmpint(v.p.longest_us, <, 5 * MS);
    viewer_message(&v, BIG, 60 * MS, 49 * MS);
    viewer_messages(&v, 40, BIG, 11 * MS, 0);
    g_assert_cmpint(v.p.lost_us, ==, 0);

    /* a new SET_ACK in between counts from the start */
    viewer_heavy(&v);
    viewer_messages(&v, 39, BIG, 36 * MS, 0);
    viewer_set_ack(&v, 10);
    sa_ackwin_ack_sync(&v.win, v.win.generation, v.now);
    sa_pacer_set_enabled(&v.p, FALSE);
    viewer_messages(&v, 80, BIG, 2 * MS, 0);
    viewer_message(&v, BIG, 62 * MS, 60 * MS);
    viewer_messages(&v, 40, BIG, 2 * MS, 0);
    g_assert_cmpint(v.p.lost_us, ==, 0);
}

static void
test_margin(void)
{
    Viewer v;

    viewer_heavy(&v);
    stalled_window(&v, 200 * MS, FALSE);
    g_assert_cmpint(ABS(v.p.margin_us - 103 * MS), <=, 2 * MS);
    /* it gives back 7.2 ms with each window */
    viewer_messages(&v, 5 * 40, BIG, 36 * MS, 0);
    g_assert_cmpint(ABS(v.p.margin_us - 67 * MS), <=, 2 * MS);
    viewer_messages(&v, 20 * 40, BIG, 36 * MS, 0);
    g_assert_cmpint(v.p.margin_us, ==, 10 * MS);

    /* it is bounded */
    viewer_heavy(&v);
    for (guint i = 0; i < 20; i++) {
        stalled_window(&v, 200 * MS, FALSE);
        v.p.last_stall = 0; /* no pause */
    }
    g_assert_cmpint(v.p.margin_us, <=, 1000 * MS);
    g_assert_cmpint(v.p.margin_us, >=, 900 * MS);
}

/* Until it counts as a stall: 250 ms beyond a twentieth of the time. */
static void
lose(Viewer *v)
{
    guint64 stalls = v->p.stalls;

    for (guint i = 0; i < 4; i++) {
        g_assert_cmpuint(v->p.stalls, ==, stalls);
        stalled_window(v, 200 * MS, FALSE);
    }
    g_assert_cmpuint(v->p.stalls, ==, stalls + 1);
}

static void
test_pause(void)
{
    Viewer v;
    gint64 since;

    /* small losses do not add up */
    viewer_heavy(&v);
    for (guint i = 0; i < 12; i++)
        stalled_window(&v, 60 * MS, FALSE);
    g_assert_cmpint(v.p.lost_us, >=, 500 * MS);
    g_assert_cmpuint(v.p.stalls, ==, 0);

    /* two stalls within 30 s: no holds for 30 s */
    viewer_heavy(&v);
    lose(&v);
    g_assert_cmpuint(v.p.pauses, ==, 0);
    viewer_messages(&v, 8 * 40, BIG, 36 * MS, 0);
    lose(&v);
    g_assert_cmpuint(v.p.pauses, ==, 1);
    since = v.p.off_until - 30 * SEC;
    g_assert_cmpint(v.now - since, <, 3 * SEC);
    while (v.now - since < 29 * SEC)
        viewer_message(&v, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.passed[SA_PACER_OFF], >=, 17);
    g_assert_cmpuint(v.p.held, ==, 0);
    while (v.now - since < 33 * SEC)
        viewer_message(&v, BIG, 36 * MS, 0);
    g_assert_cmpuint(v.p.passed[SA_PACER_OFF], <=, 21);
    viewer_messages(&v, 80, BIG, 36 * MS, 0);
    g_assert_cmpuint(total(v.p.passed), ==, v.p.passed[SA_PACER_OFF]);

    /* further apart: none */
    viewer_heavy(&v);
    lose(&v);
    viewer_messages(&v, 21 * 40, BIG, 36 * MS, 0); /* 30.2 s */
    lose(&v);
    g_assert_cmpuint(v.p.pauses, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pacer-stall/stall", test_stall);
    g_test_add_func("/pacer-stall/not-ours", test_not_our_stall);
    g_test_add_func("/pacer-stall/margin", test_margin);
    g_test_add_func("/pacer-stall/pause", test_pause);
    return g_test_run();
}
