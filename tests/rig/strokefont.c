/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "strokefont.h"

#include <string.h>

/* Strokes of each character, separated by blanks. A point is two base-36 digits, x and y, on a grid
 * where 0 is the top of a capital, 4 the top of a small letter, c (12) the baseline and g (16) the
 * lowest point of a descender. A stroke that starts with '~' is a curve drawn by its corners. */
static const struct {
    gchar character;
    const gchar *strokes;
} shapes[] = {
    {'!', "0008 0c"},
    {'"', "0003 2023"},
    {'%', "0c80 ~0030330300 ~59898c5c59"},
    {'\'', "0003"},
    {'(', "~30040a3e"},
    {')', "~00343a0e"},
    {'*', "3339 0557 5507"},
    {'+', "0868 353b"},
    {',', "1c0e"},
    {'-', "0858"},
    {'.', "0c"},
    {'/', "0e60"},
    {'0', "~00707c0c00"},
    {'1', "13404c"},
    {'2', "~030070750c 0c7c"},
    {'3', "~0110707636 ~36767c1c0b"},
    {'4', "5c500979"},
    {'5', "601005 ~05757c1c0b"},
    {'6', "~61200008 ~05757c0c05"},
    {'7', "00702c"},
    {'8', "~1060661610 ~06767c0c06"},
    {'9', "~0070770700 ~747c5c1b"},
    {':', "05 0c"},
    {';', "15 1c0e"},
    {'<', "64086c"},
    {'=', "0666 0a6a"},
    {'>', "04680c"},
    {'?', "~010060663639 3c"},
    {'A', "0c408c 1979"},
    {'B', "0c00 0040 ~40808646 0646 ~46969c4c 0c4c"},
    {'C', "~8370000c7c89"},
    {'D', "0c00 0030 ~30909c3c 0c3c"},
    {'E', "70000c7c 0656"},
    {'F', "0c0070 0656"},
    {'G', "~8370000c8c87 8757"},
    {'H', "000c 808c 0686"},
    {'I', "000c"},
    {'J', "5008 ~585c0c09"},
    {'K', "000c 7008 358c"},
    {'L', "000c7c"},
    {'M', "0c0048808c"},
    {'N', "0c008c80"},
    {'O', "~00909c0c00"},
    {'P', "0c00 0040 ~40909747 0747"},
    {'Q', "~00909c0c00 599d"},
    {'R', "0c00 0040 ~40808646 0646 468c"},
    {'S', "~82700006868c1c0a"},
    {'T', "0080 404c"},
    {'U', "0007 ~070c8c87 8780"},
    {'V', "004c80"},
    {'W', "003c529ca0"},
    {'X', "008c 800c"},
    {'Y', "004680 464c"},
    {'Z', "00800c8c"},
    {'[', "30000e3e"},
    {']', "00303e0e"},
    {'_', "0d7d"},
    {'a', "~15246467 676c ~68080c5c6a"},
    {'b', "000c ~0614747c1c0a"},
    {'c', "~6554040c5c6b"},
    {'d', "707c ~7664040c6c7a"},
    {'e', "0878 ~7874040c6c7a"},
    {'f', "~502024 242c 0454"},
    {'g', "747d ~7664040c6c7a ~7d7g1g0f"},
    {'h', "000c ~07146468 686c"},
    {'i', "040c 01"},
    {'j', "242d ~2d2g0g 21"},
    {'k', "000c 5409 276c"},
    {'l', "000c"},
    {'m', "040c ~07145458 585c ~5764a4a8 a8ac"},
    {'n', "040c ~07146468 686c"},
    {'o', "~04747c0c04"},
    {'p', "040g ~0614747c1c0a"},
    {'q', "747g ~7664040c6c7a"},
    {'r', "040c ~071444"},
    {'s', "~55440408686c1c0b"},
    {'t', "2129 ~292c5c 0454"},
    {'u', "0408 ~080c5c69 646c"},
    {'v', "043c64"},
    {'w', "042c558ca4"},
    {'x', "046c 640c"},
    {'y', "043b 642f0g"},
    {'z', "04640c6c"},
};

enum {
    FIRST = ' ',
    LAST = 'z',
    UNITS = 12,      /* grid units in a capital's height */
    BELOW = 5,       /* grid units kept below the baseline */
    SPACING = 3,     /* grid units between characters */
    SPACE_WIDTH = 3, /* grid units of a blank, without the spacing */
    SCALE = 16,      /* sub-units in a grid unit, so that curves can be cut in quarters */
    MAX_POINTS = 64,
};

typedef struct {
    gint x, y; /* in sub-units */
} Point;

typedef struct {
    gint advance; /* pixels */
    gint width;   /* of the coverage map, which starts one pixel left of the origin */
    guint8 *coverage;
} Glyph;

struct SaFont {
    gint cap_height;
    gint height; /* of a coverage map, which starts one pixel above the origin */
    Glyph glyphs[LAST - FIRST + 1];
};

static guint
parse_stroke(const gchar *text, gsize length, Point *points)
{
    guint n = 0;

    for (gsize i = 0; i + 1 < length; i += 2) {
        points[n].x = (gint)g_ascii_strtoll((gchar[]){text[i], 0}, NULL, 36) * SCALE;
        points[n].y = (gint)g_ascii_strtoll((gchar[]){text[i + 1], 0}, NULL, 36) * SCALE;
        n++;
    }
    return n;
}

/* Cuts the corners of a line at a quarter of each side. Repeated, this tends to a smooth curve that
 * touches the middle of every side; the ends of an open line stay. */
static guint
cut_corners(Point *points, guint n)
{
    Point out[MAX_POINTS];
    guint m = 0;
    gboolean closed = points[0].x == points[n - 1].x && points[0].y == points[n - 1].y;

    if (n < 3 || 2 * n >= MAX_POINTS)
        return n;
    if (!closed)
        out[m++] = points[0];
    for (guint i = 0; i + 1 < n; i++) {
        Point a = points[i];
        Point b = points[i + 1];

        if (closed || i > 0)
            out[m++] = (Point){(3 * a.x + b.x) / 4, (3 * a.y + b.y) / 4};
        if (closed || i + 2 < n)
            out[m++] = (Point){(a.x + 3 * b.x) / 4, (a.y + 3 * b.y) / 4};
    }
    out[m++] = closed ? out[0] : points[n - 1];
    for (guint i = 0; i < m; i++)
        points[i] = out[i];
    return m;
}

static gint
square_root(gint64 value)
{
    gint64 root = 0;

    for (gint64 bit = (gint64)1 << 30; bit; bit >>= 1) {
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    }
    return (gint)root;
}

/* Distance of a point from a line, all in 256ths of a pixel. */
static gint
distance(Point p, Point a, Point b)
{
    gint64 dx = b.x - a.x;
    gint64 dy = b.y - a.y;
    gint64 length = dx * dx + dy * dy;
    gint64 along = 0;

    if (length > 0)
        along = CLAMP((p.x - a.x) * dx + (p.y - a.y) * dy, 0, length);
    dx = length > 0 ? p.x - a.x - dx * along / length : p.x - a.x;
    dy = length > 0 ? p.y - a.y - dy * along / length : p.y - a.y;
    return square_root(dx * dx + dy * dy);
}

/* Sub-units to 256ths of a pixel; grid line 0 runs through the middle of pixel 0. */
static gint
to_pixels(const SaFont *font, gint value)
{
    return value * 256 * (font->cap_height - 1) / (UNITS * SCALE) + 128;
}

static void
add_segment(const SaFont *font, Glyph *glyph, gint weight, Point a, Point b)
{
    a = (Point){to_pixels(font, a.x), to_pixels(font, a.y)};
    b = (Point){to_pixels(font, b.x), to_pixels(font, b.y)};
    for (gint y = 0; y < font->height; y++) {
        for (gint x = 0; x < glyph->width; x++) {
            Point centre = {(x - 1) * 256 + 128, (y - 1) * 256 + 128};
            gint cover = weight * 8 + 128 - distance(centre, a, b);
            guint8 *out = glyph->coverage + y * glyph->width + x;

            *out = (guint8)MAX(*out, CLAMP(cover, 0, 255));
        }
    }
}

static void
make_glyph(const SaFont *font, Glyph *glyph, const gchar *strokes, gint weight)
{
    g_auto(GStrv) parts = g_strsplit(strokes, " ", -1);
    gint right = 0;

    for (guint i = 0; parts[i]; i++) {
        Point points[MAX_POINTS];
        gboolean curve = parts[i][0] == '~';
        guint n = parse_stroke(parts[i] + curve, strlen(parts[i]) - curve, points);

        for (guint k = 0; k < n; k++)
            right = MAX(right, points[k].x);
    }
    glyph->advance = (to_pixels(font, right + SPACING * SCALE) + 64) / 256;
    glyph->width = to_pixels(font, right) / 256 + 3;
    glyph->coverage = g_malloc0((gsize)glyph->width * font->height);
    for (guint i = 0; parts[i]; i++) {
        Point points[MAX_POINTS];
        gboolean curve = parts[i][0] == '~';
        guint n = parse_stroke(parts[i] + curve, strlen(parts[i]) - curve, points);

        if (curve)
            n = cut_corners(points, cut_corners(points, n));
        for (guint k = 0; k + 1 < n; k++)
            add_segment(font, glyph, weight, points[k], points[k + 1]);
        if (n == 1)
            add_segment(font, glyph, weight + 6, points[0], points[0]);
    }
}

SaFont *
sa_font_new(gint cap_height, gint weight)
{
    SaFont *font = g_new0(SaFont, 1);

    font->cap_height = cap_height;
    font->height = to_pixels(font, (UNITS + BELOW) * SCALE) / 256 + 3;
    for (guint i = 0; i < G_N_ELEMENTS(font->glyphs); i++)
        font->glyphs[i].advance = to_pixels(font, (SPACE_WIDTH + SPACING) * SCALE) / 256;
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
        make_glyph(font, &font->glyphs[shapes[i].character - FIRST], shapes[i].strokes, weight);
    return font;
}

void
sa_font_free(SaFont *font)
{
    if (!font)
        return;
    for (guint i = 0; i < G_N_ELEMENTS(font->glyphs); i++)
        g_free(font->glyphs[i].coverage);
    g_free(font);
}

static const Glyph *
get_glyph(const SaFont *font, gchar character)
{
    return &font->glyphs[character > FIRST && character <= LAST ? character - FIRST : 0];
}

gint
sa_font_width(const SaFont *font, const gchar *text, gssize length)
{
    gint width = 0;

    for (gssize i = 0; (length < 0 || i < length) && text[i]; i++)
        width += get_glyph(font, text[i])->advance;
    return width;
}

static guint32
mix(guint32 below, guint32 above, guint cover)
{
    guint32 pair = (below & 0xff00ff) * (255 - cover) + (above & 0xff00ff) * cover;
    guint32 green = (below & 0xff00) * (255 - cover) + (above & 0xff00) * cover;

    /* Rounds each channel up at the half; 255 parts are close enough to 256 for a screen. */
    pair = (pair + 0x800080 + (pair >> 8 & 0xff00ff)) >> 8 & 0xff00ff;
    green = (green + 0x8000 + (green >> 8 & 0xff00)) >> 8 & 0xff00;
    return pair | green;
}

static void
draw_glyph(const SaFont *font, const SaCanvas *canvas, gint x, gint y, const Glyph *glyph,
           guint32 colour)
{
    gint from = MAX(0, canvas->left - (x - 1));
    gint to = MIN(glyph->width, canvas->right - (x - 1));

    for (gint row = 0; row < font->height; row++) {
        gint py = y - 1 + row;
        const guint8 *cover = glyph->coverage + (gsize)row * glyph->width;
        guint32 *out;

        if (py < canvas->top || py >= canvas->bottom)
            continue;
        out = canvas->pixels + (gsize)py * canvas->stride;
        for (gint i = from; i < to; i++) {
            if (cover[i])
                out[x - 1 + i] = mix(out[x - 1 + i], colour, cover[i]);
        }
    }
}

gint
sa_font_draw(const SaFont *font, const SaCanvas *canvas, gint x, gint y, const gchar *text,
             guint32 colour)
{
    for (; *text && x < canvas->right; text++) {
        const Glyph *glyph = get_glyph(font, *text);

        if (glyph->coverage)
            draw_glyph(font, canvas, x, y, glyph, colour);
        x += glyph->advance;
    }
    return x;
}

void
sa_canvas_fill(const SaCanvas *canvas, gint x, gint y, gint width, gint height, guint32 colour)
{
    gint left = MAX(x, canvas->left);
    gint right = MIN(x + width, canvas->right);
    gint bottom = MIN(y + height, canvas->bottom);

    for (gint py = MAX(y, canvas->top); py < bottom; py++) {
        guint32 *row = canvas->pixels + (gsize)py * canvas->stride;

        for (gint px = left; px < right; px++)
            row[px] = colour;
    }
}
