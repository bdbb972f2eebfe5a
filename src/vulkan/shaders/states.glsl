// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tokens of one sequence whose states a batch changes, and the position from which their states
// are known (src/compute/cpu/delta_net.cc; docs/delta-net.md). After memory.glsl and runs.glsl.

const uint kPagePositions = 128u;

struct Course {
  uint page_begin;  // of the page of the batch's first token
  uint position;    // of that token
  uint end;         // after the last token
  uint first_row;   // of the batch
  uint first_slot;  // of all tokens from page_begin on, in memory between two kernels
  uint inputs;      // entry of the page before that page in the table of addresses; the next follow
  uint states;      // the same, of states
  uint hashes;      // entry, in `hashes`, of the first page_begin + 1 tokens; the next follow
  uint keeps;       // whether the states before the batch are kept in that page
};
const uint kCourseWords = 9u;

Course course_at(Words courses, uint index) {
  const uint at = kCourseWords * index;
  return Course(courses.at[at], courses.at[at + 1u], courses.at[at + 2u], courses.at[at + 3u],
                courses.at[at + 4u], courses.at[at + 5u], courses.at[at + 6u], courses.at[at + 7u],
                courses.at[at + 8u]);
}

// The position whose states the page holds, if its mark is along the sequence's tokens; else the
// page's begin. The mark is a hash of the tokens before a position, and the position.
uint start_of(Course course, Words table, Words hashes, uint mark_word) {
  Words page = Words(address_at(table, course.states + 1u));
  const uint marked = page.at[mark_word + 4u];
  if (marked <= course.page_begin || marked > course.position) return course.page_begin;
  const uint hash = 4u * (course.hashes + marked - course.page_begin - 1u);
  UNROLL for (uint i = 0u; i < 4u; ++i)
    if (hashes.at[hash + i] != page.at[mark_word + i]) return course.page_begin;
  return marked;
}
