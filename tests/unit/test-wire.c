/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/wire.h"

#include <string.h>

#define H8(byte) byte byte byte byte byte byte byte byte

/* Recordings, in hex; blanks between fields. The events they must give are written out below
 * them: H a header {type, size, serial, start}, M a message {type, kept bytes, sub-messages}. */
typedef struct Recording {
    const char *name;
    guint header_size;
    const char *hex;
    const char *events;
} Recording;

static const Recording recordings[] = {
    {
        "mini",
        SA_WIRE_HEADER_MINI,
        /* SET_ACK generation 1, window 20 */
        "0300 08000000 01000000 14000000"
        /* DISPLAY_MARK, no body */
        "6600 00000000"
        /* a draw of 72 bytes: 64 are kept */
        "3001 48000000" H8("a1") H8("a2") H8("a3") H8("a4") H8("a5") H8("a6") H8("a7") H8("a8")
            H8("a9")
        /* LIST of INVAL_LIST (4 bytes) and WAIT_FOR_CHANNELS (1 byte) */
        "0800 1b000000 0200 0a000000 14000000 6900 04000000 11223344 0500 01000000 55"
        /* a LIST with nothing in it, and one without even a count */
        "0800 02000000 0000"
        "0800 00000000"
        /* ACK */
        "0200 00000000",
        "H 3 8 0 0\nM 3 0100000014000000\n"
        "H 102 0 0 14\nM 102 \n"
        "H 304 72 0 20\nM 304 " H8("a1") H8("a2") H8("a3") H8("a4") H8("a5") H8("a6") H8("a7")
            H8("a8") "\n"
                     "H 8 27 0 98\nM 8 02000a000000140000006900040000001122334405000100000055"
                     " [105 4 0 114 11223344] [5 1 0 124 55]\n"
                     "H 8 2 0 131\nM 8 0000\n"
                     "H 8 0 0 139\nM 8 \n"
                     "H 2 0 0 145\nM 2 \n",
    },
    {
        "full",
        SA_WIRE_HEADER_FULL,
        /* SET_ACK */
        "0100000000000000 0300 08000000 00000000 01000000 14000000"
        /* a draw of 4 bytes, then its INVAL_LIST, then the list of it at 12 */
        "0200000001000000 3001 12000000 0c000000 d1d2d3d4 6900 02000000 beef 0100 04000000"
        /* LIST with sub_list 0: its list stands at the start of the body */
        "0300000000000000 0800 0e000000 00000000 0100 06000000 0500 02000000 cafe"
        /* a LIST whose list stands elsewhere */
        "0400000000000000 0800 0c000000 06000000 0500 00000000 0100 00000000"
        "0500000000000000 6600 00000000 00000000",
        "H 3 8 1 0\nM 3 0100000014000000\n"
        "H 304 18 4294967298 26\nM 304 d1d2d3d4690002000000beef010004000000"
        " [105 2 4294967298 48 beef]\n"
        "H 8 14 3 62\nM 8 010006000000050002000000cafe [5 2 3 86 cafe]\n"
        "H 8 12 4 94\nM 8 050000000000010000000000 [5 0 4 112 ]\n"
        "H 102 0 5 124\nM 102 \n",
    },
};

static GByteArray *
bytes_from_hex(const char *hex)
{
    GByteArray *bytes = g_byte_array_new();

    while (*hex) {
        guint8 byte;

        if (*hex == ' ') {
            hex++;
            continue;
        }
        byte = (guint8)(g_ascii_xdigit_value(hex[0]) << 4 | g_ascii_xdigit_value(hex[1]));
        g_byte_array_append(bytes, &byte, 1);
        hex += 2;
    }
    return bytes;
}

static void
append_head(GString *out, const SaWireMessage *msg)
{
    for (gsize i = 0; i < msg->head_len; i++)
        g_string_append_printf(out, "%02x", msg->head[i]);
}

/* Feeds one piece, appending what comes of it; checks what holds at every call. */
static void
feed(SaWire *wire, const guint8 *data, gsize len, GString *out)
{
    guint64 before = sa_wire_position(wire);
    gsize fed = 0, used;
    SaWireMessage msg, sub;
    SaWireEvent event;

    do {
        event = sa_wire_feed(wire, data + fed, len - fed, &used, &msg);
        g_assert_cmpuint(used, <=, len - fed);
        fed += used;
        switch (event) {
        case SA_WIRE_HEADER:
            g_assert_cmpuint(msg.head_len, ==, 0);
            g_assert_false(sa_wire_sub_message(wire, 0, &sub));
            g_string_append_printf(out, "H %u %u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                                   msg.type, msg.size, msg.serial, msg.start);
            break;
        case SA_WIRE_MESSAGE:
            g_assert_true(sa_wire_at_boundary(wire));
            g_assert_cmpuint(msg.head_len, ==, MIN(msg.size, SA_WIRE_HEAD_MAX));
            g_string_append_printf(out, "M %u ", msg.type);
            append_head(out, &msg);
            for (guint i = 0; sa_wire_sub_message(wire, i, &sub); i++) {
                g_string_append_printf(out, " [%u %u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " ",
                                       sub.type, sub.size, sub.serial, sub.start);
                append_head(out, &sub);
                g_string_append_c(out, ']');
            }
            g_string_append_c(out, '\n');
            break;
        case SA_WIRE_BROKEN:
            g_string_append_printf(out, "broken at %" G_GUINT64_FORMAT "\n",
                                   sa_wire_position(wire));
            return;
        case SA_WIRE_MORE:
            g_assert_cmpuint(fed, ==, len);
            break;
        }
    } while (event != SA_WIRE_MORE);
    g_assert_cmpuint(sa_wire_position(wire) - before, ==, len);
}

static void
check_pieces(const Recording *rec, const GByteArray *bytes, const gsize *cuts, guint n_cuts)
{
    g_autoptr(GString) out = g_string_new(NULL);
    gsize from = 0;
    SaWire wire;

    sa_wire_init(&wire, rec->header_size);
    for (guint i = 0; i <= n_cuts; i++) {
        gsize to = i < n_cuts ? cuts[i] : bytes->len;

        feed(&wire, bytes->data + from, to - from, out);
        from = to;
    }
    g_assert_true(sa_wire_at_boundary(&wire));
    g_assert_cmpuint(sa_wire_position(&wire), ==, bytes->len);
    g_assert_cmpstr(out->str, ==, rec->events);
    g_assert_null(sa_wire_error(&wire));
    sa_wire_finish(&wire);
}

static void
test_whole(gconstpointer data)
{
    const Recording *rec = data;
    g_autoptr(GByteArray) bytes = bytes_from_hex(rec->hex);

    check_pieces(rec, bytes, NULL, 0);
}

static void
test_splits(gconstpointer data)
{
    const Recording *rec = data;
    g_autoptr(GByteArray) bytes = bytes_from_hex(rec->hex);
    g_autofree gsize *all = g_new(gsize, bytes->len);
    gsize cuts[2];

    for (cuts[0] = 0; cuts[0] <= bytes->len; cuts[0]++) {
        check_pieces(rec, bytes, cuts, 1);
        for (cuts[1] = cuts[0]; cuts[1] <= bytes->len; cuts[1]++)
            check_pieces(rec, bytes, cuts, 2);
    }
    for (gsize i = 0; i < bytes->len; i++)
        all[i] = i;
    check_pieces(rec, bytes, all, bytes->len);
}

static void
test_boundary(void)
{
    static const guint8 stream[] = {0x66, 0, 2, 0, 0, 0, 7, 8, 0x66, 0, 0, 0, 0, 0};
    SaWire wire;

    sa_wire_init(&wire, SA_WIRE_HEADER_MINI);
    for (gsize i = 0; i < sizeof stream; i++) {
        g_autoptr(GString) out = g_string_new(NULL);

        g_assert_cmpint(sa_wire_at_boundary(&wire), ==, i == 0 || i == 8);
        feed(&wire, stream + i, 1, out);
    }
    g_assert_true(sa_wire_at_boundary(&wire));
    sa_wire_finish(&wire);
}

static void
test_empty_body(void)
{
    static const guint8 mark[] = {0x66, 0, 0, 0, 0, 0};
    SaWireMessage msg;
    SaWire wire;
    gsize used;

    sa_wire_init(&wire, SA_WIRE_HEADER_MINI);
    g_assert_cmpint(sa_wire_feed(&wire, NULL, 0, &used, &msg), ==, SA_WIRE_MORE);
    g_assert_cmpint(sa_wire_feed(&wire, mark, sizeof mark, &used, &msg), ==, SA_WIRE_HEADER);
    g_assert_cmpuint(used, ==, sizeof mark);
    g_assert_true(sa_wire_at_boundary(&wire));
    g_assert_cmpint(sa_wire_feed(&wire, NULL, 0, &used, &msg), ==, SA_WIRE_MESSAGE);
    g_assert_cmpuint(used, ==, 0);
    g_assert_cmpuint(msg.type, ==, 102);
    g_assert_cmpint(sa_wire_feed(&wire, NULL, 0, &used, &msg), ==, SA_WIRE_MORE);
    sa_wire_finish(&wire);
}

static void
put_header(guint8 *header, guint header_size, guint16 type, guint32 size, guint32 sub_list)
{
    memset(header, 0, header_size);
    if (header_size == SA_WIRE_HEADER_FULL) {
        sa_put_le16(header + 8, type);
        sa_put_le32(header + 10, size);
        sa_put_le32(header + 14, sub_list);
    } else {
        sa_put_le16(header, type);
        sa_put_le32(header + 2, size);
    }
}

typedef struct Limit {
    const char *name;
    guint32 size;
    gboolean broken;
} Limit;

static const Limit limits[] = {
    {"largest", SA_WIRE_BODY_MAX, FALSE},
    {"one-more", SA_WIRE_BODY_MAX + 1, TRUE},
    {"all-ones", G_MAXUINT32, TRUE},
};

static void
test_limit(gconstpointer data)
{
    static const guint header_sizes[] = {SA_WIRE_HEADER_MINI, SA_WIRE_HEADER_FULL};
    const Limit *limit = data;

    for (guint i = 0; i < G_N_ELEMENTS(header_sizes); i++) {
        guint8 stream[SA_WIRE_HEADER_FULL + 8] = {0};
        gsize header_size = header_sizes[i], used;
        SaWireMessage msg;
        SaWire wire;

        /* A list is announced, too: nothing of it may be stored. */
        put_header(stream, header_sizes[i], 8, limit->size, 4);
        sa_wire_init(&wire, header_sizes[i]);
        g_assert_cmpint(sa_wire_feed(&wire, stream, header_size + 8, &used, &msg), ==,
                        limit->broken ? SA_WIRE_BROKEN : SA_WIRE_HEADER);
        g_assert_cmpuint(used, ==, header_size);
        g_assert_null(wire.list);
        for (guint again = 0; limit->broken && again < 3; again++) {
            g_assert_cmpint(sa_wire_feed(&wire, stream, header_size, &used, &msg), ==,
                            SA_WIRE_BROKEN);
            g_assert_cmpuint(used, ==, 0);
            g_assert_cmpuint(sa_wire_position(&wire), ==, header_size);
            g_assert_false(sa_wire_at_boundary(&wire));
            g_assert_nonnull(sa_wire_error(&wire));
        }
        if (!limit->broken)
            g_assert_null(sa_wire_error(&wire));
        sa_wire_finish(&wire);
    }
}

/* A message of this size with a list of one empty sub-message in its first bytes. */
static gboolean
has_list(guint32 size)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree guint8 *stream = g_malloc0(SA_WIRE_HEADER_FULL + size + SA_WIRE_HEADER_FULL);
    guint8 *body = stream + SA_WIRE_HEADER_FULL;
    SaWireMessage sub;
    SaWire wire;
    gboolean found;

    put_header(stream, SA_WIRE_HEADER_FULL, 304, size, 4);
    sa_put_le16(body + 4, 1);
    sa_put_le32(body + 6, 10);
    sa_put_le16(body + 10, 105);
    put_header(body + size, SA_WIRE_HEADER_FULL, 102, 0, 0);
    sa_wire_init(&wire, SA_WIRE_HEADER_FULL);
    feed(&wire, stream, SA_WIRE_HEADER_FULL, out);
    /* What was announced is not stored before it comes. */
    g_assert_cmpuint(wire.list ? wire.list->len : 0, ==, 0);
    feed(&wire, body, size, out);
    found = strstr(out->str, "[105 0 0 28 ]") != NULL;
    g_assert_cmpint(sa_wire_sub_message(&wire, 0, &sub), ==, FALSE);
    feed(&wire, body + size, SA_WIRE_HEADER_FULL, out);
    g_assert_true(g_str_has_suffix(out->str, "M 102 \n"));
    sa_wire_finish(&wire);
    return found;
}

static void
test_list_max(void)
{
    g_assert_true(has_list(16));
    g_assert_true(has_list(SA_WIRE_LIST_MAX));
    g_assert_false(has_list(SA_WIRE_LIST_MAX + 1));
}

typedef struct HostileList {
    const char *name;
    guint32 sub_list;
    const char *body;
    guint present; /* bit i: entry i is reported */
} HostileList;

/* Bodies of SPICE_MSG_LIST, or of a draw when sub_list is not 0. */
static const HostileList hostile_lists[] = {
    {"empty", 0, "", 0},
    {"half a count", 0, "01", 0},
    {"count without offsets", 0, "ffff", 0},
    {"half an offset", 0, "0100 060000", 0},
    {"count larger than offsets", 0, "0300 00000000 00000000", 3},
    {"list at the end", 8, "0000000000000000", 0},
    {"list beyond the end", 9, "0000000000000000", 0},
    {"list at the last byte", 7, "0000000000000000", 0},
    {"list far beyond the end", 0xfffffffe, "0000000000000000", 0},
    {"list that wraps", G_MAXUINT32, "0100 00000000", 0},
    {"entry at the end", 0, "0100 06000000", 0},
    {"entry that wraps", 0, "0100 ffffffff 0500 00000000", 0},
    {"entry that wraps with its header", 0, "0100 faffffff 0500 00000000", 0},
    {"entry header cut", 0, "0100 06000000 0500 000000", 0},
    /* 16 bytes: what a checker of memory sees as the end, too */
    {"entry header cut by the end", 0, "0100 0e000000 0000000000000000 0500", 0},
    {"entry body one too long", 0, "0100 06000000 0500 02000000 aa", 0},
    {"entry body that fits", 0, "0100 06000000 0500 01000000 aa", 1},
    {"entry size that wraps", 0, "0100 06000000 0500 ffffffff aa", 0},
    {"entry size that wraps to fit", 0, "0100 06000000 0500 f4ffffff aa", 0},
    {"bad entry between good ones", 0, "0300 0e000000 ffffff7f 0e000000 0500 00000000", 5},
    {"entry that is the list", 0, "0100 00000000", 1},
};

static void
test_hostile_list(gconstpointer data)
{
    const HostileList *hostile = data;
    g_autoptr(GByteArray) body = bytes_from_hex(hostile->body);
    guint8 header[SA_WIRE_HEADER_FULL];
    SaWireMessage msg, sub;
    guint present = 0;
    SaWire wire;
    gsize used;

    put_header(header, SA_WIRE_HEADER_FULL, hostile->sub_list ? 304 : 8, body->len,
               hostile->sub_list);
    sa_wire_init(&wire, SA_WIRE_HEADER_FULL);
    g_assert_cmpint(sa_wire_feed(&wire, header, sizeof header, &used, &msg), ==, SA_WIRE_HEADER);
    g_assert_cmpint(sa_wire_feed(&wire, body->data, body->len, &used, &msg), ==, SA_WIRE_MESSAGE);
    for (guint i = 0; i < 32; i++) {
        if (sa_wire_sub_message(&wire, i, &sub)) {
            present |= 1u << i;
            g_assert_cmpuint(sub.start + 6 + sub.size, <=, sa_wire_position(&wire));
            g_assert_true(sub.head >= wire.list->data + 6);
            g_assert_true(sub.head + sub.size <= wire.list->data + wire.list->len);
        }
    }
    g_assert_cmphex(present, ==, hostile->present);
    sa_wire_finish(&wire);
}

static void
test_sub_max(void)
{
    g_autofree guint8 *stream = NULL;
    const guint count = SA_WIRE_SUB_MAX + 1;
    const guint32 size = 2 + 4 * count + 6;
    SaWireMessage msg, sub;
    SaWire wire;
    gsize used;

    stream = g_malloc0(SA_WIRE_HEADER_MINI + size);
    put_header(stream, SA_WIRE_HEADER_MINI, 8, size, 0);
    sa_put_le16(stream + 6, (guint16)count);
    for (guint i = 0; i < count; i++)
        sa_put_le32(stream + 8 + 4 * i, size - 6);
    sa_wire_init(&wire, SA_WIRE_HEADER_MINI);
    g_assert_cmpint(sa_wire_feed(&wire, stream, 6, &used, &msg), ==, SA_WIRE_HEADER);
    g_assert_cmpint(sa_wire_feed(&wire, stream + 6, size, &used, &msg), ==, SA_WIRE_MESSAGE);
    g_assert_true(sa_wire_sub_message(&wire, SA_WIRE_SUB_MAX - 1, &sub));
    g_assert_false(sa_wire_sub_message(&wire, SA_WIRE_SUB_MAX, &sub));
    g_assert_false(sa_wire_sub_message(&wire, G_MAXUINT, &sub));
    sa_wire_finish(&wire);
}

static void
test_little_endian(void)
{
    static const guint8 bytes[] = {0xff, 0x01, 0x02, 0x03, 0x84, 0x05, 0x06, 0x07, 0x88};
    guint8 out[5] = {0};

    g_assert_cmphex(sa_le16(bytes + 1), ==, 0x0201);
    g_assert_cmphex(sa_le32(bytes + 1), ==, 0x84030201);
    g_assert_cmphex(sa_le64(bytes + 1), ==, 0x8807060584030201);
    sa_put_le32(out + 1, 0x84030201);
    g_assert_cmpmem(out + 1, 4, bytes + 1, 4);
    sa_put_le16(out + 1, 0x05ff);
    g_assert_cmphex(sa_le32(out + 1), ==, 0x840305ff);
}

static void
add_case(const char *group, const char *name, gconstpointer data, GTestDataFunc func)
{
    g_autofree char *path = g_strdup_printf("/wire/%s/%s", group, name);

    g_test_add_data_func(g_strdelimit(path, " ", '-'), data, func);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(recordings); i++) {
        add_case("whole", recordings[i].name, &recordings[i], test_whole);
        add_case("splits", recordings[i].name, &recordings[i], test_splits);
    }
    for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
        add_case("body-limit", limits[i].name, &limits[i], test_limit);
    for (guint i = 0; i < G_N_ELEMENTS(hostile_lists); i++)
        add_case("hostile-list", hostile_lists[i].name, &hostile_lists[i], test_hostile_list);
    g_test_add_func("/wire/boundary", test_boundary);
    g_test_add_func("/wire/empty-body", test_empty_body);
    g_test_add_func("/wire/list-max", test_list_max);
    g_test_add_func("/wire/sub-max", test_sub_max);
    g_test_add_func("/wire/little-endian", test_little_endian);
    return g_test_run();
}
