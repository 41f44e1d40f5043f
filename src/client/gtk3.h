/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Brings in the part that needs GTK 3 (plugin/gtk3), where the program has GTK 3 and no GTK 4.
 *
 * It is looked for when the first channel of a session appears: by then GTK has its display,
 * however the add-on got into the program. Without it, or without a display, the rest of the
 * add-on works all the same.
 */
#pragma once

#include <glib.h>

/* Once; paint: the option of that name. */
void sa_gtk3_start(gboolean paint);
