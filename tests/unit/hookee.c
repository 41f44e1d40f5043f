/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library whose imports test-hooks.c hooks; built several ways. Its imports come from a second
 * library, made of this file too. */
#define EXPORT __attribute__((visibility("default")))

EXPORT int hookee_real_add(int a, int b);
EXPORT int hookee_real_mul(int a, int b);
EXPORT int hookee_real_sub(int a, int b);

#ifdef HOOKEE_REAL

int
hookee_real_add(int a, int b)
{
    return a + b;
}

int
hookee_real_mul(int a, int b)
{
    return a * b;
}

int
hookee_real_sub(int a, int b)
{
    return a - b;
}

#else

EXPORT int hookee_add(int a, int b);
EXPORT int hookee_mul(int a, int b);
EXPORT int hookee_sub(int a, int b);
EXPORT extern int (*const hookee_table[1])(int a, int b);

/* An address of an import in the library's data. */
int (*const hookee_table[1])(int a, int b) = {hookee_real_sub};

int
hookee_add(int a, int b)
{
    return hookee_real_add(a, b);
}

int
hookee_mul(int a, int b)
{
    return hookee_real_mul(a, b);
}

int
hookee_sub(int a, int b)
{
    return hookee_real_sub(a, b);
}

#endif
