/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inputs.h"

#include <spice/enums.h>

enum {
    PREFIX_EXTENDED = 0xe0,
    PREFIX_PAUSE = 0xe1, /* two more bytes follow it */
    RELEASE = 0x80,
    CAPS_LOCK = 0x3a,
    NUM_LOCK = 0x45,
    SCROLL_LOCK = 0x46,
    FAKE_LEFT_SHIFT = 0x2a, /* behind a prefix: no key, part of another one */
    FAKE_RIGHT_SHIFT = 0x36,
};

static struct {
    SaDemo *demo;
    SpiceKbdInstance keyboard;
    SpiceMouseInstance mouse;
    SpiceTabletInstance tablet;
    guint8 prefix;
    guint skip; /* bytes of a pause sequence */
    guint8 leds;
} inputs;

static guint8
lock_flag(guint8 code)
{
    switch (code) {
    case CAPS_LOCK:
        return SPICE_KEYBOARD_MODIFIER_FLAGS_CAPS_LOCK;
    case NUM_LOCK:
        return SPICE_KEYBOARD_MODIFIER_FLAGS_NUM_LOCK;
    case SCROLL_LOCK:
        return SPICE_KEYBOARD_MODIFIER_FLAGS_SCROLL_LOCK;
    default:
        return 0;
    }
}

static void
push_scan_code(SpiceKbdInstance *instance, uint8_t code)
{
    guint8 prefix = inputs.prefix;

    if (inputs.skip > 0) {
        inputs.skip--;
        return;
    }
    if (code == PREFIX_PAUSE) {
        inputs.skip = 2;
        return;
    }
    inputs.prefix = code == PREFIX_EXTENDED ? code : 0;
    if (code == PREFIX_EXTENDED || code & RELEASE)
        return;
    if (prefix) {
        if (code != FAKE_LEFT_SHIFT && code != FAKE_RIGHT_SHIFT)
            sa_demo_key(inputs.demo, (guint)prefix << 8 | code);
    } else if (lock_flag(code)) {
        /* The server presses these by itself when a client connects, to match its lamps: they light
         * a lamp and are no key presses of a user. */
        inputs.leds ^= lock_flag(code);
        spice_server_kbd_leds(instance, inputs.leds);
    } else {
        sa_demo_key(inputs.demo, code);
    }
}

static uint8_t
get_leds(SpiceKbdInstance *instance)
{
    return inputs.leds;
}

static void
ignore_motion(SpiceMouseInstance *instance, int dx, int dy, int dz, uint32_t buttons)
{
}

static void
ignore_mouse_buttons(SpiceMouseInstance *instance, uint32_t buttons)
{
}

static void
ignore_logical_size(SpiceTabletInstance *instance, int width, int height)
{
}

static void
tablet_position(SpiceTabletInstance *instance, int x, int y, uint32_t buttons)
{
    sa_demo_move_cursor(inputs.demo, x, y);
}

static void
ignore_wheel(SpiceTabletInstance *instance, int wheel, uint32_t buttons)
{
}

static void
ignore_tablet_buttons(SpiceTabletInstance *instance, uint32_t buttons)
{
}

static const SpiceKbdInterface keyboard = {
    .base = {.type = SPICE_INTERFACE_KEYBOARD,
             .description = "demo keyboard",
             .major_version = SPICE_INTERFACE_KEYBOARD_MAJOR,
             .minor_version = SPICE_INTERFACE_KEYBOARD_MINOR},
    .push_scan_freg = push_scan_code,
    .get_leds = get_leds,
};

static const SpiceMouseInterface mouse = {
    .base = {.type = SPICE_INTERFACE_MOUSE,
             .description = "demo mouse",
             .major_version = SPICE_INTERFACE_MOUSE_MAJOR,
             .minor_version = SPICE_INTERFACE_MOUSE_MINOR},
    .motion = ignore_motion,
    .buttons = ignore_mouse_buttons,
};

static const SpiceTabletInterface tablet = {
    .base = {.type = SPICE_INTERFACE_TABLET,
             .description = "demo tablet",
             .major_version = SPICE_INTERFACE_TABLET_MAJOR,
             .minor_version = SPICE_INTERFACE_TABLET_MINOR},
    .set_logical_size = ignore_logical_size,
    .position = tablet_position,
    .wheel = ignore_wheel,
    .buttons = ignore_tablet_buttons,
};

void
sa_inputs_add(SpiceServer *server, SaDemo *demo)
{
    inputs.demo = demo;
    inputs.keyboard.base.sif = &keyboard.base;
    inputs.mouse.base.sif = &mouse.base;
    inputs.tablet.base.sif = &tablet.base;
    spice_server_add_interface(server, &inputs.keyboard.base);
    spice_server_add_interface(server, &inputs.mouse.base);
    spice_server_add_interface(server, &inputs.tablet.base);
}
