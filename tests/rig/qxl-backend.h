/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scene.h"

#include <spice.h>

/* One display of the server: a QXL interface, the queue of commands that its worker thread takes
 * from, and the primary surface. All calls are for the main thread. */
typedef struct SaQxl SaQxl;

/* Adds display number 'id' to a server that is initialised, with a primary surface of the given
 * size and depth (32, or 16 for five bits a colour). */
SaQxl *sa_qxl_new(SpiceServer *server, gint id, gint width, gint height, gint depth);

/* Only after spice_server_destroy, which ends the worker. */
void sa_qxl_free(SaQxl *qxl);

/* Replaces the primary surface. Commands not yet taken are dropped. Waits for the worker, which
 * waits for slow clients: so does qemu. */
void sa_qxl_resize(SaQxl *qxl, gint width, gint height);

/* Queues an opaque draw of a rectangle of XRGB8888 pixels, which are copied. The worker does not
 * look before sa_qxl_wake. */
void sa_qxl_draw(SaQxl *qxl, const SaRect *rect, const guint32 *pixels, gsize stride);

/* Queues an arrow as the shape of the hardware cursor, or its new position. */
void sa_qxl_set_cursor(SaQxl *qxl, gint x, gint y);
void sa_qxl_move_cursor(SaQxl *qxl, gint x, gint y);

/* Tells the worker that there are commands. */
void sa_qxl_wake(SaQxl *qxl);

/* Draw commands that the worker has not taken. It takes none while a client's pipe is long. */
guint sa_qxl_queued(SaQxl *qxl);

/* Waits until the worker has taken and drawn everything. Not while a client is connected. */
void sa_qxl_flush(SaQxl *qxl);

/* Draws handed over so far, and their pixels. */
guint64 sa_qxl_draws(const SaQxl *qxl);
guint64 sa_qxl_pixels(const SaQxl *qxl);
