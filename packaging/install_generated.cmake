# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# Runs at install time and installs what the program itself writes (manual pages, completion, sample configuration), and
# the units, which name the installed program's folder.

set(bindir "${CMAKE_INSTALL_PREFIX}/bin")
set(sysconfdir "${CMAKE_INSTALL_PREFIX}/etc")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(sysconfdir /etc)
endif()
file(REMOVE_RECURSE "${aster_generated}")
file(MAKE_DIRECTORY "${aster_generated}")

# Writes the program's output to a file. The environment is empty, so that no option comes from it.
function(aster_output file)
  execute_process(COMMAND env -i ${aster_program} ${ARGN} OUTPUT_FILE "${aster_generated}/${file}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Installs files in DIR below the prefix, or at an absolute path; DESTDIR is put before both.
function(aster_install dir)
  if(NOT IS_ABSOLUTE "${dir}")
    set(dir "${CMAKE_INSTALL_PREFIX}/${dir}")
  endif()
  file(INSTALL DESTINATION "${dir}" TYPE FILE FILES ${ARGN})
  set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()

aster_output(man.log man --folder "${aster_generated}/man")
file(GLOB pages "${aster_generated}/man/*.1")
find_program(ASTER_GZIP gzip)
if(ASTER_GZIP)
  execute_process(COMMAND "${ASTER_GZIP}" -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
  list(TRANSFORM pages APPEND .gz)
endif()
aster_install(share/man/man1 ${pages})

aster_output(aster completion bash)
aster_output(_aster completion zsh)
aster_output(aster.fish completion fish)
aster_install(share/bash-completion/completions "${aster_generated}/aster")
aster_install(share/zsh/vendor-completions "${aster_generated}/_aster")
aster_install(share/fish/vendor_completions.d "${aster_generated}/aster.fish")

foreach(unit aster-serve aster-node)
  configure_file("${aster_packaging}/systemd/${unit}.service.in" "${aster_generated}/${unit}.service" @ONLY)
  aster_install(lib/systemd/system "${aster_generated}/${unit}.service")
endforeach()

# Sample configuration: every option with its default. An existing file stays, as a user may have changed it.
aster_output(serve.options serve --print-config)
file(READ "${aster_generated}/serve.options" options)
file(READ "${aster_packaging}/serve.toml.head" head)
file(WRITE "${aster_generated}/serve.toml" "${head}${options}")
file(COPY "${aster_packaging}/node.toml" DESTINATION "${aster_generated}")
foreach(file serve.toml node.toml)
  set(place "${sysconfdir}/asterism/${file}")
  if(NOT EXISTS "$ENV{DESTDIR}${place}")
    aster_install("${sysconfdir}/asterism" "${aster_generated}/${file}")
  endif()
endforeach()

# The list is for the target uninstall. With DESTDIR another program (such as dpkg) installs and removes the files.
if("$ENV{DESTDIR}" STREQUAL "")
  string(REPLACE ";" "\n" lines "${CMAKE_INSTALL_MANIFEST_FILES}")
  file(WRITE "${aster_list}" "${lines}\n")
endif()
