/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "qxl-backend.h"

#include <string.h>

enum {
    SLOT_GROUP = 0,
    CURSOR_SIZE = 24,
};

/* One command with everything that it points to. It belongs to the worker from the moment it takes
 * it until release_resource. */
typedef struct {
    GList link; /* in the list of all commands that exist */
    QXLCommandExt ext;
    union {
        struct {
            QXLDrawable drawable;
            QXLImage image;
        } draw;
        QXLCursorCmd cursor;
    };
    /* The pixels, or the shape of the cursor; the structures above are packed. */
    guint8 data[] __attribute__((aligned(16)));
} Command;

struct SaQxl {
    QXLInstance instance; /* first: the callbacks get a pointer to it */
    GMutex lock;          /* protects the queues, which both threads use */
    GQueue draws;         /* Command, waiting for the worker */
    GQueue cursors;
    GQueue all;
    guint8 *primary;
    gint width, height, depth;
    guint32 unique; /* of the next image */
    guint64 n_draws, n_pixels;
};

static void
destroy_command(SaQxl *qxl, Command *command)
{
    g_queue_unlink(&qxl->all, &command->link);
    g_free(command);
}

static Command *
new_command(SaQxl *qxl, gsize data_size, guint32 type)
{
    Command *command = g_malloc(sizeof *command + data_size);

    memset(command, 0, sizeof *command);
    command->link.data = command;
    command->ext.cmd.type = type;
    command->ext.group_id = SLOT_GROUP;
    if (type == QXL_CMD_DRAW) {
        command->draw.drawable.release_info.id = (guintptr)command;
        command->ext.cmd.data = (guintptr)&command->draw.drawable;
    } else {
        command->cursor.release_info.id = (guintptr)command;
        command->ext.cmd.data = (guintptr)&command->cursor;
    }
    g_mutex_lock(&qxl->lock);
    g_queue_push_tail_link(&qxl->all, &command->link);
    g_mutex_unlock(&qxl->lock);
    return command;
}

static void
queue_command(SaQxl *qxl, GQueue *queue, Command *command)
{
    g_mutex_lock(&qxl->lock);
    g_queue_push_tail(queue, command);
    g_mutex_unlock(&qxl->lock);
}

/* --- callbacks, in the worker's thread ------------------------------------------------------- */

static int
take(SaQxl *qxl, GQueue *queue, QXLCommandExt *ext)
{
    Command *command;

    g_mutex_lock(&qxl->lock);
    command = g_queue_pop_head(queue);
    g_mutex_unlock(&qxl->lock);
    if (command)
        *ext = command->ext;
    return command != NULL;
}

/* FALSE: there are commands already, no need to wait for sa_qxl_wake. */
static int
is_empty(SaQxl *qxl, GQueue *queue)
{
    gboolean empty;

    g_mutex_lock(&qxl->lock);
    empty = g_queue_is_empty(queue);
    g_mutex_unlock(&qxl->lock);
    return empty;
}

static int
get_command(QXLInstance *instance, QXLCommandExt *ext)
{
    SaQxl *qxl = (SaQxl *)instance;

    return take(qxl, &qxl->draws, ext);
}

static int
req_cmd_notification(QXLInstance *instance)
{
    SaQxl *qxl = (SaQxl *)instance;

    return is_empty(qxl, &qxl->draws);
}

static int
get_cursor_command(QXLInstance *instance, QXLCommandExt *ext)
{
    SaQxl *qxl = (SaQxl *)instance;

    return take(qxl, &qxl->cursors, ext);
}

static int
req_cursor_notification(QXLInstance *instance)
{
    SaQxl *qxl = (SaQxl *)instance;

    return is_empty(qxl, &qxl->cursors);
}

static void
release_resource(QXLInstance *instance, QXLReleaseInfoExt release_info)
{
    SaQxl *qxl = (SaQxl *)instance;

    g_mutex_lock(&qxl->lock);
    destroy_command(qxl, (Command *)(guintptr)release_info.info->id);
    g_mutex_unlock(&qxl->lock);
}

static void
get_init_info(QXLInstance *instance, QXLDevInitInfo *info)
{
    memset(info, 0, sizeof *info);
    info->num_memslots_groups = 1;
    info->num_memslots = 1;
    info->memslot_id_bits = 1;
    info->memslot_gen_bits = 1;
    info->n_surfaces = 1;
}

static void
attached_worker(QXLInstance *instance)
{
}

static void
set_compression_level(QXLInstance *instance, int level)
{
}

static void
notify_update(QXLInstance *instance, uint32_t update_id)
{
}

static int
flush_resources(QXLInstance *instance)
{
    return 0;
}

static void
set_client_capabilities(QXLInstance *instance, uint8_t client_present,
                        uint8_t caps[SPICE_CAPABILITIES_SIZE])
{
}

static const QXLInterface interface = {
    .base =
        {
            .type = SPICE_INTERFACE_QXL,
            .description = "demo display",
            .major_version = SPICE_INTERFACE_QXL_MAJOR,
            .minor_version = SPICE_INTERFACE_QXL_MINOR,
        },
    .attached_worker = attached_worker,
    .set_compression_level = set_compression_level,
    .get_init_info = get_init_info,
    .get_command = get_command,
    .req_cmd_notification = req_cmd_notification,
    .release_resource = release_resource,
    .get_cursor_command = get_cursor_command,
    .req_cursor_notification = req_cursor_notification,
    .notify_update = notify_update,
    .flush_resources = flush_resources,
    .set_client_capabilities = set_client_capabilities,
};

/* --- the main thread's side ------------------------------------------------------------------ */

static void
create_primary(SaQxl *qxl, gint width, gint height)
{
    QXLDevSurfaceCreate surface = {0};
    gint bytes = qxl->depth / 8;

    qxl->width = width;
    qxl->height = height;
    qxl->primary = g_malloc0((gsize)width * height * bytes);
    surface.format = qxl->depth == 16 ? SPICE_SURFACE_FMT_16_555 : SPICE_SURFACE_FMT_32_xRGB;
    surface.width = (guint32)width;
    surface.height = (guint32)height;
    surface.stride = width * bytes;
    surface.mouse_mode = TRUE;
    surface.mem = (guintptr)qxl->primary;
    surface.group_id = SLOT_GROUP;
    spice_qxl_create_primary_surface(&qxl->instance, 0, &surface);
}

SaQxl *
sa_qxl_new(SpiceServer *server, gint id, gint width, gint height, gint depth)
{
    SaQxl *qxl = g_new0(SaQxl, 1);
    QXLDevMemSlot slot = {.slot_group_id = SLOT_GROUP, .virt_end = ~(guintptr)0};

    g_mutex_init(&qxl->lock);
    qxl->depth = depth;
    qxl->instance.base.sif = &interface.base;
    qxl->instance.id = id;
    if (spice_server_add_interface(server, &qxl->instance.base) != 0) {
        g_mutex_clear(&qxl->lock);
        g_free(qxl);
        return NULL;
    }
    spice_qxl_add_memslot(&qxl->instance, &slot);
    create_primary(qxl, width, height);
    return qxl;
}

void
sa_qxl_free(SaQxl *qxl)
{
    if (!qxl)
        return;
    g_queue_clear(&qxl->draws);
    g_queue_clear(&qxl->cursors);
    /* The worker releases what it drew; what it never took, or kept on its stack, is still here. */
    while (qxl->all.head)
        destroy_command(qxl, qxl->all.head->data);
    g_free(qxl->primary);
    g_mutex_clear(&qxl->lock);
    g_free(qxl);
}

void
sa_qxl_resize(SaQxl *qxl, gint width, gint height)
{
    Command *command;

    g_mutex_lock(&qxl->lock);
    while ((command = g_queue_pop_head(&qxl->draws)))
        destroy_command(qxl, command);
    g_mutex_unlock(&qxl->lock);
    spice_qxl_destroy_primary_surface(&qxl->instance, 0);
    g_free(qxl->primary);
    create_primary(qxl, width, height);
}

/* Copies a rectangle as the bitmap of a draw. */
static void
copy_pixels(const SaQxl *qxl, const SaRect *rect, const guint32 *pixels, gsize stride, guint8 *out)
{
    for (gint y = 0; y < rect->height; y++) {
        const guint32 *row = pixels + (gsize)(rect->y + y) * stride + rect->x;

        if (qxl->depth == 32) {
            memcpy(out, row, (gsize)rect->width * 4);
            out += (gsize)rect->width * 4;
            continue;
        }
        for (gint x = 0; x < rect->width; x++) {
            guint16 word =
                (guint16)((row[x] >> 9 & 0x7c00) | (row[x] >> 6 & 0x3e0) | (row[x] >> 3 & 0x1f));

            memcpy(out, &word, sizeof word);
            out += sizeof word;
        }
    }
}

void
sa_qxl_draw(SaQxl *qxl, const SaRect *rect, const guint32 *pixels, gsize stride)
{
    gsize row = (gsize)rect->width * (gsize)(qxl->depth / 8);
    Command *command = new_command(qxl, row * (gsize)rect->height, QXL_CMD_DRAW);
    QXLDrawable *drawable = &command->draw.drawable;
    QXLImage *image = &command->draw.image;

    drawable->bbox.left = rect->x;
    drawable->bbox.top = rect->y;
    drawable->bbox.right = rect->x + rect->width;
    drawable->bbox.bottom = rect->y + rect->height;
    drawable->clip.type = SPICE_CLIP_TYPE_NONE;
    drawable->effect = QXL_EFFECT_OPAQUE;
    drawable->type = QXL_DRAW_COPY;
    for (guint i = 0; i < G_N_ELEMENTS(drawable->surfaces_dest); i++)
        drawable->surfaces_dest[i] = -1;
    drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
    drawable->u.copy.src_bitmap = (guintptr)image;
    drawable->u.copy.src_area.right = rect->width;
    drawable->u.copy.src_area.bottom = rect->height;

    /* No caching, as qemu: a picture with a new number each time. */
    QXL_SET_IMAGE_ID(image, QXL_IMAGE_GROUP_DEVICE, ++qxl->unique);
    image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
    image->descriptor.width = (guint32)rect->width;
    image->descriptor.height = (guint32)rect->height;
    image->bitmap.format = qxl->depth == 16 ? SPICE_BITMAP_FMT_16BIT : SPICE_BITMAP_FMT_32BIT;
    image->bitmap.flags = QXL_BITMAP_DIRECT | QXL_BITMAP_TOP_DOWN;
    image->bitmap.x = (guint32)rect->width;
    image->bitmap.y = (guint32)rect->height;
    image->bitmap.stride = (guint32)row;
    image->bitmap.data = (guintptr)command->data;
    copy_pixels(qxl, rect, pixels, stride, command->data);

    qxl->n_draws++;
    qxl->n_pixels += (guint64)rect->width * (guint64)rect->height;
    queue_command(qxl, &qxl->draws, command);
}

/* An arrow with a white rim, its tip in the top left corner; premultiplied ARGB. */
static void
draw_arrow(guint8 *data)
{
    for (gint y = 0; y < CURSOR_SIZE; y++) {
        for (gint x = 0; x < CURSOR_SIZE; x++) {
            /* A triangle under the diagonal, cut off below by the other diagonal. */
            gboolean in = x <= y && x + y / 2 <= 17 - y / 4 && y < 20;
            gboolean rim = x == 0 || x == y || x + y / 2 >= 16 - y / 4 || y == 19;
            guint32 argb = !in ? 0 : rim ? 0xffffffff : 0xff202428;

            memcpy(data, &argb, sizeof argb);
            data += sizeof argb;
        }
    }
}

void
sa_qxl_set_cursor(SaQxl *qxl, gint x, gint y)
{
    gsize pixels = CURSOR_SIZE * CURSOR_SIZE * 4;
    Command *command = new_command(qxl, sizeof(QXLCursor) + pixels, QXL_CMD_CURSOR);
    QXLCursor shape = {0};

    shape.header.type = SPICE_CURSOR_TYPE_ALPHA;
    shape.header.width = CURSOR_SIZE;
    shape.header.height = CURSOR_SIZE;
    shape.data_size = (guint32)pixels;
    shape.chunk.data_size = (guint32)pixels;
    memcpy(command->data, &shape, sizeof shape);
    draw_arrow(command->data + sizeof shape);
    command->cursor.type = QXL_CURSOR_SET;
    command->cursor.u.set.position.x = (gint16)x;
    command->cursor.u.set.position.y = (gint16)y;
    command->cursor.u.set.visible = TRUE;
    command->cursor.u.set.shape = (guintptr)command->data;
    queue_command(qxl, &qxl->cursors, command);
}

void
sa_qxl_move_cursor(SaQxl *qxl, gint x, gint y)
{
    Command *command = new_command(qxl, 0, QXL_CMD_CURSOR);

    command->cursor.type = QXL_CURSOR_MOVE;
    command->cursor.u.position.x = (gint16)x;
    command->cursor.u.position.y = (gint16)y;
    queue_command(qxl, &qxl->cursors, command);
}

void
sa_qxl_wake(SaQxl *qxl)
{
    spice_qxl_wakeup(&qxl->instance);
}

guint
sa_qxl_queued(SaQxl *qxl)
{
    guint length;

    g_mutex_lock(&qxl->lock);
    length = qxl->draws.length;
    g_mutex_unlock(&qxl->lock);
    return length;
}

void
sa_qxl_flush(SaQxl *qxl)
{
    QXLRect area = {.right = qxl->width, .bottom = qxl->height};

    spice_qxl_update_area(&qxl->instance, 0, &area, NULL, 0, 1);
}

guint64
sa_qxl_draws(const SaQxl *qxl)
{
    return qxl->n_draws;
}

guint64
sa_qxl_pixels(const SaQxl *qxl)
{
    return qxl->n_pixels;
}
