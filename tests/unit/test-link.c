/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/link.h"

#include "core/wire.h"

#include <spice/protocol.h>
#include <string.h>

/* Wire vectors in hex, blanks between fields. The message, the reply and the ticket are those of a
 * display channel between spice-gtk 0.42 and spice-server 0.15. */
#define X8(x) x x x x x x x x

#define HEADER "52454451 02000000 02000000 "
#define MESSAGE_WITH(common)                                                                       \
    HEADER "1a000000 0dc7a92d 02 03 01000000 01000000 12000000 " common "000000 bf6f0000 "
#define MESSAGE MESSAGE_WITH("0d")
#define KEY                                                                                        \
    "30819f300d06092a864886f70d010101050003818d0030818902818100a165fca269da55a6ba38fd2cc0e3bd43"   \
    "28b21ffee1120b588afaec4801205b5912b3fcec98da4259a781488407f44dcc7fc93c665ee863836a6e168481"   \
    "2331ed0cdbcd624678b6ede42207a6fb1e7961ab616b8b0e12b98bd29dc29b543313eaf963713b57d1d37e0fab"   \
    "5db7f27597e443eaafebba33473abf238bd12031e9470203010001 "
#define REPLY_WITH(error, common)                                                                  \
    HEADER "ba000000 " error "000000 " KEY "01000000 01000000 b2000000 " common "000000 52100000 "
#define REPLY REPLY_WITH("00", "0b")
#define SPICE "01000000 "
#define SASL  "02000000 "
#define TICKET                                                                                     \
    "6406be274e5676c2628dae05dd6632293bf2f47bbc8cea6ee9e695a257781682c162a5afea70489660744ce63b8d" \
    "620021c36c700e1ec223c066380b9fb3e1007accc8e7cfded680dd21437ac9c71cc028481ca84a860b2c37ec95b2" \
    "834ff0986fdc99c340c17fcc9f45d31fc9d5745439fffe4d5ae6ca259f3761b6e7feefd9 "
#define OK "00000000 "

/* SASL: what the client sends is not looked at; two rounds of the server's */
#define SASL_CLIENT "0a000000 4449474553542d4d4435 00000000 "
#define MECHLIST    "0c000000 2c4449474553542d4d44352c "
#define ROUND_ON    "06000000 6e6f6e636500 00 "
#define ROUND_LAST  "09000000 727370617574683d00 01 "

/* Mini-header SET_ACK and ACK_SYNC, as framed bytes that follow. */
#define SET_ACK  "0300 08000000 01000000 14000000 "
#define ACK_SYNC "0100 04000000 01000000 "

typedef struct Case {
    const char *name;
    /* > what the client writes, < what the server sends; after a | bytes that must be left */
    const char *script;
    SaLinkState state;
    guint header_size;
    guint32 result, reply_error;
    const char *error; /* part of it */
    gboolean sasl, tls;
} Case;

#define MINI SA_WIRE_HEADER_MINI
#define FULL SA_WIRE_HEADER_FULL

static const Case cases[] = {
    {"ticket", ">" MESSAGE "<" REPLY ">" SPICE ">" TICKET "<" OK "|" SET_ACK ">|" ACK_SYNC,
     SA_LINK_FRAMED, MINI},
    {"mechanism and ticket in one", ">" MESSAGE "<" REPLY ">" SPICE TICKET "<" OK, SA_LINK_FRAMED,
     MINI},
    {"still running", ">" MESSAGE "<" REPLY ">" SPICE TICKET "<000000", SA_LINK_RUNNING, MINI},
    {"client without AUTH_SELECTION",
     ">" MESSAGE_WITH("08") "<" REPLY ">" TICKET "<" OK "|" SET_ACK, SA_LINK_FRAMED, MINI},
    {"server without AUTH_SELECTION",
     ">" MESSAGE "<" REPLY_WITH("00", "08") ">" TICKET "<" OK "|" SET_ACK, SA_LINK_FRAMED, MINI},
    {"client without MINI_HEADER", ">" MESSAGE_WITH("05") "<" REPLY ">" SPICE TICKET "<" OK,
     SA_LINK_FRAMED, FULL},
    {"server without MINI_HEADER", ">" MESSAGE "<" REPLY_WITH("00", "03") ">" SPICE TICKET "<" OK,
     SA_LINK_FRAMED, FULL},
    {"no capabilities at all",
     ">" HEADER "12000000 00000000 01 00 00000000 00000000 12000000"
     "<" HEADER "b2000000 00000000" KEY "00000000 00000000 b2000000"
     ">" TICKET "<" OK "|" SET_ACK,
     SA_LINK_FRAMED, FULL},
    {"no capabilities, offset means nothing",
     ">" HEADER "12000000 00000000 01 00 00000000 00000000 ffffffff"
     "<" HEADER "b2000000 00000000" KEY "00000000 00000000 ffffffff"
     ">" TICKET "<" OK "|" SET_ACK,
     SA_LINK_FRAMED, FULL},
    {"wrong password", ">" MESSAGE "<" REPLY ">" SPICE TICKET "<07000000|" SET_ACK, SA_LINK_FAILED,
     MINI, 7},
    {"refused before the ticket", ">" MESSAGE "<" REPLY ">" SPICE "<07000000|", SA_LINK_FAILED,
     MINI, 7},
    {"error reply",
     ">" MESSAGE "<" HEADER "b2000000 05000000" X8(X8("00")) X8(X8("00"))
         X8("00000000") "0000 00000000 00000000 00000000|00>|00",
     SA_LINK_FAILED, FULL, 0, 5},
    {"error reply to half a message", ">52454451 02<" REPLY_WITH("04", "0b") "|00>|00",
     SA_LINK_FAILED, FULL, 0, 4},
    {"second reply instead of the result", ">" MESSAGE "<" REPLY ">" SPICE TICKET "<52454451|02",
     SA_LINK_FAILED, MINI, 0x51444552},
    {"unknown mechanism", ">" MESSAGE "<" REPLY ">03000000|" TICKET, SA_LINK_FAILED, MINI, 0, 0,
     "mechanism"},

    {"SASL",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST ">" SASL_CLIENT "<" ROUND_ON
                                            ">" SASL_CLIENT "<" ROUND_LAST OK "|00000014",
     SA_LINK_OPAQUE, MINI, .sasl = TRUE},
    {"SASL within TLS",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST ">" SASL_CLIENT "<" ROUND_ON
                                            ">" SASL_CLIENT "<" ROUND_LAST OK "<" OK "|" SET_ACK
                                            ">|" ACK_SYNC,
     SA_LINK_FRAMED, MINI, .sasl = TRUE, .tls = TRUE},
    {"SASL within TLS, refused after it",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST ROUND_LAST OK "09000000|00",
     SA_LINK_FAILED, MINI, 9, .sasl = TRUE, .tls = TRUE},
    {"SASL without data",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<00000000 00000000 00 00000000 01" OK "|00",
     SA_LINK_OPAQUE, MINI, .sasl = TRUE},
    {"SASL refused",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST ROUND_LAST "01000000|16000000",
     SA_LINK_FAILED, MINI, 1, .sasl = TRUE},
    {"SASL complete is any value but 0",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST "00000000 80" OK "|",
     SA_LINK_OPAQUE, MINI, .sasl = TRUE},
    {"SASL mechanism list too long", ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<2d010000|00",
     SA_LINK_FAILED, MINI, .error = "list too long", .sasl = TRUE},
    {"SASL longest mechanism list", ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<2c010000 00",
     SA_LINK_RUNNING, MINI, .sasl = TRUE},
    {"SASL data too long",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST "01001000|00", SA_LINK_FAILED,
     MINI, .error = "data too long", .sasl = TRUE},
    {"SASL second data too long",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST ROUND_ON "52454451|02",
     SA_LINK_FAILED, MINI, .error = "data too long", .sasl = TRUE},
    {"SASL longest data",
     ">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST "00001000 00", SA_LINK_RUNNING,
     MINI, .sasl = TRUE},

    {"client does not wait for the reply", ">" MESSAGE "01|000000", SA_LINK_FAILED, FULL, 0, 0,
     "wait for the link reply"},
    {"client does not wait for the result", ">" MESSAGE "<" REPLY ">" SPICE TICKET "02|00",
     SA_LINK_FAILED, MINI, 0, 0, "wait for the link result"},
    {"server does not wait for the message", ">52454451<" REPLY "|00", SA_LINK_FAILED, FULL, 0, 0,
     "wait for the link message"},
    {"server does not wait for the mechanism", ">" MESSAGE "<" REPLY "00|000000", SA_LINK_FAILED,
     MINI, 0, 0, "wait for the authentication mechanism"},
    {"server does not wait for the ticket", ">" MESSAGE "<" REPLY ">" SPICE "<" OK "|" SET_ACK,
     SA_LINK_FAILED, MINI, 0, 0, "wait for the ticket"},

    {"HTTP", ">47|455420", SA_LINK_FAILED, FULL, 0, 0, "magic"},
    {"first byte of a TLS record", ">16|0301", SA_LINK_FAILED, FULL, 0, 0, "magic"},
    {"magic differs at the end", ">52454442|02", SA_LINK_FAILED, FULL, 0, 0, "magic"},
    {"server's magic", ">" MESSAGE "<53|5348", SA_LINK_FAILED, FULL, 0, 0, "magic"},
    {"major version", ">52454451 01|000000", SA_LINK_FAILED, FULL, 0, 0, "version"},
    {"major version, high bytes", ">52454451 02000001|", SA_LINK_FAILED, FULL, 0, 0, "version"},
    {"message too short", ">" HEADER "11000000|00", SA_LINK_FAILED, FULL, 0, 0, "too short"},
    {"message too large", ">" HEADER "01100000|00", SA_LINK_FAILED, FULL, 0, 0, "too large"},
    {"message size all ones", ">" HEADER "ffffffff|00", SA_LINK_FAILED, FULL, 0, 0, "too large"},
    {"reply too short", ">" MESSAGE "<" HEADER "b1000000|00", SA_LINK_FAILED, FULL, 0, 0,
     "too short"},
    {"reply too large", ">" MESSAGE "<" HEADER "01100000|00", SA_LINK_FAILED, FULL, 0, 0,
     "too large"},
    {"too many common words", ">" HEADER "1a000000 00000000 02 00 01040000|01000000",
     SA_LINK_FAILED, FULL, 0, 0, "common"},
    {"too many channel words", ">" HEADER "1a000000 00000000 02 00 01000000 01040000|12000000",
     SA_LINK_FAILED, FULL, 0, 0, "channel"},
    {"counts whose bytes wrap", ">" HEADER "1a000000 00000000 02 00 00000040|00000040",
     SA_LINK_FAILED, FULL, 0, 0, "common"},
    {"words beyond the end", ">" HEADER "1a000000 00000000 02 00 02000000 01000000 12000000|00",
     SA_LINK_FAILED, FULL, 0, 0, "outside"},
    {"offset one too large", ">" HEADER "1a000000 00000000 02 00 01000000 01000000 13000000|00",
     SA_LINK_FAILED, FULL, 0, 0, "outside"},
    {"offset into the fixed part",
     ">" HEADER "1a000000 00000000 02 00 01000000 00000000 11000000|00", SA_LINK_FAILED, FULL, 0, 0,
     "outside"},
    {"offset that wraps", ">" HEADER "1a000000 00000000 02 00 01000000 00000000 feffffff|00",
     SA_LINK_FAILED, FULL, 0, 0, "outside"},
    {"reply's offset into its key",
     ">" MESSAGE "<" HEADER "b6000000 00000000" KEY "01000000 00000000 b1000000|00", SA_LINK_FAILED,
     FULL, 0, 0, "outside"},
};

typedef struct Token {
    gboolean server;
    GByteArray *bytes;
    gsize link; /* so many of them belong to the link phase */
} Token;

static void
token_free(Token *token)
{
    g_byte_array_unref(token->bytes);
    g_free(token);
}

static GPtrArray *
tokens_from_script(const char *script)
{
    GPtrArray *tokens = g_ptr_array_new_with_free_func((GDestroyNotify)token_free);
    Token *token = NULL;

    for (const char *p = script; *p; p++) {
        if (*p == '>' || *p == '<') {
            token = g_new0(Token, 1);
            token->server = *p == '<';
            token->bytes = g_byte_array_new();
            token->link = G_MAXSIZE;
            g_ptr_array_add(tokens, token);
        } else if (*p == '|') {
            token->link = token->bytes->len;
        } else if (*p != ' ') {
            guint8 byte = (guint8)(g_ascii_xdigit_value(p[0]) << 4 | g_ascii_xdigit_value(p[1]));

            g_byte_array_append(token->bytes, &byte, 1);
            p++;
        }
    }
    return tokens;
}

static gsize
feed(SaLink *link, const Token *token, gsize from, gsize to, gint64 now)
{
    const guint8 *data = token->bytes->data + from;

    return token->server ? sa_link_server_bytes(link, data, to - from, now)
                         : sa_link_client_bytes(link, data, to - from, now);
}

/* Runs the script with one token in two pieces, or every byte alone. */
static void
run(const Case *c, const GPtrArray *tokens, guint cut_token, gsize cut, gboolean single)
{
    gint64 ticket_time = 0, result_time = 0;
    SaLink link;

    sa_link_init(&link);
    sa_link_set_tls(&link, c->tls);
    for (guint t = 0; t < tokens->len; t++) {
        const Token *token = tokens->pdata[t];
        gsize len = token->bytes->len, used = 0;
        gint64 now = 1000 + t;

        for (gsize i = 0; single && i < len; i++)
            used += feed(&link, token, i, i + 1, now);
        if (!single && t == cut_token)
            used += feed(&link, token, 0, cut, now) + feed(&link, token, cut, len, now);
        else if (!single)
            used += feed(&link, token, 0, len, now);
        g_assert_cmpuint(used, ==, MIN(token->link, len));
        g_assert_cmpuint(link.client->len, <=, SA_LINK_HEADER_SIZE + SA_LINK_SIZE_MAX);
        g_assert_cmpuint(link.server->len, <=, SA_LINK_HEADER_SIZE + SA_LINK_SIZE_MAX);
        if (!token->server && link.ticket_time && !ticket_time)
            ticket_time = now;
        if (token->server && link.result_time)
            result_time = link.state == SA_LINK_RUNNING ? 0 : result_time ? result_time : now;
    }
    g_assert_cmpint(link.state, ==, c->state);
    g_assert_cmpuint(link.result, ==, c->result);
    g_assert_cmpuint(link.reply.error, ==, c->reply_error);
    g_assert_cmpint(link.sasl, ==, c->sasl);
    g_assert_cmpuint(sa_link_header_size(&link), ==, c->header_size);
    g_assert_cmpint(link.error != NULL, ==, c->error != NULL);
    if (c->error)
        g_assert_nonnull(strstr(link.error, c->error));
    g_assert_cmpint(link.ticket_time, ==, ticket_time);
    if (link.state == SA_LINK_FRAMED || link.state == SA_LINK_OPAQUE) {
        g_assert_cmpint(link.result_time, ==, result_time);
        g_assert_cmpint(link.result_time, !=, 0);
        g_assert_cmpint(link.ticket_time != 0, ==, !c->sasl);
    }
    sa_link_finish(&link);
}

static void
test_case(gconstpointer data)
{
    const Case *c = data;
    g_autoptr(GPtrArray) tokens = tokens_from_script(c->script);

    run(c, tokens, G_MAXUINT, 0, FALSE);
    run(c, tokens, G_MAXUINT, 0, TRUE);
    for (guint t = 0; t < tokens->len; t++) {
        const Token *token = tokens->pdata[t];

        for (gsize cut = 0; cut <= token->bytes->len; cut++)
            run(c, tokens, t, cut, FALSE);
    }
}

static void
test_contents(void)
{
    g_autoptr(GPtrArray) tokens = tokens_from_script(">" MESSAGE "<" REPLY);
    SaLink link;

    sa_link_init(&link);
    g_assert_false(link.have_message);
    feed(&link, tokens->pdata[0], 0, 42, 1);
    g_assert_true(link.have_message);
    g_assert_false(link.have_reply);
    feed(&link, tokens->pdata[1], 0, 202, 1);
    g_assert_true(link.have_reply);
    g_assert_cmpuint(link.message.major, ==, 2);
    g_assert_cmpuint(link.message.minor, ==, 2);
    g_assert_cmphex(link.message.connection_id, ==, 0x2da9c70d);
    g_assert_cmpuint(link.message.channel_type, ==, SPICE_CHANNEL_DISPLAY);
    g_assert_cmpuint(link.message.channel_id, ==, 3);
    g_assert_cmpuint(link.message.caps.n_common, ==, 1);
    g_assert_cmphex(link.message.caps.common[0], ==, 0x0d);
    g_assert_cmphex(link.message.caps.channel[0], ==, 0x6fbf);
    g_assert_cmpuint(link.reply.caps.n_channel, ==, 1);
    g_assert_cmphex(link.reply.caps.channel[0], ==, 0x1052);
    sa_link_finish(&link);
}

static void
test_caps(void)
{
    guint32 words[] = {0x80000001, 0x2};
    const SaLinkCaps caps = {.n_common = 2, .common = words, .n_channel = 1, .channel = words};
    const SaLinkCaps none = {0};

    g_assert_true(sa_link_caps_has_common(&caps, 0));
    g_assert_false(sa_link_caps_has_common(&caps, 1));
    g_assert_true(sa_link_caps_has_common(&caps, 31));
    g_assert_true(sa_link_caps_has_common(&caps, 33));
    g_assert_false(sa_link_caps_has_common(&caps, 64));
    g_assert_false(sa_link_caps_has_common(&caps, G_MAXUINT));
    g_assert_true(sa_link_caps_has_channel(&caps, 31));
    g_assert_false(sa_link_caps_has_channel(&caps, 33));
    g_assert_false(sa_link_caps_has_channel(&none, 0));
}

/* Words that are counted apart, and far down the list: 1024 of them fit no message of 4096
 * bytes, so as many as do. */
static void
test_many_caps(void)
{
    const guint n_common = 1000, n_channel = 19;
    g_autofree guint8 *data = g_malloc0(16 + 4096);
    const char *error = NULL;
    SaLinkMessage message;
    gsize need;

    memcpy(data, "REDQ\2\0\0\0\2\0\0\0", 12);
    sa_put_le32(data + 12, 4096);
    sa_put_le32(data + 22, n_common);
    sa_put_le32(data + 26, n_channel);
    sa_put_le32(data + 30, 18 + 2);
    for (guint i = 0; i < n_common + n_channel; i++)
        sa_put_le32(data + 16 + 20 + (gsize)i * 4, i);
    g_assert_cmpint(sa_link_message_parse(data, 16 + 4096, &message, &need, &error), ==,
                    SA_LINK_OK);
    g_assert_cmpuint(need, ==, 16 + 4096);
    g_assert_cmpuint(message.caps.common[999], ==, 999);
    g_assert_cmpuint(message.caps.channel[0], ==, 1000);
    g_assert_cmpuint(message.caps.channel[18], ==, 1018);
    sa_link_caps_clear(&message.caps);
    g_assert_null(message.caps.common);
    g_assert_cmpuint(message.caps.n_channel, ==, 0);
    sa_put_le32(data + 26, n_channel + 1);
    g_assert_cmpint(sa_link_message_parse(data, 16 + 4096, &message, &need, &error), ==,
                    SA_LINK_INVALID);
}

/* Every beginning of a good message is incomplete and says how much there must be. */
static void
test_prefixes(void)
{
    g_autoptr(GPtrArray) tokens = tokens_from_script(">" MESSAGE "<" REPLY);
    const GByteArray *m = ((Token *)tokens->pdata[0])->bytes;
    const GByteArray *r = ((Token *)tokens->pdata[1])->bytes;
    const char *error = NULL;
    SaLinkMessage message;
    SaLinkReply reply;
    gsize need;

    for (gsize len = 0; len <= r->len; len++) {
        /* a copy of just this size, so that a checker sees a byte read too many */
        g_autofree guint8 *copy = g_memdup2(r->data, len);
        SaLinkParse parse = sa_link_reply_parse(copy, len, &reply, &need, &error);

        g_assert_cmpint(parse, ==, len < r->len ? SA_LINK_INCOMPLETE : SA_LINK_OK);
        g_assert_cmpuint(need, ==, len < SA_LINK_HEADER_SIZE ? SA_LINK_HEADER_SIZE : r->len);
    }
    sa_link_caps_clear(&reply.caps);
    for (gsize len = 0; len <= m->len; len++) {
        g_autofree guint8 *copy = g_memdup2(m->data, len);
        SaLinkParse parse = sa_link_message_parse(copy, len, &message, &need, &error);

        g_assert_cmpint(parse, ==, len < m->len ? SA_LINK_INCOMPLETE : SA_LINK_OK);
        g_assert_cmpuint(need, ==, len < SA_LINK_HEADER_SIZE ? SA_LINK_HEADER_SIZE : m->len);
    }
    sa_link_caps_clear(&message.caps);
    g_assert_null(error);
}

/* SASL data is counted, not kept. */
static void
test_sasl_keeps_nothing(void)
{
    g_autoptr(GPtrArray) tokens =
        tokens_from_script(">" MESSAGE "<" REPLY_WITH("00", "0d") ">" SASL "<" MECHLIST "00001000");
    g_autofree guint8 *block = g_malloc0(1024 * 1024);
    SaLink link;

    sa_link_init(&link);
    for (guint t = 0; t < tokens->len; t++)
        feed(&link, tokens->pdata[t], 0, ((Token *)tokens->pdata[t])->bytes->len, t);
    g_assert_cmpuint(sa_link_server_bytes(&link, block, 1024 * 1024, 9), ==, 1024 * 1024);
    g_assert_cmpuint(link.server->len, ==, 0);
    g_assert_cmpuint(sa_link_client_bytes(&link, block, 1024 * 1024, 9), ==, 1024 * 1024);
    g_assert_cmpuint(link.client->len, <=, 4);
    g_assert_cmpuint(sa_link_server_bytes(&link, (const guint8 *)"\1\0\0\0\0\0\0\0", 8, 10), ==, 5);
    g_assert_cmpint(link.state, ==, SA_LINK_OPAQUE);
    g_assert_cmpint(link.result_time, ==, 10);
    sa_link_finish(&link);
}

/* The times are those of the last byte. */
static void
test_times(void)
{
    g_autoptr(GPtrArray) tokens = tokens_from_script(">" MESSAGE "<" REPLY ">" SPICE TICKET "<" OK);
    const Token *ticket = tokens->pdata[2], *result = tokens->pdata[3];
    SaLink link;

    sa_link_init(&link);
    feed(&link, tokens->pdata[0], 0, 42, 1);
    feed(&link, tokens->pdata[1], 0, 202, 2);
    feed(&link, ticket, 0, 131, 3);
    g_assert_cmpint(link.ticket_time, ==, 0);
    feed(&link, ticket, 131, 132, 4);
    g_assert_cmpint(link.ticket_time, ==, 4);
    feed(&link, result, 0, 3, 5);
    g_assert_cmpint(link.result_time, ==, 0);
    g_assert_cmpint(link.state, ==, SA_LINK_RUNNING);
    feed(&link, result, 3, 4, 6);
    g_assert_cmpint(link.result_time, ==, 6);
    g_assert_cmpint(link.ticket_time, ==, 4);
    sa_link_finish(&link);
}

/* spice-protocol's own structs say the same. */
static void
test_sizes(void)
{
    g_assert_cmpuint(SA_LINK_HEADER_SIZE, ==, sizeof(SpiceLinkHeader));
    g_assert_cmpuint(SA_LINK_MESS_SIZE, ==, sizeof(SpiceLinkMess));
    g_assert_cmpuint(SA_LINK_REPLY_SIZE, ==, sizeof(SpiceLinkReply));
    g_assert_cmpuint(SA_WIRE_HEADER_MINI, ==, sizeof(SpiceMiniDataHeader));
    g_assert_cmpuint(SA_WIRE_HEADER_FULL, ==, sizeof(SpiceDataHeader));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/link/session/%s", cases[i].name);

        g_test_add_data_func(g_strdelimit(path, " ", '-'), &cases[i], test_case);
    }
    g_test_add_func("/link/contents", test_contents);
    g_test_add_func("/link/caps", test_caps);
    g_test_add_func("/link/many-caps", test_many_caps);
    g_test_add_func("/link/prefixes", test_prefixes);
    g_test_add_func("/link/sasl-keeps-nothing", test_sasl_keeps_nothing);
    g_test_add_func("/link/times", test_times);
    g_test_add_func("/link/sizes", test_sizes);
    return g_test_run();
}
