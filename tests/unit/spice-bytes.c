/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "spice-bytes.h"

#include <spice/enums.h>
#include <string.h>

gsize
bytes_u8(GByteArray *out, guint8 v)
{
    gsize at = out->len;

    g_byte_array_append(out, &v, 1);
    return at;
}

gsize
bytes_u16(GByteArray *out, guint16 v)
{
    gsize at = bytes_u8(out, v & 0xff);

    bytes_u8(out, v >> 8);
    return at;
}

gsize
bytes_u32(GByteArray *out, guint32 v)
{
    gsize at = bytes_u16(out, v & 0xffff);

    bytes_u16(out, v >> 16);
    return at;
}

gsize
bytes_fill(GByteArray *out, guint8 v, gsize n)
{
    gsize at = out->len;

    g_byte_array_set_size(out, at + n);
    memset(out->data + at, v, n);
    return at;
}

static gsize
link_header(GByteArray *out, guint32 size)
{
    gsize at = out->len;

    g_byte_array_append(out, (const guint8 *)"REDQ", 4);
    bytes_u32(out, 2);
    bytes_u32(out, 2);
    bytes_u32(out, size);
    return at;
}

gsize
bytes_link_message(GByteArray *out, guint32 connection_id, guint8 type, guint8 id, guint32 common)
{
    gsize at = link_header(out, 18 + 4);

    bytes_u32(out, connection_id);
    bytes_u8(out, type);
    bytes_u8(out, id);
    bytes_u32(out, 1);
    bytes_u32(out, 0);
    bytes_u32(out, 18);
    bytes_u32(out, common);
    return at;
}

gsize
bytes_link_reply(GByteArray *out, guint32 error, guint32 common)
{
    gsize at = link_header(out, 178 + 4);

    bytes_u32(out, error);
    bytes_fill(out, 0x30, 162);
    bytes_u32(out, 1);
    bytes_u32(out, 0);
    bytes_u32(out, 178);
    bytes_u32(out, common);
    return at;
}

gsize
bytes_ticket(GByteArray *out)
{
    gsize at = bytes_u32(out, 1); /* SPICE_COMMON_CAP_AUTH_SPICE */

    bytes_fill(out, 0x55, 128);
    return at;
}

gsize
bytes_message(GByteArray *out, guint16 type, const void *body, gsize size)
{
    gsize at = bytes_u16(out, type);

    bytes_u32(out, size);
    if (body != NULL) {
        g_byte_array_append(out, body, size);
    } else {
        bytes_fill(out, 0, size);
    }
    return at;
}

gsize
bytes_set_ack(GByteArray *out, guint32 generation, guint32 window)
{
    gsize at = bytes_u16(out, SPICE_MSG_SET_ACK);

    bytes_u32(out, 8);
    bytes_u32(out, generation);
    bytes_u32(out, window);
    return at;
}

gsize
bytes_ack_sync(GByteArray *out, guint32 generation)
{
    gsize at = bytes_u16(out, SPICE_MSGC_ACK_SYNC);

    bytes_u32(out, 4);
    bytes_u32(out, generation);
    return at;
}

gsize
bytes_ack(GByteArray *out)
{
    return bytes_message(out, SPICE_MSGC_ACK, NULL, 0);
}
