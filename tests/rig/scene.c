/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scene.h"

#include "noise.h"
#include "page.h"
#include "photo.h"

#include <string.h>

enum {
    CODE_CELL = 8,       /* frame code, both directions */
    BOX_CELL_WIDTH = 12, /* key code: eight of them are as wide as the box */
    BOX_CELL_HEIGHT = 8,
    PANEL_HEIGHT = 30,
    MARGIN = 24,
    COLUMN_WIDTH = 380, /* the width text columns aim at */
    CARD_MARGIN = 12,   /* around the key box */
    CAPTION_HEIGHT = 24,
    SINE_STEPS = 1024, /* of a full turn */
};

/* Colours. */
enum {
    PAPER = 0xfcfcfa,
    PANEL = 0x26323d,
    PANEL_TEXT = 0xe8edf2,
    CARD = 0xffffff,
    CARD_BORDER = 0xb4bcc4,
    CAPTION = 0x4a545e,
    AREA_BORDER = 0x2b2f33,
    BOX_EVEN = 0x1f7a4d,
    BOX_ODD = 0xd9541e,
    BOX_TEXT = 0xffffff,
};

struct SaScene {
    SaSceneConfig config;
    SaPage *page;        /* of the background */
    SaPage *scroll_page; /* of the scrolling text */
    SaFont *digits;
    guint32 *photo;  /* made when first needed */
    guint32 *column; /* gradient tables, three packed channels of at most 84 each */
    guint32 *diagonal;
    gint16 sine[SINE_STEPS]; /* -256 to 256 */
};

static const gchar *const activity_names[] = {"idle", "busy", "heavy", "scroll", "photo"};

gboolean
sa_activity_parse(const gchar *name, SaActivity *activity)
{
    for (guint i = 0; i < G_N_ELEMENTS(activity_names); i++) {
        if (strcmp(name, activity_names[i]) == 0) {
            *activity = (SaActivity)i;
            return TRUE;
        }
    }
    return FALSE;
}

const gchar *
sa_activity_name(SaActivity activity)
{
    return activity_names[activity];
}

static gboolean
inside(const SaRect *rect, const SaSceneConfig *config)
{
    return rect->x >= 0 && rect->y >= 0 && rect->width <= config->width - rect->x &&
           rect->height <= config->height - rect->y;
}

gboolean
sa_scene_config_complete(SaSceneConfig *config, GError **error)
{
    SaRect *area = &config->area;
    SaRect box;

    if (config->width < SA_SCENE_MIN_WIDTH || config->height < SA_SCENE_MIN_HEIGHT ||
        config->width > SA_SCENE_MAX_WIDTH || config->height > SA_SCENE_MAX_HEIGHT) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "a screen of %dx%d is not between %dx%d and %dx%d", config->width,
                    config->height, SA_SCENE_MIN_WIDTH, SA_SCENE_MIN_HEIGHT, SA_SCENE_MAX_WIDTH,
                    SA_SCENE_MAX_HEIGHT);
        return FALSE;
    }
    if (area->width == 0) {
        area->width = MIN(640, config->width / 2);
        area->height = MIN(480, config->height * 3 / 5);
        area->x = config->width - area->width - 16;
        area->y = MIN(160, config->height - area->height - 16);
    }
    if (config->box_x < 0) {
        config->box_x = config->width >= 1024 ? 64 : 24;
        config->box_y = config->height >= 600 ? 176 : 64;
    }
    if (area->width < SA_SCENE_MIN_AREA_WIDTH || area->height < SA_SCENE_MIN_AREA_HEIGHT) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "a moving area of %dx%d is smaller than %dx%d", area->width, area->height,
                    SA_SCENE_MIN_AREA_WIDTH, SA_SCENE_MIN_AREA_HEIGHT);
        return FALSE;
    }
    if (!inside(area, config)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "a moving area of %dx%d at %d,%d does not lie inside a screen of %dx%d",
                    area->width, area->height, area->x, area->y, config->width, config->height);
        return FALSE;
    }
    box = (SaRect){config->box_x, config->box_y, SA_SCENE_BOX_SIZE, SA_SCENE_BOX_SIZE};
    if (!inside(&box, config)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "a key box of %dx%d at %d,%d does not lie inside a screen of %dx%d", box.width,
                    box.height, box.x, box.y, config->width, config->height);
        return FALSE;
    }
    if (box.x < area->x + area->width && area->x < box.x + box.width &&
        box.y < area->y + area->height && area->y < box.y + box.height) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "the key box at %d,%d and the moving area of %dx%d at %d,%d overlap", box.x,
                    box.y, area->width, area->height, area->x, area->y);
        return FALSE;
    }
    return TRUE;
}

/* A sine wave from a parabola for each half turn, corrected once: within 0.1 % and the same
 * everywhere, which libm's is not. */
static void
fill_sine(gint16 *sine)
{
    gint half = SINE_STEPS / 2;

    for (gint i = 0; i < half; i++) {
        gint64 p = (gint64)4 * 4096 * i * (half - i) / ((gint64)half * half); /* 0 to 4096 */
        gint64 value = (p * 775 + p * p / 4096 * 225) / 1000;

        sine[i] = (gint16)(value / 16);
        sine[i + half] = (gint16)(-value / 16);
    }
}

SaScene *
sa_scene_new(const SaSceneConfig *config)
{
    SaScene *scene = g_new0(SaScene, 1);
    gint columns = MAX(1, (config->width - MARGIN) / (COLUMN_WIDTH + MARGIN));

    scene->config = *config;
    scene->page = sa_page_new(config->seed, (config->width - MARGIN) / columns - MARGIN);
    scene->scroll_page = sa_page_new(config->seed + 1, config->area.width - 2 * MARGIN);
    scene->digits = sa_font_new(28, 64);
    scene->column = g_new(guint32, config->area.width);
    scene->diagonal = g_new(guint32, config->area.width + config->area.height);
    fill_sine(scene->sine);
    return scene;
}

void
sa_scene_free(SaScene *scene)
{
    if (!scene)
        return;
    sa_page_free(scene->page);
    sa_page_free(scene->scroll_page);
    sa_font_free(scene->digits);
    g_free(scene->photo);
    g_free(scene->column);
    g_free(scene->diagonal);
    g_free(scene);
}

const SaSceneConfig *
sa_scene_config(const SaScene *scene)
{
    return &scene->config;
}

SaFramecodePlace
sa_scene_frame_code(const SaSceneConfig *config, guint corner)
{
    const SaRect *area = &config->area;
    SaFramecodePlace place = {area->x, area->y, CODE_CELL, CODE_CELL};

    if (corner & 1)
        place.x += area->width - SA_FRAMECODE_COLUMNS * CODE_CELL;
    if (corner & 2)
        place.y += area->height - SA_FRAMECODE_ROWS * CODE_CELL;
    return place;
}

SaFramecodePlace
sa_scene_key_code(const SaSceneConfig *config)
{
    return (SaFramecodePlace){config->box_x, config->box_y, BOX_CELL_WIDTH, BOX_CELL_HEIGHT};
}

/* Leaves of each colour what a display of five bits shows. */
static void
reduce(const SaScene *scene, const SaRect *rect, guint32 *pixels, gsize stride)
{
    if (scene->config.depth != 16)
        return;
    for (gint y = rect->y; y < rect->y + rect->height; y++) {
        guint32 *row = pixels + (gsize)y * stride + rect->x;

        for (gint x = 0; x < rect->width; x++)
            row[x] = (row[x] & 0xf8f8f8) | (row[x] >> 5 & 0x070707);
    }
}

static void
draw_panel(const SaScene *scene, const SaCanvas *canvas)
{
    const SaFont *font = sa_page_body_font(scene->page);
    const gchar *right = "09:41";
    gint y = (PANEL_HEIGHT - 10) / 2;

    sa_canvas_fill(canvas, 0, 0, scene->config.width, PANEL_HEIGHT, PANEL);
    sa_font_draw(font, canvas, MARGIN, y, "spice-accel demo", PANEL_TEXT);
    sa_font_draw(font, canvas, scene->config.width - MARGIN - sa_font_width(font, right, -1), y,
                 right, PANEL_TEXT);
}

/* The card that the key box lies on, with its caption. */
static SaRect
card_rect(const SaSceneConfig *config)
{
    return (SaRect){config->box_x - CARD_MARGIN, config->box_y - CARD_MARGIN,
                    SA_SCENE_BOX_SIZE + 2 * CARD_MARGIN,
                    SA_SCENE_BOX_SIZE + 2 * CARD_MARGIN + CAPTION_HEIGHT};
}

static void
draw_card(const SaScene *scene, const SaCanvas *canvas)
{
    const SaFont *font = sa_page_body_font(scene->page);
    SaRect card = card_rect(&scene->config);
    const gchar *caption = "key presses";
    gint x = card.x + (card.width - sa_font_width(font, caption, -1)) / 2;

    sa_canvas_fill(canvas, card.x, card.y, card.width, card.height, CARD_BORDER);
    sa_canvas_fill(canvas, card.x + 1, card.y + 1, card.width - 2, card.height - 2, CARD);
    sa_font_draw(font, canvas, x, scene->config.box_y + SA_SCENE_BOX_SIZE + 14, caption, CAPTION);
}

static void
draw_background(const SaScene *scene, SaActivity activity, guint32 *pixels, gsize stride)
{
    const SaSceneConfig *config = &scene->config;
    SaCanvas canvas = {pixels, stride, 0, 0, config->width, config->height};
    SaRect card = card_rect(config);
    gint columns = MAX(1, (config->width - MARGIN) / (COLUMN_WIDTH + MARGIN));
    gint pitch = (config->width - MARGIN) / columns;
    guint line = 0;

    sa_canvas_fill(&canvas, 0, 0, config->width, config->height, PAPER);
    draw_panel(scene, &canvas);
    for (gint column = 0; column < columns; column++) {
        gint x = MARGIN + column * pitch;

        for (gint y = PANEL_HEIGHT + 14; y + SA_PAGE_LINE_HEIGHT <= config->height - 8;
             y += SA_PAGE_LINE_HEIGHT) {
            /* The card is part of the page: no text runs into it. */
            if (y + SA_PAGE_LINE_HEIGHT > card.y - 4 && y < card.y + card.height + 4 &&
                x < card.x + card.width && x + pitch - MARGIN > card.x)
                continue;
            sa_page_draw_line(scene->page, line++, &canvas, x, y);
        }
    }
    draw_card(scene, &canvas);
    if (activity != SA_ACTIVITY_IDLE) {
        sa_canvas_fill(&canvas, config->area.x - 1, config->area.y - 1, config->area.width + 2,
                       config->area.height + 2, AREA_BORDER);
    }
}

/* One channel of the gradient tables, 0 to 84: three of them added stay below 253. */
static guint32
wave(const SaScene *scene, guint32 position, guint32 phase)
{
    return (guint32)(scene->sine[(position + phase) % SINE_STEPS] + 256) * 84 / 512;
}

static guint32
waves(const SaScene *scene, guint32 position, guint32 red, guint32 green, guint32 blue)
{
    return wave(scene, position, red) << 16 | wave(scene, position * 5 / 4, green) << 8 |
           wave(scene, position * 3 / 2, blue);
}

static void
draw_busy(SaScene *scene, guint32 frame, guint32 *pixels, gsize stride)
{
    const SaRect *area = &scene->config.area;

    for (gint x = 0; x < area->width; x++)
        scene->column[x] = waves(scene, (guint32)x * 2, frame * 7, frame * 5, 300 + frame * 3);
    for (gint i = 0; i < area->width + area->height; i++) {
        scene->diagonal[i] = waves(scene, (guint32)i, 512 + frame * 4, 700 - frame * 6, frame * 9);
    }
    for (gint y = 0; y < area->height; y++) {
        guint32 *row = pixels + (gsize)(area->y + y) * stride + area->x;
        guint32 base = waves(scene, (guint32)y * 3, frame * 6, 200 + frame * 8, 100 - frame * 4);
        guint64 noise = sa_noise_start(scene->config.seed, frame, (guint32)y);

        for (gint x = 0; x < area->width; x++) {
            guint32 colour = scene->column[x] + base + scene->diagonal[x + y];

            row[x] = (colour & 0xf8f8f8) | (guint32)(sa_noise_step(&noise) >> 32 & 0x070707);
        }
    }
}

static void
draw_heavy(SaScene *scene, guint32 frame, guint32 *pixels, gsize stride)
{
    const SaRect *area = &scene->config.area;

    for (gint y = 0; y < area->height; y++) {
        guint32 *row = pixels + (gsize)(area->y + y) * stride + area->x;
        guint64 noise = sa_noise_start(scene->config.seed, frame, (guint32)y);

        for (gint x = 0; x < area->width; x++)
            row[x] = (guint32)(sa_noise_step(&noise) >> 40);
    }
}

static void
draw_scroll(SaScene *scene, guint32 frame, guint32 *pixels, gsize stride)
{
    const SaRect *area = &scene->config.area;
    SaCanvas canvas = {
        pixels, stride, area->x, area->y, area->x + area->width, area->y + area->height};

    sa_canvas_fill(&canvas, area->x, area->y, area->width, area->height, PAPER);
    for (gint row = 0; row * SA_PAGE_LINE_HEIGHT < area->height; row++) {
        sa_page_draw_line(scene->scroll_page, frame + (guint32)row, &canvas, area->x + MARGIN,
                          area->y + row * SA_PAGE_LINE_HEIGHT);
    }
}

static void
draw_photo(SaScene *scene, guint32 frame, guint32 *pixels, gsize stride)
{
    const SaRect *area = &scene->config.area;
    gint start = (gint)(frame % (SA_PHOTO_WIDTH / 2) * 2);

    if (!scene->photo)
        scene->photo = sa_photo_new(scene->config.seed, area->height);
    for (gint y = 0; y < area->height; y++) {
        guint32 *row = pixels + (gsize)(area->y + y) * stride + area->x;
        const guint32 *from = scene->photo + (gsize)y * SA_PHOTO_WIDTH;

        for (gint x = 0; x < area->width;) {
            gint at = (start + x) % SA_PHOTO_WIDTH;
            gint n = MIN(area->width - x, SA_PHOTO_WIDTH - at);

            memcpy(row + x, from + at, (gsize)n * sizeof *row);
            x += n;
        }
    }
}

void
sa_scene_draw_area(SaScene *scene, SaActivity activity, guint32 frame, guint32 *pixels,
                   gsize stride)
{
    switch (activity) {
    case SA_ACTIVITY_IDLE:
        return;
    case SA_ACTIVITY_BUSY:
        draw_busy(scene, frame, pixels, stride);
        break;
    case SA_ACTIVITY_HEAVY:
        draw_heavy(scene, frame, pixels, stride);
        break;
    case SA_ACTIVITY_SCROLL:
        draw_scroll(scene, frame, pixels, stride);
        break;
    case SA_ACTIVITY_PHOTO:
        draw_photo(scene, frame, pixels, stride);
        break;
    }
    for (guint i = 0; i < SA_SCENE_CODES; i++) {
        SaFramecodePlace place = sa_scene_frame_code(&scene->config, i);

        sa_framecode_draw(pixels, stride, &place, (guint16)frame);
    }
    reduce(scene, &scene->config.area, pixels, stride);
}

void
sa_scene_draw_box(SaScene *scene, guint32 keys, guint32 *pixels, gsize stride)
{
    SaFramecodePlace place = sa_scene_key_code(&scene->config);
    SaRect box = {place.x, place.y, SA_SCENE_BOX_SIZE, SA_SCENE_BOX_SIZE};
    SaCanvas canvas = {pixels, stride, box.x, box.y, box.x + box.width, box.y + box.height};
    gint code_height = SA_FRAMECODE_ROWS * BOX_CELL_HEIGHT;
    gchar text[8];

    sa_canvas_fill(&canvas, box.x, box.y, box.width, box.height, keys & 1 ? BOX_ODD : BOX_EVEN);
    sa_framecode_draw(pixels, stride, &place, (guint16)keys);
    g_snprintf(text, sizeof text, "%u", keys % 10000);
    sa_font_draw(scene->digits, &canvas,
                 box.x + (box.width - sa_font_width(scene->digits, text, -1)) / 2 + 3,
                 box.y + code_height + (box.height - code_height - 28) / 2, text, BOX_TEXT);
    reduce(scene, &box, pixels, stride);
}

void
sa_scene_draw(SaScene *scene, SaActivity activity, guint32 frame, guint32 keys, guint32 *pixels,
              gsize stride)
{
    SaRect all = {0, 0, scene->config.width, scene->config.height};

    draw_background(scene, activity, pixels, stride);
    reduce(scene, &all, pixels, stride);
    sa_scene_draw_area(scene, activity, frame, pixels, stride);
    sa_scene_draw_box(scene, keys, pixels, stride);
}

gboolean
sa_scene_write_ppm(const guint32 *pixels, gsize stride, gint width, gint height, const gchar *path,
                   GError **error)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree gchar *header = g_strdup_printf("P6\n%d %d\n255\n", width, height);
    guint8 *out;

    g_byte_array_append(bytes, (const guint8 *)header, (guint)strlen(header));
    g_byte_array_set_size(bytes, bytes->len + 3u * (guint)width * (guint)height);
    out = bytes->data + strlen(header);
    for (gint y = 0; y < height; y++) {
        const guint32 *row = pixels + (gsize)y * stride;

        for (gint x = 0; x < width; x++) {
            *out++ = (guint8)(row[x] >> 16);
            *out++ = (guint8)(row[x] >> 8);
            *out++ = (guint8)row[x];
        }
    }
    return g_file_set_contents(path, (const gchar *)bytes->data, bytes->len, error);
}
