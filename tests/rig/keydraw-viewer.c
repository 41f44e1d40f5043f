/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* keydraw-viewer: the same measurement as keydraw-client's, but at the pixels of a real viewer's
 * window on an X display: keys by XTEST, and the screen read through shared memory more often than
 * once a millisecond while a press waits for its draw. Starts nothing itself; the viewer must show
 * the guest's screen unscaled.
 *
 * One JSON object on stdout at the end; everything else on stderr. With --hold it stays and obeys
 * the commands of keydraw-client-commands.h. */
#include <errno.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "keydraw-client-commands.h"
#include "keydraw-client-picture.h"
#include "keydraw-client-presses.h"
#include "keydraw-client-watch.h"
#include "keydraw-viewer-x.h"

/* Between two looks at the moving area: often enough not to miss a frame of 30 a second. */
#define AREA_US (12 * 1000)
/* While nothing is waited for. */
#define REST_US  (3 * 1000)
#define STILL_US (50 * 1000)

static char *opt_display, *opt_name, *opt_size, *opt_area, *opt_box, *opt_shot_mid,
    *opt_shot_frozen;
static int opt_pid, opt_presses = 20, opt_interval = 500, opt_timeout = 15000, opt_seed = 1,
                    opt_poll = 400;
static int opt_settle = 1000;
static double opt_warmup = 2, opt_fps = 30, opt_find = 30;
static gint64 opt_epoch;
static gboolean opt_hold, opt_progress, opt_no_area;

static const GOptionEntry entries[] = {
    {"display", 0, 0, G_OPTION_ARG_STRING, &opt_display, "X display ($DISPLAY)", "NAME"},
    {"pid", 0, 0, G_OPTION_ARG_INT, &opt_pid, "The viewer's process; else the largest window",
     "PID"},
    {"name", 0, 0, G_OPTION_ARG_STRING, &opt_name, "Part of the window's title or class", "TEXT"},
    {"find", 0, 0, G_OPTION_ARG_DOUBLE, &opt_find,
     "How long to look for the window and the picture (30)", "SECONDS"},
    {"presses", 0, 0, G_OPTION_ARG_INT, &opt_presses, "Key presses to measure (20)", "N"},
    {"warmup", 0, 0, G_OPTION_ARG_DOUBLE, &opt_warmup, "Before the first press (2)", "SECONDS"},
    {"interval", 0, 0, G_OPTION_ARG_INT, &opt_interval, "Mean, jittered by half (500)", "MS"},
    {"timeout", 0, 0, G_OPTION_ARG_INT, &opt_timeout, "Give a press up (15000)", "MS"},
    {"poll", 0, 0, G_OPTION_ARG_INT, &opt_poll, "Between two looks at the key box (400)", "US"},
    {"size", 0, 0, G_OPTION_ARG_STRING, &opt_size, "Of the guest's screen (1280x800)", "WxH"},
    {"area", 0, 0, G_OPTION_ARG_STRING, &opt_area, "What moves (640x480+624+160)", "WxH+X+Y"},
    {"box", 0, 0, G_OPTION_ARG_STRING, &opt_box, "Where the key box is (64,176)", "X,Y"},
    {"no-area", 0, 0, G_OPTION_ARG_NONE, &opt_no_area, "Do not watch what moves", NULL},
    {"seed", 0, 0, G_OPTION_ARG_INT, &opt_seed, "Of the jitter (1)", "N"},
    {"shot-mid", 0, 0, G_OPTION_ARG_FILENAME, &opt_shot_mid,
     "PPM of the picture after half the presses", "FILE"},
    {"shot-frozen", 0, 0, G_OPTION_ARG_FILENAME, &opt_shot_frozen,
     "PPM at the command 'frozen'; as --hold", "FILE"},
    {"settle", 0, 0, G_OPTION_ARG_INT, &opt_settle, "Nothing drawn for so long is still (1000)",
     "MS"},
    {"hold", 0, 0, G_OPTION_ARG_NONE, &opt_hold,
     "Stay after the presses and read commands from stdin", NULL},
    {"frame-epoch", 0, 0, G_OPTION_ARG_INT64, &opt_epoch, "When frame 0 was painted, for ages",
     "US"},
    {"fps", 0, 0, G_OPTION_ARG_DOUBLE, &opt_fps, "Frames a second at the server, for ages (30)",
     "N"},
    {"progress", 0, 0, G_OPTION_ARG_NONE, &opt_progress, "A line a second on stderr", NULL},
    {NULL},
};

static SaViewerX *x;
static SaSceneConfig scene;
static SaRect window_place;
static gulong window_id;
static gint left, top; /* of the guest's screen, on the X screen */
static SaViewerGrab *code_grab, *area_grab, *screen_grab;
static SaPresses *presses;
static SaWatch *watch;
static SaCommands *commands;

static gboolean over, interrupted;
static int status;
static guint finished;
static gint64 begun, ended, last_draw;
static guint64 polls, polls_slow;
static guint8 *before; /* the screen as it was at the last look, for wait-quiet */

static gint64
now_us(void)
{
    return g_get_monotonic_time();
}

/* The event loop turns by itself; sleeps are the kernel's. */
static void
rest(gint64 us)
{
    struct timespec ts = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

    nanosleep(&ts, NULL);
}

static gboolean
shoot(gpointer data, const char *file, GError **error)
{
    SaPixels pixels;

    if (!sa_viewer_grab_take(screen_grab, &pixels)) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "the screen cannot be read");
        return FALSE;
    }
    return sa_picture_write(&pixels, file, error);
}

static gint64
get_last_draw(gpointer data)
{
    return last_draw;
}

static gboolean
press_once(gpointer data)
{
    return sa_presses_once(presses);
}

static void
set_epoch(gpointer data, gint64 us)
{
    opt_epoch = us;
}

static void
quit(gpointer data)
{
    over = TRUE;
}

static gboolean
on_signal(gpointer data)
{
    interrupted = over = TRUE;
    return G_SOURCE_CONTINUE;
}

static void
on_press(gpointer data)
{
    sa_viewer_x_key(x);
}

static void
on_press_finished(gpointer data, guint number, gboolean drawn)
{
    static gint64 told;
    gint64 now = now_us();

    finished++;
    if (!drawn)
        fprintf(stderr, "keydraw-viewer: press %u was not drawn within %d ms\n", number,
                opt_timeout);
    if (opt_progress && now - told > G_USEC_PER_SEC) {
        fprintf(stderr, "keydraw-viewer: %u of %d presses\n", finished, opt_presses);
        told = now;
    }
    if (opt_shot_mid && finished == (guint)(opt_presses + 1) / 2) {
        g_autoptr(GError) error = NULL;

        if (!shoot(NULL, opt_shot_mid, &error)) {
            fprintf(stderr, "keydraw-viewer: %s\n", error->message);
            status = 1;
        }
    }
}

static void
close_window(void)
{
    if (!begun || ended)
        return;
    ended = now_us();
    sa_watch_end(watch, ended);
}

static void
on_presses_done(gpointer data)
{
    if (opt_presses)
        close_window();
    fprintf(stderr, "keydraw-viewer: presses done\n");
    if (!opt_hold)
        over = TRUE;
}

/* The number in the key box on the screen now, or -1. */
static int
shown_number(void)
{
    SaFramecodePlace place = sa_scene_key_code(&scene);
    SaPixels pixels;

    place.x = place.y = 0;
    return sa_viewer_grab_take(code_grab, &pixels) ? sa_framecode_decode(&pixels, &place) : -1;
}

static void
look_at_code(void)
{
    gint64 from = now_us();
    int shown = shown_number();
    gint64 now = now_us();

    polls++;
    polls_slow += now - from > 1000;
    if (shown >= 0)
        sa_presses_shown(presses, (guint16)shown, now);
}

static void
look_at_area(void)
{
    SaRect all = {0, 0, scene.area.width, scene.area.height};
    SaPixels pixels;

    if (sa_viewer_grab_take(area_grab, &pixels))
        sa_watch_look(watch, &pixels, &all, now_us());
}

static void
look_at_screen(void)
{
    SaPixels pixels;
    gsize size;

    if (!sa_viewer_grab_take(screen_grab, &pixels))
        return;
    size = (gsize)pixels.stride * (gsize)pixels.height;
    if (!before)
        before = g_malloc0(size);
    if (memcmp(before, pixels.data, size) != 0) {
        memcpy(before, pixels.data, size);
        last_draw = now_us();
    }
}

static gboolean
setup_grabs(GError **error)
{
    SaFramecodePlace key = sa_scene_key_code(&scene);
    SaRect code = {left + key.x, top + key.y, key.cell_width * SA_FRAMECODE_COLUMNS,
                   key.cell_height * SA_FRAMECODE_ROWS};
    SaRect area = {left + scene.area.x, top + scene.area.y, scene.area.width, scene.area.height};
    SaRect all = {left, top, scene.width, scene.height};

    code_grab = sa_viewer_grab_new(x, &code, error);
    area_grab = code_grab ? sa_viewer_grab_new(x, &area, error) : NULL;
    screen_grab = area_grab ? sa_viewer_grab_new(x, &all, error) : NULL;
    return screen_grab != NULL;
}

static gboolean
find(void)
{
    gint64 until = now_us() + (gint64)(opt_find * 1e6);
    gboolean window = FALSE;

    while (!over && now_us() < until) {
        window = sa_viewer_x_find(x, opt_pid, opt_name);
        if (window && sa_viewer_x_locate(x, &scene, &left, &top)) {
            window_id = sa_viewer_x_window(x, &window_place);
            return TRUE;
        }
        g_main_context_iteration(NULL, FALSE);
        rest(200 * 1000);
    }
    if (!over)
        fprintf(stderr, "keydraw-viewer: no %s within %g s\n",
                window ? "key box in the window (scaled, another server, size or box?)"
                       : "such window",
                opt_find);
    return FALSE;
}

static void
run(void)
{
    gint64 warm = now_us() + (gint64)(opt_warmup * 1e6);
    gint64 area_due = 0;
    gint64 screen_due = 0;

    /* Beside the key box, where the pointer covers nothing that is read. */
    sa_viewer_x_focus(x, left + scene.box_x + SA_SCENE_BOX_SIZE / 2,
                      top + scene.box_y + SA_SCENE_BOX_SIZE + 40);
    while (!over) {
        gint64 now = now_us();
        guint16 wanted;

        while (g_main_context_iteration(NULL, FALSE))
            ;
        if (!begun && now >= warm) {
            int shown = shown_number();

            if (shown >= 0) {
                begun = now_us();
                sa_watch_begin(watch, begun);
                sa_presses_start(presses, (guint16)shown);
            }
        }
        if (sa_presses_waiting(presses, &wanted))
            look_at_code();
        if (!ended && !opt_no_area && now >= area_due) {
            look_at_area();
            area_due = now + AREA_US;
        }
        if (opt_hold && (ended || !opt_presses) && now >= screen_due) {
            look_at_screen();
            screen_due = now + STILL_US;
        }
        rest(sa_presses_waiting(presses, &wanted) ? opt_poll : REST_US);
    }
}

static void
print_result(void)
{
    g_autoptr(GString) out = g_string_new("{\"client\":\"keydraw-viewer\"");

    g_string_append_printf(out,
                           ",\"window\":%lu,\"window_place\":[%d,%d,%d,%d],\"guest_at\":[%d,%d]",
                           window_id, window_place.x, window_place.y, window_place.width,
                           window_place.height, left - window_place.x, top - window_place.y);
    g_string_append_printf(out, ",\"interrupted\":%s,", interrupted ? "true" : "false");
    sa_presses_json(presses, out);
    g_string_append_printf(
        out,
        ",\"interval_ms\":%d,\"timeout_ms\":%d,\"window_s\":%.3f,\"polls\":%" G_GUINT64_FORMAT
        ",\"polls_over_1ms\":%" G_GUINT64_FORMAT,
        opt_interval, opt_timeout, (double)(ended - begun) / 1e6, polls, polls_slow);
    if (commands && sa_commands_settle_ms(commands) >= 0)
        g_string_append_printf(out, ",\"settle_ms\":%.1f", sa_commands_settle_ms(commands));
    else
        g_string_append(out, ",\"settle_ms\":null");
    g_string_append(out, ",\"area\":");
    if (opt_no_area)
        g_string_append(out, "null");
    else
        sa_watch_json(watch, opt_epoch, opt_fps, out);
    printf("%s}\n", out->str);
    fflush(stdout);
}

static gboolean
check_options(GError **error)
{
    const char *what = NULL;

    if (opt_presses < 0 || opt_presses > 30000)
        what = "--presses: expected 0 to 30000";
    else if (!(opt_warmup >= 0 && opt_warmup <= 3600))
        what = "--warmup: expected 0 to 3600 seconds";
    else if (!(opt_find >= 0 && opt_find <= 3600))
        what = "--find: expected 0 to 3600 seconds";
    else if (opt_interval < 1 || opt_interval > 600000)
        what = "--interval: expected 1 to 600000 ms";
    else if (opt_timeout < 1 || opt_timeout > 600000)
        what = "--timeout: expected 1 to 600000 ms";
    else if (opt_settle < 1 || opt_settle > 60000)
        what = "--settle: expected 1 to 60000 ms";
    else if (opt_poll < 0 || opt_poll > 100000)
        what = "--poll: expected 0 to 100000 us";
    else if (!(opt_fps > 0 && opt_fps <= 1000))
        what = "--fps: expected frames a second";
    if (what) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, what);
        return FALSE;
    }
    return sa_picture_config(&scene, opt_size, opt_area, opt_box, error);
}

static void
measure(void)
{
    SaPressesConfig press_config = {
        .count = (guint)opt_presses,
        .interval_ms = opt_interval,
        .timeout_ms = opt_timeout,
        .seed = (guint32)opt_seed,
        .press = on_press,
        .finished = on_press_finished,
        .done = on_presses_done,
    };
    SaCommandsConfig command_config = {
        .shoot = shoot,
        .last_draw = get_last_draw,
        .press = press_once,
        .epoch = set_epoch,
        .quit = quit,
        .settle_ms = opt_settle,
        .frozen_file = opt_shot_frozen,
    };
    SaSceneConfig area_alone = scene;

    /* The area is read by itself: its corner is the origin. */
    area_alone.area.x = area_alone.area.y = 0;
    watch = sa_watch_new(&area_alone);
    presses = sa_presses_new(&press_config);
    if (opt_hold)
        commands = sa_commands_new(&command_config);
    run();
    close_window();
    sa_presses_stop(presses);
    if (begun)
        print_result();
    sa_commands_free(commands);
    sa_presses_free(presses);
    sa_watch_free(watch);
}

int
main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;

    g_option_context_set_summary(context, "Measures from key press to draw at a viewer's window.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc > 1 ||
        !check_options(&error)) {
        fprintf(stderr, "keydraw-viewer: %s\n", error ? error->message : "unexpected argument");
        return 2;
    }
    opt_hold = opt_hold || opt_shot_frozen;
    x = sa_viewer_x_open(opt_display, &error);
    if (!x) {
        fprintf(stderr, "keydraw-viewer: %s\n", error->message);
        return 1;
    }
    g_unix_signal_add(SIGINT, on_signal, NULL);
    g_unix_signal_add(SIGTERM, on_signal, NULL);
    if (!find()) {
        status = 1;
    } else if (!setup_grabs(&error)) {
        fprintf(stderr, "keydraw-viewer: %s\n", error->message);
        status = 1;
    } else {
        fprintf(stderr, "keydraw-viewer: window 0x%lx, the guest's screen at %d,%d of it\n",
                window_id, left - window_place.x, top - window_place.y);
        measure();
        if (!begun)
            status = 1;
    }
    sa_viewer_grab_free(code_grab);
    sa_viewer_grab_free(area_grab);
    sa_viewer_grab_free(screen_grab);
    sa_viewer_x_close(x);
    g_free(before);
    return status;
}
