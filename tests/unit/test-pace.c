/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kept ACKs and the stream they are kept from: what comes out of the tap's transport, byte by
 * byte. When to keep is core/pacer's; here a slow, full path makes it keep every ACK. */
#include "client/pace.h"

#include <spice/enums.h>
#include <string.h>

#include "client/channel.h"
#include "spice-bytes.h"

#define MINI   0xbu /* AUTH_SELECTION, AUTH_SPICE, MINI_HEADER */
#define FULL   0x3u
#define WINDOW 20u
/* 25 messages a second: 2W + 1 of them are seconds of backlog. */
#define MESSAGE_US 40000

/* When the next line opens. */
static gint64 first_time = 1000;

typedef struct {
    SaTap *tap;
    GByteArray *out; /* what reached the connection, the viewer's and our own */
    gssize budget;   /* bytes the connection takes now; -1: all */
    gint64 now;
} Line;

static gssize
transport_write(gpointer transport, const guint8 *data, gsize len, GIOCondition *wait)
{
    Line *line = transport;
    gsize n = line->budget < 0 ? len : MIN(len, (gsize)line->budget);

    if (line->budget > 0) {
        line->budget -= n;
    }
    g_byte_array_append(line->out, data, n);
    return n;
}

static void
from_server(Line *line, const GByteArray *bytes)
{
    sa_tap_server_bytes(line->tap, bytes->data, bytes->len, line->now);
    sa_tap_turn(line->tap, line->now);
}

/* A write of the viewer's, as the hooks make it; how many bytes it was told went, 0: would block.
 */
static gssize
viewer_write(Line *line, const guint8 *data, gsize len)
{
    gssize n;

    switch (sa_tap_before_write(line->tap, data, len, line->now)) {
    case SA_TAP_KEPT:
        sa_tap_turn(line->tap, line->now);
        return len;
    case SA_TAP_BLOCK:
        return 0;
    case SA_TAP_PASS:
        break;
    }
    n = transport_write(line, data, len, NULL);
    if (n > 0) {
        sa_tap_client_bytes(line->tap, data, n, line->now);
        sa_tap_turn(line->tap, line->now);
    } else {
        sa_tap_blocked(line->tap);
    }
    return n;
}

static void
messages(Line *line, guint n)
{
    for (guint i = 0; i < n; i++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();

        line->now += MESSAGE_US;
        bytes_message(bytes, SPICE_MSG_DISPLAY_DRAW_COPY, NULL, 1000);
        from_server(line, bytes);
    }
}

static GByteArray *
ack(void)
{
    GByteArray *bytes = g_byte_array_new();

    bytes_ack(bytes);
    return bytes;
}

static void
line_open(Line *line, guint32 common)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    *line = (Line){
        .tap = sa_tap_new(FALSE), .out = g_byte_array_new(), .budget = -1, .now = first_time};
    sa_tap_set_transport(line->tap, transport_write, line);
    bytes_link_message(bytes, 5, SPICE_CHANNEL_DISPLAY, 0, common);
    viewer_write(line, bytes->data, bytes->len);
    g_byte_array_set_size(bytes, 0);
    bytes_link_reply(bytes, 0, common);
    from_server(line, bytes);
    g_byte_array_set_size(bytes, 0);
    bytes_ticket(bytes);
    viewer_write(line, bytes->data, bytes->len);
    line->now += 80000;
    g_byte_array_set_size(bytes, 0);
    bytes_u32(bytes, 0);
    from_server(line, bytes);
    g_byte_array_set_size(line->out, 0);
}

static void
line_close(Line *line)
{
    sa_tap_close(line->tap, line->now);
    sa_tap_unref(line->tap);
    g_byte_array_unref(line->out);
    g_assert_cmpuint(sa_channels()->len, ==, 0);
}

/* A session on the slow path, up to the moment when its viewer emits an ACK. */
static void
line_due_for_ack(Line *line)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    line_open(line, MINI);
    bytes_set_ack(bytes, 1, WINDOW);
    from_server(line, bytes);
    g_byte_array_set_size(bytes, 0);
    bytes_ack_sync(bytes, 1);
    g_assert_cmpint(viewer_write(line, bytes->data, bytes->len), ==, bytes->len);
    messages(line, WINDOW);
    g_byte_array_set_size(line->out, 0);
}

/* The same, and it is kept. */
static void
line_with_kept_ack(Line *line)
{
    g_autoptr(GByteArray) one = ack();

    line_due_for_ack(line);
    g_assert_cmpint(viewer_write(line, one->data, one->len), ==, 6);
    g_assert_cmpuint(line->out->len, ==, 0);
}

static void
assert_out(const Line *line, const GByteArray *expected)
{
    g_assert_cmpmem(line->out->data, line->out->len, expected->data, expected->len);
}

static SaStats
figures(void)
{
    SaChannelMark start;
    SaStats stats;

    g_assert_cmpuint(sa_channels()->len, ==, 1);
    sa_channel_mark_start(g_ptr_array_index(sa_channels(), 0), &start);
    sa_channel_stats(g_ptr_array_index(sa_channels(), 0), &start, start.time + G_USEC_PER_SEC,
                     &stats);
    return stats;
}

/* ------------------------------------------------------------------------------------------ */

static void
goes_just_in_time(void)
{
    g_autoptr(GByteArray) one = ack();
    Line line;
    guint more = 0;

    line_with_kept_ack(&line);
    g_assert_cmpfloat(figures().acks, ==, 0);
    g_assert_cmpfloat(figures().holds, ==, 1);
    while (line.out->len == 0) {
        messages(&line, 1);
        g_assert_cmpuint(++more, <=, WINDOW + 1);
    }
    assert_out(&line, one);
    g_assert_cmpuint(more, >, WINDOW / 2); /* it was worth it */
    g_assert_cmpfloat(figures().acks, ==, 1);
    g_assert_cmpfloat(figures().hold_ms, ==, more * MESSAGE_US / 1e3);
    /* 1006 bytes every 40 ms, without a gap; asked at the channel's start plus a second */
    g_assert_cmpfloat_with_epsilon(figures().delivery_mbit, 1006 * 8 / 40e3, 1e-3);
    line_close(&line);
}

/* When no message comes that could move it, its timer does: not at once, and not much later than
 * the quarter of a second of silence that is allowed. */
static void
goes_by_the_timer(void)
{
    g_autoptr(GByteArray) one = ack();
    gint64 start;
    Line line;

    first_time = g_get_monotonic_time() - 80000 - WINDOW * MESSAGE_US;
    line_with_kept_ack(&line);
    first_time = 1000;
    start = g_get_monotonic_time();
    while (line.out->len == 0 && g_get_monotonic_time() < start + 10 * G_USEC_PER_SEC) {
        g_main_context_iteration(NULL, TRUE);
    }
    assert_out(&line, one);
    g_assert_cmpint(g_get_monotonic_time() - start, >, 150000);
    g_assert_false(g_main_context_pending(NULL));
    line_close(&line);
}

typedef struct {
    const char *name;
    guint16 type;
    guint size;
    gboolean barrier;
} Message;

static const Message viewer_messages[] = {
    {"ack-sync", SPICE_MSGC_ACK_SYNC, 4, TRUE},
    {"migrate-flush-mark", SPICE_MSGC_MIGRATE_FLUSH_MARK, 0, TRUE},
    {"migrate-data", SPICE_MSGC_MIGRATE_DATA, 12, TRUE},
    {"pong", SPICE_MSGC_PONG, 12, FALSE},
    {"stream-report", SPICE_MSGC_DISPLAY_STREAM_REPORT, 28, FALSE},
};

/* Barriers go behind the kept ACK, everything else may overtake it. */
static void
other_messages(gconstpointer data)
{
    const Message *message = data;
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    Line line;

    line_with_kept_ack(&line);
    bytes_message(bytes, message->type, NULL, message->size);
    if (message->barrier) {
        bytes_ack(expected);
    }
    g_byte_array_append(expected, bytes->data, bytes->len);
    g_assert_cmpint(viewer_write(&line, bytes->data, bytes->len), ==, bytes->len);
    assert_out(&line, expected);
    line_close(&line);
}

/* A second ACK queues up behind the first. */
static void
order_is_kept(void)
{
    g_autoptr(GByteArray) one = ack();
    g_autoptr(GByteArray) sync = g_byte_array_new();
    g_autoptr(GByteArray) expected = g_byte_array_new();
    Line line;

    line_with_kept_ack(&line);
    g_assert_cmpint(viewer_write(&line, one->data, one->len), ==, 6);
    g_assert_cmpuint(line.out->len, ==, 0);
    bytes_ack_sync(sync, 2);
    viewer_write(&line, sync->data, sync->len);
    bytes_ack(expected);
    bytes_ack(expected);
    bytes_ack_sync(expected, 2);
    assert_out(&line, expected);
    line_close(&line);
}

/* The viewer is in the middle of a message: ours waits for its end. */
static void
waits_for_the_viewers_message(void)
{
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) pong = g_byte_array_new();

    bytes_message(pong, SPICE_MSGC_PONG, NULL, 12);
    g_byte_array_append(expected, pong->data, pong->len);
    bytes_ack(expected);
    for (guint cut = 0; cut < pong->len; cut++) {
        Line line;

        line_with_kept_ack(&line);
        line.budget = cut;
        g_assert_cmpint(viewer_write(&line, pong->data, pong->len), ==, cut);
        line.budget = -1;
        messages(&line, WINDOW + 1); /* it may go now */
        g_assert_cmpuint(line.out->len, ==, cut);
        g_assert_cmpint(viewer_write(&line, pong->data + cut, pong->len - cut), ==,
                        pong->len - cut);
        assert_out(&line, expected);
        g_assert_cmpfloat(figures().acks, ==, 1);
        line_close(&line);
    }
}

/* The connection takes part of ours: the viewer's next message waits until it is out. */
static void
holds_back_the_viewer(void)
{
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) pong = g_byte_array_new();

    bytes_ack(expected);
    bytes_message(expected, SPICE_MSGC_PONG, NULL, 12);
    bytes_message(pong, SPICE_MSGC_PONG, NULL, 12);
    for (guint cut = 0; cut < 6; cut++) {
        Line line;

        line_with_kept_ack(&line);
        line.budget = cut;
        messages(&line, WINDOW + 1);
        g_assert_cmpuint(line.out->len, ==, cut);
        g_assert_cmpfloat(figures().acks, ==, 0);
        line.budget = 0;
        g_assert_cmpint(viewer_write(&line, pong->data, pong->len), ==, 0);
        line.budget = -1;
        g_assert_cmpint(viewer_write(&line, pong->data, pong->len), ==, pong->len);
        assert_out(&line, expected);
        g_assert_cmpfloat(figures().acks, ==, 1);
        line_close(&line);
    }
}

/* Nonsense from the server ends the watching; what was kept goes to its connection all the same,
 * behind the message the viewer may be in the middle of. */
static void
given_up(void)
{
    static const guint8 huge[] = {0x30, 0x01, 0xff, 0xff, 0xff, 0xff};
    g_autoptr(GByteArray) nonsense = g_byte_array_new();
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) pong = g_byte_array_new();

    g_byte_array_append(nonsense, huge, sizeof(huge));
    bytes_message(pong, SPICE_MSGC_PONG, NULL, 12);
    for (guint cut = 0; cut < pong->len; cut++) {
        Line line;

        g_byte_array_set_size(expected, 0);
        line_with_kept_ack(&line);
        if (cut == 0) {
            bytes_ack(expected);
        }
        bytes_message(expected, SPICE_MSGC_PONG, NULL, 12);
        if (cut > 0) {
            bytes_ack(expected);
            line.budget = cut;
            viewer_write(&line, pong->data, pong->len);
            line.budget = -1;
        }
        from_server(&line, nonsense);
        g_assert_cmpuint(sa_channels()->len, ==, 0);
        viewer_write(&line, pong->data + cut, pong->len - cut);
        assert_out(&line, expected);
        line_close(&line);
    }
}

/* The same with two of them, on a connection that takes nothing at the moment, or a part. */
static void
given_up_while_blocked(void)
{
    static const guint8 huge[] = {0x30, 0x01, 0xff, 0xff, 0xff, 0xff};
    g_autoptr(GByteArray) nonsense = g_byte_array_new();
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) one = ack();

    g_byte_array_append(nonsense, huge, sizeof(huge));
    bytes_ack(expected);
    bytes_ack(expected);
    bytes_message(expected, SPICE_MSGC_PONG, NULL, 12);
    for (gssize budget = 0; budget < 13; budget++) {
        g_autoptr(GByteArray) pong = g_byte_array_new();
        Line line;

        bytes_message(pong, SPICE_MSGC_PONG, NULL, 12);
        line_with_kept_ack(&line);
        g_assert_cmpint(viewer_write(&line, one->data, one->len), ==, 6);
        line.budget = budget;
        from_server(&line, nonsense);
        g_assert_cmpuint(sa_channels()->len, ==, 0);
        if (budget < 12) {
            g_assert_cmpint(viewer_write(&line, pong->data, pong->len), ==, 0);
        }
        line.budget = -1;
        g_assert_cmpint(viewer_write(&line, pong->data, pong->len), ==, pong->len);
        assert_out(&line, expected);
        line_close(&line);
    }
}

/* Where this thread does not run the main loop, nothing could send it later. */
static void
other_main_loop(void)
{
    g_autoptr(GByteArray) one = ack();
    Line line;

    g_main_context_release(NULL);
    line_due_for_ack(&line);
    viewer_write(&line, one->data, one->len);
    assert_out(&line, one);
    line_close(&line);
    g_main_context_acquire(NULL);
}

/* A barrier is one wherever it is written from. */
static void
barrier_outside_the_main_loop(void)
{
    g_autoptr(GByteArray) expected = g_byte_array_new();
    g_autoptr(GByteArray) sync = g_byte_array_new();
    Line line;

    line_with_kept_ack(&line);
    g_main_context_release(NULL);
    bytes_ack_sync(sync, 2);
    bytes_ack(expected);
    bytes_ack_sync(expected, 2);
    g_assert_cmpint(viewer_write(&line, sync->data, sync->len), ==, sync->len);
    assert_out(&line, expected);
    g_main_context_acquire(NULL);
    line_close(&line);
}

static void
closed(void)
{
    Line line;

    line_with_kept_ack(&line);
    sa_tap_close(line.tap, line.now);
    g_assert_cmpuint(line.out->len, ==, 0);
    g_assert_false(g_main_context_pending(NULL));
    line_close(&line);
}

/* The full header numbers messages: nothing is kept there. */
static void
full_header(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    Line line;

    line_open(&line, FULL);
    for (guint i = 0; i < 60; i++) {
        g_byte_array_set_size(bytes, 0);
        bytes_fill(bytes, 0, 18 + (i == 0 ? 8 : 0));
        bytes->data[8] = i == 0 ? SPICE_MSG_SET_ACK : SPICE_MSG_DISPLAY_MARK;
        bytes->data[10] = i == 0 ? 8 : 0;
        if (i == 0) {
            bytes->data[18 + 4] = WINDOW;
        }
        line.now += MESSAGE_US;
        from_server(&line, bytes);
        if (i == 0 || i % WINDOW == 0) {
            g_byte_array_set_size(bytes, 0);
            bytes_fill(bytes, 0, 18 + (i == 0 ? 4 : 0));
            bytes->data[8] = i == 0 ? SPICE_MSGC_ACK_SYNC : SPICE_MSGC_ACK;
            bytes->data[10] = i == 0 ? 4 : 0;
            g_byte_array_set_size(line.out, 0);
            g_assert_cmpint(viewer_write(&line, bytes->data, bytes->len), ==, bytes->len);
            assert_out(&line, bytes);
        }
    }
    g_assert_cmpfloat(figures().acks, ==, 2);
    g_assert_cmpfloat(figures().holds, ==, 0);
    line_close(&line);
}

static void
switched_off(void)
{
    g_autoptr(GByteArray) one = ack();
    Line line;

    sa_channels_set_pacing(FALSE, 0);
    line_due_for_ack(&line);
    viewer_write(&line, one->data, one->len);
    assert_out(&line, one);
    g_assert_true(figures().holds != figures().holds); /* absent */
    line_close(&line);
    sa_channels_set_pacing(TRUE, SA_PACER_LATENCY_US);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_main_context_acquire(NULL); /* as a viewer's thread has it */
    g_test_add_func("/pace/goes-just-in-time", goes_just_in_time);
    g_test_add_func("/pace/goes-by-the-timer", goes_by_the_timer);
    for (gsize i = 0; i < G_N_ELEMENTS(viewer_messages); i++) {
        g_autofree char *path = g_strdup_printf("/pace/behind/%s", viewer_messages[i].name);

        g_test_add_data_func(path, &viewer_messages[i], other_messages);
    }
    g_test_add_func("/pace/order-is-kept", order_is_kept);
    g_test_add_func("/pace/waits-for-the-viewers-message", waits_for_the_viewers_message);
    g_test_add_func("/pace/holds-back-the-viewer", holds_back_the_viewer);
    g_test_add_func("/pace/given-up", given_up);
    g_test_add_func("/pace/given-up-while-blocked", given_up_while_blocked);
    g_test_add_func("/pace/other-main-loop", other_main_loop);
    g_test_add_func("/pace/barrier-outside-the-main-loop", barrier_outside_the_main_loop);
    g_test_add_func("/pace/closed", closed);
    g_test_add_func("/pace/full-header", full_header);
    g_test_add_func("/pace/switched-off", switched_off);
    return g_test_run();
}
