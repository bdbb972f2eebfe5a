#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes the marks of pages of states that a batch has changed, after all reads of them. The mark of
// an open page has the position of its states; that of a full page is empty. A workgroup a course.
#include "memory.glsl"
#include "runs.glsl"
#include "states.glsl"

layout(local_size_x = 32) in;
layout(push_constant) uniform Push {
  Words courses;
  Words table;
  Words hashes;
  uint mark_word;
} push;

const uint kMarkWords = 6u;

void main() {
  const Course course = course_at(push.courses, gl_WorkGroupID.x);
  const uint pages = (course.end - 1u) / kPagePositions - course.page_begin / kPagePositions + 1u;
  for (uint n = gl_LocalInvocationID.x; n < pages * kMarkWords; n += gl_WorkGroupSize.x) {
    const uint page = n / kMarkWords, word = n % kMarkWords;
    // The last page may be open, and hold what nothing has been written into.
    const uint page_end = course.page_begin + (page + 1u) * kPagePositions;
    if (page > 0u && course.end < page_end) continue;
    uint mark = 0u;
    if (page == 0u && course.keeps != 0u) {
      const uint hash = 4u * (course.hashes + course.position - course.page_begin - 1u);
      if (word < 4u) mark = push.hashes.at[hash + word];
      if (word == 4u) mark = course.position;
    }
    WordsOut(address_at(push.table, course.states + 1u + page)).at[push.mark_word + word] = mark;
  }
}
