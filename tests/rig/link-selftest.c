/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link-selftest.h"

#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_TOLERANCE 0.02
#define RTT_TOLERANCE  1.0 /* ms */

static const struct {
    double rtt;
    double mbit;
} links[] = {{20, 50}, {80, 50}, {80, 10}, {80, 5}, {150, 2}, {0, 0}};

typedef struct {
    double rtt_p50;
    double rtt_p95;
    double mbit;
    double queue_p50;
    double queue_p90;
} Result;

/* Runs the real program: link ... -- link --probe ... Returns its exit status. */
static int
measure(double rtt, double mbit, double skew_pct, Result *result)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *rtt_arg = g_strdup_printf("%g", rtt);
    g_autofree char *rate_arg = g_strdup_printf("%g", mbit);
    g_autofree char *set_arg = g_strdup_printf("%g", mbit * (1 + skew_pct / 100));
    g_autofree char *out = NULL;
    g_autoptr(GError) error = NULL;
    const char *argv[] = {self, "--rtt", rtt_arg, "--rate", set_arg,  "--stats", "/dev/null", "--",
                          self, "--rtt", rtt_arg, "--rate", rate_arg, "--probe", NULL};
    int status;

    if (!g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, &out, NULL, &status, &error)) {
        fprintf(stderr, "link: self-test: %s\n", error->message);
        return 1;
    }
    if (!g_spawn_check_wait_status(status, &error))
        return error->domain == G_SPAWN_EXIT_ERROR ? error->code : 1;
    if (sscanf(out, "rtt %lf %lf mbit %lf queue %lf %lf", &result->rtt_p50, &result->rtt_p95,
               &result->mbit, &result->queue_p50, &result->queue_p90) != 5) {
        fprintf(stderr, "link: self-test: the probe said: %s\n", out);
        return 1;
    }
    return 0;
}

static gboolean
judge(double rtt, double mbit, const Result *r)
{
    gboolean ok = r->rtt_p50 >= rtt && r->rtt_p50 <= rtt + RTT_TOLERANCE;
    /* One BDP of queue lasts one round trip, ten full packets where that is longer. */
    double queue = mbit > 0 ? MAX(rtt, 15000 * 8 / (mbit * 1e3)) : 0;

    if (mbit > 0) {
        ok = ok && ABS(r->mbit / mbit - 1) <= RATE_TOLERANCE;
        ok = ok && r->queue_p90 <= queue + RTT_TOLERANCE;
    } else {
        ok = ok && r->mbit > 100;
    }
    printf("%-4s %3g ms / %3g Mbit: round trip %.2f / %.2f ms, %.3f Mbit/s, queue under load %.1f "
           "/ %.1f ms\n",
           ok ? "ok" : "FAIL", rtt, mbit, r->rtt_p50, r->rtt_p95, r->mbit, r->queue_p50,
           r->queue_p90);
    fflush(stdout);
    return ok;
}

int
sa_link_selftest(const char *only, double skew_pct)
{
    guint failed = sa_link_selftest_model();
    gboolean found = !only || g_str_equal(only, "model");
    guint i;

    printf("%-4s the shaper's arithmetic\n", failed ? "FAIL" : "ok");
    fflush(stdout);
    for (i = 0; i < G_N_ELEMENTS(links); i++) {
        g_autofree char *name = g_strdup_printf("%g:%g", links[i].rtt, links[i].mbit);
        Result result = {0};
        int status;

        if (only && !g_str_equal(only, name))
            continue;
        found = TRUE;
        status = measure(links[i].rtt, links[i].mbit, skew_pct, &result);
        if (status == 77)
            return failed ? 1 : 77;
        if (status)
            printf("FAIL %s: the probe ended with status %d\n", name, status);
        if (status || !judge(links[i].rtt, links[i].mbit, &result))
            failed++;
    }
    if (!found) {
        fprintf(stderr, "link: --only %s: no such link in the self-test\n", only);
        return 2;
    }
    return failed ? 1 : 0;
}
