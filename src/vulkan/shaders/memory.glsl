// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Device memory, reached by addresses that come as push constants. Words and Floats are read only.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer WordsOut { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer FloatsOut { float at[]; };
// Four words from a multiple of sixteen bytes on.
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Vectors {
  uvec4 at[];
};

// For loops over arrays that shall be in registers. Such an array has a size that is no
// specialisation constant: there are drivers that keep others in memory.
#define UNROLL [[unroll]]
