/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay-frames.h"

#include <spice/enums.h>
#include <spice/protocol.h>
#include <string.h>

enum {
    TICKET = 128,
    LINK_MAX = 4096,
    TYPES = 512,      /* message types counted one by one */
    WINDOWS_KEPT = 4, /* SET_ACKs told in the result */
    /* Offsets within the link messages, after the 16-byte header. */
    MESS_CAPS = 6,
    REPLY_CAPS = 4 + 162,
};

typedef enum {
    STEP_LINK,      /* a link header and its message */
    STEP_MECHANISM, /* client: which authentication */
    STEP_TICKET,    /* client */
    STEP_RESULT,    /* server */
    STEP_HEADER,
    STEP_BODY,
    STEP_OPAQUE,
} Step;

typedef struct {
    Step step;
    guint8 buf[LINK_MAX + 16]; /* the part being gathered; of a body, its start */
    gsize have;
    gsize body; /* size of the message's body */
    gsize body_seen;
    guint type;
    guint32 common_caps;
    guint64 bytes;
    guint64 messages;
    guint64 types[TYPES];
} Half;

struct SaFrames {
    Half half[2];
    gint channel_type; /* -1: not known */
    gint channel_id;
    gint link_error; /* -1: not known */
    gboolean mini;
    const char *opaque; /* why it is not followed any more */

    guint32 generation;
    guint32 window; /* 0: no SET_ACK yet */
    gboolean synced;
    gint64 count;
    gint64 peak;
    guint64 set_acks, acks, acks_ignored, acks_early;
    guint32 windows[WINDOWS_KEPT];
};

SaFrames *
sa_frames_new(void)
{
    SaFrames *f = g_new0(SaFrames, 1);

    f->channel_type = f->channel_id = f->link_error = -1;
    return f;
}

void
sa_frames_free(SaFrames *frames)
{
    g_free(frames);
}

static guint32
le32(const guint8 *p)
{
    return p[0] | (guint32)p[1] << 8 | (guint32)p[2] << 16 | (guint32)p[3] << 24;
}

static void
give_up(SaFrames *f, const char *why)
{
    f->opaque = f->opaque ? f->opaque : why;
    f->half[0].step = f->half[1].step = STEP_OPAQUE;
}

static gboolean
both_have(const SaFrames *f, guint cap)
{
    return (f->half[0].common_caps & f->half[1].common_caps) >> cap & 1;
}

/* The first word of the common capabilities; their list lies @offset bytes into the message. */
static void
read_link(SaFrames *f, SaFramesSide side)
{
    Half *h = &f->half[side];
    const guint8 *m = h->buf + 16;
    gsize size = h->have - 16;
    gsize caps = side == SA_FRAMES_FROM_CLIENT ? MESS_CAPS : REPLY_CAPS;
    guint32 words, offset;

    if (size < caps + 12) {
        give_up(f, "short link message");
        return;
    }
    words = le32(m + caps);
    offset = le32(m + caps + 8);
    if (words) {
        if (size < 4 || offset > size - 4) {
            give_up(f, "capabilities outside the link message");
            return;
        }
        h->common_caps = le32(m + offset);
    }
    if (side == SA_FRAMES_FROM_CLIENT) {
        f->channel_type = m[4];
        f->channel_id = m[5];
        /* What the client does next depends on the reply, which is there before it writes on. */
        h->step = STEP_MECHANISM;
    } else if (le32(m) != SPICE_LINK_ERR_OK) {
        f->link_error = (gint)le32(m);
        give_up(f, "refused in the link reply");
    } else {
        h->step = STEP_RESULT;
    }
}

static void
count_server_message(SaFrames *f)
{
    Half *h = &f->half[SA_FRAMES_FROM_SERVER];

    if (h->type == SPICE_MSG_SET_ACK && h->body >= 8) {
        f->generation = le32(h->buf);
        f->window = le32(h->buf + 4);
        if (f->set_acks < WINDOWS_KEPT)
            f->windows[f->set_acks] = f->window;
        f->set_acks++;
        f->synced = FALSE;
        f->count = 0;
    }
    if (f->window) {
        f->count++;
        f->peak = MAX(f->peak, f->count);
    }
}

static void
count_client_message(SaFrames *f)
{
    Half *h = &f->half[SA_FRAMES_FROM_CLIENT];

    if (h->type == SPICE_MSGC_ACK_SYNC && h->body >= 4) {
        f->synced = f->window && le32(h->buf) == f->generation;
    } else if (h->type == SPICE_MSGC_ACK) {
        f->acks++;
        if (!f->synced) {
            f->acks_ignored++;
            return;
        }
        f->count -= f->window;
        if (f->count < 0)
            f->acks_early++; /* the server's unsigned count wraps here */
    }
}

/* How many bytes make the part that a side is at. A link message is two: its size is in the first.
 */
static gsize
wanted(const SaFrames *f, const Half *h)
{
    switch (h->step) {
    case STEP_LINK:
        return h->have < 16 ? 16 : 16 + (gsize)le32(h->buf + 12);
    case STEP_MECHANISM:
    case STEP_RESULT:
        return 4;
    case STEP_TICKET:
        return TICKET;
    case STEP_HEADER:
        return f->mini ? 6 : 18;
    default:
        return 0;
    }
}

/* A part is complete in h->buf. */
static void
part_done(SaFrames *f, SaFramesSide side)
{
    Half *h = &f->half[side];

    switch (h->step) {
    case STEP_LINK:
        if (h->have == 16) {
            if (memcmp(h->buf, "REDQ", 4) != 0)
                give_up(f, "not SPICE (TLS?)");
            else if (le32(h->buf + 12) > LINK_MAX)
                give_up(f, "oversized link message");
            if (h->step == STEP_OPAQUE || le32(h->buf + 12))
                return; /* goes on with the message behind the header */
        }
        read_link(f, side);
        break;
    case STEP_MECHANISM:
        if (le32(h->buf) == SPICE_COMMON_CAP_AUTH_SASL)
            give_up(f, "SASL");
        else
            h->step = STEP_TICKET;
        break;
    case STEP_TICKET:
        h->step = STEP_HEADER;
        break;
    case STEP_RESULT:
        f->link_error = (gint)le32(h->buf);
        f->mini = both_have(f, SPICE_COMMON_CAP_MINI_HEADER);
        if (f->link_error != SPICE_LINK_ERR_OK)
            give_up(f, "refused after the ticket");
        else
            h->step = STEP_HEADER;
        break;
    case STEP_HEADER:
        h->type = (guint)(f->mini ? h->buf[0] | h->buf[1] << 8 : h->buf[8] | h->buf[9] << 8);
        h->body = le32(h->buf + (f->mini ? 2 : 10));
        h->body_seen = 0;
        h->step = STEP_BODY;
        break;
    default:
        break;
    }
    h->have = 0;
}

static void
message_done(SaFrames *f, SaFramesSide side)
{
    Half *h = &f->half[side];

    h->messages++;
    h->types[MIN(h->type, TYPES - 1)]++;
    if (side == SA_FRAMES_FROM_SERVER)
        count_server_message(f);
    else
        count_client_message(f);
    h->step = STEP_HEADER;
    h->have = 0;
}

void
sa_frames_feed(SaFrames *f, SaFramesSide side, const guint8 *data, gsize size)
{
    Half *h = &f->half[side];

    h->bytes += size;
    while (h->step != STEP_OPAQUE) {
        gsize want, n;

        /* Without AUTH_SELECTION on both sides there is no mechanism word. */
        if (h->step == STEP_MECHANISM && !both_have(f, SPICE_COMMON_CAP_PROTOCOL_AUTH_SELECTION))
            h->step = STEP_TICKET;
        if (h->step == STEP_BODY) {
            n = MIN(size, h->body - h->body_seen);
            if (h->body_seen < 16)
                memcpy(h->buf + h->body_seen, data, MIN(n, 16 - h->body_seen));
            h->body_seen += n;
            data += n;
            size -= n;
            if (h->body_seen < h->body)
                return;
            message_done(f, side);
            continue;
        }
        want = wanted(f, h);
        n = MIN(size, want - h->have);
        memcpy(h->buf + h->have, data, n);
        h->have += n;
        data += n;
        size -= n;
        if (h->have < want)
            return;
        part_done(f, side);
        if (!size && h->step != STEP_BODY)
            return;
    }
}

static void
append_half(const Half *h, const char *name, GString *out)
{
    gboolean first = TRUE;
    guint i;

    g_string_append_printf(out,
                           "\"%s\":{\"bytes\":%" G_GUINT64_FORMAT ",\"messages\":%" G_GUINT64_FORMAT
                           ",\"types\":{",
                           name, h->bytes, h->messages);
    for (i = 0; i < TYPES; i++) {
        if (!h->types[i])
            continue;
        g_string_append_printf(out, "%s\"%u\":%" G_GUINT64_FORMAT, first ? "" : ",", i,
                               h->types[i]);
        first = FALSE;
    }
    g_string_append(out, "}}");
}

void
sa_frames_json(const SaFrames *f, GString *out)
{
    guint i;

    g_string_append_printf(
        out,
        "{\"channel_type\":%d,\"channel_id\":%d,\"link_error\":%d,\"mini_header\":%s,"
        "\"opaque\":%s%s%s,\"windows\":[",
        f->channel_type, f->channel_id, f->link_error, f->mini ? "true" : "false",
        f->opaque ? "\"" : "", f->opaque ? f->opaque : "null", f->opaque ? "\"" : "");
    for (i = 0; i < MIN(f->set_acks, WINDOWS_KEPT); i++)
        g_string_append_printf(out, "%s%u", i ? "," : "", f->windows[i]);
    g_string_append_printf(out,
                           "],\"set_acks\":%" G_GUINT64_FORMAT ",\"acks\":%" G_GUINT64_FORMAT
                           ",\"acks_ignored\":%" G_GUINT64_FORMAT
                           ",\"acks_early\":%" G_GUINT64_FORMAT ",\"unacked\":%" G_GINT64_FORMAT
                           ",\"unacked_peak\":%" G_GINT64_FORMAT ",",
                           f->set_acks, f->acks, f->acks_ignored, f->acks_early, f->count, f->peak);
    append_half(&f->half[SA_FRAMES_FROM_SERVER], "server", out);
    g_string_append_c(out, ',');
    append_half(&f->half[SA_FRAMES_FROM_CLIENT], "client", out);
    g_string_append_c(out, '}');
}
