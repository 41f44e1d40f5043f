/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The link phase of a SPICE connection, seen from the outside: who links what, with which
 * capabilities, how it authenticates, and where the framed messages begin.
 *
 * Protocol (spice-protocol, protocol.h; read in spice-server 0.15 reds.cpp and spice-gtk 0.42
 * spice-channel.c), all little endian:
 *   client: SpiceLinkHeader {"REDQ", major u32, minor u32, size u32}, SpiceLinkMess
 *           {connection_id u32, channel_type u8, channel_id u8, num_common_caps u32,
 *           num_channel_caps u32, caps_offset u32}, capability words; size <= 4096
 *   server: SpiceLinkHeader, SpiceLinkReply {error u32, pub_key[162], num_common_caps u32,
 *           num_channel_caps u32, caps_offset u32}, capability words
 *   client: if both announce AUTH_SELECTION: mechanism u32; then for SPICE: ticket[128]
 *           for SASL: mechname, start data, step data, each length u32 + bytes
 *   server: for SPICE: result u32
 *           for SASL: mechlist (u32 + bytes), then (length u32 + bytes + complete u8) until
 *           complete is not 0, then the verdict u32, in the clear; if that is 0, the result u32
 *           as well, already through the SASL layer: enciphered without TLS, in the clear with it
 *   then both directions are framed (see wire.h), after SASL without TLS enciphered.
 * caps_offset counts from the start of SpiceLinkMess / SpiceLinkReply. Where a server gives up it
 * may send a second SpiceLinkHeader in place of any of its words: "REDQ" is no valid length or
 * result, so that fails, too.
 */
#pragma once

#include <glib.h>

#define SA_LINK_HEADER_SIZE 16u
#define SA_LINK_MESS_SIZE   18u
#define SA_LINK_REPLY_SIZE  178u
#define SA_LINK_SIZE_MAX    4096u /* of what follows the header */
#define SA_LINK_CAPS_MAX    1024u /* words, common and channel each */
#define SA_LINK_TICKET_SIZE 128u

/* Capability words of one side; copies, owned by the SaLinkCaps. */
typedef struct SaLinkCaps {
    guint n_common, n_channel; /* words */
    guint32 *common, *channel;
} SaLinkCaps;

void sa_link_caps_clear(SaLinkCaps *caps);
gboolean sa_link_caps_has_common(const SaLinkCaps *caps, guint bit);
gboolean sa_link_caps_has_channel(const SaLinkCaps *caps, guint bit);

typedef struct SaLinkMessage {
    guint32 major, minor;
    guint32 connection_id;
    guint8 channel_type, channel_id;
    SaLinkCaps caps;
} SaLinkMessage;

typedef struct SaLinkReply {
    guint32 major, minor;
    guint32 error; /* SPICE_LINK_ERR_... */
    SaLinkCaps caps;
} SaLinkReply;

typedef enum SaLinkParse {
    SA_LINK_INCOMPLETE, /* a valid beginning; *need says how many bytes there must be at least */
    SA_LINK_OK,         /* parsed; *need is the whole length, header included */
    SA_LINK_INVALID,    /* not SPICE, or a size, count or offset that does not fit; see *error */
} SaLinkParse;

/* Parse from the start of [data, data+len). message / reply are filled on SA_LINK_OK only; clear
 * their caps after use. *error is a static string on SA_LINK_INVALID. A size over SA_LINK_SIZE_MAX
 * is refused before anything is allocated. Any byte that cannot belong to a link message (wrong
 * magic and a major version other than 2 included) is SA_LINK_INVALID as soon as it is there. */
SaLinkParse sa_link_message_parse(const guint8 *data, gsize len, SaLinkMessage *message,
                                  gsize *need, const char **error);
SaLinkParse sa_link_reply_parse(const guint8 *data, gsize len, SaLinkReply *reply, gsize *need,
                                const char **error);

/* Both directions of one link phase, fed as the bytes pass. */
typedef enum SaLinkState {
    SA_LINK_RUNNING, /* not decided yet */
    SA_LINK_FRAMED,  /* result was OK: both directions are framed from here on */
    SA_LINK_OPAQUE,  /* SASL's verdict was OK and no TLS is known of: enciphered from here on */
    SA_LINK_FAILED,  /* the server refused (reply error, verdict or result), or what passed is not
                      * a link; what follows belongs to nobody */
} SaLinkState;

typedef struct SaLink {
    /*< public, read only >*/
    SaLinkState state;
    SaLinkMessage message; /* valid once have_message */
    SaLinkReply reply;     /* valid once have_reply */
    gboolean have_message, have_reply;
    guint32 result;     /* link result or failed SASL verdict; 0 when neither was read: an
                         * error reply is in reply.error */
    gboolean sasl;      /* mechanism chosen is SASL */
    gint64 ticket_time; /* us: last byte of the ticket was written; 0 before, and with SASL */
    gint64 result_time; /* us: last byte of the result was read; 0 before */
    const char *error;  /* static string when what passed is not a link */
    /*< private >*/
    gboolean tls;
    GByteArray *client, *server; /* what the step at hand has so far */
    guint client_step, server_step;
    gsize client_skip, server_skip; /* bytes the step at hand needs, or lets pass */
} SaLink;

void sa_link_init(SaLink *link);
void sa_link_finish(SaLink *link);

/* The bytes fed come out of / go into TLS: SASL then adds no layer of its own, the link result
 * after its verdict is in the clear and the state becomes SA_LINK_FRAMED instead of
 * SA_LINK_OPAQUE. Call before the first byte. */
void sa_link_set_tls(SaLink *link, gboolean tls);

/* Feed what the client wrote / the server sent, each direction in its own order, and a byte that
 * answers another after it; now in us. Both return how many bytes belong to the link phase (up to
 * and with the one that decides the state, 0 when it was decided before); what is left in the
 * call belongs to the framed stream if the state is SA_LINK_FRAMED. A client does not write framed
 * bytes before it has read the result, so the client direction returns len while SA_LINK_RUNNING;
 * one that does not wait for the reply or the result, and a server that answers the ticket or
 * mechanism before it is there, is SA_LINK_FAILED. Never allocates more than
 * SA_LINK_HEADER_SIZE + SA_LINK_SIZE_MAX a direction. */
gsize sa_link_client_bytes(SaLink *link, const guint8 *data, gsize len, gint64 now);
gsize sa_link_server_bytes(SaLink *link, const guint8 *data, gsize len, gint64 now);

/* Header size both directions use once framed: SA_WIRE_HEADER_MINI or SA_WIRE_HEADER_FULL. */
guint sa_link_header_size(const SaLink *link);
