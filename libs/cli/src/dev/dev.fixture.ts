import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@agentmesh/testing';
import type { Project } from '../project.fixture.ts';

const main = join(import.meta.dirname, '../main.ts');
export const patience = { timeoutMs: 90_000, intervalMs: 100 };

/** A running `agentmesh dev` of a project. */
export class Dev {
  readonly project: Project;
  readonly child: ChildProcess;
  output = '';

  constructor(project: Project, words: readonly string[], env: Record<string, string> = {}) {
    this.project = project;
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(process.execPath, [main, 'dev', ...words], {
      cwd: project.root,
      env: { PATH, HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => {
        this.output += data.toString();
      });
    this.child = child;
  }

  /** Waits for a text in the output, from a position on. */
  async prints(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    const found = () => {
      if (this.child.exitCode !== null) throw new Error(`dev has ended:\n${this.output}`);
      return pattern.exec(this.output.slice(from)) ?? undefined;
    };
    return await until(found, { ...patience, what: String(pattern) }).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.output}`);
    });
  }

  async variables(): Promise<Record<string, string>> {
    return JSON.parse(await readFile(join(this.project.root, '.agentmesh/context.json'), 'utf8')).variables;
  }

  /** Sends a message to the app `helper` at the gateway, and returns the last text. */
  async ask(text: string): Promise<string> {
    const { MESH_GATEWAY_URL: url } = await this.variables();
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(await response.text());
      return await response.json();
    };
    const { id } = (await post('/apps/helper/users/ann/sessions', {})) as { id: string };
    const newMessage = { role: 'user', parts: [{ text }] };
    const run = { appName: 'helper', userId: 'ann', sessionId: id, newMessage };
    const events = (await post('/run', run)) as { content?: { parts?: { text?: string }[] } }[];
    return events.at(-1)?.content?.parts?.[0]?.text ?? '';
  }

  /** Presses Ctrl-C, and waits for the end. */
  async stop(): Promise<number | null> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGINT');
    await ended;
    return this.child.exitCode;
  }
}
