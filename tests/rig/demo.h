/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "server-options.h"

/* The demo guest as a whole: its displays, the clock of its animation, the timer that hands damage
 * over, the number of key presses. Reports on stdout what happens. Main thread only. */
typedef struct SaDemo SaDemo;

/* Adds the displays to a server that is initialised and lets it take the first picture. NULL if the
 * server refuses one. 'options' must outlive it. */
SaDemo *sa_demo_new(SpiceServer *server, const SaServerOptions *options);

/* Stops its timers; before spice_server_destroy. */
void sa_demo_stop(SaDemo *demo);

/* After spice_server_destroy. */
void sa_demo_free(SaDemo *demo);

/* A key went down: the box changes at once in the guest and is handed over at the next tick. */
void sa_demo_key(SaDemo *demo, guint scancode);

/* The pointer moved on a display. */
void sa_demo_move_cursor(SaDemo *demo, gint x, gint y);

/* A client has a display; the first one starts the animation after the configured delay. */
void sa_demo_display_connected(SaDemo *demo);

/* Stops the animation: now, or at a frame. "frozen" is reported once the server has taken it. */
void sa_demo_freeze(SaDemo *demo);
void sa_demo_freeze_at(SaDemo *demo, guint32 frame);
void sa_demo_resume(SaDemo *demo);

void sa_demo_set_activity(SaDemo *demo, SaActivity activity);

/* FALSE, with an error, if the scene does not fit; nothing changes then. */
gboolean sa_demo_resize(SaDemo *demo, gint width, gint height, GError **error);

/* Hands the whole screen over again. */
void sa_demo_draw_all(SaDemo *demo);

/* Reports the counters. */
void sa_demo_report_stats(SaDemo *demo);
