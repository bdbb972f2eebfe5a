// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Markdown as elements. Text reaches the page as text nodes only.
import { useMemo } from 'preact/hooks';
import type { ComponentChildren, JSX } from 'preact';
import { CopyButton } from './controls';
import { highlight } from './highlight';
import { type Block, type Inline, parseMarkdown } from './markdown';

function inlineView(inline: Inline, key: number): ComponentChildren {
  switch (inline.kind) {
    case 'text':
      return inline.text;
    case 'code':
      return <code key={key}>{inline.text}</code>;
    case 'break':
      return <br key={key} />;
    case 'strong':
      return <strong key={key}>{inline.inside.map(inlineView)}</strong>;
    case 'em':
      return <em key={key}>{inline.inside.map(inlineView)}</em>;
    case 'strike':
      return <s key={key}>{inline.inside.map(inlineView)}</s>;
    case 'link':
      return (
        <a key={key} href={inline.href} target="_blank" rel="noopener noreferrer">
          {inline.inside.map(inlineView)}
        </a>
      );
  }
}

export function Code({ language, text }: { language: string; text: string }): JSX.Element {
  const pieces = useMemo(() => highlight(language, text), [language, text]);
  return (
    <figure class="code">
      <figcaption>
        <span>{language || 'text'}</span>
        <CopyButton text={text} label="Copy code" />
      </figcaption>
      {/* A block that is wider than the page is scrolled by the keyboard, too. */}
      <pre tabIndex={0}>
        <code>
          {pieces.map(({ kind, text: piece }, index) =>
            kind ? (
              <span key={index} class={`code-${kind}`}>
                {piece}
              </span>
            ) : (
              piece
            ),
          )}
        </code>
      </pre>
    </figure>
  );
}

function blockView(block: Block, key: number): ComponentChildren {
  switch (block.kind) {
    case 'paragraph':
      return <p key={key}>{block.inside.map(inlineView)}</p>;
    case 'heading': {
      // The page has headings of its own above them.
      const Tag = `h${Math.min(block.level + 2, 6)}` as 'h3';
      return <Tag key={key}>{block.inside.map(inlineView)}</Tag>;
    }
    case 'code':
      return <Code key={key} language={block.language} text={block.text} />;
    case 'quote':
      return <blockquote key={key}>{block.blocks.map(blockView)}</blockquote>;
    case 'rule':
      return <hr key={key} />;
    case 'list': {
      const items = block.items.map((item, index) => (
        <li key={index} class={item.checked === undefined ? undefined : 'task'}>
          {item.checked !== undefined && (
            <input type="checkbox" checked={item.checked} disabled aria-label="Task" />
          )}
          {item.blocks.length === 1 && item.blocks[0]!.kind === 'paragraph'
            ? item.blocks[0]!.inside.map(inlineView)
            : item.blocks.map(blockView)}
        </li>
      ));
      return block.start === undefined ? (
        <ul key={key}>{items}</ul>
      ) : (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      );
    }
    case 'table':
      return (
        <div key={key} class="table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead>
              <tr>
                {block.head.map((cell, index) => (
                  <th key={index} class={block.aligns[index]}>
                    {cell.map(inlineView)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, rowIndex) => (
                <tr key={rowIndex}>
                  {row.map((cell, index) => (
                    <td key={index} class={block.aligns[index]}>
                      {cell.map(inlineView)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
  }
}

export function Prose({ text }: { text: string }): JSX.Element {
  // The very same elements, so that answers which do not change cost nothing while one does.
  return useMemo(() => <div class="prose">{parseMarkdown(text).map(blockView)}</div>, [text]);
}
