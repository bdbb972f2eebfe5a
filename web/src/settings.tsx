// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the next answers of a conversation are asked for with: sampling, seed, tools.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { getJson } from './api';
import { IconButton } from './controls';
import { digits } from './format';
import { toolsOf } from './generate';
import { type Reasoning, type Settings, newSeed } from './types';

const settingsName = 'asterism-settings';

export const defaultSettings = (): Settings => ({
  model: '',
  system: '',
  reasoning: 'default',
  tools: '',
});

// As they were last set: a new conversation begins with them.
export function lastSettings(): Settings {
  try {
    return { ...defaultSettings(), ...JSON.parse(localStorage.getItem(settingsName) ?? '{}') };
  } catch {
    return defaultSettings();
  }
}

// The seed is a conversation's own.
export const keepSettings = (settings: Settings): void =>
  localStorage.setItem(settingsName, JSON.stringify({ ...settings, seed: undefined }));

interface NumberField {
  key: 'temperature' | 'top_p' | 'top_k' | 'min_p' | 'repetition_penalty' | 'max_tokens';
  label: string;
  help: string;
  min: number;
  max: number;
  step: number;
}
const numberFields: NumberField[] = [
  { key: 'temperature', label: 'Temperature', help: '0: the most likely token', min: 0, max: 2, step: 0.1 },
  { key: 'top_p', label: 'Top-p', help: '0 to 1', min: 0, max: 1, step: 0.05 },
  { key: 'top_k', label: 'Top-k', help: '0: all tokens', min: 0, max: 1000, step: 1 },
  { key: 'min_p', label: 'Min-p', help: '0 to 1', min: 0, max: 1, step: 0.01 },
  {
    key: 'repetition_penalty',
    label: 'Repetition',
    help: 'penalty; 1: none',
    min: 0.01,
    max: 100,
    step: 0.05,
  },
  { key: 'max_tokens', label: 'Max tokens', help: 'of an answer', min: 1, max: 1e9, step: 1 },
];

// What the server's own options say, by llama.cpp's names.
type ServerDefaults = Record<string, unknown>;

function useServerDefaults(): ServerDefaults {
  const [defaults, setDefaults] = useState<ServerDefaults>({});
  useEffect(() => {
    getJson<{ default_generation_settings: { params: ServerDefaults } }>('/props').then(
      ({ default_generation_settings: { params } }) => setDefaults(params),
      () => {},
    );
  }, []);
  return defaults;
}

// An empty field shows what holds without it.
function placeholderOf(key: NumberField['key'], defaults: ServerDefaults): string {
  const value = defaults[key === 'repetition_penalty' ? 'repeat_penalty' : key];
  return typeof value === 'number' ? digits(value) : "server's";
}

interface NumberInputProps {
  label: string;
  help: string;
  placeholder: string;
  value: number | undefined;
  min: number;
  max: number;
  step: number;
  onChange: (value: number | undefined) => void;
}
function NumberInput({ label, help, placeholder, value, onChange, ...limits }: NumberInputProps): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="number"
        inputMode="decimal"
        value={value ?? ''}
        placeholder={placeholder}
        title={help}
        {...limits}
        onChange={({ currentTarget: { value: text, valueAsNumber: number } }) => {
          const isGood = text !== '' && Number.isFinite(number);
          onChange(isGood ? Math.min(Math.max(number, limits.min), limits.max) : undefined);
        }}
      />
    </label>
  );
}

function toolsProblem(settings: Settings): string {
  try {
    toolsOf(settings);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

interface Props {
  settings: Settings;
  onChange: (settings: Settings) => void;
  onClose: () => void;
}

export function SettingsPanel({ settings, onChange, onClose }: Props): JSX.Element {
  const [tools, setTools] = useState(settings.tools);
  const defaults = useServerDefaults();
  const set = (change: Partial<Settings>): void => {
    onChange({ ...settings, ...change });
  };
  const problem = toolsProblem({ ...settings, tools });
  return (
    <aside
      class="panel settings"
      aria-label="Settings"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2>Settings</h2>
        <IconButton icon="close" label="Close settings" onClick={onClose} />
      </header>
      <div class="panel-body">
        <label class="field wide">
          <span>Instructions</span>
          <textarea
            rows={3}
            value={settings.system}
            placeholder="Who the model is, how it answers"
            onChange={(event) => set({ system: event.currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>Reasoning</span>
          <select
            value={settings.reasoning}
            onChange={(event) => set({ reasoning: event.currentTarget.value as Reasoning })}
          >
            <option value="default">the model's</option>
            <option value="on">on</option>
            <option value="off">off</option>
          </select>
        </label>
        {numberFields.map(({ key, ...field }) => (
          <NumberInput
            key={key}
            {...field}
            placeholder={placeholderOf(key, defaults)}
            value={settings[key]}
            onChange={(value) => set({ [key]: value })}
          />
        ))}
        <div class="field wide">
          <label for="seed">Seed</label>
          <div class="row">
            <input
              id="seed"
              type="number"
              inputMode="numeric"
              min={0}
              step={1}
              value={settings.seed ?? ''}
              placeholder="random"
              onChange={({ currentTarget: { value } }) =>
                set({ seed: /^\d{1,15}$/.test(value) ? Number(value) : undefined })
              }
            />
            <button type="button" class="quiet" onClick={() => set({ seed: newSeed() })}>
              Draw one now
            </button>
          </div>
          <small>
            Each answer shows its seed. With the same seed and settings the server writes the same answer,
            byte for byte, on one machine or several.
          </small>
        </div>
        <label class="field wide">
          <span>Tools</span>
          <textarea
            rows={4}
            class="mono"
            spellcheck={false}
            value={tools}
            placeholder='[{"name": "weather", "description": "…", "parameters": {…}}]'
            aria-invalid={problem !== ''}
            onInput={(event) => setTools(event.currentTarget.value)}
            onChange={({ currentTarget: { value } }) => {
              if (toolsProblem({ ...settings, tools: value }) === '') set({ tools: value });
            }}
          />
          <small class={problem ? 'bad' : ''}>
            {problem || 'A list in JSON. You give the results of calls yourself.'}
          </small>
        </label>
        {settings.tools.trim() && (
          <label class="field wide">
            <span>Calls of tools</span>
            <select
              value={settings.tool_choice ?? ''}
              onChange={({ currentTarget: { value } }) =>
                set({ tool_choice: value ? (value as 'required' | 'none') : undefined })
              }
            >
              <option value="">where the model wants one</option>
              <option value="required">in every answer</option>
              <option value="none">none</option>
            </select>
          </label>
        )}
      </div>
    </aside>
  );
}
