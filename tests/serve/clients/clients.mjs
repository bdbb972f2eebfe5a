// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The official clients hold conversations: node clients.mjs http://127.0.0.1:PORT
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, jsonSchema, streamText } from 'ai';
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
const place = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 12 }, kind: { type: 'string', enum: ['city', 'country'] } },
  required: ['name', 'kind'],
  additionalProperties: false,
};

async function idle() {
  const end = Date.now() + 300_000;
  while (Date.now() < end) {
    const { now } = await (await fetch(`${server}/v1/status`)).json();
    if (now.running === 0 && now.queued === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('the answer goes on after its client has left');
}

async function openai() {
  const client = new OpenAI({ baseURL: `${server}/v1`, apiKey: 'none', maxRetries: 0 });
  assert.equal((await client.models.list()).data[0].id, 'nova');
  const whole = await client.chat.completions.create({ model: 'nova', messages: [question], max_tokens: 16 });
  const stream = await client.chat.completions.create(
      { model: 'nova', messages: [question], max_tokens: 16, stream: true, stream_options: { include_usage: true } });
  let text = '';
  let usage = null;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);

  // The library requests base64, and decodes it.
  const embedded = await client.embeddings.create({ model: 'nova', input: ['one', 'two'] });
  const plain = await client.embeddings.create({ model: 'nova', input: ['one', 'two'], encoding_format: 'float' });
  assert.deepEqual(embedded.data.map((one) => one.embedding), plain.data.map((one) => one.embedding));
  assert.equal(embedded.usage.prompt_tokens, plain.usage.total_tokens);

  // The server stores the conversation.
  const first = await client.responses.create({ model: 'nova', input: question.content, max_output_tokens: 16 });
  const second = await client.responses.create(
      { model: 'nova', input: 'And of Spain?', previous_response_id: first.id, max_output_tokens: 16 });
  assert.ok(second.usage.input_tokens > first.usage.total_tokens);
  assert.equal((await client.responses.retrieve(second.id)).output_text, second.output_text);
  await client.responses.delete(first.id);
  await assert.rejects(client.responses.retrieve(first.id), (error) => error.status === 404);

  // The probabilities of a text, as evaluation programs score answers.
  const scored = await client.completions.create(
      { model: 'nova', prompt: question.content, echo: true, logprobs: 1, max_tokens: 0 });
  assert.equal(scored.choices[0].text, question.content);
  assert.equal(scored.choices[0].logprobs.token_logprobs.length, scored.usage.prompt_tokens);

  // Tools over several turns, with the library's own parser of streams.
  const tools = [{ type: 'function', function: { name: 'multiply', parameters } }];
  const messages = [{ role: 'user', content: 'What is 12 * 7?' }];
  const runner = client.chat.completions.stream(
      { model: 'nova', messages, tools, tool_choice: 'required', max_tokens: 100, temperature: 0 });
  const called = (await runner.finalChatCompletion()).choices[0].message;
  const call = called.tool_calls[0];
  assert.equal(call.function.name, 'multiply');
  assert.equal(typeof JSON.parse(call.function.arguments).count, 'number');
  messages.push(called, { role: 'tool', tool_call_id: call.id, content: '84' });
  const told = await client.chat.completions.create({ model: 'nova', messages, tools, max_tokens: 16 });
  assert.ok(told.usage.prompt_tokens_details.cached_tokens > 0);

  const form = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: place } };
  const formed = await client.chat.completions.create(
      { model: 'nova', messages: [question], response_format: form, max_tokens: 200, temperature: 1 });
  assert.ok(['city', 'country'].includes(JSON.parse(formed.choices[0].message.content).kind));

  const response = await client.responses.create({ model: 'nova', input: question.content, max_output_tokens: 16 });
  assert.equal(response.output_text, whole.choices[0].message.content);
  const events = client.responses.stream({ model: 'nova', input: question.content, max_output_tokens: 16 });
  assert.equal((await events.finalResponse()).output_text, response.output_text);

  await assert.rejects(client.chat.completions.create({ model: 'nova', messages: [question], temperature: 9 }),
                       (error) => error instanceof OpenAI.BadRequestError && error.param === 'temperature');
  await assert.rejects(client.chat.completions.create({ model: 'none', messages: [question] }), OpenAI.NotFoundError);

  const long = await client.chat.completions.create(
      { model: 'nova', messages: [question], stream: true, ignore_eos: true });
  for await (const chunk of long) {
    assert.ok(chunk.id);
    break;  // which closes the connection
  }
  await idle();
}

async function anthropic() {
  const client = new Anthropic({ baseURL: server, apiKey: 'none', maxRetries: 0 });
  const body = { model: 'nova', max_tokens: 16, system: 'Be brief.', messages: [question] };
  const whole = await client.messages.create(body);
  const streamed = await client.messages.stream(body).finalMessage();
  assert.deepEqual(streamed.content, whole.content);
  assert.equal(streamed.stop_reason, whole.stop_reason);
  const counted = await client.messages.countTokens({ model: 'nova', system: 'Be brief.', messages: [question] });
  assert.equal(counted.input_tokens, whole.usage.input_tokens + whole.usage.cache_read_input_tokens);

  const tools = [{ name: 'multiply', input_schema: parameters }];
  const messages = [{ role: 'user', content: 'What is 12 * 7?' }];
  const asked = { model: 'nova', max_tokens: 100, tools, tool_choice: { type: 'any' }, temperature: 0 };
  const called = await client.messages.stream({ ...asked, messages }).finalMessage();
  const use = called.content.find((block) => block.type === 'tool_use');
  assert.equal(use.name, 'multiply');
  assert.equal(typeof use.input.count, 'number');
  messages.push({ role: 'assistant', content: called.content },
                { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: '84' }] });
  await client.messages.create({ model: 'nova', max_tokens: 16, tools, messages });

  await assert.rejects(client.messages.create({ ...body, max_tokens: 0 }), Anthropic.BadRequestError);
  const stream = client.messages.stream({ ...body, max_tokens: 2000, messages: [{ role: 'user', content: 'Tell me a story.' }] });
  stream.on('text', () => stream.abort());
  await assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
  await idle();
}

async function ai() {
  const provider = createOpenAICompatible({ name: 'aster', baseURL: `${server}/v1`, supportsStructuredOutputs: true });
  const model = provider('nova');
  const whole = await generateText({ model, prompt: question.content, maxOutputTokens: 16, temperature: 0 });
  const stream = streamText({ model, prompt: question.content, maxOutputTokens: 16, temperature: 0 });
  let text = '';
  for await (const piece of stream.textStream) text += piece;
  assert.equal(text, whole.text);
  const { object } = await generateObject({ model, prompt: question.content, schema: jsonSchema(place), maxOutputTokens: 200 });
  assert.ok(['city', 'country'].includes(object.kind));
}

async function ollama() {
  const client = new Ollama({ host: server });
  assert.equal((await client.list()).models[0].name, 'nova:latest');
  assert.equal((await client.ps()).models[0].model, 'nova:latest');
  const shown = await client.show({ model: 'nova' });
  assert.ok(shown.capabilities.includes('tools'));
  assert.ok(shown.template.length > 0);

  const asked = { model: 'Nova:latest', messages: [question], options: { temperature: 0, num_predict: 16 } };
  const whole = await client.chat(asked);
  assert.equal(whole.done, true);
  assert.ok(whole.eval_count > 0 && whole.eval_count <= 16);
  let text = '';
  let last = null;
  for await (const part of await client.chat({ ...asked, stream: true })) {
    text += part.message.content;
    last = part;
  }
  assert.equal(text, whole.message.content);
  assert.equal(last.eval_count, whole.eval_count);
  const generated = await client.generate(
      { model: '', prompt: question.content, options: { temperature: 0, num_predict: 16 } });
  assert.equal(generated.response, whole.message.content);

  const formed = await client.chat({ ...asked, format: place, options: { temperature: 1, num_predict: 200 } });
  assert.ok(['city', 'country'].includes(JSON.parse(formed.message.content).kind));
  const tools = [{ type: 'function', function: { name: 'multiply', description: 'Multiplies.', parameters } }];
  const messages = [{ role: 'user', content: 'What is 12 * 7?' },
                    { role: 'assistant', content: '',
                      tool_calls: [{ function: { name: 'multiply', arguments: { item: '12', count: 7 } } }] },
                    { role: 'tool', tool_name: 'multiply', content: '84' }];
  assert.equal((await client.chat({ ...asked, messages, tools })).done, true);

  await assert.rejects(client.chat({ ...asked, model: 'none' }), (error) => error.status_code === 404);
  assert.equal((await client.pull({ model: 'nova' })).status, 'success');
  const steps = [];
  for await (const step of await client.pull({ model: 'nova', stream: true })) steps.push(step.status);
  assert.equal(steps.at(-1), 'success');
  await assert.rejects(client.pull({ model: 'none' }), (error) => /not a model to pull/.test(error.message));
  const { embeddings } = await client.embed({ model: 'nova', input: [question.content, 'x'] });
  assert.equal(embeddings.length, 2);
  assert.equal((await client.embeddings({ model: 'nova', prompt: 'x' })).embedding.length, embeddings[0].length);
  const long = await client.chat({ ...asked, messages: [{ role: 'user', content: 'Tell me a story.' }],
                                   options: { num_predict: 2000 }, stream: true });
  await assert.rejects(async () => {
    for await (const part of long) {
      assert.ok(part.message);
      long.abort();
    }
  }, { name: 'AbortError' });
  await idle();
}

async function langchain() {
  const asked = { model: 'nova', apiKey: 'none', maxRetries: 0, temperature: 0,
                  configuration: { baseURL: `${server}/v1` } };
  for (const useResponsesApi of [false, true]) {
    const model = new ChatOpenAI({ ...asked, maxTokens: 16, useResponsesApi });
    const whole = await model.invoke(question.content);
    assert.ok(whole.text.length > 0);
    assert.ok(whole.usage_metadata.output_tokens > 0);
    let text = '';
    for await (const chunk of await model.stream(question.content)) text += chunk.text;
    assert.equal(text, whole.text);
  }
  const talkative = new ChatOpenAI({ ...asked, maxTokens: 300 });
  const formed = await talkative.withStructuredOutput(place, { name: 'place', method: 'jsonSchema' })
      .invoke(question.content);
  assert.ok(['city', 'country'].includes(formed.kind));
  const multiply = { type: 'function', function: { name: 'multiply', description: 'Multiplies.', parameters } };
  const called = await talkative.bindTools([multiply], { tool_choice: 'multiply' }).invoke('What is 12 * 7?');
  assert.equal(called.tool_calls[0].name, 'multiply');
  assert.equal(typeof called.tool_calls[0].args.count, 'number');
  const embeddings = new OpenAIEmbeddings(asked);
  const vectors = await embeddings.embedDocuments(['one', 'two']);
  assert.equal(vectors.length, 2);
  assert.deepEqual(await embeddings.embedQuery('one'), vectors[0]);
  await idle();
}

for (const conversation of [openai, anthropic, ai, ollama, langchain]) {
  await conversation();
  console.log(`${conversation.name}: fine`);
}
