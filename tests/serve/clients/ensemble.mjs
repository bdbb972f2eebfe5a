// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The same clients use an ensemble: node ensemble.mjs http://127.0.0.1:PORT, on a server with the models nova and
// twice=nova,nova. The answers of twice must be those of nova.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';

const server = process.argv[2];
const question = { role: 'user', content: 'What is the capital of France?' };
const parameters = {
  type: 'object',
  properties: { item: { type: 'string', maxLength: 12 }, count: { type: 'integer' } },
  required: ['item', 'count'],
  additionalProperties: false,
};

async function openai(model) {
  const client = new OpenAI({ baseURL: `${server}/v1`, apiKey: 'none', maxRetries: 0 });
  const whole = await client.chat.completions.create({ model, messages: [question], max_tokens: 16 });
  const stream = await client.chat.completions.create(
      { model, messages: [question], max_tokens: 16, stream: true, stream_options: { include_usage: true } });
  let text = '';
  let usage = null;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
  const tools = [{ type: 'function', function: { name: 'order', parameters } }];
  const called = await client.chat.completions.create(
      { model, messages: [question], tools, tool_choice: 'required', max_tokens: 100 });
  const events = client.responses.stream({ model, input: question.content, max_output_tokens: 16 });
  const response = await events.finalResponse();
  const stopped = await client.chat.completions.create(
      { model, messages: [question], stream: true, ignore_eos: true, max_tokens: 4000 });
  stopped.controller.abort();
  return [text, called.choices[0].message.tool_calls.map((call) => call.function), response.output_text];
}

async function anthropic(model) {
  const client = new Anthropic({ baseURL: server, apiKey: 'none', maxRetries: 0 });
  const body = { model, max_tokens: 16, system: 'Be brief.', messages: [question] };
  const whole = await client.messages.create(body);
  const streamed = await client.messages.stream(body).finalMessage();
  assert.deepEqual(streamed.content, whole.content);
  assert.equal(streamed.usage.output_tokens, whole.usage.output_tokens);
  return whole.content.map((block) => block.text);
}

async function ollama(model) {
  const client = new Ollama({ host: server });
  const asked = { model, messages: [question], options: { temperature: 0, num_predict: 16 } };
  const whole = await client.chat(asked);
  let text = '';
  for await (const piece of await client.chat({ ...asked, stream: true })) text += piece.message.content;
  assert.equal(text, whole.message.content);
  return text;
}

async function vercel(model) {
  const provider = createOpenAICompatible({ name: 'asterism', baseURL: `${server}/v1` });
  const { textStream } = streamText(
      { model: provider(model), messages: [question], maxOutputTokens: 16, temperature: 0 });
  let text = '';
  for await (const piece of textStream) text += piece;
  return text;
}

for (const client of [openai, anthropic, ollama, vercel]) {
  assert.deepEqual(await client('twice'), await client('nova'), client.name);
  console.log(`${client.name}: an ensemble answers`);
}
