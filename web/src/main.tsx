// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

import { render } from 'preact';
import { App } from './app';
import { load } from './store';
import './style.css';

await load();
render(<App />, document.getElementById('page')!);
