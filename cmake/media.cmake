# Libraries for pictures and sound. Also installed beside MegaConfig.cmake, for consumers that read such files.
if(TARGET Mega::png)
  return()
endif()

mega_format(png libpng Mega::zlib)
mega_format(jpeg libjpeg)
mega_format(webp libwebp)
mega_format(webpdemux libwebpdemux Mega::webp)
# These stand on a dozen codecs of their own, which Debian has as shared libraries only.
pkg_check_modules(sndfile REQUIRED IMPORTED_TARGET GLOBAL sndfile)
pkg_check_modules(samplerate REQUIRED IMPORTED_TARGET GLOBAL samplerate)
