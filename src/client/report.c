/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/channel.h"
#include "client/warn.h"

#define ROW_INTERVAL_S 1u

typedef enum { LOG_CLOSED, LOG_OPEN, LOG_FAILED } LogState;

static char *log_file;
static int log_fd = -1;
static LogState log_state;
static GHashTable *marks; /* serial -> SaChannelMark of the last row */
static guint timer;
static pid_t owner;

static void
log_close(void)
{
    if (log_fd >= 0) {
        close(log_fd);
    }
    log_fd = -1;
    log_state = LOG_FAILED;
}

static void
log_fail(const char *what, int err)
{
    sa_warn("log=%s: %s: %s; the session goes on without a log", log_file, what, g_strerror(err));
    log_close();
}

static void
log_write(GString *line)
{
    gssize n;

    if (getpid() != owner) {
        return; /* a forked child that closes its copies of the connections */
    }
    g_string_append_c(line, '\n');
    do {
        n = write(log_fd, line->str, line->len);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        log_fail("cannot write", errno);
    } else if ((gsize)n < line->len) {
        log_fail("cannot write a whole row", ENOSPC);
    }
}

/* What a file that is appended to begins and ends with: FALSE when that is not such a log, as far
 * as it can be read. torn: its last row has no end, as a full disk leaves it. */
static gboolean
is_our_log(off_t size, gboolean *torn)
{
    g_autoptr(GString) header = g_string_new(NULL);
    g_autofree char *start = NULL;
    char last = '\n';
    gssize n = -1;
    int fd = open(log_file, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    sa_stats_header(header);
    g_string_append_c(header, '\n');
    start = g_malloc0(header->len + 1);
    if (fd >= 0) {
        n = pread(fd, start, header->len, 0);
        if (pread(fd, &last, 1, size - 1) != 1) {
            last = '\n';
        }
        close(fd);
    }
    *torn = last != '\n';
    return n < 0 || g_str_equal(start, header->str);
}

static void
log_open(void)
{
    gboolean torn = FALSE;
    struct stat st;

    /* not to wait for the reader of a named pipe */
    log_fd =
        open(log_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (log_fd < 0) {
        log_fail("cannot open", errno);
        return;
    }
    log_state = LOG_OPEN;
    if (fstat(log_fd, &st) < 0 || st.st_size == 0) {
        g_autoptr(GString) line = g_string_new(NULL);

        sa_stats_header(line);
        log_write(line);
    } else if (S_ISREG(st.st_mode) && !is_our_log(st.st_size, &torn)) {
        sa_warn("log=%s: this is not a log with these columns, and is left as it is; the session "
                "goes on without a log",
                log_file);
        log_close();
    } else if (torn) {
        g_autoptr(GString) nothing = g_string_new(NULL);

        log_write(nothing); /* ends the row that was cut off */
    }
}

static void
log_row(SaChannel *channel, gint64 now)
{
    SaChannelMark *mark = g_hash_table_lookup(marks, GUINT_TO_POINTER(sa_channel_serial(channel)));
    g_autoptr(GString) line = NULL;
    SaStats stats;

    if (log_state != LOG_OPEN || mark == NULL) {
        return;
    }
    line = g_string_new(NULL);
    sa_channel_stats(channel, mark, now, &stats);
    sa_channel_mark(channel, now, mark);
    sa_stats_row(&stats, line);
    log_write(line);
}

static void
log_rows(gint64 now)
{
    const GPtrArray *channels = sa_channels();

    for (guint i = 0; i < channels->len; i++) {
        log_row(g_ptr_array_index(channels, i), now);
    }
}

static gboolean
tick(gpointer data)
{
    log_rows(g_get_monotonic_time());
    if (log_state == LOG_OPEN) {
        return G_SOURCE_CONTINUE;
    }
    timer = 0;
    return G_SOURCE_REMOVE;
}

static void
channel_opened(SaChannel *channel, gint64 now)
{
    SaChannelMark *mark;

    owner = getpid(); /* a program may have forked since it attached */
    if (log_state == LOG_CLOSED) {
        log_open();
    }
    if (log_state != LOG_OPEN) {
        return;
    }
    mark = g_new0(SaChannelMark, 1);
    sa_channel_mark_start(channel, mark);
    g_hash_table_insert(marks, GUINT_TO_POINTER(sa_channel_serial(channel)), mark);
    if (timer == 0) {
        timer = g_timeout_add_seconds(ROW_INTERVAL_S, tick, NULL);
    }
}

static void
channel_closing(SaChannel *channel, gint64 now)
{
    log_row(channel, now);
    g_hash_table_remove(marks, GUINT_TO_POINTER(sa_channel_serial(channel)));
    if (g_hash_table_size(marks) == 0) {
        g_clear_handle_id(&timer, g_source_remove);
    }
}

/* A viewer that exits without closing its session leaves its last rows here. */
static void
at_exit(void)
{
    log_rows(g_get_monotonic_time());
    log_state = LOG_FAILED; /* what is closed from here on has its row */
}

void
sa_report_start(const char *file)
{
    static const SaChannelListener report_listener = {
        .opened = channel_opened,
        .closing = channel_closing,
    };

    log_file = g_strdup(file);
    marks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    sa_channels_listen(&report_listener);
    atexit(at_exit);
}
