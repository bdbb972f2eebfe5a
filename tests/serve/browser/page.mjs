// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Uses the server's page in Chromium like a user. node page.mjs JSON: the browser, the servers and what the test knows
// of them.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const what = JSON.parse(process.argv[2]);
const { chromium: program, open, locked, together, clustered, key, adminKey, lap, screenshots } = what;
const patienceMs = 300_000;  // only a hang takes this long, however busy the machine is
const problems = [];

async function newPage(context) {
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // A refused key, or change of the cluster, is an answer of the server that the page expects.
    if (message.type() === 'error' && !/ (401|403|503) /.test(message.text())) problems.push(message.text());
  });
  page.on('request', (request) => {
    const isOurs = [open, locked, together, clustered].some((server) => request.url().startsWith(`${server}/`));
    if (!isOurs) problems.push(`a request to ${request.url()}`);
  });
  return page;
}

const message = (page) => page.getByLabel('Message', { exact: true });
const lastAnswer = (page) => page.locator('.turn.assistant').last();
const textOf = (answer) => answer.locator('> .prose').innerText();
const statusOf = (page) => page.evaluate(async () => (await fetch('/v1/status')).json());
const untilDone = (page) => page.locator('.turns-inside > .turn:last-child:has(footer)').waitFor();
// The answer that is being written, once it has words.
const begun = (page) => page.locator('.turn.assistant[aria-busy=true] > .prose');
// Returns when this answer of a turn, which is not its first, has words or is over.
const untilBegun = (page, number) =>
  begun(page).or(lastAnswer(page).getByText(`${number} / ${number}`)).first().waitFor();

// Waits until the page's changes are in its database: a reload drops those that are on their way. What reads there
// waits for what was written before.
const untilStored = (page) =>
  page.evaluate(async () => {
    const done = (request) => new Promise((resolve) => request.addEventListener('success', resolve));
    const opening = indexedDB.open('asterism', 1);
    await done(opening);
    await done(opening.result.transaction('conversations').objectStore('conversations').count());
    opening.result.close();
  });

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
  await page.getByRole('heading', { name: 'What shall nova answer?' }).waitFor();
  // The input has the focus, so the first pressed key is written.
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
  await lastAnswer(page).locator('> .prose').waitFor();
  await page.keyboard.press('Escape');
  await untilDone(page);
  // On a busy computer the answer may be over before the key is pressed; another one is then stopped.
  const stopped = lastAnswer(page).getByText('Stopped.');
  for (let number = 2; (await stopped.count()) === 0; ++number) {
    assert.ok(number < 20, 'no answer was stopped');
    await lastAnswer(page).getByLabel('Another answer').click();
    await untilBegun(page, number);
    await page.keyboard.press('Escape');
    await untilDone(page);
  }
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
  await lastAnswer(page).getByText('2 / 2').waitFor();
  await untilDone(page);
  await lastAnswer(page).getByLabel('Earlier answer').click();
  await lastAnswer(page).getByText('1 / 2').waitFor();
}

// What a fast server sends within one frame is not drawn; the question is then asked again.
async function saysHowFarThePromptIs(page) {
  let readings = [];
  for (let attempt = 0; attempt < 5 && readings.length === 0; ++attempt)
    readings = await readingsOfAPrompt(page, attempt);
  assert.ok(readings.length > 0, 'no progress of the prompt');
  for (const [text, now] of readings) {
    assert.match(text, /^prefill [\d,]+ of \d,\d{3}$/);
    assert.equal(text.split(' ')[1].replace(',', ''), now);
  }
  assert.equal(await page.getByRole('progressbar').count(), 0);
}

async function readingsOfAPrompt(page, attempt) {
  await page.getByRole('link', { name: 'New conversation' }).click();
  await page.locator('.empty').waitFor();
  await page.evaluate(() => {
    window.readings = [];
    new MutationObserver(() => {
      const bar = document.querySelector('[role=progressbar]');
      if (bar) window.readings.push([bar.textContent, bar.getAttribute('aria-valuenow')]);
    }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  });
  await say(page, `${attempt}. ${'A long question, said once and again. '.repeat(600)}`.trim());
  await untilDone(page);
  return page.evaluate(() => window.readings);
}

// Two machines compute an answer, and the same answer again while one of them fails in the middle: the text must be the
// same.
async function goesOnWithout(page) {
  await page.goto(clustered);
  await page.locator('.empty').waitFor();
  await say(page, 'Tell me a long story about a boat.');
  await untilDone(page);
  const first = await textOf(lastAnswer(page));
  const before = (await statusOf(page)).models[0];
  assert.deepEqual([before.hops.map(({ node }) => node), before.replans], [['desk', 'lap'], 0]);
  await page.getByRole('link', { name: 'Cluster' }).click();
  // Roles are tested before lap is killed below.
  for (const [name, roles] of [['desk', /^Roles: prefill, decode, part of a group, .*KV cache/],
                               ['lap', /^Roles: prefill, decode, part of a group$/]])
    await page.getByRole('region', { name: `Machine ${name}` }).getByText(roles).waitFor();
  await show(page, 'cluster');
  await page.goBack();
  await untilDone(page);
  // Lap is stopped in the middle of an answer. A busy computer may notice the beginning of an answer only after its
  // end; the answer is then repeated.
  let half = '';
  for (let number = 2; half === ''; ++number) {
    assert.ok(number < 20, 'there was no middle');
    const { sampled_tokens: begin } = (await statusOf(page)).models[0];
    await lastAnswer(page).getByLabel('Same answer again').click();
    await untilBegun(page, number);
    const text = (await begun(page).allInnerTexts()).join('');
    process.kill(lap, 'SIGSTOP');
    const { sampled_tokens: end, replans } = (await statusOf(page)).models[0];
    const isMiddle = end - begin < 0.8 * before.sampled_tokens || replans > 0;
    half = isMiddle ? text : '';
    if (half === '') {
      process.kill(lap, 'SIGCONT');
      await untilDone(page);
    }
  }
  process.kill(lap, 'SIGKILL');
  await lastAnswer(page).getByText('same answer as').waitFor();
  assert.ok(half.length < first.length && first.startsWith(half.trim()), half);
  assert.equal(await textOf(lastAnswer(page)), first);
  const after = (await statusOf(page)).models[0];
  assert.deepEqual([after.hops.map(({ node }) => node), after.replans], [['desk'], 1]);
  await show(page, 'chat');
}

async function findsItAgain(page) {
  const title = 'What is 12 * 7?';
  await untilStored(page);
  await page.reload();
  await page.getByRole('link', { name: title }).click();
  const turns = (tab) => tab.locator('.turn.user');
  await turns(page).nth(1).waitFor();
  const asked = await page.locator('.turn.user .bubble').allInnerTexts();
  assert.deepEqual(asked, [title, 'What is 5 + 6?']);
  await page.getByText('1 / 2').waitFor();
  // The conversation is also there in another tab.
  const other = await newPage(page.context());
  await other.goto(page.url());
  await turns(other).nth(1).waitFor();
  assert.equal(await turns(other).count(), 2);
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

// Text of a model never becomes a part of the page.
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
  // The browser has reported it.
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
  await untilStored(page);
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
  await page.getByRole('heading', { name: 'Tokens/s' }).waitFor();
  await page.locator('.stage').first().waitFor();
  assert.match(await page.locator('.stage').first().innerText(), /layers/);
  await page.locator('.curve canvas').first().waitFor();
  // The timeline has a description in words.
  await page.getByRole('img', { name: /in the last minute; now: / }).first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Invite a machine' }).count(), 0);
}

// The parts that members of an ensemble wrote together, and the texts that were not chosen.
async function saysWhoWroteWhat(context) {
  const page = await newPage(context);
  await page.goto(together);
  await page.getByRole('heading', { name: 'What shall both answer?' }).waitFor();
  await say(page, 'Run this program:\nc = 10\nfor i in range(3):\n    c = c + 1\nn = c + 2\ny = n - 5\nprint(n)');
  await untilDone(page);
  const details = lastAnswer(page).locator('.together');
  assert.match(await details.locator('summary').innerText(), /^Written by pulsar.* \(spans\)$/);
  await details.locator('summary').click();
  const parts = await details.locator('.written > p:first-child').allInnerTexts();
  assert.match(parts[0], /^pulsar \([a-z ,]+\): /);
  const plain = (text) => text.replace(/\s+/g, '');
  const written = parts.map((part) => part.replace(/^[^:]*\): /, '')).join('');
  assert.equal(plain(written), plain(await textOf(lastAnswer(page))));
  assert.match(await details.innerText(), /Not taken, nova \(\d.*bits\/byte\): /);
  await show(page, 'together');
  await page.close();
}

// A session has KV rows, so only the new part of the prompt is computed.
async function continuesWithoutComputing(page, name) {
  const [loading] = await Promise.all([
    page.waitForResponse(`${open}/v1/sessions/${name}/load`),
    page.getByRole('button', { name: `Continue ${name}` }).click(),
  ]);
  const { loaded_tokens: loaded } = await loading.json();
  assert.ok(loaded > 100, `${loaded} tokens loaded`);
  await page.waitForURL(/#\/chat\//);
  await say(page, 'What is 3 + 4?');
  await untilDone(page);
  const told = await lastAnswer(page).locator('.figures [title^="Prompt: "]').getAttribute('title');
  const [, cached] = /tokens, ([\d,]+) of them from the KV cache/.exec(told);
  assert.ok(Number(cached.replace(',', '')) >= loaded, `${told}, ${loaded} loaded`);
  await page.getByRole('link', { name: 'Sessions' }).click();
}

// A saved session continues as a conversation of the browser, and is deleted after a confirmation.
async function continuesASession(page) {
  await page.getByRole('link', { name: 'Sessions' }).click();
  const session = (name) => page.getByRole('region', { name: `Session ${name}`, exact: true });
  await session('lighthouse').waitFor();
  assert.match(await session('lighthouse').innerText(), /Nova.*[\d,]+ tokens.*1 turn.*(KiB|MiB).*ago/s);
  await page.getByText('Neither a model here').waitFor();
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await show(page, `sessions-${colorScheme}`);
  }
  await continuesWithoutComputing(page, 'rules');
  await session('rules').getByRole('button', { name: 'Delete… rules' }).click();
  await page.getByRole('dialog', { name: 'Delete rules?' }).getByRole('button', { name: 'Cancel' }).click();
  await session('rules').getByRole('button', { name: 'Delete… rules' }).click();
  await show(page, 'sessions-delete');
  const sure = page.getByRole('dialog', { name: 'Delete rules?' });
  await sure.getByRole('button', { name: 'Delete rules', exact: true }).click();
  await session('rules').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Continue lighthouse' }).click();
  await page.locator('.turn.user', { hasText: 'Who are you?' }).waitFor();
  assert.equal(await lastAnswer(page).locator('> .prose strong').innerText(), 'light');
  await say(page, 'What is 2 + 2?');
  await untilDone(page);
  assert.equal(await page.locator('.turn.assistant').count(), 2);
}

// The page as a screen reader gets it: everything that is not hidden from it, with its role and name.
async function treeOf(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  return nodes
    .filter(({ ignored }) => !ignored)
    .map(({ role, name }) => ({ role: role.value, name: (name?.value ?? '').trim() }));
}

const rolesWithNames = ['article', 'button', 'checkbox', 'combobox', 'dialog', 'image', 'link', 'navigation',
                        'progressbar', 'region', 'spinbutton', 'textbox'];

async function hasNames(page, where) {
  const tree = await treeOf(page);
  assert.deepEqual(tree.filter(({ role, name }) => rolesWithNames.includes(role) && name === ''), [], where);
  for (const role of ['main', 'navigation'])
    assert.equal(tree.filter((node) => node.role === role).length, 1, `${where}: ${role}`);
  const levels = await page.locator('main').locator('h1, h2, h3').evaluateAll((all) => all.map((h) => h.tagName));
  assert.equal(levels[0], 'H1', `${where}: ${levels}`);
  return tree;
}

// Texts whose contrast with the background is less than 4.5 to 1, or 3 to 1 if they are large (WCAG 2, AA).
const faintTexts = (page) =>
  page.evaluate(() => {
    const pixel = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const rgba = (color) => {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = color;
      pixel.fillRect(0, 0, 1, 1);
      return [...pixel.getImageData(0, 0, 1, 1).data].map((part) => part / 255);
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((part, i) => part * a + below[i] * (1 - a));
    const backOf = (element) => {
      if (!element) return [1, 1, 1];
      const back = rgba(getComputedStyle(element).backgroundColor);
      return back[3] === 1 ? back.slice(0, 3) : over(back, backOf(element.parentElement));
    };
    const opacityOf = (element) =>
      element ? getComputedStyle(element).opacity * opacityOf(element.parentElement) : 1;
    const luminance = (color) => {
      const [r, g, b] = color.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement: element, textContent: text } = walker.currentNode;
      const isShown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      if (!text.trim() || !isShown || element.closest('.hidden, :disabled')) continue;
      const style = getComputedStyle(element);
      const back = backOf(element);
      const [r, g, b, a] = rgba(style.color);
      const ink = over([r, g, b, a * opacityOf(element)], back);
      const [light, dark] = [ink, back].map(luminance).sort((one, other) => other - one);
      const ratio = (light + 0.05) / (dark + 0.05);
      const px = parseFloat(style.fontSize);
      const isLarge = px >= 24 || (px >= 18.66 && style.fontWeight >= 700);
      if (ratio < (isLarge ? 3 : 4.5)) faint.push(`${text.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
    }
    return faint;
  });

// The names of the places that Tab reaches after this one.
async function tabsBehind(page, place, count) {
  await place.focus();
  const names = [];
  for (let i = 0; i < count; ++i) {
    await page.keyboard.press('Tab');
    names.push(
      await page.evaluate(() => {
        const { activeElement: element } = document;
        return (element.getAttribute('aria-label') ?? element.textContent).trim();
      }),
    );
  }
  return names;
}

// Uses the page without a mouse, and without seeing it.
async function isAccessible(page) {
  await page.goto(`${open}/#/`);
  await page.locator('.empty').waitFor();
  const tabs = await tabsBehind(page, page.getByRole('link', { name: 'Asterism' }), 5);
  assert.deepEqual(tabs, ['New conversation', 'Cluster', 'Sessions', 'Markdown', 'Delete Markdown']);
  // A screen reader is told that the model answers, and then the answer.
  await page.evaluate(() => {
    window.told = [];
    const status = document.querySelector('[role=status]');
    new MutationObserver(() => window.told.push(status.textContent)).observe(status, { subtree: true, childList: true, characterData: true });
  });
  await message(page).focus();
  await page.keyboard.type('What is 6 + 7?');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Send (Enter)');
  await page.keyboard.press('Enter');
  await untilDone(page);
  const plain = (text) => text.replace(/\s+/g, '');
  const told = (await page.evaluate(() => window.told)).filter((text) => text !== '');  // which tells nothing
  assert.equal(told[0], 'The model is answering');
  assert.equal(plain(told.at(-1)), plain(`nova: ${await textOf(lastAnswer(page))}`));
  const tree = await hasNames(page, 'chat');
  for (const [role, name] of [['article', 'You'], ['article', 'nova'], ['button', 'Another answer'],
                              ['textbox', 'Message'], ['combobox', 'Model']])
    assert.ok(tree.some((node) => node.role === role && node.name === name), `${role} ${name}`);
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await page.locator('[placeholder="0.8"]').waitFor();
  assert.equal(await page.getByLabel('Temperature').getAttribute('placeholder'), '0.8');
  await hasNames(page, 'settings');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await faintTexts(page), [], `settings, ${colorScheme}`);
    await show(page, `settings-${colorScheme}`);
  }
  await page.getByRole('button', { name: 'Close settings' }).click();
  for (const place of ['chat/a1', 'cluster', 'sessions']) {
    await page.goto(`${open}/#/${place}`);
    await page.locator('.card, .turn.assistant > .prose').first().waitFor();
    await hasNames(page, place);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await faintTexts(page), [], `${place}, ${colorScheme}`);
      await show(page, `${place.replace('/', '-')}-${colorScheme}`);
    }
  }
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
  for (const place of ['#/cluster', '#/sessions', '#/']) {
    await page.goto(`${open}/${place}`);
    await page.locator('main').waitFor();
    if (place === '#/sessions') await page.getByRole('region', { name: 'Session lighthouse' }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, place);
    await show(page, `narrow-${place.slice(2) || 'chat'}`);
  }
  const menu = page.locator('.side-button');
  await menu.click();
  await page.getByRole('link', { name: 'Cluster' }).focus();
  await page.keyboard.press('Escape');
  await page.locator('nav').waitFor({ state: 'hidden' });
  assert.equal(await menu.evaluate((button) => document.activeElement === button), true);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'What is 12 * 7?' }).click();
  await page.locator('.turn.user').first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  await show(page, 'narrow');
}

// The GPUs of a machine, and a drained machine: both are added to the server's answer here.
async function showsDevices(page, machine, other) {
  const gpu = { name: 'Card One', memory_bytes: 16 * 2 ** 30, multiply_flops_per_s: 2e12, memory_bytes_per_s: 5e11,
                bus_bytes_per_s: 1.2e10 };
  await page.route('**/v1/cluster', async (route) => {
    const response = await route.fetch();
    const cluster = await response.json();
    for (const node of cluster.nodes.filter(({ name }) => name === 'desk'))
      node.devices = [gpu, { ...gpu, multiply_flops_per_s: null, memory_bytes_per_s: null, bus_bytes_per_s: null }];
    for (const node of cluster.nodes.filter(({ name }) => name === 'lap'))
      Object.assign(node, { drained: true, leaving: 1, load: 1.5, battery: { charge: 0.63, discharges: true },
                            roles: [{ role: 'kv_cache', bytes_limit: 1 }] });
    await route.fulfill({ response, json: cluster });
  });
  await machine.getByText('Card One').nth(1).waitFor();
  assert.match(await machine.innerText(), /Disk cache\s.* of 8 GiB in \d+ files?; /);
  assert.deepEqual(await machine.getByText(/ of its own/).allInnerTexts(), [
    'Card One · 16 GiB of its own · 500 GB/s memory · 2,000 Gflop/s · 12 GB/s bus',
    'Card One · 16 GiB of its own',
  ]);
  await other.getByText('Drained: 1 front end still has layers or KV rows here.').waitFor();
  await other.getByText(/load 1\.5 · on battery, 63\s%$/).waitFor();
  await other.getByText('drained', { exact: true }).waitFor();
  await other.getByText('Roles: KV cache', { exact: true }).waitFor();
  await page.unrouteAll({ behavior: 'wait' });  // a request may be on its way
  await machine.getByText('Card One').first().waitFor({ state: 'detached' });
  await other.getByText('drained', { exact: true }).waitFor({ state: 'detached' });
}

// The changes of an administrator: invites a machine, drains and revokes others.
async function changesTheCluster(page) {
  await page.getByRole('link', { name: 'Cluster' }).click();
  const machine = (name) => page.getByRole('region', { name: `Machine ${name}` });
  await showsDevices(page, machine('desk'), machine('lap'));
  await page.getByRole('button', { name: 'Invite a machine' }).click();
  const field = page.getByLabel("Administrator's key", { exact: true });
  await field.waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('alert').getByText('no key was given').waitFor();
  await page.getByRole('button', { name: 'Invite a machine' }).click();
  await field.fill(adminKey);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Run this on the machine that joins' });
  await dialog.getByText(/^aster cluster join [A-Z\d-]{23} /).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Drain lap' }).click();
  await machine('lap').getByText('drained', { exact: true }).waitFor();
  await show(page, 'machines');
  await page.getByRole('button', { name: 'Drain desk' }).click();
  await machine('desk').getByRole('alert').getByText('no node can compute').waitFor();
  await page.getByRole('button', { name: 'Use again lap' }).click();
  await page.getByRole('button', { name: 'Drain lap' }).waitFor();

  await page.getByRole('button', { name: 'Revoke… lap' }).click();
  await page.getByRole('dialog', { name: 'Revoke lap?' }).getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Revoke… lap' }).click();
  await page.getByRole('button', { name: 'Revoke lap', exact: true }).click();
  await machine('lap').waitFor({ state: 'detached' });
}

const tool = {
  name: 'look',
  parameters: { type: 'object', properties: { far: { type: 'boolean' } }, required: ['far'] },
};

// The model's call is shown, and its result is typed in as a turn that the model answers.
async function callsTools(page) {
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await page.getByLabel('Max tokens').fill('60');
  await page.getByLabel('Tools').fill(JSON.stringify([tool]));
  await page.getByLabel('Tools').blur();
  await page.getByLabel('Calls of tools').selectOption('required');
  await page.getByLabel('Calls of tools').press('Escape');
  await say(page, 'What do you see?');
  await untilDone(page);
  const call = lastAnswer(page).locator('.call');
  assert.match(await call.innerText(), /calls look.*"far": (true|false)/s);
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await page.getByLabel('Calls of tools').selectOption('none');
  await page.getByRole('button', { name: 'Close settings' }).click();
  await page.getByLabel('Result of look').fill('"a boat"');
  await page.getByRole('button', { name: 'Give the result' }).click();
  await untilDone(page);
  assert.equal(await page.getByRole('article', { name: 'Result of look' }).count(), 1);
  assert.equal(await page.locator('.turn.assistant').count(), 2);
}

async function asksForTheKey(context) {
  const page = await newPage(context);
  await page.goto(locked);
  const field = page.getByLabel('API key', { exact: true });
  await field.waitFor();
  await field.fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('does not know that key').waitFor();
  await field.fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'What shall thinker answer?' }).waitFor();
  await callsTools(page);
  // Only administrators may use sessions, and this server has no administrator.
  await page.getByRole('link', { name: 'Sessions' }).click();
  await page.getByRole('alert').getByText('only administrators may use saved sessions').waitFor();
  const cache = page.getByRole('region', { name: 'Disk cache of thinker' });
  assert.match(await cache.innerText(), /Disk cache\s.* of 8 GiB/);
  await page.goBack();
  await page.reload();
  await page.locator('.turn.user').first().waitFor();
  assert.equal(await field.count(), 0, 'asked again, though the tab has the key');
  await page.close();
}

const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: patienceMs });
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(patienceMs);
  const page = await newPage(context);
  for (const step of [
    chats,
    stops,
    edits,
    triesAgain,
    findsItAgain,
    saysHowFarThePromptIs,
    keepsTextText,
    rendersMarkdown,
    showsTheCluster,
    isAccessible,
    continuesASession,
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
  await saysWhoWroteWhat(context);
  console.log('ok saysWhoWroteWhat');
  await goesOnWithout(page);
  console.log('ok goesOnWithout');
  await changesTheCluster(page);
  console.log('ok changesTheCluster');
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
