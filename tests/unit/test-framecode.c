/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../rig/framecode.h"
#include "../rig/noise.h"

#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 128,
    HEIGHT = 96,
    CELL = 8,
};

static const SaFramecodePlace place = {16, 24, CELL, CELL};

static SaPixels
pixels_of(guint32 *data)
{
    return (SaPixels){data, WIDTH * 4, WIDTH, HEIGHT, SA_PIXELS_XRGB8888};
}

/* A picture of noise with a code in it. */
static guint32 *
new_picture(guint16 number)
{
    guint32 *data = g_new(guint32, WIDTH * HEIGHT);
    guint64 noise = sa_noise_start(number, 0, 0);

    for (guint i = 0; i < WIDTH * HEIGHT; i++)
        data[i] = (guint32)(sa_noise_step(&noise) >> 40);
    sa_framecode_draw(data, WIDTH, &place, number);
    return data;
}

static void
test_every_number(void)
{
    g_autofree guint32 *data = new_picture(0);
    SaPixels pixels = pixels_of(data);

    for (guint number = 0; number < 65536; number++) {
        sa_framecode_draw(data, WIDTH, &place, (guint16)number);
        g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, number);
    }
}

static void
test_every_pixel_changes(void)
{
    g_autofree guint32 *data = new_picture(41);
    g_autofree guint32 *next = new_picture(42);

    for (gint y = place.y; y < place.y + SA_FRAMECODE_ROWS * CELL; y++) {
        for (gint x = place.x; x < place.x + SA_FRAMECODE_COLUMNS * CELL; x++)
            g_assert_cmphex(data[y * WIDTH + x], !=, next[y * WIDTH + x]);
    }
}

static void
test_formats(void)
{
    g_autofree guint32 *data = new_picture(0xa53c);
    guint16 small[WIDTH * HEIGHT];
    guint8 bytes[WIDTH * HEIGHT * 3];
    SaPixels pixels = {small, WIDTH * 2, WIDTH, HEIGHT, SA_PIXELS_XRGB1555};

    for (guint i = 0; i < WIDTH * HEIGHT; i++) {
        small[i] =
            (guint16)((data[i] >> 9 & 0x7c00) | (data[i] >> 6 & 0x3e0) | (data[i] >> 3 & 31));
        bytes[3 * i] = (guint8)(data[i] >> 16);
        bytes[3 * i + 1] = (guint8)(data[i] >> 8);
        bytes[3 * i + 2] = (guint8)data[i];
    }
    g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, 0xa53c);
    pixels = (SaPixels){bytes, WIDTH * 3, WIDTH, HEIGHT, SA_PIXELS_RGB888};
    g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, 0xa53c);
    for (gint y = 0; y < HEIGHT; y++) {
        for (gint x = 0; x < WIDTH; x++)
            g_assert_cmphex(sa_pixels_get(&pixels, x, y), ==, data[y * WIDTH + x]);
    }
}

static void
test_outside(void)
{
    static const struct {
        SaFramecodePlace place;
        const gchar *what;
    } cases[] = {
        {{-1, 0, CELL, CELL}, "left"},
        {{0, -1, CELL, CELL}, "above"},
        {{WIDTH - 8 * CELL + 1, 0, CELL, CELL}, "right"},
        {{0, HEIGHT - 5 * CELL + 1, CELL, CELL}, "below"},
        {{0, 0, 0, CELL}, "no width"},
        {{0, 0, CELL, -1}, "negative height"},
        {{0, 0, G_MAXINT, G_MAXINT}, "huge cells"},
        {{G_MAXINT, G_MAXINT, CELL, CELL}, "far away"},
    };
    g_autofree guint32 *data = new_picture(1);
    SaPixels pixels = pixels_of(data);

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_message("%s", cases[i].what);
        g_assert_cmpint(sa_framecode_decode(&pixels, &cases[i].place), ==, -1);
    }
}

/* A code in a corner is read without touching a byte behind the picture. */
static void
test_exact_fit(void)
{
    gsize width = SA_FRAMECODE_COLUMNS * CELL;
    gsize height = SA_FRAMECODE_ROWS * CELL;
    g_autofree guint32 *data = g_new(guint32, width * height);
    SaPixels pixels = {data, (gssize)width * 4, (gint)width, (gint)height, SA_PIXELS_XRGB8888};
    SaFramecodePlace corner = {0, 0, CELL, CELL};

    sa_framecode_draw(data, width, &corner, 777);
    g_assert_cmpint(sa_framecode_decode(&pixels, &corner), ==, 777);
}

static void
test_no_code(void)
{
    static const guint32 colours[] = {0x000000, 0xffffff, 0x808080, 0x1f7a4d, 0xfcfcfa};
    g_autofree guint32 *data = g_new0(guint32, WIDTH * HEIGHT);
    SaPixels pixels = pixels_of(data);

    for (guint i = 0; i < G_N_ELEMENTS(colours); i++) {
        for (guint k = 0; k < WIDTH * HEIGHT; k++)
            data[k] = colours[i];
        g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, -1);
    }
    for (guint seed = 0; seed < 1000; seed++) {
        guint64 noise = sa_noise_start(seed, 1, 2);

        for (guint k = 0; k < WIDTH * HEIGHT; k++)
            data[k] = (guint32)(sa_noise_step(&noise) >> 40);
        g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, -1);
    }
}

static guint64
code_of(guint number)
{
    return (guint64)(number & 0xffff) << 24 | sa_framecode_check((guint16)number);
}

/* Every contiguous run of columns, or of rows, as a mask over the 40 cells. */
static guint
make_masks(guint64 *masks)
{
    guint n = 0;

    for (guint from = 0; from < SA_FRAMECODE_COLUMNS; from++) {
        for (guint to = from + 1; to <= SA_FRAMECODE_COLUMNS; to++) {
            guint64 mask = 0;

            for (guint row = 0; row < SA_FRAMECODE_ROWS; row++) {
                for (guint column = from; column < to; column++)
                    mask |= (guint64)1 << (39 - row * 8 - column);
            }
            if (to - from < SA_FRAMECODE_COLUMNS)
                masks[n++] = mask;
        }
    }
    for (guint from = 0; from < SA_FRAMECODE_ROWS; from++) {
        for (guint to = from + 1; to <= SA_FRAMECODE_ROWS; to++) {
            guint64 mask = 0;

            for (guint row = from; row < to; row++)
                mask |= (guint64)0xff << (32 - row * 8);
            if (to - from < SA_FRAMECODE_ROWS)
                masks[n++] = mask;
        }
    }
    return n;
}

/* What the header promises: no mixture of two numbers up to 32 apart is another number. */
static void
test_no_mixture_is_a_code(void)
{
    guint64 masks[64];
    guint n = make_masks(masks);

    g_assert_cmpuint(n, ==, 49);
    for (guint number = 0; number < 65536; number++) {
        guint64 code = code_of(number);

        for (guint distance = 1; distance <= 32; distance++) {
            guint64 other = code_of(number + distance);

            for (guint i = 0; i < n; i++) {
                guint64 mixed = (code & ~masks[i]) | (other & masks[i]);

                if (mixed != code && mixed != other && code_of((guint)(mixed >> 24)) == mixed)
                    g_error("%u and %u make %u", number, number + distance, (guint)(mixed >> 24));
            }
        }
    }
}

/* Cut at every pixel column, between frames near and far: the old number, the new one, or nothing.
 */
static void
test_torn_pictures(void)
{
    static const guint distances[] = {1, 2, 3, 7, 16, 64, 128, 609, 4096, 30000};

    for (guint i = 0; i < 40; i++) {
        guint16 number = (guint16)(i * 1637);
        g_autofree guint32 *old = new_picture(number);

        for (guint k = 0; k < G_N_ELEMENTS(distances); k++) {
            guint16 next = (guint16)(number + distances[k]);
            g_autofree guint32 *new = new_picture(next);
            guint torn = 0;

            for (gint cut = 0; cut <= WIDTH; cut++) {
                g_autofree guint32 *mixed = g_new(guint32, WIDTH * HEIGHT);
                SaPixels pixels = pixels_of(mixed);
                gint result;

                for (gint p = 0; p < WIDTH * HEIGHT; p++)
                    mixed[p] = p % WIDTH < cut ? new[p] : old[p];
                result = sa_framecode_decode(&pixels, &place);
                g_assert_true(result == -1 || result == number || result == next);
                if (cut <= place.x)
                    g_assert_cmpint(result, ==, number);
                if (cut >= place.x + SA_FRAMECODE_COLUMNS * CELL)
                    g_assert_cmpint(result, ==, next);
                torn += result == -1;
            }
            g_assert_cmpuint(torn, >, 8);
        }
    }
}

/* Through libjpeg and back, every pixel subsampled as viewers and servers do by default. */
static guint8 *
through_jpeg(const guint32 *data, gint width, gint height, gint quality)
{
    struct jpeg_compress_struct out = {0};
    struct jpeg_decompress_struct in = {0};
    struct jpeg_error_mgr errors;
    guint8 *bytes = g_new(guint8, (gsize)width * (gsize)height * 3);
    guint8 *row = g_new(guint8, (gsize)width * 3);
    unsigned char *jpeg = NULL;
    unsigned long size = 0;

    out.err = in.err = jpeg_std_error(&errors);
    jpeg_create_compress(&out);
    jpeg_mem_dest(&out, &jpeg, &size);
    out.image_width = (JDIMENSION)width;
    out.image_height = (JDIMENSION)height;
    out.input_components = 3;
    out.in_color_space = JCS_RGB;
    jpeg_set_defaults(&out);
    jpeg_set_quality(&out, quality, TRUE);
    jpeg_start_compress(&out, TRUE);
    for (gint y = 0; y < height; y++) {
        for (gint x = 0; x < width; x++) {
            row[3 * x] = (guint8)(data[y * width + x] >> 16);
            row[3 * x + 1] = (guint8)(data[y * width + x] >> 8);
            row[3 * x + 2] = (guint8)data[y * width + x];
        }
        jpeg_write_scanlines(&out, &row, 1);
    }
    jpeg_finish_compress(&out);
    jpeg_destroy_compress(&out);

    jpeg_create_decompress(&in);
    jpeg_mem_src(&in, jpeg, size);
    jpeg_read_header(&in, TRUE);
    jpeg_start_decompress(&in);
    for (gint y = 0; y < height; y++) {
        guint8 *line = bytes + (gsize)y * (gsize)width * 3;

        jpeg_read_scanlines(&in, &line, 1);
    }
    jpeg_finish_decompress(&in);
    jpeg_destroy_decompress(&in);
    free(jpeg);
    g_free(row);
    return bytes;
}

static void
test_jpeg(void)
{
    static const gint qualities[] = {5, 10, 20, 50, 85};

    for (guint i = 0; i < G_N_ELEMENTS(qualities); i++) {
        for (guint number = 0; number < 65536; number += 257) {
            g_autofree guint32 *data = new_picture((guint16)number);
            g_autofree guint8 *bytes = through_jpeg(data, WIDTH, HEIGHT, qualities[i]);
            SaPixels pixels = {bytes, WIDTH * 3, WIDTH, HEIGHT, SA_PIXELS_RGB888};

            g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, number);
        }
    }
}

/* Half size, JPEG, and back to full size by doubling pixels: what a sender with little room does.
 */
static void
test_half_size_jpeg(void)
{
    static const gint qualities[] = {10, 20, 50};

    for (guint i = 0; i < G_N_ELEMENTS(qualities); i++) {
        for (guint number = 0; number < 65536; number += 257) {
            g_autofree guint32 *data = new_picture((guint16)number);
            g_autofree guint32 *half = g_new(guint32, WIDTH * HEIGHT / 4);
            g_autofree guint8 *small = NULL;
            g_autofree guint8 *bytes = g_new(guint8, WIDTH * HEIGHT * 3);
            SaPixels pixels = {bytes, WIDTH * 3, WIDTH, HEIGHT, SA_PIXELS_RGB888};

            for (gint y = 0; y < HEIGHT / 2; y++) {
                for (gint x = 0; x < WIDTH / 2; x++) {
                    const guint32 *from = data + 2 * y * WIDTH + 2 * x;
                    guint32 mean = 0;

                    for (gint shift = 0; shift < 24; shift += 8) {
                        guint32 sum = (from[0] >> shift & 255) + (from[1] >> shift & 255) +
                                      (from[WIDTH] >> shift & 255) +
                                      (from[WIDTH + 1] >> shift & 255);

                        mean |= sum / 4 << shift;
                    }
                    half[y * (WIDTH / 2) + x] = mean;
                }
            }
            small = through_jpeg(half, WIDTH / 2, HEIGHT / 2, qualities[i]);
            for (gint y = 0; y < HEIGHT; y++) {
                for (gint x = 0; x < WIDTH; x++) {
                    memcpy(bytes + (y * WIDTH + x) * 3, small + (y / 2 * (WIDTH / 2) + x / 2) * 3,
                           3);
                }
            }
            g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, number);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/framecode/every-number", test_every_number);
    g_test_add_func("/framecode/every-pixel-changes", test_every_pixel_changes);
    g_test_add_func("/framecode/formats", test_formats);
    g_test_add_func("/framecode/outside", test_outside);
    g_test_add_func("/framecode/exact-fit", test_exact_fit);
    g_test_add_func("/framecode/no-code", test_no_code);
    g_test_add_func("/framecode/no-mixture-is-a-code", test_no_mixture_is_a_code);
    g_test_add_func("/framecode/torn-pictures", test_torn_pictures);
    g_test_add_func("/framecode/jpeg", test_jpeg);
    g_test_add_func("/framecode/half-size-jpeg", test_half_size_jpeg);
    return g_test_run();
}
