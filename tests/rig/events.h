/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Events go to stdout, one JSON object a line, written at once. Each has "event" and "time_us", the
 * time on CLOCK_MONOTONIC in microseconds, which is the same clock for every process of the
 * machine. Main thread only. */

/* 'members' is a printf format of more JSON members without a leading comma, or "". */
void sa_event(const gchar *name, gint64 time_us, const gchar *members, ...) G_GNUC_PRINTF(3, 4);

/* A text as a JSON string with its quotes. */
gchar *sa_json_string(const gchar *text);
