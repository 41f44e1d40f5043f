/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions, linked as a program would link them. */
#include <math.h>
#include <spice-accel.h>
#include <string.h>

static void
switched_off(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_false(spice_accel_attach("0", &error));
    g_assert_error(error, SPICE_ACCEL_ERROR, SPICE_ACCEL_ERROR_DISABLED);
}

static void
attach_twice(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(spice_accel_attach(NULL, &error));
    g_assert_no_error(error);
    g_assert_true(spice_accel_attach("log=/nonexistent/never-opened", &error));
    g_assert_no_error(error);
    g_assert_true(spice_accel_attach_from_environment());
}

static void
empty_snapshot(void)
{
    SpiceAccelSnapshot *first = spice_accel_snapshot_new(NULL);
    SpiceAccelSnapshot *second = spice_accel_snapshot_new(first);

    g_assert_cmpuint(spice_accel_snapshot_n_channels(second), ==, 0);
    g_assert_true(isnan(spice_accel_snapshot_number(second, 0, "window")));
    g_assert_null(spice_accel_snapshot_text(second, 0, "channel"));
    spice_accel_snapshot_free(first);
    spice_accel_snapshot_free(second);
    spice_accel_snapshot_free(NULL);
}

static void
columns(void)
{
    static const char *const promised[] = {
        "time_s",    "channel",    "window",    "in_flight", "at_limit_pct", "stalls",
        "holds",     "hold_ms",    "messages",  "bytes",     "mean_bytes",   "rtt_ms",
        "rate_mbit", "backlog_ms", "decode_us", "verdict",
    };
    const char *const *names = spice_accel_columns();

    for (gsize i = 0; i < G_N_ELEMENTS(promised); i++) {
        g_assert_cmpstr(names[i], ==, promised[i]);
    }
    g_assert_nonnull(strchr(spice_accel_version(), '.'));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/api/switched-off", switched_off);
    g_test_add_func("/api/attach-twice", attach_twice);
    g_test_add_func("/api/empty-snapshot", empty_snapshot);
    g_test_add_func("/api/columns", columns);
    return g_test_run();
}
