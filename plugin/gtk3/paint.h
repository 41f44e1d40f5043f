/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paint at once: a finished draw goes to the screen when it is there, not at the next tick of
 * GTK's frame clock.
 *
 * spice-gtk invalidates each rectangle of a draw from a main-loop source of its own. GTK paints
 * after the first of them and then not before its next frame, up to 17 ms later, so the rest of
 * what one key press changed waits. Here the window is held until the batch is over (hold.h) and
 * painted then: on X11 at once, also where GTK's clock would wait for the next frame, on Wayland by
 * that clock. What cannot be painted now is left to the clock, as without the add-on.
 */
#pragma once

#include <glib.h>

typedef struct SaPaintCounts {
    guint64 paints; /* windows painted ahead of the frame clock */
    guint64 left;   /* windows with fresh pixels that were left to it */
} SaPaintCounts;

/* At most one extra paint in this time on average, over all windows, so that with one ahead no
 * second sees more than 125. */
#define SA_PAINT_INTERVAL_US 8200
/* One paint may come ahead of its time: what one key press changes is often read in two parts. */
#define SA_PAINT_AHEAD_US SA_PAINT_INTERVAL_US
/* An extra paint that takes long (a scaled view) is paid for with a pause: at most one part in so
 * many of the time goes into extra paints. */
#define SA_PAINT_SHARE 4

/* Starts painting at once in every window of this process that shows a SpiceDisplay. GTK 3 has
 * been initialised; called on its thread. A second call changes nothing. */
void sa_paint_start(void);

SaPaintCounts sa_paint_counts(void);
