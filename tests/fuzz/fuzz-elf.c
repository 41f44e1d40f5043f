/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* A good image with changes: the input is a byte of choices, two of how much of the image there is,
 * and then {offset u16, length u8, bytes}, written over headers and image. The image lies in a heap
 * block of its own size, so that a sanitizer sees every read outside. */
#include <stdlib.h>
#include <string.h>

#include <elf.h>

#include "client/elf.h"
#include "../unit/elf-image.h"

#define IMAGE_SIZE (ELF_IMAGE_TEXT_END + ELF_IMAGE_DATA_SIZE)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
change(ElfImage *image, gsize n_headers, const uint8_t *data, size_t size)
{
    while (size >= 3) {
        gsize offset = (gsize)data[0] | (gsize)data[1] << 8;
        const gsize length = MIN(data[2], size - 3);
        guint8 *target = image->headers;
        gsize room = n_headers;

        if (offset >= n_headers) {
            offset = (offset - n_headers) % IMAGE_SIZE;
            target = image->bytes;
            room = IMAGE_SIZE;
        }
        memcpy(target + offset, data + 3, MIN(length, room - offset));
        data += 3 + length;
        size -= 3 + length;
    }
}

static void
find(const ElfImage *image, const ElfImageKind *kind, const SaElfMemory *memory)
{
    SaElfImport imports[] = {{.symbol = "alpha"}, {.symbol = "beta"}, {.symbol = "gamma"}};
    SaElf elf;

    if (sa_elf_init(&elf, kind->machine, kind->base, image->headers, image->n_headers, memory) !=
            SA_ELF_OK ||
        sa_elf_find(&elf, imports, G_N_ELEMENTS(imports)) != SA_ELF_OK)
        return;
    for (guint i = 0; i < G_N_ELEMENTS(imports); i++)
        for (guint j = 0; j < imports[i].n_slots; j++)
            if (imports[i].slots[j] < memory->address ||
                imports[i].slots[j] - memory->address >= memory->size ||
                !sa_elf_contains(&elf, imports[i].slots[j], kind->machine->is64 ? 8 : 4))
                abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const guint16 machines[] = {EM_X86_64, EM_AARCH64, EM_386, EM_ARM};
    ElfImageKind kind = {.data = ELF_IMAGE_TEXT_END};
    ElfImage image;
    gsize n_headers, length;
    guint8 *whole, *cut;

    if (size < 3)
        return 0;
    kind.machine = sa_elf_machine(machines[data[0] & 3], (data[0] & 2) == 0);
    kind.addend = (data[0] & 4) != 0;
    kind.absolute = (data[0] & 8) != 0;
    kind.base = kind.machine->is64 ? 0x7f0012340000 : 0xf7a10000;
    length = ((gsize)data[1] | (gsize)data[2] << 8) % (IMAGE_SIZE + 1);
    if (data[0] & 16)
        length = IMAGE_SIZE;

    whole = malloc(IMAGE_SIZE);
    elf_image_build(&image, &kind, whole);
    n_headers = image.n_headers * (kind.machine->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
    if (length < IMAGE_SIZE) {
        elf_image_set_header(&image, &kind, 0, PT_LOAD, PF_R | PF_W, 0, length);
        elf_image_set_header(&image, &kind, 1, PT_NOTE, PF_R, 0, 0);
    }
    change(&image, n_headers, data + 3, size - 3);

    cut = malloc(length);
    memcpy(cut, whole, length);
    find(&image, &kind, &(SaElfMemory){cut, kind.base, length});
    free(cut);
    free(whole);
    return 0;
}
