/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Both directions of a link phase, cut in different ways: the same bytes must belong to the link
 * and the same must be known of it. Input: one byte (bit 0: within TLS), two bytes that seed the
 * cuts, then records of a u16 (bit 15: from the server, below: length) and so many bytes. */
#include "core/link.h"
#include "core/wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(gboolean holds)
{
    if (!holds)
        abort();
}

static void
note(GByteArray *log, const void *what, gsize size)
{
    g_byte_array_append(log, what, (guint)size);
}

static void
note_caps(GByteArray *log, const SaLinkCaps *caps)
{
    require(caps->n_common <= SA_LINK_CAPS_MAX && caps->n_channel <= SA_LINK_CAPS_MAX);
    note(log, &caps->n_common, sizeof caps->n_common);
    note(log, caps->common, caps->n_common * sizeof *caps->common);
    note(log, &caps->n_channel, sizeof caps->n_channel);
    note(log, caps->channel, caps->n_channel * sizeof *caps->channel);
}

static void
note_link(GByteArray *log, const SaLink *link)
{
    guint header_size = sa_link_header_size(link);

    note(log, &link->state, sizeof link->state);
    note(log, &link->have_message, sizeof link->have_message);
    note(log, &link->have_reply, sizeof link->have_reply);
    note(log, &link->message.connection_id, sizeof link->message.connection_id);
    note(log, &link->message.channel_type, sizeof link->message.channel_type);
    note(log, &link->message.channel_id, sizeof link->message.channel_id);
    note(log, &link->reply.error, sizeof link->reply.error);
    note_caps(log, &link->message.caps);
    note_caps(log, &link->reply.caps);
    note(log, &link->result, sizeof link->result);
    note(log, &link->sasl, sizeof link->sasl);
    note(log, &link->ticket_time, sizeof link->ticket_time);
    note(log, &link->result_time, sizeof link->result_time);
    note(log, &link->error, sizeof link->error);
    note(log, &header_size, sizeof header_size);
}

static gsize
feed(SaLink *link, gboolean server, const uint8_t *data, gsize size, gint64 now)
{
    const SaLinkState before = link->state;
    g_autofree guint8 *piece = g_memdup2(data, size);
    gsize used = server ? sa_link_server_bytes(link, piece, size, now)
                        : sa_link_client_bytes(link, piece, size, now);

    require(used <= size);
    require(before == SA_LINK_RUNNING || used == 0);
    require(link->state != SA_LINK_RUNNING || used == size);
    require(link->client->len <= SA_LINK_HEADER_SIZE + SA_LINK_SIZE_MAX);
    require(link->server->len <= SA_LINK_HEADER_SIZE + SA_LINK_SIZE_MAX);
    require(!link->error || link->state == SA_LINK_FAILED);
    return used;
}

/* seed 0: records as they are, 1: every byte alone, else pieces of 0 to 40 bytes. */
static GByteArray *
outcome(gboolean tls, const uint8_t *data, size_t size, guint32 seed)
{
    GByteArray *log = g_byte_array_new();
    gint64 now = 1;
    SaLink link;

    sa_link_init(&link);
    sa_link_set_tls(&link, tls);
    while (size >= 2) {
        const guint16 head = sa_le16(data);
        const gsize len = MIN((gsize)(head & 0x7fff), size - 2);
        gsize at = 0, used = 0;

        do {
            gsize n = len - at;

            if (seed == 1) {
                n = MIN(n, 1);
            } else if (seed > 1) {
                seed = seed * 1664525u + 1013904223u;
                n = MIN(n, (seed >> 24) % 41);
            }
            used += feed(&link, head >> 15, data + 2 + at, n, now);
            at += n;
        } while (at < len);
        note(log, &used, sizeof used);
        note_link(log, &link);
        data += 2 + len;
        size -= 2 + len;
        now++;
    }
    sa_link_finish(&link);
    return log;
}

/* What a parser said of a beginning, it does not take back when more is there. */
static void
check_prefixes(const uint8_t *data, size_t size, gboolean server)
{
    SaLinkParse last = SA_LINK_INCOMPLETE;
    gsize last_need = 0;

    size = MIN(size, SA_LINK_HEADER_SIZE + SA_LINK_SIZE_MAX + 1);
    for (gsize len = 0; len <= size; len += len < 256 ? 1 : 251) {
        g_autofree guint8 *copy = g_memdup2(data, len);
        const char *error = NULL;
        SaLinkMessage message = {0};
        SaLinkReply reply = {0};
        gsize need = 0;
        SaLinkParse parse = server ? sa_link_reply_parse(copy, len, &reply, &need, &error)
                                   : sa_link_message_parse(copy, len, &message, &need, &error);

        require(need <= SA_LINK_HEADER_SIZE + SA_LINK_SIZE_MAX);
        require((parse == SA_LINK_INVALID) == (error != NULL));
        require(parse != SA_LINK_INCOMPLETE || (len < need && need >= last_need));
        require(parse != SA_LINK_OK || len >= need);
        require(last == SA_LINK_INCOMPLETE || parse == last);
        last = parse;
        last_need = need;
        sa_link_caps_clear(&message.caps);
        sa_link_caps_clear(&reply.caps);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GByteArray) whole = NULL;
    guint32 seeds[2];

    if (size < 5)
        return 0;
    seeds[0] = 1;
    seeds[1] = 2u + data[1] + (guint32)data[2] * 256;
    whole = outcome(data[0] & 1, data + 3, size - 3, 0);
    for (guint i = 0; i < G_N_ELEMENTS(seeds); i++) {
        g_autoptr(GByteArray) cut = outcome(data[0] & 1, data + 3, size - 3, seeds[i]);

        require(cut->len == whole->len && memcmp(cut->data, whole->data, cut->len) == 0);
    }
    check_prefixes(data + 5, size - 5, sa_le16(data + 3) >> 15);
    return 0;
}
