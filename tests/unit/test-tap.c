/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/tap.h"

#include <math.h>
#include <spice/enums.h>
#include <spice/protocol.h>

#include "client/channel.h"
#include "spice-bytes.h"

#define COMMON 0xbu /* AUTH_SELECTION, AUTH_SPICE, MINI_HEADER */
#define WINDOW 3u
#define DRAWS  10u

/* Both directions of a display connection, in the order a client and a server take turns. */
typedef struct {
    GByteArray *link, *reply, *ticket, *result, *server, *client;
} Talk;

static Talk
talk_new(guint8 type, guint32 result)
{
    Talk talk = {
        .link = g_byte_array_new(),
        .reply = g_byte_array_new(),
        .ticket = g_byte_array_new(),
        .result = g_byte_array_new(),
        .server = g_byte_array_new(),
        .client = g_byte_array_new(),
    };

    bytes_link_message(talk.link, 77, type, 1, COMMON);
    bytes_link_reply(talk.reply, 0, COMMON);
    bytes_ticket(talk.ticket);
    bytes_u32(talk.result, result);
    bytes_set_ack(talk.server, 9, WINDOW);
    bytes_ack_sync(talk.client, 9);
    for (guint i = 0; i < DRAWS; i++) {
        bytes_message(talk.server, SPICE_MSG_DISPLAY_DRAW_COPY, NULL, 5 * i);
        if (i % WINDOW == WINDOW - 1) {
            bytes_ack(talk.client);
        }
    }
    return talk;
}

static void
talk_clear(Talk *talk)
{
    g_byte_array_unref(talk->link);
    g_byte_array_unref(talk->reply);
    g_byte_array_unref(talk->ticket);
    g_byte_array_unref(talk->result);
    g_byte_array_unref(talk->server);
    g_byte_array_unref(talk->client);
}

static void
talk_link(const Talk *talk, SaTap *tap)
{
    sa_tap_client_bytes(tap, talk->link->data, talk->link->len, 1000);
    sa_tap_server_bytes(tap, talk->reply->data, talk->reply->len, 2000);
    sa_tap_client_bytes(tap, talk->ticket->data, talk->ticket->len, 3000);
    sa_tap_server_bytes(tap, talk->result->data, talk->result->len, 13000);
}

static SaStats
the_only_channel(void)
{
    const GPtrArray *channels = sa_channels();
    SaChannelMark start;
    SaStats stats;

    g_assert_cmpuint(channels->len, ==, 1);
    sa_channel_mark_start(g_ptr_array_index(channels, 0), &start);
    sa_channel_stats(g_ptr_array_index(channels, 0), &start, start.time + G_USEC_PER_SEC, &stats);
    return stats;
}

static void
check_figures(const Talk *talk)
{
    SaStats stats = the_only_channel();

    g_assert_cmpstr(stats.channel, ==, "display:1");
    g_assert_cmpfloat(stats.window, ==, WINDOW);
    g_assert_cmpfloat(stats.generation, ==, 9);
    g_assert_cmpfloat(stats.messages, ==, DRAWS + 1);
    g_assert_cmpfloat(stats.bytes, ==, talk->server->len);
    g_assert_cmpfloat(stats.draws, ==, DRAWS);
    g_assert_cmpfloat(stats.acks, ==, DRAWS / WINDOW);
    g_assert_cmpfloat(stats.ignored_acks, ==, 0);
    g_assert_cmpfloat(stats.credit, ==, 2 * WINDOW + 1 + WINDOW * (DRAWS / WINDOW));
    g_assert_cmpfloat(stats.in_flight, ==, stats.credit - (DRAWS + 1));
    g_assert_cmpfloat(stats.rtt_ms, ==, 10.0);
    g_assert_cmpfloat(stats.tls, ==, 0);
    g_assert_cmpfloat(stats.holds, ==, 0);
    g_assert_true(isnan(stats.backlog_ms)); /* no socket to ask */
}

/* What passes after the result, cut in two at every place; and the whole, byte by byte. */
static void
every_split(void)
{
    Talk talk = talk_new(SPICE_CHANNEL_DISPLAY, 0);

    for (guint cut = 0; cut <= talk.server->len; cut++) {
        SaTap *tap = sa_tap_new(FALSE);

        talk_link(&talk, tap);
        sa_tap_server_bytes(tap, talk.server->data, cut, 20000);
        sa_tap_server_bytes(tap, talk.server->data + cut, talk.server->len - cut, 21000);
        sa_tap_client_bytes(tap, talk.client->data, talk.client->len, 22000);
        check_figures(&talk);
        sa_tap_unref(tap);
        g_assert_cmpuint(sa_channels()->len, ==, 0);
    }
    talk_clear(&talk);
}

static void
byte_by_byte(void)
{
    Talk talk = talk_new(SPICE_CHANNEL_DISPLAY, 0);
    SaTap *tap = sa_tap_new(FALSE);
    GByteArray *parts[] = {talk.link,   talk.reply,  talk.ticket,
                           talk.result, talk.server, talk.client};

    for (gsize p = 0; p < G_N_ELEMENTS(parts); p++) {
        for (guint i = 0; i < parts[p]->len; i++) {
            gboolean client = p == 0 || p == 2 || p == 5;

            /* the round trip runs from the ticket's last byte to the result's last byte */
            (client ? sa_tap_client_bytes : sa_tap_server_bytes)(tap, parts[p]->data + i, 1,
                                                                 p <= 2 ? 3000 : 13000);
        }
    }
    check_figures(&talk);
    sa_tap_unref(tap);
    talk_clear(&talk);
}

/* The result and the first messages in one read, as a fast server's arrive. */
static void
messages_right_behind_the_result(void)
{
    Talk talk = talk_new(SPICE_CHANNEL_DISPLAY, 0);
    SaTap *tap = sa_tap_new(FALSE);
    g_autoptr(GByteArray) both = g_byte_array_new();

    g_byte_array_append(both, talk.result->data, talk.result->len);
    g_byte_array_append(both, talk.server->data, talk.server->len);
    sa_tap_client_bytes(tap, talk.link->data, talk.link->len, 1000);
    sa_tap_server_bytes(tap, talk.reply->data, talk.reply->len, 2000);
    sa_tap_client_bytes(tap, talk.ticket->data, talk.ticket->len, 3000);
    sa_tap_server_bytes(tap, both->data, both->len, 13000);
    sa_tap_client_bytes(tap, talk.client->data, talk.client->len, 22000);
    check_figures(&talk);
    sa_tap_unref(tap);
    talk_clear(&talk);
}

static void
refused_ticket(void)
{
    Talk talk = talk_new(SPICE_CHANNEL_DISPLAY, SPICE_LINK_ERR_PERMISSION_DENIED);
    SaTap *tap = sa_tap_new(FALSE);
    guint64 before = sa_tap_n_given_up();

    talk_link(&talk, tap);
    g_assert_cmpuint(sa_channels()->len, ==, 0);
    g_assert_cmpuint(sa_tap_n_given_up(), ==, before); /* an answer, not nonsense */
    sa_tap_server_bytes(tap, talk.server->data, talk.server->len, 20000);
    g_assert_cmpuint(sa_channels()->len, ==, 0);
    sa_tap_unref(tap);
    talk_clear(&talk);
}

/* Nonsense ends the watching, once, and what was known until then stays known to nobody. */
static void
oversized_message(void)
{
    Talk talk = talk_new(SPICE_CHANNEL_DISPLAY, 0);
    SaTap *tap = sa_tap_new(FALSE);
    guint64 before = sa_tap_n_given_up();
    static const guint8 huge[] = {0x30, 0x01, 0xff, 0xff, 0xff, 0xff, 1, 2, 3};

    talk_link(&talk, tap);
    sa_tap_server_bytes(tap, talk.server->data, talk.server->len, 20000);
    g_assert_cmpuint(sa_channels()->len, ==, 1);
    sa_tap_server_bytes(tap, huge, sizeof(huge), 21000);
    g_assert_cmpuint(sa_channels()->len, ==, 0);
    g_assert_cmpuint(sa_tap_n_given_up(), ==, before + 1);
    sa_tap_server_bytes(tap, talk.server->data, talk.server->len, 22000);
    sa_tap_client_bytes(tap, talk.client->data, talk.client->len, 22000);
    sa_tap_close(tap, 23000);
    sa_tap_unref(tap);
    g_assert_cmpuint(sa_tap_n_given_up(), ==, before + 1);
    talk_clear(&talk);
}

static void
other_channels_are_left_alone(void)
{
    Talk talk = talk_new(SPICE_CHANNEL_PLAYBACK, 0);
    SaTap *tap = sa_tap_new(FALSE);

    talk_link(&talk, tap);
    sa_tap_server_bytes(tap, talk.server->data, talk.server->len, 20000);
    g_assert_cmpuint(sa_channels()->len, ==, 0);
    g_assert_null(tap->sink);
    sa_tap_unref(tap);
    talk_clear(&talk);
}

static void
open_streams(void)
{
    Talk talk = talk_new(SPICE_CHANNEL_DISPLAY, 0);
    SaTap *tap = sa_tap_new(FALSE);
    g_autoptr(GByteArray) more = g_byte_array_new();
    static const guint8 stream_5[] = {0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
    static const guint8 id_5[] = {5, 0, 0, 0}, id_6[] = {6, 0, 0, 0};
    SaStats stats;

    talk_link(&talk, tap);
    bytes_message(more, SPICE_MSG_DISPLAY_STREAM_CREATE, stream_5, sizeof(stream_5));
    bytes_message(more, SPICE_MSG_DISPLAY_STREAM_CREATE, stream_5, sizeof(stream_5));
    bytes_message(more, SPICE_MSG_DISPLAY_STREAM_DATA, NULL, 100);
    bytes_message(more, SPICE_MSG_DISPLAY_STREAM_DESTROY, id_6, sizeof(id_6)); /* never made */
    sa_tap_server_bytes(tap, more->data, more->len, 20000);
    stats = the_only_channel();
    g_assert_cmpfloat(stats.streams, ==, 1);
    g_assert_cmpfloat(stats.streams_destroyed, ==, 0);
    g_assert_cmpfloat(stats.stream_messages, ==, 1);
    g_assert_cmpfloat(stats.stream_bytes, ==, 106);
    g_byte_array_set_size(more, 0);
    bytes_message(more, SPICE_MSG_DISPLAY_STREAM_DESTROY, id_5, sizeof(id_5));
    sa_tap_server_bytes(tap, more->data, more->len, 21000);
    stats = the_only_channel();
    g_assert_cmpfloat(stats.streams, ==, 0);
    g_assert_cmpfloat(stats.streams_destroyed, ==, 1);
    sa_tap_unref(tap);
    talk_clear(&talk);
}

static gint64 waits[8];
static guint n_waits;

static void
note_wait(gpointer sink, const SaWireMessage *msg, guint32 bytes, gint64 waited_us, gint64 now)
{
    g_assert_cmpuint(n_waits, <, G_N_ELEMENTS(waits));
    waits[n_waits++] = waited_us;
}

static void
ignore(gpointer sink, gint64 now)
{
}

/* What the sink is told of a message: how long the viewer had waited for its first byte, whatever
 * it waited for the rest, and for the messages before. */
static void
waiting_is_for_the_first_byte(void)
{
    static const SaTapSink sink = {.server_message = note_wait, .closed = ignore};
    Talk talk = talk_new(SPICE_CHANNEL_DISPLAY, 0);
    SaTap *tap = sa_tap_new(FALSE);
    g_autoptr(GByteArray) two = g_byte_array_new();

    talk_link(&talk, tap);
    sa_channel_sink.closed(tap->sink, 0);
    tap->sink_class = &sink;
    tap->sink = &talk; /* anything: a sink without one is not called */
    bytes_message(two, SPICE_MSG_DISPLAY_MARK, NULL, 100);
    bytes_message(two, SPICE_MSG_DISPLAY_MARK, NULL, 100);
    sa_tap_dry(tap, 20000);
    sa_tap_dry(tap, 21000); /* asked twice: the first counts */
    sa_tap_server_bytes(tap, two->data, 50, 25000);
    sa_tap_dry(tap, 26000);
    sa_tap_server_bytes(tap, two->data + 50, two->len - 50, 36000);
    g_assert_cmpuint(n_waits, ==, 2);
    g_assert_cmpint(waits[0], ==, 5000);
    g_assert_cmpint(waits[1], ==, 0); /* it lay behind the first in one read */
    sa_tap_server_bytes(tap, two->data, 106, 37000);
    g_assert_cmpint(waits[2], ==, 0);
    sa_tap_unref(tap);
    talk_clear(&talk);
}

/* ------------------------------------------------------------------------- round trips --- */

static SaTap *
linked(guint32 connection_id, guint8 type)
{
    Talk talk = talk_new(type, 0);
    SaTap *tap = sa_tap_new(FALSE);

    g_byte_array_set_size(talk.link, 0);
    bytes_link_message(talk.link, connection_id, type, 0, COMMON);
    talk_link(&talk, tap);
    talk_clear(&talk);
    return tap;
}

static void
from_server(SaTap *tap, guint16 type, gsize size, gint64 now)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    bytes_message(bytes, type, NULL, size);
    sa_tap_server_bytes(tap, bytes->data, bytes->len, now);
}

static void
from_client(SaTap *tap, guint16 type, gsize size, gint64 now)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    bytes_message(bytes, type, NULL, size);
    sa_tap_client_bytes(tap, bytes->data, bytes->len, now);
}

/* Ticket to result took 10 ms above; each sign below is a shorter one, and says so. */
static void
channels_list(void)
{
    SaTap *tap = linked(0, SPICE_CHANNEL_MAIN);

    /* the start-up test's PINGs come all at once: no sign of anything */
    from_server(tap, SPICE_MSG_PING, 12, 20000);
    from_client(tap, SPICE_MSGC_PONG, 12, 20100);
    from_server(tap, SPICE_MSG_PING, 12, 20101);
    g_assert_cmpint(tap->session->round_trip.min_us, ==, 10000);
    from_client(tap, SPICE_MSGC_MAIN_ATTACH_CHANNELS, 0, 40000);
    from_server(tap, SPICE_MSG_MAIN_CHANNELS_LIST, 4, 48000);
    from_server(tap, SPICE_MSG_MAIN_CHANNELS_LIST, 4, 48001); /* nobody asked */
    g_assert_cmpint(tap->session->round_trip.min_us, ==, 8000);
    sa_tap_unref(tap);
}

static void
motion_acks(void)
{
    SaTap *tap = linked(0, SPICE_CHANNEL_INPUTS);

    from_server(tap, SPICE_MSG_INPUTS_MOUSE_MOTION_ACK, 0, 20000); /* nobody asked */
    for (int i = 0; i < 8; i++) {
        from_client(tap, SPICE_MSGC_INPUTS_MOUSE_POSITION, 11, 30000 + 1000 * i);
    }
    from_server(tap, SPICE_MSG_INPUTS_MOUSE_MOTION_ACK, 0, 39000); /* of the 4th: 6 ms */
    g_assert_cmpint(tap->session->round_trip.min_us, ==, 6000);
    from_server(tap, SPICE_MSG_INPUTS_MOUSE_MOTION_ACK, 0, 42000); /* of the 8th: 5 ms */
    g_assert_cmpint(tap->session->round_trip.min_us, ==, 5000);
    /* migration data bring motions of before: bunches cannot be told apart any more */
    from_client(tap, SPICE_MSGC_MIGRATE_DATA, 10, 45000);
    for (int i = 0; i < 4; i++) {
        from_client(tap, SPICE_MSGC_INPUTS_MOUSE_POSITION, 11, 46000 + i);
    }
    from_server(tap, SPICE_MSG_INPUTS_MOUSE_MOTION_ACK, 0, 46100);
    g_assert_cmpint(tap->session->round_trip.min_us, ==, 5000);
    from_client(tap, SPICE_MSGC_INPUTS_KEY_DOWN, 4, 50000);
    g_assert_cmpint(tap->session->key_time, ==, 50000);
    g_assert_cmpuint(tap->session->keys, ==, 1);
    sa_tap_unref(tap);
}

/* Main learns the session's id from MAIN_INIT; the others bring it in their link message. */
static void
one_session(void)
{
    SaTap *main_tap = linked(0, SPICE_CHANNEL_MAIN);
    SaTap *other_main = linked(0, SPICE_CHANNEL_MAIN);
    SaTap *inputs, *stranger, *late;
    g_autoptr(GByteArray) init = g_byte_array_new();
    guint8 body[32] = {0x34, 0x12, 0, 0};

    bytes_message(init, SPICE_MSG_MAIN_INIT, body, sizeof(body));
    sa_tap_server_bytes(main_tap, init->data, init->len, 20000);
    inputs = linked(0x1234, SPICE_CHANNEL_INPUTS);
    stranger = linked(0x9999, SPICE_CHANNEL_INPUTS);
    g_assert_true(inputs->session == main_tap->session);
    g_assert_true(stranger->session != main_tap->session);
    g_assert_true(other_main->session != main_tap->session);
    /* another server happens to give the same id: sessions stay apart, later links are its */
    sa_tap_server_bytes(other_main, init->data, init->len, 20000);
    g_assert_true(other_main->session != main_tap->session);
    late = linked(0x1234, SPICE_CHANNEL_INPUTS);
    g_assert_true(late->session == other_main->session);
    g_assert_true(inputs->session == main_tap->session);
    sa_tap_unref(late);
    sa_tap_unref(main_tap);
    sa_tap_unref(inputs);
    sa_tap_unref(stranger);
    sa_tap_unref(other_main);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tap/every-split", every_split);
    g_test_add_func("/tap/byte-by-byte", byte_by_byte);
    g_test_add_func("/tap/messages-right-behind-the-result", messages_right_behind_the_result);
    g_test_add_func("/tap/refused-ticket", refused_ticket);
    g_test_add_func("/tap/oversized-message", oversized_message);
    g_test_add_func("/tap/other-channels-are-left-alone", other_channels_are_left_alone);
    g_test_add_func("/tap/open-streams", open_streams);
    g_test_add_func("/tap/waiting-is-for-the-first-byte", waiting_is_for_the_first_byte);
    g_test_add_func("/tap/round-trip/channels-list", channels_list);
    g_test_add_func("/tap/round-trip/motion-acks", motion_acks);
    g_test_add_func("/tap/round-trip/one-session", one_session);
    return g_test_run();
}
