# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# Writes the files of the web page as C++: cmake -DPAGE=web/dist -DOUTPUT=page_files.cc -P cmake/page.cmake
# Each file is written twice, plain and compressed.

set(type_html "text/html; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_svg "image/svg+xml")
set(type_txt "text/plain; charset=utf-8")
set(type_webmanifest "application/manifest+json")

# page_array(VARIABLE FILE): the bytes of a file as numbers of C++, 32 on a line.
function(page_array variable file)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  set(${variable} "${hex}" PARENT_SCOPE)
endfunction()

file(GLOB names RELATIVE "${PAGE}" "${PAGE}/*")
list(SORT names)
set(arrays "")
set(table "")
set(index 0)
foreach(name ${names})
  get_filename_component(extension "${name}" LAST_EXT)
  string(SUBSTRING "${extension}" 1 -1 extension)
  if(NOT DEFINED type_${extension})
    message(FATAL_ERROR "${PAGE}/${name}: no content type is known for .${extension}; add it to cmake/page.cmake")
  endif()
  set(packed "${OUTPUT}.${name}.gz")
  file(ARCHIVE_CREATE OUTPUT "${packed}" PATHS "${PAGE}/${name}" FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  page_array(plain_bytes "${PAGE}/${name}")
  page_array(packed_bytes "${packed}")
  file(REMOVE "${packed}")
  file(SHA256 "${PAGE}/${name}" tag)
  string(SUBSTRING "${tag}" 0 16 tag)
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND arrays "const unsigned char kPlain${index}[] = {\n${plain_bytes}\n};\n"
    "const unsigned char kGzip${index}[] = {\n${packed_bytes}\n};\n")
  string(APPEND table
    "    {\"${path}\", \"${type_${extension}}\", \"${tag}\", Text(kPlain${index}), Text(kGzip${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE "${OUTPUT}" "#include \"serve/page.h\"

namespace aster::serve {
namespace {

${arrays}
template <size_t kSize>
std::string_view Text(const unsigned char (&bytes)[kSize]) {
  return {reinterpret_cast<const char*>(bytes), kSize};
}

}  // namespace

std::span<const PageFile> PageFiles() {
  static const PageFile kFiles[] = {
${table}  };
  return kFiles;
}

}  // namespace aster::serve
")
