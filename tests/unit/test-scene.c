/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../rig/page.h"
#include "../rig/photo.h"
#include "../rig/scene.h"

#include <glib/gstdio.h>
#include <string.h>

static const SaActivity moving[] = {SA_ACTIVITY_BUSY, SA_ACTIVITY_HEAVY, SA_ACTIVITY_SCROLL,
                                    SA_ACTIVITY_PHOTO};

static SaSceneConfig
config_of(gint width, gint height, gint depth)
{
    SaSceneConfig config = {
        .width = width, .height = height, .box_x = -1, .box_y = -1, .seed = 1, .depth = depth};
    g_autoptr(GError) error = NULL;

    sa_scene_config_complete(&config, &error);
    g_assert_no_error(error);
    return config;
}

/* The whole picture, made by a scene of its own. */
static guint32 *
picture(const SaSceneConfig *config, SaActivity activity, guint32 frame, guint32 keys)
{
    g_autoptr(SaScene) scene = sa_scene_new(config);
    guint32 *pixels = g_new0(guint32, (gsize)config->width * (gsize)config->height);

    sa_scene_draw(scene, activity, frame, keys, pixels, (gsize)config->width);
    return pixels;
}

static gboolean
in_rect(const SaRect *rect, gint x, gint y)
{
    return x >= rect->x && y >= rect->y && x < rect->x + rect->width && y < rect->y + rect->height;
}

static void
test_config(void)
{
    static const struct {
        const gchar *what;
        SaSceneConfig in;
        const gchar *error; /* a part of it, NULL: fits */
        SaRect area;
        gint box_x, box_y;
    } cases[] = {
        {"the reference", {1280, 800, {0}, -1, -1, 1, 32}, NULL, {624, 160, 640, 480}, 64, 176},
        {"smallest", {320, 240, {0}, -1, -1, 1, 32}, NULL, {144, 80, 160, 144}, 24, 64},
        {"largest", {3840, 2160, {0}, -1, -1, 1, 32}, NULL, {3184, 160, 640, 480}, 64, 176},
        {"everything moves",
         {800, 600, {0, 100, 800, 500}, 0, 0, 1, 32},
         NULL,
         {0, 100, 800, 500},
         0,
         0},
        {"odd places",
         {1281, 801, {623, 161, 655, 637}, 3, 5, 1, 32},
         NULL,
         {623, 161, 655, 637},
         3,
         5},
        {"touching", {640, 480, {96, 0, 544, 480}, 0, 0, 1, 32}, NULL, {96, 0, 544, 480}, 0, 0},
        {"too narrow", {319, 240, {0}, -1, -1, 1, 32}, "319x240", {0}, 0, 0},
        {"too high", {3840, 2161, {0}, -1, -1, 1, 32}, "3840x2161", {0}, 0, 0},
        {"area too small", {1280, 800, {0, 0, 159, 96}, -1, -1, 1, 32}, "159x96", {0}, 0, 0},
        {"area outside", {1280, 800, {641, 0, 640, 480}, -1, -1, 1, 32}, "641,0", {0}, 0, 0},
        {"area far outside",
         {1280, 800, {0, 65535, 640, 480}, -1, -1, 1, 32},
         "0,65535",
         {0},
         0,
         0},
        {"box outside", {1280, 800, {0}, 0, 705, 1, 32}, "0,705", {0}, 0, 0},
        {"overlap", {640, 480, {95, 0, 545, 480}, 0, 0, 1, 32}, "overlap", {0}, 0, 0},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        SaSceneConfig config = cases[i].in;
        g_autoptr(GError) error = NULL;
        gboolean ok = sa_scene_config_complete(&config, &error);

        g_test_message("%s", cases[i].what);
        if (cases[i].error) {
            g_assert_false(ok);
            g_assert_nonnull(strstr(error->message, cases[i].error));
            continue;
        }
        g_assert_no_error(error);
        g_assert_true(ok);
        g_assert_cmpmem(&config.area, sizeof config.area, &cases[i].area, sizeof(SaRect));
        g_assert_cmpint(config.box_x, ==, cases[i].box_x);
        g_assert_cmpint(config.box_y, ==, cases[i].box_y);
    }
}

static void
test_activity_names(void)
{
    SaActivity activity;

    for (gint i = SA_ACTIVITY_IDLE; i <= SA_ACTIVITY_PHOTO; i++) {
        g_assert_true(sa_activity_parse(sa_activity_name((SaActivity)i), &activity));
        g_assert_cmpint((gint)activity, ==, i);
    }
    g_assert_false(sa_activity_parse("", &activity));
    g_assert_false(sa_activity_parse("Busy", &activity));
}

/* The same configuration, frame and count give the same pixels, however the scene got there. */
static void
test_pure(void)
{
    SaSceneConfig config = config_of(800, 600, 32);
    gsize size = (gsize)config.width * (gsize)config.height;
    g_autoptr(SaScene) scene = sa_scene_new(&config);
    g_autofree guint32 *pixels = g_new0(guint32, size);

    for (guint i = 0; i < G_N_ELEMENTS(moving); i++) {
        g_autofree guint32 *expected = picture(&config, moving[i], 1234567, 9);

        sa_scene_draw(scene, moving[i], 3, 0, pixels, (gsize)config.width);
        sa_scene_draw_box(scene, 4, pixels, (gsize)config.width);
        sa_scene_draw_area(scene, moving[i], 77, pixels, (gsize)config.width);
        sa_scene_draw_area(scene, moving[i], 1234567, pixels, (gsize)config.width);
        sa_scene_draw_box(scene, 9, pixels, (gsize)config.width);
        g_assert_cmpmem(pixels, size * 4, expected, size * 4);
    }
}

/* No compiler and no optimisation may change a pixel: a server and a checker can come from two
 * builds. */
static void
test_same_everywhere(void)
{
    static const struct {
        SaActivity activity;
        gint width, height, depth;
        guint32 frame, keys;
        const gchar *sha256; /* its first 16 digits */
    } cases[] = {
        {SA_ACTIVITY_IDLE, 1280, 800, 32, 0, 0, "880803d7171d0598"},
        {SA_ACTIVITY_BUSY, 1280, 800, 32, 120, 7, "c372ca6c1c66c38a"},
        {SA_ACTIVITY_HEAVY, 1280, 800, 32, 65536, 65535, "366ff72ef5ba75ab"},
        {SA_ACTIVITY_SCROLL, 1024, 768, 32, 4000000000u, 1, "3c7a3d24e02dcfdc"},
        {SA_ACTIVITY_PHOTO, 1920, 1080, 16, 700, 99999, "c3dab50b580c2763"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        SaSceneConfig config = config_of(cases[i].width, cases[i].height, cases[i].depth);
        gsize size = (gsize)config.width * (gsize)config.height * 4;
        g_autofree guint32 *pixels =
            picture(&config, cases[i].activity, cases[i].frame, cases[i].keys);
        g_autofree gchar *sum =
            g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)pixels, size);

        sum[16] = '\0';
        g_assert_cmpstr(sum, ==, cases[i].sha256);
    }
}

/* What moves stays inside its rectangle, changes with each frame, and nothing else does. */
static void
test_confined(void)
{
    SaSceneConfig config = config_of(801, 601, 32);
    gsize size = (gsize)config.width * (gsize)config.height;
    SaRect box = {config.box_x, config.box_y, SA_SCENE_BOX_SIZE, SA_SCENE_BOX_SIZE};

    for (guint i = 0; i < G_N_ELEMENTS(moving); i++) {
        g_autofree guint32 *before = picture(&config, moving[i], 10, 1);
        g_autofree guint32 *after = picture(&config, moving[i], 11, 2);
        guint changed_area = 0;
        guint changed_box = 0;

        for (gsize p = 0; p < size; p++) {
            gint x = (gint)(p % (gsize)config.width);
            gint y = (gint)(p / (gsize)config.width);

            g_assert_cmphex(before[p] & 0xff000000, ==, 0);
            if (before[p] == after[p])
                continue;
            if (in_rect(&config.area, x, y))
                changed_area++;
            else if (in_rect(&box, x, y))
                changed_box++;
            else
                g_error("pixel %d,%d changed", x, y);
        }
        g_assert_cmpuint(changed_area, >, 10000);
        g_assert_cmpuint(changed_box, >, 4000); /* most of its coloured part */
    }
}

static void
test_codes(void)
{
    static const gint depths[] = {32, 16};
    static const guint32 numbers[] = {0, 1, 30, 255, 256, 65535, 65536, 4294967295u};

    for (guint d = 0; d < G_N_ELEMENTS(depths); d++) {
        SaSceneConfig config = config_of(480, 320, depths[d]);
        g_autoptr(SaScene) scene = sa_scene_new(&config);
        g_autofree guint32 *data = g_new0(guint32, (gsize)config.width * (gsize)config.height);

        for (guint i = 0; i < G_N_ELEMENTS(moving); i++) {
            for (guint n = 0; n < G_N_ELEMENTS(numbers); n++) {
                guint32 keys = numbers[G_N_ELEMENTS(numbers) - 1 - n];
                SaPixels pixels = {data, config.width * 4, config.width, config.height,
                                   SA_PIXELS_XRGB8888};
                SaFramecodePlace key = sa_scene_key_code(&config);

                sa_scene_draw(scene, moving[i], numbers[n], keys, data, (gsize)config.width);
                for (guint corner = 0; corner < SA_SCENE_CODES; corner++) {
                    SaFramecodePlace place = sa_scene_frame_code(&config, corner);

                    g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, numbers[n] % 65536);
                }
                g_assert_cmpint(sa_framecode_decode(&pixels, &key), ==, keys % 65536);
            }
        }
    }
}

/* While nothing moves there is no code and no border: the page is all there is. */
static void
test_idle(void)
{
    SaSceneConfig config = config_of(1280, 800, 32);
    gsize size = (gsize)config.width * (gsize)config.height * 4;
    g_autofree guint32 *first = picture(&config, SA_ACTIVITY_IDLE, 0, 3);
    g_autofree guint32 *later = picture(&config, SA_ACTIVITY_IDLE, 500, 3);
    SaPixels pixels = {first, config.width * 4, config.width, config.height, SA_PIXELS_XRGB8888};
    SaFramecodePlace place = sa_scene_frame_code(&config, 0);

    g_assert_cmpmem(first, size, later, size);
    g_assert_cmpint(sa_framecode_decode(&pixels, &place), ==, -1);
}

static void
test_depth(void)
{
    SaSceneConfig config = config_of(640, 480, 16);
    gsize size = (gsize)config.width * (gsize)config.height;

    for (guint i = 0; i < G_N_ELEMENTS(moving); i++) {
        g_autofree guint32 *pixels = picture(&config, moving[i], 5, 5);

        for (gsize p = 0; p < size; p++)
            g_assert_cmphex(pixels[p] & 0x070707, ==, pixels[p] >> 5 & 0x070707);
    }
}

static void
test_seeds(void)
{
    SaSceneConfig config = config_of(640, 480, 32);
    gsize size = (gsize)config.width * (gsize)config.height * 4;
    SaSceneConfig other = config;

    other.seed = 2;
    for (gint i = SA_ACTIVITY_IDLE; i <= SA_ACTIVITY_PHOTO; i++) {
        g_autofree guint32 *a = picture(&config, (SaActivity)i, 5, 5);
        g_autofree guint32 *b = picture(&other, (SaActivity)i, 5, 5);

        g_assert_cmpint(memcmp(a, b, size), !=, 0);
    }
}

/* All three bytes of heavy's pixels are uniform, and no pixel predicts the next or the one below.
 */
static void
test_heavy_is_noise(void)
{
    SaSceneConfig config = config_of(1280, 800, 32);
    g_autofree guint32 *pixels = picture(&config, SA_ACTIVITY_HEAVY, 17, 0);
    guint count[4][256] = {{0}};
    guint same_right = 0;
    guint same_below = 0;
    guint n = 0;

    for (gint y = config.area.y + 40; y < config.area.y + config.area.height - 41; y++) {
        for (gint x = config.area.x; x < config.area.x + config.area.width - 1; x++) {
            const guint32 *p = pixels + y * config.width + x;

            for (guint c = 0; c < 3; c++)
                count[c][p[0] >> (8 * c) & 255]++;
            same_right += (p[0] ^ p[1]) % 256 == 0;
            same_below += (p[0] ^ p[config.width]) % 256 == 0;
            n++;
        }
    }
    for (guint c = 0; c < 3; c++) {
        for (guint v = 0; v < 256; v++)
            g_assert_cmpint(ABS((gint)(count[c][v] * 256) - (gint)n), <, (gint)n / 5);
    }
    g_assert_cmpuint(same_right * 256, <, n + n / 5);
    g_assert_cmpuint(same_below * 256, <, n + n / 5);
}

/* busy: above the three noisy bits neighbours differ by one step at most; the noise itself is
 * uniform. */
static void
test_busy_is_smooth(void)
{
    SaSceneConfig config = config_of(1280, 800, 32);
    g_autofree guint32 *pixels = picture(&config, SA_ACTIVITY_BUSY, 17, 0);
    guint count[8] = {0};
    guint n = 0;

    for (gint y = config.area.y + 40; y < config.area.y + config.area.height - 41; y++) {
        for (gint x = config.area.x; x < config.area.x + config.area.width - 1; x++) {
            const guint32 *p = pixels + y * config.width + x;

            for (guint c = 0; c < 24; c += 8) {
                gint here = (gint)(p[0] >> c & 0xf8);

                g_assert_cmpint(ABS(here - (gint)(p[1] >> c & 0xf8)), <=, 8);
                g_assert_cmpint(ABS(here - (gint)(p[config.width] >> c & 0xf8)), <=, 8);
                count[p[0] >> c & 7]++;
                n++;
            }
        }
    }
    for (guint i = 0; i < G_N_ELEMENTS(count); i++)
        g_assert_cmpint(ABS((gint)(count[i] * 8) - (gint)n), <, (gint)n / 50);
}

/* The next frame is this one moved, apart from the codes in the corners. */
static void
check_moved(SaActivity activity, gint dx, gint dy)
{
    SaSceneConfig config = config_of(1280, 800, 32);
    g_autofree guint32 *now = picture(&config, activity, 765, 0);
    g_autofree guint32 *next = picture(&config, activity, 766, 0);
    guint colours = 0;

    for (gint y = 60; y < config.area.height - 60; y++) {
        for (gint x = 70; x < config.area.width - 70; x++) {
            gint at = (config.area.y + y) * config.width + config.area.x + x;

            g_assert_cmphex(next[at], ==, now[at + dy * config.width + dx]);
            colours += now[at] != now[at + 1];
        }
    }
    g_assert_cmpuint(colours, >, 1000);
}

static void
test_scroll(void)
{
    check_moved(SA_ACTIVITY_SCROLL, 0, SA_PAGE_LINE_HEIGHT);
}

static void
test_photo(void)
{
    check_moved(SA_ACTIVITY_PHOTO, 2, 0);
}

static void
test_ppm(void)
{
    static const guint32 pixels[] = {0x010203, 0xff8000, 0xdead, 0x000000, 0xffffff, 0xdead};
    static const gchar expected[] = "P6\n2 2\n255\n\x01\x02\x03\xff\x80\0\0\0\0\xff\xff\xff";
    g_autofree gchar *dir = g_dir_make_tmp("scene-XXXXXX", NULL);
    g_autofree gchar *path = g_build_filename(dir, "a.ppm", NULL);
    g_autofree gchar *contents = NULL;
    g_autoptr(GError) error = NULL;
    gsize length;

    g_assert_true(sa_scene_write_ppm(pixels, 3, 2, 2, path, &error));
    g_assert_no_error(error);
    g_assert_true(g_file_get_contents(path, &contents, &length, NULL));
    g_assert_cmpmem(contents, length, expected, sizeof expected - 1);
    g_unlink(path);
    g_rmdir(dir);
    g_assert_false(sa_scene_write_ppm(pixels, 3, 2, 2, path, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scene/config", test_config);
    g_test_add_func("/scene/activity-names", test_activity_names);
    g_test_add_func("/scene/pure", test_pure);
    g_test_add_func("/scene/same-everywhere", test_same_everywhere);
    g_test_add_func("/scene/confined", test_confined);
    g_test_add_func("/scene/codes", test_codes);
    g_test_add_func("/scene/idle", test_idle);
    g_test_add_func("/scene/depth", test_depth);
    g_test_add_func("/scene/seeds", test_seeds);
    g_test_add_func("/scene/heavy-is-noise", test_heavy_is_noise);
    g_test_add_func("/scene/busy-is-smooth", test_busy_is_smooth);
    g_test_add_func("/scene/scroll", test_scroll);
    g_test_add_func("/scene/photo", test_photo);
    g_test_add_func("/scene/ppm", test_ppm);
    return g_test_run();
}
