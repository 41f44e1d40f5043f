/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Windows held back from being painted while a batch of draws comes in.
 *
 * GTK would paint after the first rectangle of a batch and then, bound to its frame rate, the rest
 * a frame later. Held, it paints once, the whole batch, and at once when it had been still. This
 * is all that helps on Wayland, where a frame is committed by the frame clock alone; on X11 it
 * spares a paint.
 */
#pragma once

#include <gtk/gtk.h>

/* No window is held for longer than this. */
#define SA_HOLD_LIMIT_US (8 * G_TIME_SPAN_MILLISECOND)

/* Holds a mapped window until sa_hold_release() or the limit. Does nothing where the clock is about
 * to paint what an earlier batch left: that must not wait for another frame. */
void sa_hold_window(GtkWidget *window);

/* Lets all held windows be painted. */
void sa_hold_release(void);
