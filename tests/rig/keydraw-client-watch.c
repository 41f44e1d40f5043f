/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keydraw-client-watch.h"

#include <stdlib.h>

enum {
    CELL_WIDTH =
        16, /* never across two of the server's 32-pixel columns, wherever it counts them from */
    CELL_HEIGHT = 32,
    PROBES = 8,            /* pixels looked at in a cell */
    STALE_STEP_US = 20000, /* how often the age of what is shown is taken */
};

/* A frame that was shown. */
typedef struct {
    gint64 at;
    gint number; /* 0 to 65535 */
} Shown;

typedef struct {
    SaFramecodePlace place;
    GArray *shown; /* of Shown, within the window; the first is what was there at its start */
    gint last;     /* -1: none yet */
    guint torn;    /* looked at, and no code */
} Corner;

typedef struct {
    guint32 hash;
    guint changes;
    gint64 since; /* last change, or the window's start */
    gint64 gap;   /* longest */
} Cell;

struct SaWatch {
    SaRect area;
    gint columns, rows;
    Corner corners[SA_SCENE_CODES];
    Cell *cells;
    gint64 from;  /* 0: before the window */
    gint64 until; /* 0: it is open */
};

SaWatch *
sa_watch_new(const SaSceneConfig *config)
{
    SaWatch *w = g_new0(SaWatch, 1);
    guint i;

    w->area = config->area;
    w->columns = (config->area.width + CELL_WIDTH - 1) / CELL_WIDTH;
    w->rows = (config->area.height + CELL_HEIGHT - 1) / CELL_HEIGHT;
    w->cells = g_new0(Cell, (gsize)w->columns * (gsize)w->rows);
    for (i = 0; i < SA_SCENE_CODES; i++) {
        w->corners[i].place = sa_scene_frame_code(config, i);
        w->corners[i].shown = g_array_new(FALSE, FALSE, sizeof(Shown));
        w->corners[i].last = -1;
    }
    return w;
}

void
sa_watch_free(SaWatch *watch)
{
    guint i;

    if (!watch)
        return;
    for (i = 0; i < SA_SCENE_CODES; i++)
        g_array_unref(watch->corners[i].shown);
    g_free(watch->cells);
    g_free(watch);
}

static gboolean
touches(const SaRect *damage, gint x, gint y, gint width, gint height)
{
    return damage->x < x + width && x < damage->x + damage->width && damage->y < y + height &&
           y < damage->y + damage->height;
}

static void
look_at_corner(SaWatch *w, Corner *c, const SaPixels *pixels, gint64 now)
{
    Shown shown = {now, sa_framecode_decode(pixels, &c->place)};

    if (shown.number < 0) {
        c->torn++;
        return;
    }
    if (shown.number == c->last)
        return;
    c->last = shown.number;
    if (w->from && !w->until)
        g_array_append_val(c->shown, shown);
}

static void
look_at_cell(SaWatch *w, Cell *cell, const SaPixels *pixels, gint x, gint y, gint64 now)
{
    guint32 hash = 2166136261u;
    gint i;

    for (i = 0; i < PROBES; i++) {
        /* Spread over the cell, no two in a row or a column. */
        gint px = MIN(x + (i * 5 + 2) % PROBES * (CELL_WIDTH / PROBES) + 1,
                      w->area.x + w->area.width - 1);
        gint py = MIN(y + i * (CELL_HEIGHT / PROBES) + 2, w->area.y + w->area.height - 1);

        hash = (hash ^ sa_pixels_get(pixels, px, py)) * 16777619u;
    }
    if (hash == cell->hash)
        return;
    cell->hash = hash;
    cell->changes++;
    cell->gap = MAX(cell->gap, now - cell->since);
    cell->since = now;
}

void
sa_watch_look(SaWatch *w, const SaPixels *pixels, const SaRect *damage, gint64 now)
{
    gint x, y;
    guint i;

    if (w->until || w->area.x + w->area.width > pixels->width ||
        w->area.y + w->area.height > pixels->height ||
        !touches(damage, w->area.x, w->area.y, w->area.width, w->area.height))
        return;
    for (i = 0; i < SA_SCENE_CODES; i++) {
        Corner *c = &w->corners[i];

        if (touches(damage, c->place.x, c->place.y, c->place.cell_width * SA_FRAMECODE_COLUMNS,
                    c->place.cell_height * SA_FRAMECODE_ROWS))
            look_at_corner(w, c, pixels, now);
    }
    for (y = 0; y < w->rows; y++) {
        for (x = 0; x < w->columns; x++) {
            gint px = w->area.x + x * CELL_WIDTH;
            gint py = w->area.y + y * CELL_HEIGHT;

            if (touches(damage, px, py, CELL_WIDTH, CELL_HEIGHT))
                look_at_cell(w, &w->cells[y * w->columns + x], pixels, px, py, now);
        }
    }
}

void
sa_watch_begin(SaWatch *w, gint64 now)
{
    gint i;

    w->from = now;
    for (i = 0; i < SA_SCENE_CODES; i++) {
        Shown first = {now, w->corners[i].last};

        g_array_set_size(w->corners[i].shown, 0);
        g_array_append_val(w->corners[i].shown, first);
        w->corners[i].torn = 0;
    }
    for (i = 0; i < w->columns * w->rows; i++) {
        w->cells[i].changes = 0;
        w->cells[i].gap = 0;
        w->cells[i].since = now;
    }
}

void
sa_watch_end(SaWatch *w, gint64 now)
{
    gint i;

    if (w->until || !w->from)
        return;
    w->until = MAX(now, w->from + 1);
    for (i = 0; i < w->columns * w->rows; i++)
        w->cells[i].gap = MAX(w->cells[i].gap, now - w->cells[i].since);
}

static gint
compare(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void
append_quantiles(GArray *values, const char *name, GString *out)
{
    if (!values->len) {
        g_string_append_printf(out, ",\"%s\":null", name);
        return;
    }
    g_array_sort(values, compare);
    g_string_append_printf(out, ",\"%s\":{\"p50\":%.1f,\"p95\":%.1f,\"max\":%.1f}", name,
                           g_array_index(values, double, values->len / 2),
                           g_array_index(values, double, values->len * 95 / 100),
                           g_array_index(values, double, values->len - 1));
}

/* When a frame was painted: of all frames with this number modulo 65536 the one nearest to @near.
 */
static double
painted(gint number, gint64 near, gint64 epoch, double fps)
{
    double due = (double)(near - epoch) * fps / 1e6;
    double frame = number;

    while (frame + 32768 < due)
        frame += 65536;
    return (double)epoch + frame * 1e6 / fps;
}

static void
append_corner(const SaWatch *w, const Corner *c, gint64 epoch, double fps, GString *out)
{
    double seconds = (double)(w->until - w->from) / 1e6;
    g_autoptr(GArray) arrival = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) stale = g_array_new(FALSE, FALSE, sizeof(double));
    gint64 gap = 0;
    gint64 at;
    guint i;

    for (i = 1; i <= c->shown->len; i++) {
        gint64 next = i < c->shown->len ? g_array_index(c->shown, Shown, i).at : w->until;

        gap = MAX(gap, next - g_array_index(c->shown, Shown, i - 1).at);
    }
    if (epoch && fps > 0) {
        for (i = 1; i < c->shown->len; i++) {
            const Shown *s = &g_array_index(c->shown, Shown, i);
            double age = ((double)s->at - painted(s->number, s->at, epoch, fps)) / 1e3;

            g_array_append_val(arrival, age);
        }
        for (at = w->from, i = 0; at < w->until; at += STALE_STEP_US) {
            double age;

            while (i + 1 < c->shown->len && g_array_index(c->shown, Shown, i + 1).at <= at)
                i++;
            if (g_array_index(c->shown, Shown, i).number < 0)
                continue;
            age = ((double)at - painted(g_array_index(c->shown, Shown, i).number, at, epoch, fps)) /
                  1e3;
            g_array_append_val(stale, age);
        }
    }
    g_string_append_printf(
        out, "{\"frames\":%u,\"fps\":%.2f,\"longest_gap_ms\":%.1f,\"torn\":%u,\"last\":%d",
        c->shown->len - 1, (c->shown->len - 1) / seconds, (double)gap / 1e3, c->torn, c->last);
    append_quantiles(arrival, "age_ms", out);
    append_quantiles(stale, "stale_ms", out);
    g_string_append_c(out, '}');
}

void
sa_watch_json(const SaWatch *w, gint64 epoch, double fps, GString *out)
{
    g_autoptr(GArray) rates = g_array_new(FALSE, FALSE, sizeof(double));
    double seconds = (double)(w->until - w->from) / 1e6;
    double slowest = G_MAXDOUBLE;
    gint64 gap = 0;
    gint i;

    if (!w->from || !w->until) {
        g_string_append(out, "null");
        return;
    }
    g_string_append_printf(out, "{\"seconds\":%.3f,\"corners\":[", seconds);
    for (i = 0; i < SA_SCENE_CODES; i++) {
        g_string_append(out, i ? "," : "");
        append_corner(w, &w->corners[i], epoch, fps, out);
        slowest = MIN(slowest, (w->corners[i].shown->len - 1) / seconds);
    }
    g_string_append_printf(out, "],\"slowest_corner_fps\":%.2f", slowest);

    slowest = G_MAXDOUBLE;
    g_string_append(out, ",\"column_fps\":[");
    for (i = 0; i < w->columns; i++) {
        double least = G_MAXDOUBLE;
        gint row;

        for (row = 0; row < w->rows; row++) {
            const Cell *cell = &w->cells[row * w->columns + i];
            double rate = cell->changes / seconds;

            least = MIN(least, rate);
            gap = MAX(gap, cell->gap);
            g_array_append_val(rates, rate);
        }
        slowest = MIN(slowest, least);
        g_string_append_printf(out, "%s%.1f", i ? "," : "", least);
    }
    g_array_sort(rates, compare);
    g_string_append_printf(
        out, "],\"slowest_cell_fps\":%.2f,\"median_cell_fps\":%.2f,\"longest_cell_gap_ms\":%.1f}",
        slowest, g_array_index(rates, double, rates->len / 2), (double)gap / 1e3);
}
