/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keydraw-client-picture.h"

#include <errno.h>
#include <gio/gio.h>
#include <stdio.h>

gboolean
sa_picture_write(const SaPixels *pixels, const char *file, GError **error)
{
    g_autofree char *head = g_strdup_printf("P6\n%d %d\n255\n", pixels->width, pixels->height);
    g_autoptr(GByteArray) out = g_byte_array_new();
    FILE *stream;
    gboolean ok;
    gint x, y;

    g_byte_array_append(out, (const guint8 *)head, (guint)strlen(head));
    for (y = 0; y < pixels->height; y++) {
        for (x = 0; x < pixels->width; x++) {
            guint32 rgb = sa_pixels_get(pixels, x, y);
            guint8 bytes[3] = {(guint8)(rgb >> 16), (guint8)(rgb >> 8), (guint8)rgb};

            g_byte_array_append(out, bytes, sizeof(bytes));
        }
    }
    /* In place: a rename would replace a device or a pipe. */
    stream = fopen(file, "we");
    ok = stream && fwrite(out->data, 1, out->len, stream) == out->len;
    if (stream)
        ok = fclose(stream) == 0 && ok;
    if (!ok) {
        int saved = errno;

        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(saved), "%s: %s", file,
                    g_strerror(saved));
    }
    return ok;
}

static gboolean
refuse(GError **error, const char *option, const char *text, const char *wanted)
{
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--%s %s: expected %s", option,
                text, wanted);
    return FALSE;
}

gboolean
sa_picture_config(SaSceneConfig *config, const char *size, const char *area, const char *box,
                  GError **error)
{
    SaRect *a = &config->area;
    char rest;

    *config = (SaSceneConfig){
        .width = 1280, .height = 800, .box_x = -1, .box_y = -1, .seed = 1, .depth = 32};
    if (size && sscanf(size, "%5dx%5d%c", &config->width, &config->height, &rest) != 2)
        return refuse(error, "size", size, "WIDTHxHEIGHT");
    if (area && sscanf(area, "%5dx%5d+%5d+%5d%c", &a->width, &a->height, &a->x, &a->y, &rest) != 4)
        return refuse(error, "area", area, "WIDTHxHEIGHT+X+Y");
    if (box && sscanf(box, "%5d,%5d%c", &config->box_x, &config->box_y, &rest) != 2)
        return refuse(error, "box", box, "X,Y");
    return sa_scene_config_complete(config, error);
}

gboolean
sa_picture_touches(const SaRect *damage, const SaFramecodePlace *place)
{
    return damage->x < place->x + place->cell_width * SA_FRAMECODE_COLUMNS &&
           place->x < damage->x + damage->width &&
           damage->y < place->y + place->cell_height * SA_FRAMECODE_ROWS &&
           place->y < damage->y + damage->height;
}
