# Libraries for other people's file formats: packed files, images, sound.
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET GLOBAL libzstd)
pkg_check_modules(sndfile REQUIRED IMPORTED_TARGET GLOBAL sndfile)
pkg_check_modules(samplerate REQUIRED IMPORTED_TARGET GLOBAL samplerate)
