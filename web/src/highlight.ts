// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Colours of code: comments, strings, numbers and the words that most languages reserve. Must not
// know elements.

export interface Piece {
  kind: '' | 'comment' | 'string' | 'number' | 'word';
  text: string;
}

const words = new Set(
  (
    'abstract and as async await bool break case catch char class const constexpr continue def default ' +
    'defer del do double elif else enum except export extends extern false final finally float fn for ' +
    'foreach from func function global go if impl implements import in instanceof int interface is ' +
    'lambda let long loop match mod mut namespace new nil None not null nullptr operator or override ' +
    'package pass private protected pub public raise return self short signed sizeof static struct ' +
    'super switch template then this throw throws trait true True False try type typedef typename ' +
    'undefined union unsafe unsigned use using var virtual void volatile where while with yield ' +
    'select insert update delete create table into values join on group by order limit ' +
    'echo fi done local esac'
  ).split(' '),
);
const hashComments = new Set([
  'python',
  'py',
  'sh',
  'bash',
  'shell',
  'zsh',
  'yaml',
  'yml',
  'toml',
  'ruby',
  'rb',
  'perl',
  'r',
  'makefile',
  'cmake',
  'dockerfile',
  'ini',
  'conf',
  'elixir',
]);
const plain = new Set(['', 'text', 'txt', 'plain', 'output', 'console', 'markdown', 'md', 'diff']);
const sql = new Set(['sql', 'postgresql', 'sqlite', 'mysql']);

const strings =
  String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'|` +
  '`(?:[^`\\\\]|\\\\[\\s\\S])*`?';
const rest = String.raw`(?<number>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*)|(?<word>[A-Za-z_$][\w$]*)`;
const patterns = {
  hash: new RegExp(`(?<comment>#[^\\n]*)|(?<string>${strings})|${rest}`, 'g'),
  dash: new RegExp(String.raw`(?<comment>--[^\n]*|/\*[\s\S]*?(?:\*/|$))|(?<string>${strings})|${rest}`, 'g'),
  slash: new RegExp(
    String.raw`(?<comment>//[^\n]*|/\*[\s\S]*?(?:\*/|$)|<!--[\s\S]*?(?:-->|$))|(?<string>${strings})|${rest}`,
    'g',
  ),
};

export function highlight(language: string, text: string): Piece[] {
  if (plain.has(language) || text.length > 50_000) return [{ kind: '', text }];
  const isSql = sql.has(language);
  const pattern = hashComments.has(language)
    ? patterns.hash
    : isSql || language === 'lua' || language === 'haskell'
      ? patterns.dash
      : patterns.slash;
  const pieces: Piece[] = [];
  const add = (kind: Piece['kind'], piece: string): void => {
    const last = pieces.at(-1);
    if (last?.kind === kind) last.text += piece;
    else if (piece) pieces.push({ kind, text: piece });
  };
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    add('', text.slice(at, found.index));
    const { comment, string, number, word } = found.groups!;
    if (comment) add('comment', comment);
    else if (string) add('string', string);
    else if (number) add('number', number);
    else add(words.has(isSql ? word!.toLowerCase() : word!) ? 'word' : '', word!);
    at = found.index + found[0].length;
  }
  add('', text.slice(at));
  return pieces;
}
