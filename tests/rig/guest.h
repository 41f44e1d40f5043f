/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "scene.h"

#include <spice.h>

/* One monitor of the guest and what qemu does for it: the guest paints into its framebuffer and
 * reports damage; a timer compares the damaged part with a copy of what was sent and hands what
 * differs to the server, unless the server has not yet taken what it got before. Nothing queues up:
 * what could not be handed over is compared again later, with the newest pixels. */

typedef enum {
    SA_DAMAGE_RECT, /* the guest reports what it painted */
    SA_DAMAGE_FULL, /* the guest reports its whole plane */
} SaDamage;

typedef enum {
    SA_DRAWS_COLUMNS, /* columns of 32 pixels, as stock qemu */
    SA_DRAWS_WHOLE,   /* one draw for each damaged rectangle, or for all that changed */
} SaDraws;

typedef struct {
    guint64 frames;        /* painted */
    guint64 frames_lost;   /* painted over before they could be handed over */
    guint64 ticks_blocked; /* damage was there, but the server had not taken what it got before */
    guint queued_max;      /* most commands waiting at a tick */
    gint64 paint_us;       /* processor time the guest spent painting */
} SaGuestStats;

typedef struct SaGuest SaGuest;

/* Adds monitor 'id' to a server. NULL if the server refuses it. */
SaGuest *sa_guest_new(SpiceServer *server, gint id, const SaSceneConfig *config, SaDamage damage,
                      SaDraws draws);

/* After spice_server_destroy. */
void sa_guest_free(SaGuest *guest);

/* The guest paints. Nothing leaves before sa_guest_tick. */
void sa_guest_paint_all(SaGuest *guest, SaActivity activity, guint32 frame, guint32 keys);
void sa_guest_paint_frame(SaGuest *guest, SaActivity activity, guint32 frame);
void sa_guest_paint_key(SaGuest *guest, guint32 keys);

/* Forgets what was sent: the next tick hands over the whole screen. */
void sa_guest_send_all(SaGuest *guest);

/* Moves the cursor at the next tick. */
void sa_guest_move_cursor(SaGuest *guest, gint x, gint y);

/* The refresh timer. TRUE if everything painted so far has been handed over. */
gboolean sa_guest_tick(SaGuest *guest);

/* Everything was handed over and the server has taken it. */
gboolean sa_guest_settled(const SaGuest *guest);

/* Another mode; the screen must be painted again. */
void sa_guest_resize(SaGuest *guest, const SaSceneConfig *config);

/* Waits until the server has drawn what it got; only while no client is connected. */
void sa_guest_flush(SaGuest *guest);

const SaGuestStats *sa_guest_stats(const SaGuest *guest);
guint64 sa_guest_draws(const SaGuest *guest);
guint64 sa_guest_pixels(const SaGuest *guest);
guint sa_guest_queued(const SaGuest *guest);
