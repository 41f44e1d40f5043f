/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../rig/anim.h"

static const gint64 origin = 5000000000;

static void
test_runs_by_the_clock(void)
{
    SaAnim anim;

    sa_anim_init(&anim, 30);
    g_assert_false(sa_anim_advance(&anim, origin));
    g_assert_cmpint(sa_anim_next(&anim), ==, -1);
    sa_anim_start(&anim, origin);
    g_assert_false(sa_anim_advance(&anim, origin));
    for (guint frame = 1; frame <= 300; frame++) {
        gint64 next = sa_anim_next(&anim);

        g_assert_cmpint(next, >=, origin + frame * G_USEC_PER_SEC / 30);
        g_assert_cmpint(next, <=, origin + frame * G_USEC_PER_SEC / 30 + 1);
        g_assert_false(sa_anim_advance(&anim, next - 1));
        g_assert_true(sa_anim_advance(&anim, next));
        g_assert_cmpuint(anim.frame, ==, frame);
    }
    g_assert_cmpint(sa_anim_next(&anim) - origin, ==, 10033334);
}

static void
test_skips_what_is_late(void)
{
    SaAnim anim;

    sa_anim_init(&anim, 50);
    sa_anim_start(&anim, origin);
    g_assert_true(sa_anim_advance(&anim, origin + 110000));
    g_assert_cmpuint(anim.frame, ==, 5);
    g_assert_cmpint(sa_anim_next(&anim), ==, origin + 120000);
    /* A clock that went back moves nothing. */
    g_assert_false(sa_anim_advance(&anim, origin + 90000));
    g_assert_cmpuint(anim.frame, ==, 5);
}

static void
test_freezes_exactly(void)
{
    SaAnim anim;

    sa_anim_init(&anim, 30);
    sa_anim_freeze_at(&anim, 10);
    sa_anim_start(&anim, origin);
    g_assert_true(sa_anim_advance(&anim, origin + 60 * G_USEC_PER_SEC));
    g_assert_cmpuint(anim.frame, ==, 10);
    g_assert_false(anim.running);
    g_assert_cmpint(sa_anim_next(&anim), ==, -1);

    /* It does not start again beyond it, but does once it is taken away, with the next frame. */
    sa_anim_start(&anim, origin);
    g_assert_false(anim.running);
    sa_anim_freeze_at(&anim, -1);
    sa_anim_start(&anim, origin);
    g_assert_false(sa_anim_advance(&anim, origin + 30000));
    g_assert_true(sa_anim_advance(&anim, origin + 34000));
    g_assert_cmpuint(anim.frame, ==, 11);
}

static void
test_freezes_at_once_when_past(void)
{
    SaAnim anim;

    sa_anim_init(&anim, 30);
    sa_anim_start(&anim, origin);
    g_assert_true(sa_anim_advance(&anim, origin + G_USEC_PER_SEC));
    sa_anim_freeze_at(&anim, 30);
    g_assert_false(anim.running);
    g_assert_cmpuint(anim.frame, ==, 30);

    sa_anim_init(&anim, 30);
    sa_anim_freeze_at(&anim, 0);
    sa_anim_start(&anim, origin);
    g_assert_false(anim.running);
}

static void
test_resumes_where_it_stopped(void)
{
    SaAnim anim;

    sa_anim_init(&anim, 30);
    sa_anim_start(&anim, origin);
    g_assert_true(sa_anim_advance(&anim, origin + G_USEC_PER_SEC));
    sa_anim_stop(&anim);
    g_assert_false(sa_anim_advance(&anim, origin + 9 * G_USEC_PER_SEC));
    sa_anim_start(&anim, origin + 10 * G_USEC_PER_SEC);
    sa_anim_start(&anim, origin + 10 * G_USEC_PER_SEC + 20000);
    g_assert_true(sa_anim_advance(&anim, origin + 10 * G_USEC_PER_SEC + 34000));
    g_assert_cmpuint(anim.frame, ==, 31);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/anim/runs-by-the-clock", test_runs_by_the_clock);
    g_test_add_func("/anim/skips-what-is-late", test_skips_what_is_late);
    g_test_add_func("/anim/freezes-exactly", test_freezes_exactly);
    g_test_add_func("/anim/freezes-at-once-when-past", test_freezes_at_once_when_past);
    g_test_add_func("/anim/resumes-where-it-stopped", test_resumes_where_it_stopped);
    return g_test_run();
}
