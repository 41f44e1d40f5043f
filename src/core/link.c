/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two parsers without state for the link messages, and a state machine for the whole phase.
 *
 * The machine takes from each call only what its present step can use, and up to the end of the
 * link message's fixed part one byte at a time: where it fails then does not depend on how the
 * bytes were cut, and nothing is buffered that the parsers have not allowed.
 */
#include "core/link.h"

#include "core/wire.h"

#include <string.h>

/* SPICE_COMMON_CAP_...; the two AUTH ones are the mechanism words as well. */
#define CAP_AUTH_SELECTION 0u
#define CAP_AUTH_SPICE     1u
#define CAP_AUTH_SASL      2u
#define CAP_MINI_HEADER    3u

/* spice-gtk accepts no longer mechanism list, both sides no longer SASL data. */
#define SASL_MECHLIST_MAX 300u
#define SASL_DATA_MAX     (1024u * 1024)

#define WORD 4u

/* Both link messages end their fixed part with three counts: common, channel, offset. */
#define COUNTS_SIZE (3 * WORD)

typedef enum ClientStep {
    CLIENT_MESSAGE,   /* link message */
    CLIENT_WAITS,     /* has to read the reply first */
    CLIENT_MECHANISM, /* word */
    CLIENT_TICKET,
    CLIENT_DONE, /* has to read the result first */
    CLIENT_SASL, /* mechanism name and data, not looked at */
} ClientStep;

typedef enum ServerStep {
    SERVER_REPLY,
    SERVER_WAITS, /* for the mechanism */
    SERVER_MECHLIST_SIZE,
    SERVER_MECHLIST,
    SERVER_DATA_SIZE,
    SERVER_DATA,
    SERVER_COMPLETE,
    SERVER_VERDICT,
    SERVER_RESULT,
} ServerStep;

void
sa_link_caps_clear(SaLinkCaps *caps)
{
    g_clear_pointer(&caps->common, g_free);
    g_clear_pointer(&caps->channel, g_free);
    caps->n_common = caps->n_channel = 0;
}

static gboolean
has_bit(const guint32 *words, guint n, guint bit)
{
    return bit / 32 < n && (words[bit / 32] >> bit % 32 & 1) != 0;
}

gboolean
sa_link_caps_has_common(const SaLinkCaps *caps, guint bit)
{
    return has_bit(caps->common, caps->n_common, bit);
}

gboolean
sa_link_caps_has_channel(const SaLinkCaps *caps, guint bit)
{
    return has_bit(caps->channel, caps->n_channel, bit);
}

static SaLinkParse
invalid(const char **error, const char *why)
{
    *error = why;
    return SA_LINK_INVALID;
}

/* What both messages share; fixed: size of SpiceLinkMess or SpiceLinkReply. On SA_LINK_OK the
 * whole message is there and its capability words lie in it. */
static SaLinkParse
check(const guint8 *data, gsize len, gsize fixed, gsize *need, const char **error)
{
    static const guint8 opening[] = {'R', 'E', 'D', 'Q', 2, 0, 0, 0};
    const gsize counts_at = SA_LINK_HEADER_SIZE + fixed - COUNTS_SIZE;
    const guint8 *counts;
    gsize there, size;
    guint64 words, offset;

    *need = SA_LINK_HEADER_SIZE;
    for (gsize i = 0; i < MIN(len, sizeof opening); i++) {
        if (data[i] != opening[i])
            return invalid(error, i < WORD ? "not a SPICE link: wrong magic"
                                           : "not a SPICE link of major version 2");
    }
    if (len < SA_LINK_HEADER_SIZE)
        return SA_LINK_INCOMPLETE;

    size = sa_le32(data + 12);
    if (size < fixed)
        return invalid(error, "link message too short");
    if (size > SA_LINK_SIZE_MAX)
        return invalid(error, "link message too large");
    *need = SA_LINK_HEADER_SIZE + size;

    there = len > counts_at ? len - counts_at : 0;
    counts = there > 0 ? data + counts_at : NULL;
    if (there >= WORD && sa_le32(counts) > SA_LINK_CAPS_MAX)
        return invalid(error, "too many common capability words");
    if (there >= 2 * WORD && sa_le32(counts + WORD) > SA_LINK_CAPS_MAX)
        return invalid(error, "too many channel capability words");
    if (there >= COUNTS_SIZE) {
        words = (guint64)sa_le32(counts) + sa_le32(counts + WORD);
        offset = sa_le32(counts + 2 * WORD);
        /* Without any words the offset means nothing; error replies leave it 0. */
        if (words > 0 && (offset < fixed || offset + words * WORD > size))
            return invalid(error, "capability words outside the link message");
    }
    return len < *need ? SA_LINK_INCOMPLETE : SA_LINK_OK;
}

static guint32 *
copy_words(const guint8 *from, guint n)
{
    guint32 *words = g_new(guint32, n);

    for (guint i = 0; i < n; i++)
        words[i] = sa_le32(from + (gsize)i * WORD);
    return words;
}

/* body: of a message that check() found OK */
static void
copy_caps(const guint8 *body, gsize fixed, SaLinkCaps *caps)
{
    const guint8 *counts = body + fixed - COUNTS_SIZE;
    gsize offset = sa_le32(counts + 2 * WORD);

    caps->n_common = sa_le32(counts);
    caps->n_channel = sa_le32(counts + WORD);
    caps->common = caps->channel = NULL;
    if (caps->n_common > 0)
        caps->common = copy_words(body + offset, caps->n_common);
    if (caps->n_channel > 0)
        caps->channel = copy_words(body + offset + (gsize)caps->n_common * WORD, caps->n_channel);
}

SaLinkParse
sa_link_message_parse(const guint8 *data, gsize len, SaLinkMessage *message, gsize *need,
                      const char **error)
{
    const guint8 *body;
    SaLinkParse parse = check(data, len, SA_LINK_MESS_SIZE, need, error);

    if (parse != SA_LINK_OK)
        return parse;
    body = data + SA_LINK_HEADER_SIZE;
    message->major = sa_le32(data + 4);
    message->minor = sa_le32(data + 8);
    message->connection_id = sa_le32(body);
    message->channel_type = body[4];
    message->channel_id = body[5];
    copy_caps(body, SA_LINK_MESS_SIZE, &message->caps);
    return SA_LINK_OK;
}

SaLinkParse
sa_link_reply_parse(const guint8 *data, gsize len, SaLinkReply *reply, gsize *need,
                    const char **error)
{
    const guint8 *body;
    SaLinkParse parse = check(data, len, SA_LINK_REPLY_SIZE, need, error);

    if (parse != SA_LINK_OK)
        return parse;
    body = data + SA_LINK_HEADER_SIZE;
    reply->major = sa_le32(data + 4);
    reply->minor = sa_le32(data + 8);
    reply->error = sa_le32(body);
    copy_caps(body, SA_LINK_REPLY_SIZE, &reply->caps);
    return SA_LINK_OK;
}

void
sa_link_init(SaLink *link)
{
    memset(link, 0, sizeof *link);
    link->client = g_byte_array_new();
    link->server = g_byte_array_new();
}

void
sa_link_finish(SaLink *link)
{
    g_clear_pointer(&link->client, g_byte_array_unref);
    g_clear_pointer(&link->server, g_byte_array_unref);
    sa_link_caps_clear(&link->message.caps);
    sa_link_caps_clear(&link->reply.caps);
}

void
sa_link_set_tls(SaLink *link, gboolean tls)
{
    link->tls = tls;
}

static void
fail(SaLink *link, const char *error)
{
    link->state = SA_LINK_FAILED;
    link->error = error;
}

static gboolean
both_have_common(const SaLink *link, guint bit)
{
    return sa_link_caps_has_common(&link->message.caps, bit) &&
           sa_link_caps_has_common(&link->reply.caps, bit);
}

/* Moves up to want - have->len bytes from data to have; returns how many. */
static gsize
take(GByteArray *have, gsize want, const guint8 *data, gsize len)
{
    gsize n = MIN(len, want - have->len);

    g_byte_array_append(have, data, (guint)n);
    return n;
}

/* Buffers up to where the link message must be parsed again; need: what the parser asked for. */
static gsize
take_message(GByteArray *have, gsize fixed, gsize need, const guint8 *data, gsize len)
{
    return take(have, have->len < SA_LINK_HEADER_SIZE + fixed ? have->len + 1 : need, data, len);
}

static gsize
client_message(SaLink *link, const guint8 *data, gsize len)
{
    GByteArray *have = link->client;
    const char *error = NULL;
    gsize n = take_message(have, SA_LINK_MESS_SIZE, link->client_skip, data, len);

    switch (
        sa_link_message_parse(have->data, have->len, &link->message, &link->client_skip, &error)) {
    case SA_LINK_INCOMPLETE:
        break;
    case SA_LINK_INVALID:
        fail(link, error);
        break;
    case SA_LINK_OK:
        link->have_message = TRUE;
        link->client_step = CLIENT_WAITS;
        g_byte_array_set_size(have, 0);
        break;
    }
    return n;
}

static void
choose_mechanism(SaLink *link, guint32 mechanism)
{
    switch (mechanism) {
    case CAP_AUTH_SPICE:
        link->client_step = CLIENT_TICKET;
        link->client_skip = SA_LINK_TICKET_SIZE;
        link->server_step = SERVER_RESULT;
        break;
    case CAP_AUTH_SASL:
        link->sasl = TRUE;
        link->client_step = CLIENT_SASL;
        link->server_step = SERVER_MECHLIST_SIZE;
        break;
    default:
        fail(link, "unknown authentication mechanism");
    }
}

gsize
sa_link_client_bytes(SaLink *link, const guint8 *data, gsize len, gint64 now)
{
    gsize used = 0, n;

    while (used < len && link->state == SA_LINK_RUNNING) {
        const guint8 *at = data + used;
        gsize left = len - used;

        switch ((ClientStep)link->client_step) {
        case CLIENT_MESSAGE:
            used += client_message(link, at, left);
            break;
        case CLIENT_WAITS:
            used++;
            fail(link, "the client did not wait for the link reply");
            break;
        case CLIENT_MECHANISM:
            used += take(link->client, WORD, at, left);
            if (link->client->len == WORD)
                choose_mechanism(link, sa_le32(link->client->data));
            break;
        case CLIENT_TICKET:
            n = MIN(left, link->client_skip);
            used += n;
            link->client_skip -= n;
            if (link->client_skip == 0) {
                link->ticket_time = now;
                link->client_step = CLIENT_DONE;
            }
            break;
        case CLIENT_DONE:
            used++;
            fail(link, "the client did not wait for the link result");
            break;
        case CLIENT_SASL:
            used = len;
            break;
        }
    }
    return used;
}

static void
accept_reply(SaLink *link)
{
    link->have_reply = TRUE;
    if (link->reply.error != 0) {
        fail(link, NULL);
    } else if (!link->have_message) {
        fail(link, "the server did not wait for the link message");
    } else if (both_have_common(link, CAP_AUTH_SELECTION)) {
        link->client_step = CLIENT_MECHANISM;
        link->server_step = SERVER_WAITS;
    } else {
        choose_mechanism(link, CAP_AUTH_SPICE);
    }
}

static gsize
server_reply(SaLink *link, const guint8 *data, gsize len)
{
    GByteArray *have = link->server;
    const char *error = NULL;
    gsize n = take_message(have, SA_LINK_REPLY_SIZE, link->server_skip, data, len);

    switch (sa_link_reply_parse(have->data, have->len, &link->reply, &link->server_skip, &error)) {
    case SA_LINK_INCOMPLETE:
        break;
    case SA_LINK_INVALID:
        fail(link, error);
        break;
    case SA_LINK_OK:
        g_byte_array_set_size(have, 0);
        accept_reply(link);
        break;
    }
    return n;
}

static void
accept_result(SaLink *link, guint32 result, gint64 now)
{
    link->result = result;
    link->result_time = now;
    if (result != 0) {
        fail(link, NULL);
    } else if (!link->sasl && link->client_step != CLIENT_DONE) {
        fail(link, "the server did not wait for the ticket");
    } else if (link->server_step == SERVER_RESULT) {
        link->state = SA_LINK_FRAMED;
    } else if (link->tls) {
        link->server_step = SERVER_RESULT;
    } else {
        link->state = SA_LINK_OPAQUE;
    }
}

/* One word of the server's, by the step it ends. */
static void
accept_word(SaLink *link, guint32 word, gint64 now)
{
    switch ((ServerStep)link->server_step) {
    case SERVER_MECHLIST_SIZE:
        link->server_skip = word;
        link->server_step = word > 0 ? SERVER_MECHLIST : SERVER_DATA_SIZE;
        if (word > SASL_MECHLIST_MAX)
            fail(link, "SASL mechanism list too long");
        break;
    case SERVER_DATA_SIZE:
        link->server_skip = word;
        link->server_step = word > 0 ? SERVER_DATA : SERVER_COMPLETE;
        if (word > SASL_DATA_MAX)
            fail(link, "SASL data too long");
        break;
    default:
        accept_result(link, word, now);
    }
}

gsize
sa_link_server_bytes(SaLink *link, const guint8 *data, gsize len, gint64 now)
{
    gsize used = 0, n;

    while (used < len && link->state == SA_LINK_RUNNING) {
        const guint8 *at = data + used;
        gsize left = len - used;

        switch ((ServerStep)link->server_step) {
        case SERVER_REPLY:
            used += server_reply(link, at, left);
            break;
        case SERVER_WAITS:
            used++;
            fail(link, "the server did not wait for the authentication mechanism");
            break;
        case SERVER_MECHLIST:
        case SERVER_DATA:
            n = MIN(left, link->server_skip);
            used += n;
            link->server_skip -= n;
            if (link->server_skip == 0)
                link->server_step =
                    link->server_step == SERVER_MECHLIST ? SERVER_DATA_SIZE : SERVER_COMPLETE;
            break;
        case SERVER_COMPLETE:
            used++;
            link->server_step = *at != 0 ? SERVER_VERDICT : SERVER_DATA_SIZE;
            break;
        case SERVER_MECHLIST_SIZE:
        case SERVER_DATA_SIZE:
        case SERVER_VERDICT:
        case SERVER_RESULT:
            used += take(link->server, WORD, at, left);
            if (link->server->len == WORD) {
                guint32 word = sa_le32(link->server->data);

                g_byte_array_set_size(link->server, 0);
                accept_word(link, word, now);
            }
            break;
        }
    }
    return used;
}

guint
sa_link_header_size(const SaLink *link)
{
    return both_have_common(link, CAP_MINI_HEADER) ? SA_WIRE_HEADER_MINI : SA_WIRE_HEADER_FULL;
}
