// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Markdown as models write it, into plain values. Nothing of it ever becomes markup by itself: the
// page makes elements of these values, and text stays text. Must not know elements.

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'break' }
  | { kind: 'strong' | 'em' | 'strike'; inside: Inline[] }
  | { kind: 'link'; href: string; inside: Inline[] };

export type Align = 'left' | 'center' | 'right' | undefined;

export type Block =
  | { kind: 'paragraph'; inside: Inline[] }
  | { kind: 'heading'; level: number; inside: Inline[] }
  | { kind: 'code'; language: string; text: string; isOpen: boolean }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; start: number | undefined; items: Item[] }
  | { kind: 'table'; aligns: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

export interface Item {
  checked: boolean | undefined;
  blocks: Block[];
}

const maxDepth = 12;

// Only these may be followed; anything else stays text.
function safeHref(href: string): string | undefined {
  try {
    const { protocol } = new URL(href);
    return ['http:', 'https:', 'mailto:'].includes(protocol) ? href : undefined;
  } catch {
    return undefined;
  }
}

const escapable = /[\\`*_{}[\]()#+\-.!|~<>"'$%&,/:;=?@^]/;
const inlineToken =
  /(?<escaped>\\[\s\S])|(?<ticks>`+)|(?<image>!?)\[(?<label>(?:[^[\]\\]|\\.|\[[^[\]]*\])*)\]\((?<href>[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+"[^"]*")?\)|<(?<auto>(?:https?:\/\/|mailto:)[^\s<>]+)>|(?<bare>https?:\/\/[^\s<>"'`]+)|(?<mark>\*{1,3}|_{1,3}|~~)|(?<br> {2,}\n|<br\s*\/?>)/g;

interface Run {
  out: Inline[];
  text: string;
}

function flush(run: Run): void {
  if (run.text) run.out.push({ kind: 'text', text: run.text });
  run.text = '';
}

// Where the closing mark is, as the text from `from` on has it; -1 where there is none.
function closeOf(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    const before = text[at - 1] ?? ' ';
    const after = text[at + mark.length] ?? ' ';
    if (/\s/.test(before) || before === '\\') continue;
    if (after === mark[0] || (before === mark[0] && mark.length < 3)) {
      // A longer run of the letter is another mark.
      if (mark.length < 3 && after === mark[0]) at += 1;
      continue;
    }
    if (mark[0] === '_' && /\w/.test(after)) continue;
    return at;
  }
  return -1;
}

const kindOf = { '*': 'em', _: 'em', '**': 'strong', __: 'strong', '~~': 'strike' } as const;

// `open` are the marks that are known to be closed nowhere behind this place.
function emphasis(
  text: string,
  mark: string,
  at: number,
  depth: number,
  open: Set<string>,
): [Inline, number] | undefined {
  const begin = at + mark.length;
  const isWordBefore = mark[0] === '_' && /\w/.test(text[at - 1] ?? ' ');
  if (isWordBefore || /\s/.test(text[begin] ?? ' ') || open.has(mark)) return undefined;
  const end = closeOf(text, mark, begin + 1);
  if (end < 0) {
    open.add(mark);
    return undefined;
  }
  const inside = inlines(text.slice(begin, end), depth + 1);
  if (mark.length === 3) return [{ kind: 'strong', inside: [{ kind: 'em', inside }] }, end + 3];
  return [{ kind: kindOf[mark as keyof typeof kindOf], inside }, end + mark.length];
}

export function inlines(text: string, depth = 0): Inline[] {
  const run: Run = { out: [], text: '' };
  if (depth > maxDepth) return text ? [{ kind: 'text', text }] : [];
  const token = new RegExp(inlineToken);
  const open = new Set<string>();
  let at = 0;
  const add = (inline: Inline, end: number): void => {
    flush(run);
    run.out.push(inline);
    at = end;
  };
  for (;;) {
    token.lastIndex = at;
    const found = token.exec(text);
    if (!found) break;
    run.text += text.slice(at, found.index);
    at = found.index;
    const end = at + found[0].length;
    const { escaped, ticks, image, label, href, auto, bare, mark, br } = found.groups!;
    if (escaped) {
      run.text += escapable.test(escaped[1]!) ? escaped[1] : escaped;
      at = end;
    } else if (ticks) {
      const close = new RegExp(`(?<!\`)${ticks}(?!\`)`, 'g');
      close.lastIndex = end;
      const closed = close.exec(text);
      if (closed) {
        const code = text.slice(end, closed.index).replace(/\n/g, ' ');
        add({ kind: 'code', text: code.replace(/^ (.*[^ ].*) $/, '$1') }, closed.index + ticks.length);
      } else {
        run.text += ticks;
        at = end;
      }
    } else if (label !== undefined) {
      // Images would be fetched from elsewhere: their address is shown instead.
      const safe = safeHref(href!);
      const inside = inlines(label || (image && href) || '', depth + 1);
      if (safe) add({ kind: 'link', href: safe, inside }, end);
      else {
        run.text += found[0];
        at = end;
      }
    } else if (auto || bare) {
      // A sentence's end is not the address's.
      const trimmed = auto ?? bare!.replace(/[.,;:!?*_~]+$|\)+$/, '');
      const safe = safeHref(trimmed);
      const inside: Inline[] = [{ kind: 'text', text: trimmed }];
      if (safe) add({ kind: 'link', href: safe, inside }, auto ? end : at + trimmed.length);
      else {
        run.text += found[0];
        at = end;
      }
    } else if (mark) {
      const made = emphasis(text, mark, at, depth, open);
      if (made) add(...made);
      else {
        run.text += mark;
        at = end;
      }
    } else if (br) {
      add({ kind: 'break' }, end);
    }
  }
  run.text += text.slice(at);
  flush(run);
  return run.out;
}

const fence = /^( {0,3})(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const bullet = /^( *)([-*+]|\d{1,9}[.)])( +|$)(.*)$/;
const quote = /^ {0,3}> ?(.*)$/;
const tableRule = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function cells(line: string): string[] {
  const inside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'));
}

function alignOf(cell: string): Align {
  if (cell.endsWith(':')) return cell.startsWith(':') ? 'center' : 'right';
  return cell.startsWith(':') ? 'left' : undefined;
}

// Lines that a reader goes through once.
class Lines {
  at = 0;
  constructor(readonly lines: string[]) {}
  get isOver(): boolean {
    return this.at >= this.lines.length;
  }
  get line(): string {
    return this.lines[this.at]!;
  }
}

function readFence(lines: Lines, match: RegExpExecArray): Block {
  const [, indent, mark, language] = match;
  const text: string[] = [];
  let isOpen = true;
  for (lines.at += 1; !lines.isOver; lines.at += 1) {
    const closing = lines.line.trim();
    if (closing.startsWith(mark!) && closing === mark![0]!.repeat(closing.length)) {
      isOpen = false;
      lines.at += 1;
      break;
    }
    text.push(lines.line.replace(new RegExp(`^ {0,${indent!.length}}`), ''));
  }
  return { kind: 'code', language: language!.toLowerCase(), text: text.join('\n'), isOpen };
}

function readQuote(lines: Lines, depth: number): Block {
  const inside: string[] = [];
  for (; !lines.isOver; lines.at += 1) {
    const quoted = quote.exec(lines.line);
    if (!quoted && (lines.line.trim() === '' || beginsBlock(lines.line))) break;
    inside.push(quoted ? quoted[1]! : lines.line);
  }
  return { kind: 'quote', blocks: blocksOf(inside, depth + 1) };
}

function readItem(lines: Lines, match: RegExpExecArray, depth: number): Item {
  const [, indent, mark, space, first] = match;
  const width = indent!.length + mark!.length + Math.min(Math.max(space!.length, 1), 4);
  const task = /^\[([ xX])\]\s+(.*)$/.exec(first!);
  const inside = [task ? task[2]! : first!];
  let isBlank = false;
  for (lines.at += 1; !lines.isOver; lines.at += 1) {
    const line = lines.line;
    const isIndented = line.search(/\S/) >= Math.min(width, indent!.length + 2);
    if (line.trim() === '') {
      isBlank = true;
      inside.push('');
    } else if (isIndented) {
      isBlank = false;
      inside.push(line.slice(Math.min(width, line.search(/\S/))));
    } else if (!isBlank && !bullet.test(line) && !beginsBlock(line)) {
      inside.push(line.trimStart());
    } else {
      break;
    }
  }
  return { checked: task ? task[1] !== ' ' : undefined, blocks: blocksOf(inside, depth + 1) };
}

function readList(lines: Lines, match: RegExpExecArray, depth: number): Block {
  const isOrdered = /\d/.test(match[2]!);
  const items: Item[] = [];
  for (let next: RegExpExecArray | null = match; next && !lines.isOver;) {
    items.push(readItem(lines, next, depth));
    next = lines.isOver ? null : bullet.exec(lines.line);
    if (next && (/\d/.test(next[2]!) !== isOrdered || rule.test(lines.line))) break;
  }
  return { kind: 'list', start: isOrdered ? Number.parseInt(match[2]!, 10) : undefined, items };
}

function readTable(lines: Lines): Block {
  const head = cells(lines.line).map((cell) => inlines(cell));
  const aligns = cells(lines.lines[lines.at + 1]!).map(alignOf);
  const rows: Inline[][][] = [];
  for (lines.at += 2; !lines.isOver && lines.line.includes('|'); lines.at += 1) {
    const row = cells(lines.line);
    rows.push(head.map((_, index) => inlines(row[index] ?? '')));
  }
  return { kind: 'table', aligns, head, rows };
}

function beginsBlock(line: string): boolean {
  return fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line);
}

function beginsTable(lines: Lines): boolean {
  const next = lines.lines[lines.at + 1];
  return (
    next !== undefined &&
    lines.line.includes('|') &&
    tableRule.test(next) &&
    cells(next).length === cells(lines.line).length
  );
}

function readParagraph(lines: Lines): Block {
  const text: string[] = [];
  for (; !lines.isOver && lines.line.trim() !== ''; lines.at += 1) {
    const isList = /^ *(?:[-*+]|1[.)]) +\S/.test(lines.line);
    if (text.length > 0 && (beginsBlock(lines.line) || isList || beginsTable(lines))) break;
    text.push(lines.line.trimStart());
  }
  return { kind: 'paragraph', inside: inlines(text.join('\n').trimEnd()) };
}

function readBlock(lines: Lines, depth: number): Block {
  const line = lines.line;
  const fenced = fence.exec(line);
  if (fenced) return readFence(lines, fenced);
  const headed = heading.exec(line);
  if (headed) {
    lines.at += 1;
    return { kind: 'heading', level: headed[1]!.length, inside: inlines(headed[2]!) };
  }
  if (rule.test(line)) {
    lines.at += 1;
    return { kind: 'rule' };
  }
  if (quote.test(line)) return readQuote(lines, depth);
  const listed = bullet.exec(line);
  if (listed) return readList(lines, listed, depth);
  if (beginsTable(lines)) return readTable(lines);
  return readParagraph(lines);
}

function blocksOf(source: string[], depth: number): Block[] {
  if (depth > maxDepth) {
    return [{ kind: 'paragraph', inside: [{ kind: 'text', text: source.join('\n') }] }];
  }
  const lines = new Lines(source);
  const blocks: Block[] = [];
  while (!lines.isOver) {
    if (lines.line.trim() === '') lines.at += 1;
    else blocks.push(readBlock(lines, depth));
  }
  return blocks;
}

export const parseMarkdown = (text: string): Block[] =>
  blocksOf(text.replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n'), 0);
