import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { endProcess, freePort, until } from '@agentmesh/testing';
import type { Project } from './project.fixture.ts';

/** A step of a page: a file that the reader writes, or commands that the reader runs, with the shown output. */
export type Step =
  | { kind: 'file'; path: string; text: string }
  | { kind: 'commands'; text: string; output?: string };

/**
 * Reads the steps of a page. A file is a block of code after a paragraph that begins with its path in backticks;
 * commands are blocks of `sh`, and a block of `text` after them is their output, in which `…` stands for any text.
 */
export function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  for (const { index, 1: language = '', 2: text = '' } of page.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    const paragraph = page.slice(0, index).trimEnd().split('\n\n').at(-1) ?? '';
    const path = /^`([\w./-]+\.\w+)`/.exec(paragraph)?.[1];
    const last = steps.at(-1);
    if (language === 'sh') steps.push({ kind: 'commands', text });
    else if (language === 'text' && last?.kind === 'commands') last.output = text.trim();
    else if (path !== undefined) steps.push({ kind: 'file', path, text });
    else throw new Error(`a block of ${language} belongs to no file and to no command: ${text.slice(0, 80)}`);
  }
  return steps;
}

/** A reader of a page, who does what it says, in an empty folder. */
export class Reader implements AsyncDisposable {
  readonly #project: Project;
  readonly #env: NodeJS.ProcessEnv;
  readonly #place: string;
  #dev: ReturnType<Project['start']> | undefined;
  /** The folder of the shell, and the variables that its commands have set. */
  #folder: string;
  #variables = '';
  #port = 0;

  constructor(project: Project, env: NodeJS.ProcessEnv) {
    this.#project = project;
    this.#env = env;
    this.#folder = project.folder;
    this.#place = `${project.folder}.shell`;
  }

  get folder(): string {
    return this.#folder;
  }

  /** Carries a step out. Returns the output of commands. @throws Error for a command that fails */
  async follow(step: Step): Promise<string> {
    if (step.kind === 'file') {
      const file = join(this.#folder, step.path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, step.text, { mode: step.path.endsWith('.sh') ? 0o755 : 0o644 });
      return '';
    }
    const text = step.text.replace(/ +#.*$/gm, '').trim();
    if (/^(?:npx agentmesh|npm run) dev\b/.test(text)) {
      await this.#startDev(text);
      return '';
    }
    return await this.#shell(text);
  }

  async #shell(text: string): Promise<string> {
    const script = [
      `cd '${this.#folder}'`,
      this.#variables,
      text.replaceAll('localhost:8000', `127.0.0.1:${this.#port}`),
      `pwd > '${this.#place}'`,
      // The variables that later commands may use.
      `declare -p call >> '${this.#place}' 2>/dev/null || true`,
    ].join('\n');
    const output = await this.#project.run('bash', ['-ec', script], this.#env);
    const [folder = '', ...variables] = (await readFile(this.#place, 'utf8')).trim().split('\n');
    this.#folder = folder;
    this.#variables = variables.join('\n');
    return output.trim();
  }

  /** Starts the dev loop in a terminal of its own; a person stops an earlier one first. */
  async #startDev(text: string): Promise<void> {
    await this.stopDev();
    this.#port = await freePort();
    const context = join(this.#folder, '.agentmesh/context.json');
    await rm(context, { force: true });
    const command = [
      'bash',
      '-c',
      `cd '${this.#folder}' && exec ${text.replace('npx agentmesh', 'node_modules/.bin/agentmesh')}`,
    ];
    this.#dev = this.#project.start(command, { ...this.#env, MESH_HTTP_PORT: String(this.#port) });
    await until(() => existsSync(context), { timeoutMs: 60_000, what: 'agentmesh dev' });
  }

  /** The address of the gateway of the dev loop. */
  get gatewayUrl(): string {
    const context = readFileSync(join(this.#folder, '.agentmesh/context.json'), 'utf8');
    return JSON.parse(context).variables.MESH_GATEWAY_URL;
  }

  /** Stops the dev loop by Ctrl-C. Returns its exit code. */
  async stopDev(): Promise<number | null> {
    const dev = this.#dev;
    this.#dev = undefined;
    if (!dev) return null;
    dev.kill('SIGINT');
    await until(() => dev.exitCode !== null || dev.signalCode !== null, { timeoutMs: 40_000 }).catch(
      () => {},
    );
    await endProcess(dev, 'SIGKILL');
    return dev.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopDev();
    await rm(this.#place, { force: true });
  }
}

/** Returns a pattern for the output of commands as a page shows it. */
export function patternOf(output: string): RegExp {
  const parts = output.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('[^]*?'));
}
