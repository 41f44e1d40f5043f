/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which SpiceDisplay widgets this process has, and which windows they can be seen in.
 *
 * The widgets are known by their type's name, so that programs that use spice-gtk without its
 * widgets need not load them. All of this belongs to the thread that runs GTK.
 */
#pragma once

#include <gtk/gtk.h>
#include <spice-client.h>

typedef struct SaDisplay {
    GtkWidget *widget; /* SpiceDisplay; not a reference: the entry goes when it is destroyed */
    GObject *session;  /* its SpiceSession, which the widget holds; only ever compared */
    int channel_id;    /* of the display channel it shows */
    gboolean fresh;    /* drawn to since the last sa_displays_take_fresh() */
} SaDisplay;

/* Finds the widgets there are and learns of every later one when it is realized. GTK has been
 * initialised. A second call changes nothing. */
void sa_displays_start(void);

/* Called with each window in which a display that was not fresh before becomes it and can be seen;
 * see sa_displays_take_fresh() for those left out. */
typedef void (*SaDisplaysFreshFunc)(GtkWidget *window);

/* Marks the widgets that show this channel fresh. FALSE: there is none. */
gboolean sa_displays_mark_fresh(SpiceChannel *channel, SaDisplaysFreshFunc first);

/* The windows in which fresh displays can be seen, each once, and no display is fresh any more.
 * Left out are windows that are unmapped, iconified or offscreen, and displays that do not draw
 * with cairo at present, see sa_display_draws(). Free with g_ptr_array_unref(). */
GPtrArray *sa_displays_take_fresh(void);

/* Does this SpiceDisplay draw the primary surface itself? FALSE while a video overlay or OpenGL
 * draws in its place, or once OpenGL has: GDK then paints the whole window through OpenGL. */
gboolean sa_display_draws(GtkWidget *display);
