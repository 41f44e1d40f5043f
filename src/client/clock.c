/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/clock.h"

#include <time.h>

static gint64
clock_us(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * G_USEC_PER_SEC + t.tv_nsec / 1000;
}

double
sa_clock_unix_s(gint64 now)
{
    static gint64 unix_offset;
    /* the time spent in suspend, where the monotonic clock stands still */
    gint64 asleep = clock_us(CLOCK_BOOTTIME) - clock_us(CLOCK_MONOTONIC);

    if (unix_offset == 0) {
        unix_offset = g_get_real_time() - clock_us(CLOCK_BOOTTIME);
    }
    return (now + asleep + unix_offset) / 1e6;
}
