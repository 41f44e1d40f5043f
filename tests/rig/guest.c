/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "guest.h"

#include "qxl-backend.h"

#include <string.h>
#include <time.h>

enum {
    COLUMN = 32, /* pixels, qemu's block size */

    DIRTY_AREA = 1 << 0,
    DIRTY_BOX = 1 << 1,
    DIRTY_ALL = 1 << 2,
};

struct SaGuest {
    SaScene *scene;
    SaQxl *qxl;
    SaDamage damage;
    SaDraws draws;
    guint32 *screen; /* the guest's framebuffer */
    guint32 *sent;   /* what the server was given */
    gint width, height;
    guint dirty;
    gboolean send_all;
    gint cursor_x, cursor_y;
    gboolean cursor_moved;
    SaGuestStats stats;
};

static void
set_scene(SaGuest *guest, const SaSceneConfig *config)
{
    gsize size = (gsize)config->width * (gsize)config->height;

    sa_scene_free(guest->scene);
    g_free(guest->screen);
    g_free(guest->sent);
    guest->scene = sa_scene_new(config);
    guest->screen = g_new0(guint32, size);
    guest->sent = g_new0(guint32, size);
    guest->width = config->width;
    guest->height = config->height;
    guest->send_all = TRUE;
}

SaGuest *
sa_guest_new(SpiceServer *server, gint id, const SaSceneConfig *config, SaDamage damage,
             SaDraws draws)
{
    SaGuest *guest;
    SaQxl *qxl = sa_qxl_new(server, id, config->width, config->height, config->depth);

    if (!qxl)
        return NULL;
    guest = g_new0(SaGuest, 1);
    guest->qxl = qxl;
    guest->damage = damage;
    guest->draws = draws;
    set_scene(guest, config);
    sa_qxl_set_cursor(qxl, config->width / 2, config->height / 2);
    return guest;
}

void
sa_guest_free(SaGuest *guest)
{
    if (!guest)
        return;
    sa_qxl_free(guest->qxl);
    sa_scene_free(guest->scene);
    g_free(guest->screen);
    g_free(guest->sent);
    g_free(guest);
}

static gint64
processor_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

void
sa_guest_paint_all(SaGuest *guest, SaActivity activity, guint32 frame, guint32 keys)
{
    gint64 before = processor_time();

    sa_scene_draw(guest->scene, activity, frame, keys, guest->screen, (gsize)guest->width);
    guest->dirty |= DIRTY_ALL;
    guest->stats.paint_us += processor_time() - before;
}

void
sa_guest_paint_frame(SaGuest *guest, SaActivity activity, guint32 frame)
{
    gint64 before = processor_time();

    guest->stats.frames++;
    if (guest->dirty & (DIRTY_AREA | DIRTY_ALL))
        guest->stats.frames_lost++;
    sa_scene_draw_area(guest->scene, activity, frame, guest->screen, (gsize)guest->width);
    guest->dirty |= DIRTY_AREA;
    guest->stats.paint_us += processor_time() - before;
}

void
sa_guest_paint_key(SaGuest *guest, guint32 keys)
{
    sa_scene_draw_box(guest->scene, keys, guest->screen, (gsize)guest->width);
    guest->dirty |= DIRTY_BOX;
}

void
sa_guest_send_all(SaGuest *guest)
{
    guest->send_all = TRUE;
    guest->dirty |= DIRTY_ALL;
}

void
sa_guest_move_cursor(SaGuest *guest, gint x, gint y)
{
    guest->cursor_x = x;
    guest->cursor_y = y;
    guest->cursor_moved = TRUE;
}

static gboolean
differs(const SaGuest *guest, gint x, gint y, gint width)
{
    gsize at = (gsize)y * (gsize)guest->width + (gsize)x;

    return guest->send_all ||
           memcmp(guest->screen + at, guest->sent + at, (gsize)width * sizeof(guint32)) != 0;
}

static void
send_rect(SaGuest *guest, gint left, gint top, gint right, gint bottom)
{
    SaRect rect = {left, top, right - left, bottom - top};

    for (gint y = top; y < bottom; y++) {
        gsize at = (gsize)y * (gsize)guest->width + (gsize)left;

        memcpy(guest->sent + at, guest->screen + at, (gsize)rect.width * sizeof(guint32));
    }
    sa_qxl_draw(guest->qxl, &rect, guest->sent, (gsize)guest->width);
}

/* Row by row as qemu does it: in each column, rows that follow each other and all differ make one
 * draw, which is sent when the first equal row is met. Columns are counted from the damage's left
 * edge. */
static void
send_columns(SaGuest *guest, const SaRect *damage)
{
    gint right = damage->x + damage->width;
    gint bottom = damage->y + damage->height;
    gint first[SA_SCENE_MAX_WIDTH / COLUMN + 1];

    for (gint x = damage->x, i = 0; x < right; x += COLUMN)
        first[i++] = -1;
    for (gint y = damage->y; y < bottom; y++) {
        for (gint x = damage->x, i = 0; x < right; x += COLUMN, i++) {
            gint width = MIN(COLUMN, right - x);

            if (differs(guest, x, y, width)) {
                if (first[i] < 0)
                    first[i] = y;
            } else if (first[i] >= 0) {
                send_rect(guest, x, first[i], x + width, y);
                first[i] = -1;
            }
        }
    }
    for (gint x = damage->x, i = 0; x < right; x += COLUMN, i++) {
        if (first[i] >= 0)
            send_rect(guest, x, first[i], MIN(x + COLUMN, right), bottom);
    }
}

/* The least rectangle around what differs, one draw. */
static void
send_changed_box(SaGuest *guest, const SaRect *damage)
{
    gint left = damage->x + damage->width;
    gint right = damage->x;
    gint top = -1;
    gint bottom = -1;

    for (gint y = damage->y; y < damage->y + damage->height; y++) {
        if (!differs(guest, damage->x, y, damage->width))
            continue;
        if (top < 0)
            top = y;
        bottom = y + 1;
        for (gint x = damage->x; x < left; x++) {
            if (differs(guest, x, y, 1))
                left = x;
        }
        for (gint x = damage->x + damage->width; x > right; x--) {
            if (differs(guest, x - 1, y, 1))
                right = x;
        }
    }
    if (top >= 0)
        send_rect(guest, left, top, right, bottom);
}

/* A reported rectangle as one draw, if anything in it differs. */
static void
send_whole(SaGuest *guest, const SaRect *damage)
{
    for (gint y = damage->y; y < damage->y + damage->height; y++) {
        if (differs(guest, damage->x, y, damage->width)) {
            send_rect(guest, damage->x, damage->y, damage->x + damage->width,
                      damage->y + damage->height);
            return;
        }
    }
}

static void
unite(SaRect *rect, const SaRect *other)
{
    gint right = MAX(rect->x + rect->width, other->x + other->width);
    gint bottom = MAX(rect->y + rect->height, other->y + other->height);

    if (rect->width == 0) {
        *rect = *other;
        return;
    }
    rect->x = MIN(rect->x, other->x);
    rect->y = MIN(rect->y, other->y);
    rect->width = right - rect->x;
    rect->height = bottom - rect->y;
}

static void
send_damage(SaGuest *guest)
{
    const SaSceneConfig *config = sa_scene_config(guest->scene);
    SaRect all = {0, 0, guest->width, guest->height};
    SaRect box = {config->box_x, config->box_y, SA_SCENE_BOX_SIZE, SA_SCENE_BOX_SIZE};
    gboolean full = guest->damage == SA_DAMAGE_FULL || (guest->dirty & DIRTY_ALL);
    SaRect united = full ? all : (SaRect){0};

    if (!full && (guest->dirty & DIRTY_AREA))
        unite(&united, &config->area);
    if (!full && (guest->dirty & DIRTY_BOX))
        unite(&united, &box);
    if (guest->draws == SA_DRAWS_COLUMNS) {
        send_columns(guest, &united);
    } else if (full) {
        send_changed_box(guest, &all);
    } else {
        if (guest->dirty & DIRTY_AREA)
            send_whole(guest, &config->area);
        if (guest->dirty & DIRTY_BOX)
            send_whole(guest, &box);
    }
    guest->dirty = 0;
    guest->send_all = FALSE;
}

gboolean
sa_guest_tick(SaGuest *guest)
{
    guint queued = sa_qxl_queued(guest->qxl);
    gboolean wake = FALSE;

    guest->stats.queued_max = MAX(guest->stats.queued_max, queued);
    if (guest->cursor_moved) {
        sa_qxl_move_cursor(guest->qxl, guest->cursor_x, guest->cursor_y);
        guest->cursor_moved = FALSE;
        wake = TRUE;
    }
    if (guest->dirty && queued > 0)
        guest->stats.ticks_blocked++;
    if (guest->dirty && queued == 0) {
        send_damage(guest);
        guest->stats.queued_max = MAX(guest->stats.queued_max, sa_qxl_queued(guest->qxl));
        wake = TRUE;
    }
    if (wake)
        sa_qxl_wake(guest->qxl);
    return guest->dirty == 0;
}

gboolean
sa_guest_settled(const SaGuest *guest)
{
    return guest->dirty == 0 && sa_qxl_queued(guest->qxl) == 0;
}

void
sa_guest_resize(SaGuest *guest, const SaSceneConfig *config)
{
    sa_qxl_resize(guest->qxl, config->width, config->height);
    set_scene(guest, config);
    /* The server forgets the cursor together with the surface. */
    sa_qxl_set_cursor(guest->qxl, config->width / 2, config->height / 2);
}

void
sa_guest_flush(SaGuest *guest)
{
    sa_qxl_flush(guest->qxl);
}

const SaGuestStats *
sa_guest_stats(const SaGuest *guest)
{
    return &guest->stats;
}

guint64
sa_guest_draws(const SaGuest *guest)
{
    return sa_qxl_draws(guest->qxl);
}

guint64
sa_guest_pixels(const SaGuest *guest)
{
    return sa_qxl_pixels(guest->qxl);
}

guint
sa_guest_queued(const SaGuest *guest)
{
    return sa_qxl_queued(guest->qxl);
}
