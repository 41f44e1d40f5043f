/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Monotonic microseconds told as UNIX time: the wall clock is read once, at the first call, so that
 * a clock that is set in mid-session bends no interval. Time in suspend counts. */
#pragma once

#include <glib.h>

/* now: g_get_monotonic_time(). Seconds since 1970. */
double sa_clock_unix_s(gint64 now);
