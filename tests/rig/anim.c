/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "anim.h"

void
sa_anim_init(SaAnim *anim, gint fps)
{
    *anim = (SaAnim){.fps = fps, .freeze_at = -1};
}

void
sa_anim_start(SaAnim *anim, gint64 now)
{
    if (anim->running)
        return;
    anim->running = TRUE;
    anim->start = now;
    anim->first = anim->frame;
    if (anim->freeze_at >= 0 && anim->frame >= anim->freeze_at)
        sa_anim_stop(anim);
}

void
sa_anim_stop(SaAnim *anim)
{
    anim->running = FALSE;
}

void
sa_anim_freeze_at(SaAnim *anim, gint64 frame)
{
    anim->freeze_at = frame;
    if (frame >= 0 && anim->frame >= frame)
        sa_anim_stop(anim);
}

gboolean
sa_anim_advance(SaAnim *anim, gint64 now)
{
    guint32 before = anim->frame;
    gint64 due;

    if (!anim->running)
        return FALSE;
    due = anim->first + MAX(now - anim->start, 0) * anim->fps / G_USEC_PER_SEC;
    if (anim->freeze_at >= 0 && due >= anim->freeze_at) {
        due = anim->freeze_at;
        sa_anim_stop(anim);
    }
    /* A time before the last one moves nothing. */
    if (due > anim->frame)
        anim->frame = (guint32)due;
    return anim->frame != before;
}

gint64
sa_anim_next(const SaAnim *anim)
{
    gint64 frames = (gint64)anim->frame + 1 - anim->first;

    if (!anim->running)
        return -1;
    return anim->start + (frames * G_USEC_PER_SEC + anim->fps - 1) / anim->fps;
}
