/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Which frame the guest shows when. The clock runs by itself: a guest that was held up goes on with
 * the frame that is due, not with the next one. Times are in microseconds, given by the caller. */
typedef struct {
    gint fps;
    gboolean running;
    gint64 start; /* when 'first' was due; while running */
    guint32 first;
    guint32 frame;    /* the newest that was due */
    gint64 freeze_at; /* stops at this frame; -1: never */
} SaAnim;

void sa_anim_init(SaAnim *anim, gint fps);

/* Lets it run on from the present frame, or stops it there. */
void sa_anim_start(SaAnim *anim, gint64 now);
void sa_anim_stop(SaAnim *anim);

/* Stops when a frame is reached; at once if it has been already. -1: does not stop. */
void sa_anim_freeze_at(SaAnim *anim, gint64 frame);

/* Brings 'frame' up to date; TRUE if it changed. Stops at 'freeze_at'. */
gboolean sa_anim_advance(SaAnim *anim, gint64 now);

/* When the frame after the present one is due; -1 if it does not run. */
gint64 sa_anim_next(const SaAnim *anim);
