/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "extras.h"

#include <spice/enums.h>
#include <spice/protocol.h>
#include <string.h>

/* What came in and has not been read back. The library asks again when there is room. */
static struct {
    SpiceCharDeviceInstance instance;
    guint8 data[64 * 1024];
    gint length;
} port;

static void
port_state(SpiceCharDeviceInstance *instance, int connected)
{
}

static gboolean
wake(gpointer data)
{
    spice_server_char_device_wakeup(&port.instance);
    return G_SOURCE_REMOVE;
}

static int
port_write(SpiceCharDeviceInstance *instance, const uint8_t *data, int length)
{
    gint n = MIN(length, (gint)sizeof port.data - port.length);

    memcpy(port.data + port.length, data, (gsize)n);
    port.length += n;
    /* Not from within the call that writes. */
    g_idle_add(wake, NULL);
    return n;
}

static int
port_read(SpiceCharDeviceInstance *instance, uint8_t *data, int length)
{
    gint n = MIN(length, port.length);

    memcpy(data, port.data, (gsize)n);
    memmove(port.data, port.data + n, (gsize)(port.length - n));
    port.length -= n;
    return n;
}

static const SpiceCharDeviceInterface interface = {
    .base = {.type = SPICE_INTERFACE_CHAR_DEVICE,
             .description = "demo port",
             .major_version = SPICE_INTERFACE_CHAR_DEVICE_MAJOR,
             .minor_version = SPICE_INTERFACE_CHAR_DEVICE_MINOR},
    .state = port_state,
    .write = port_write,
    .read = port_read,
};

void
sa_port_add(SpiceServer *server)
{
    port.instance.base.sif = &interface.base;
    port.instance.subtype = "port";
    port.instance.portname = "org.spice-accel.demo.0";
    spice_server_add_interface(server, &port.instance.base);
    spice_server_port_event(&port.instance, SPICE_PORT_EVENT_OPENED);
}
