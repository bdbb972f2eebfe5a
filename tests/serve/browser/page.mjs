// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The server's page in Chromium, as a person uses it:
// node page.mjs CHROMIUM OPEN_SERVER LOCKED_SERVER KEY NODE_PROCESS [FOLDER_FOR_SCREENSHOTS]
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const [program, open, locked, key, node, screenshots] = process.argv.slice(2);
const patience = { timeout: 60_000 };
const problems = [];

async function newPage(context) {
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // A refused key is an answer of the server that the page expects.
    if (message.type() === 'error' && !message.text().includes('401')) problems.push(message.text());
  });
  page.on('request', (request) => {
    const isOurs = [open, locked].some((server) => request.url().startsWith(`${server}/`));
    if (!isOurs) problems.push(`a request to ${request.url()}`);
  });
  return page;
}

const message = (page) => page.getByLabel('Message', { exact: true });
const lastAnswer = (page) => page.locator('.turn.assistant').last();
const textOf = (answer) => answer.locator('> .prose').innerText();
const untilDone = (page) => page.locator('.turns-inside > .turn:last-child:has(footer)').waitFor(patience);

async function say(page, text) {
  await message(page).fill(text);
  await page.keyboard.press('Enter');
  await page.locator('.turn.user', { hasText: text }).last().waitFor();
}

async function show(page, name) {
  if (screenshots) await page.screenshot({ path: `${screenshots}/${name}.png` });
}

async function chats(page) {
  await page.goto(open);
  await page.getByRole('heading', { name: 'What shall nova answer?' }).waitFor(patience);
  // The first key that is pressed is written: the place for it has the focus.
  await page.keyboard.type('What is 12 * 7?');
  await page.keyboard.press('Enter');
  await untilDone(page);
  assert.match(await textOf(lastAnswer(page)), /\S/);
  assert.match(page.url(), /#\/chat\/[\da-f]{16}$/);
  assert.match(await lastAnswer(page).locator('.figures').innerText(), /nova.*tokens.*seed \d+/s);
  assert.equal(await page.title(), 'What is 12 * 7? · Asterism');
}

async function stops(page) {
  await say(page, 'Tell me a story.');
  await lastAnswer(page).locator('> .prose').waitFor(patience);
  await page.keyboard.press('Escape');
  await lastAnswer(page).getByText('Stopped.').waitFor(patience);
  const { now } = await page.evaluate(async (url) => (await fetch(`${url}/v1/status`)).json(), open);
  assert.equal(now.queued, 0);
}

async function edits(page) {
  await page.locator('.turn.user').last().hover();
  await page.getByLabel('Edit message').last().click();
  await page.getByLabel('Edit the message').fill('What is 5 + 6?');
  await page.keyboard.press('Enter');
  await untilDone(page);
  const asked = await page.locator('.turn.user .bubble').allInnerTexts();
  assert.deepEqual(asked, ['What is 12 * 7?', 'What is 5 + 6?']);
}

async function triesAgain(page) {
  await lastAnswer(page).getByLabel('Another answer').click();
  await lastAnswer(page).getByText('2 / 2').waitFor(patience);
  await untilDone(page);
  await lastAnswer(page).getByLabel('Earlier answer').click();
  await lastAnswer(page).getByText('1 / 2').waitFor();
}

// The answer is the same again, though a machine is lost while it is written.
async function repeatsWithout(page) {
  await page.getByRole('link', { name: 'New conversation' }).click();
  await page.locator('.empty').waitFor();
  await say(page, 'Tell me a long story about a boat.');
  await untilDone(page);
  const first = await textOf(lastAnswer(page));
  await lastAnswer(page).getByLabel('Same answer again').click();
  await page.waitForFunction(
    () => document.querySelector('.turn.assistant[aria-busy=true] > .prose')?.textContent.length > 10,
    undefined,
    patience,
  );
  process.kill(Number(node), 'SIGKILL');
  await lastAnswer(page).getByText('same answer as 1').waitFor(patience);
  assert.equal(await textOf(lastAnswer(page)), first);
  await show(page, 'chat');
}

async function findsItAgain(page) {
  const title = 'What is 12 * 7?';
  await page.reload();
  await page.getByRole('link', { name: title }).click();
  const asked = await page.locator('.turn.user .bubble').allInnerTexts();
  assert.deepEqual(asked, [title, 'What is 5 + 6?']);
  await page.getByText('1 / 2').waitFor();
  // In another tab, too.
  const other = await newPage(page.context());
  await other.goto(page.url());
  assert.equal(await other.locator('.turn.user').count(), 2);
  await other.close();
}

async function forgets(page) {
  const before = await page.locator('.conversation').count();
  await page.locator('.conversation').first().hover();
  await page
    .getByRole('button', { name: /^Delete / })
    .first()
    .click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.waitForFunction((count) => document.querySelectorAll('.conversation').length < count, before);
}

// What a model writes never becomes a part of the page.
async function keepsTextText(page) {
  await page.goto(`${open}/#/`);
  await say(page, '<img src=x onerror="document.title=1"> **bold**');
  await untilDone(page);
  assert.equal(await page.locator('.turn img, .turn script').count(), 0);
  const isRun = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.wasRun = true';
    document.body.append(script);
    return window.wasRun === true;
  });
  assert.equal(isRun, false, 'an inline script ran');
  // The browser has said so.
  assert.match(problems.pop() ?? '', /Content Security Policy/);
}

const sample = `## Layers

1. first
   - nested **bold**
2. second with \`code\`

| node | layers |
|:--|--:|
| rack | 0–11 |

[good](https://a.example/) [bad](javascript:alert(1)) ![picture](https://a.example/p.png) <u>tag</u>

\`\`\`python
def f(): return "text"  # why
\`\`\``;

async function rendersMarkdown(page) {
  await page.evaluate(async (text) => {
    const database = await new Promise((resolve) => {
      const opening = indexedDB.open('asterism', 1);
      opening.onsuccess = () => resolve(opening.result);
    });
    const store = database.transaction('conversations', 'readwrite').objectStore('conversations');
    const settings = { model: 'nova', system: '', reasoning: 'default', tools: '', seed: 1 };
    const calls = [{ id: 'call_1', name: 'weather', arguments: '{"place":"Paris"}' }];
    const answer = {
      text,
      reasoning: 'I think.',
      calls,
      settings,
      model: 'nova',
      startedMs: 0,
      firstMs: 5,
      finish: 'stop',
    };
    const turns = [
      { role: 'user', id: '1', text: 'Layers?' },
      { role: 'assistant', id: '2', answers: [answer], chosen: 0 },
    ];
    store.put({ id: 'a1', title: 'Markdown', changedMs: Date.now() + 1000, turns, settings });
  }, sample);
  await page.goto(`${open}/#/chat/a1`);
  await page.reload();
  const prose = page.locator('.turn.assistant > .prose');
  await prose.waitFor();
  assert.equal(await prose.locator('ol > li > ul > li > strong').innerText(), 'bold');
  assert.equal(await prose.locator('td.right').innerText(), '0–11');
  assert.deepEqual(await prose.locator('a').allInnerTexts(), ['good', 'picture']);
  assert.match(await prose.innerText(), /\[bad\]\(javascript:alert\(1\)\).*<u>tag<\/u>/s);
  assert.equal(await prose.locator('.code-comment').innerText(), '# why');
  // Reasoning is folded, and the call's result can be given.
  assert.equal(await page.getByText('I think.').isVisible(), false);
  await page.getByText('Reasoned for').click();
  await page.getByText('I think.').waitFor();
  await page.getByLabel('Result of weather').fill('{"sky": "blue"}');
  await page.getByRole('button', { name: 'Give the result' }).click();
  await untilDone(page);
  assert.equal(await page.locator('.turn.tool').count(), 1);
  assert.equal(await page.locator('.turn.assistant').count(), 2);
}

async function showsTheCluster(page) {
  await page.getByRole('link', { name: 'Cluster' }).click();
  await page.getByRole('heading', { name: 'Cluster' }).waitFor();
  await page.getByRole('heading', { name: 'Tokens/s' }).waitFor(patience);
  assert.ok((await page.locator('.stage').count()) >= 1);
  assert.match(await page.locator('.stage').first().innerText(), /layers/);
  await page.locator('.curve canvas').first().waitFor();
  await page.waitForTimeout(2500);
  await show(page, 'cluster');
}

async function isReadable(page) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    const [ink, back] = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      return [style.color, style.backgroundColor].map((text) => Number(/\d+/.exec(text)[0]));
    });
    assert.equal(ink < back, colorScheme === 'light', `${colorScheme}: ${ink} on ${back}`);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  for (const place of ['#/cluster', '#/']) {
    await page.goto(`${open}/${place}`);
    await page.locator('main').waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, place);
  }
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'What is 12 * 7?' }).click();
  await page.locator('.turn.user').first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  await show(page, 'narrow');
}

async function asksForTheKey(context) {
  const page = await newPage(context);
  await page.goto(locked);
  const field = page.getByLabel('API key', { exact: true });
  await field.waitFor(patience);
  await field.fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('does not know that key').waitFor(patience);
  await field.fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'What shall nova answer?' }).waitFor(patience);
  await say(page, 'What is 5 + 6?');
  await untilDone(page);
  await page.reload();
  await page.locator('.turn.user').waitFor(patience);
  assert.equal(await field.count(), 0, 'asked again, though the tab has the key');
  await page.close();
}

const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await newPage(context);
  for (const step of [
    chats,
    stops,
    edits,
    triesAgain,
    findsItAgain,
    repeatsWithout,
    keepsTextText,
    rendersMarkdown,
    showsTheCluster,
    isReadable,
  ]) {
    await step(page);
    console.log(`ok ${step.name}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await forgets(page);
  console.log('ok forgets');
  await asksForTheKey(context);
  console.log('ok asksForTheKey');
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
