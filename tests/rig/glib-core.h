/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <spice.h>

/* The timers and watches that libspice-server needs, on the default GLib main context. */

typedef void (*SaChannelEvent)(gint event, SpiceChannelEventInfo *info, gpointer data);

/* One per process; 'on_event' is called in the main thread for each channel's connection events. */
SpiceCoreInterface *sa_glib_core(SaChannelEvent on_event, gpointer data);

/* The port of a listening TCP socket that libspice-server watches, in the order in which it opened
 * them: with a plain and a TLS port, 0 is the plain one. 0 if there is no such socket. There is no
 * call in the library that tells which port the kernel chose. */
guint16 sa_glib_core_port(guint index);
