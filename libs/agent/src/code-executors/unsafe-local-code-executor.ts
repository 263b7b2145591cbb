import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import {
  BaseCodeExecutor,
  type CodeExecutionResult,
  type ExecuteCodeRequest,
} from '../base/base-code-executor.ts';
import { Outcome } from '../schema/genai.ts';

export interface UnsafeLocalCodeExecutorOptions {
  /** Time limit of one run, in seconds; default 30. */
  timeoutSeconds?: number;
  /** Command that runs JavaScript; default: this Node. */
  commandPath?: string;
  /** Command that runs Python; default `python3`. */
  pythonCommandPath?: string;
}

const optionNames: OptionNames<UnsafeLocalCodeExecutorOptions> = {
  timeoutSeconds: true,
  commandPath: true,
  pythonCommandPath: true,
};
const unsupported = { shellCommandPath: 'have the model write python or javascript' };

/** Maximum stored output of each stream, in characters. */
const maxOutput = 50_000;

/**
 * Runs Python and JavaScript in a child process on this machine, in a folder that is deleted afterwards and
 * without this process' environment. This is not a sandbox: the code may read and write everything that this
 * process' user may, and use the network. Only for trusted models, and machines that may break.
 */
export class UnsafeLocalCodeExecutor extends BaseCodeExecutor {
  readonly #timeoutMs: number;
  readonly #commands: Readonly<Record<string, { command: string; file: string }>>;

  /** @throws MeshError `invalid_argument` for an unknown option, or an invalid timeout */
  constructor(options: UnsafeLocalCodeExecutorOptions = {}) {
    const isOpen = new.target !== UnsafeLocalCodeExecutor;
    assertOptions('an UnsafeLocalCodeExecutor', options, optionNames, { unsupported, isOpen });
    super();
    const { timeoutSeconds = 30, commandPath, pythonCommandPath } = options;
    if (!(timeoutSeconds > 0 && timeoutSeconds <= 86_400)) {
      throw new MeshError('invalid_argument', 'timeoutSeconds must be more than 0 and at most 86400');
    }
    this.#timeoutMs = timeoutSeconds * 1_000;
    this.#commands = {
      python: { command: pythonCommandPath ?? 'python3', file: 'script.py' },
      javascript: { command: commandPath ?? process.execPath, file: 'script.js' },
    };
  }

  override async executeCode(request: ExecuteCodeRequest): Promise<CodeExecutionResult> {
    const { invocationContext, codeExecutionInput } = request;
    const { code, language } = codeExecutionInput;
    const how = Object.hasOwn(this.#commands, language) ? this.#commands[language] : undefined;
    if (!how) return failed(`${language} cannot be run here; write python or javascript`);
    const folder = await mkdtemp(join(tmpdir(), 'agentmesh-code-'));
    try {
      await writeFile(join(folder, how.file), code);
      return await this.#run(how, folder, invocationContext.abortSignal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #run(
    { command, file }: { command: string; file: string },
    cwd: string,
    signal: AbortSignal | undefined,
  ): Promise<CodeExecutionResult> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const stop = signal ? AbortSignal.any([signal, timeout]) : timeout;
    // The child gets a process group of its own, so that its children end with it.
    const child = spawn(command, [file], {
      cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: cwd, TMPDIR: cwd, PYTHONIOENCODING: 'utf-8' },
    });
    const kill = () => endGroup(child.pid);
    stop.addEventListener('abort', kill, { once: true });
    if (stop.aborted) kill();
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    try {
      const exit = await new Promise<{ code: number | null; error?: Error }>((resolve) => {
        child.once('error', (error) => resolve({ code: null, error }));
        child.once('close', (code) => resolve({ code }));
        // A child process that is left would keep the output open.
        child.once('exit', kill);
      });
      if (exit.error) return failed(`${command} cannot be started: ${exit.error.message}`);
      const output = { stdout: stdout(), stderr: stderr() };
      if (exit.code === 0) return { ...output, outcome: Outcome.OUTCOME_OK };
      if (timeout.aborted) {
        const late = `the code was stopped after ${this.#timeoutMs / 1_000} seconds`;
        return {
          stdout: output.stdout,
          stderr: [output.stderr, late].filter(Boolean).join('\n'),
          outcome: Outcome.OUTCOME_DEADLINE_EXCEEDED,
        };
      }
      return {
        ...output,
        ...failed(output.stderr || `the code ended with code ${exit.code}`, output.stdout),
      };
    } finally {
      stop.removeEventListener('abort', kill);
    }
  }
}

function failed(stderr: string, stdout = ''): CodeExecutionResult {
  return { stdout, stderr, outcome: Outcome.OUTCOME_FAILED };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/** Collects a stream to its end, up to the limit. */
function collect(stream: Readable): () => string {
  let text = '';
  let isCut = false;
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    isCut ||= text.length + chunk.length > maxOutput;
    text = (text + chunk).slice(0, maxOutput);
  });
  return () => (isCut ? `${text}\n[cut after ${maxOutput} characters]` : text);
}
