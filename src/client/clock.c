/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/clock.h"

double
sa_clock_unix_s(gint64 now)
{
    static gint64 offset;

    if (offset == 0) {
        offset = g_get_real_time() - g_get_monotonic_time();
    }
    return (now + offset) / 1e6;
}
