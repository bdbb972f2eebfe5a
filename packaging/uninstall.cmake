# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# cmake -DLIST=FILE -P uninstall.cmake: removes the files that the last `cmake --install` wrote, and the project's
# folders if they are empty then. Configuration files stay, as a user may have changed them.

if(NOT EXISTS "${LIST}")
  # CMake prints lines that begin with a space unchanged; it would wrap other lines.
  message(FATAL_ERROR " Nothing was installed from this build folder: no such file:\n ${LIST}")
endif()
file(STRINGS "${LIST}" files ENCODING UTF-8)
foreach(file IN LISTS files)
  if(file MATCHES "/etc/asterism/")
    message(STATUS "Kept ${file}")
  elseif(EXISTS "${file}" OR IS_SYMLINK "${file}")
    file(REMOVE "${file}")
  endif()
endforeach()
# Only folders of this project, in which other programs have no files.
foreach(file IN LISTS files)
  if(file MATCHES "^(.*/share/(asterism/models|doc/asterism))/[^/]*$")
    list(APPEND folders "${CMAKE_MATCH_1}")
  endif()
endforeach()
list(TRANSFORM folders REPLACE "/models$" "" OUTPUT_VARIABLE parents)
list(APPEND folders ${parents})
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  file(GLOB left "${folder}/*")
  if(IS_DIRECTORY "${folder}" AND NOT left)
    file(REMOVE_RECURSE "${folder}")
  endif()
endforeach()
file(REMOVE "${LIST}")
