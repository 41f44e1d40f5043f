/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words for the user, on stderr, one line each with the library's name before it. Not g_warning():
 * a viewer run with fatal warnings must not die of a mistyped option. */
#pragma once

#include <glib.h>

void sa_warn(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The same, but each text (compared by address) once in the life of the process. */
void sa_warn_once(const char *text);
