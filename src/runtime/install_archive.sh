#!/bin/sh
# install_archive.sh ARCHIVE FOLDER: as libcudart_static.a in a folder below the prefix.
set -eu
folder="$MESON_INSTALL_DESTDIR_PREFIX/$2"
mkdir -p "$folder"
cp "$1" "$folder/libcudart_static.a"
