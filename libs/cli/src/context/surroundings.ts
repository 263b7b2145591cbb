import { createInterface, type Interface } from 'node:readline';
import { type DeadLetters, type OperatorOptions, openDeadLetters } from '@agentmesh/bus';
import { type ConnectedMesh, connectService, natsTlsOf } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import { createLogger, readConfig, serviceConfig, textLine } from '@agentmesh/service';
import type { Surroundings } from '../command/command.ts';
import { gatewayKeyVariable, gatewayVariable } from './context-file.ts';
import { type FoundMesh, findMesh } from './find-mesh.ts';
import { variablesOfOthers } from './variables-of-others.ts';

/** Time limit of the connection to a server, in ms: short, as a person waits. */
export const connectTimeoutMs = 2_000;

export interface SurroundingsOptions {
  env: NodeJS.ProcessEnv;
  cwd: string;
  signal: AbortSignal;
  /** The value of `--context`. */
  context?: string;
  /** True with `--json`. */
  json?: boolean;
  /** Writes a line of the output. */
  output: (line: string) => void;
  /** Writes a piece of a line; default to stdout. */
  typed?: (piece: string) => void;
}

/** Makes the surroundings of a command. The mesh is looked for at the first use. */
export function surroundingsOf(options: SurroundingsOptions): Surroundings & Disposable {
  const { env, cwd, signal, context, json = false, output } = options;
  const { typed = (piece: string) => void process.stdout.write(piece) } = options;
  const terminal = new Terminal(signal);
  let found: FoundMesh | undefined;
  const mesh = () => {
    found ??= findMesh({ env, cwd }, context);
    return found;
  };
  const isFine = ['debug', 'trace'].includes(env.MESH_LOG_LEVEL ?? '');
  const log = createLogger({
    service: 'operator',
    replica: String(process.pid),
    level: isFine ? 'debug' : 'warn',
    destination: { write: (line) => void process.stderr.write(isFine ? line : remarkOf(line, json)) },
  });
  return {
    get config() {
      if (mesh().isOneProcess) throw noServers(mesh().source);
      return readConfig(serviceConfig, mesh().env, variablesOfOthers);
    },
    get mesh() {
      return mesh();
    },
    get gatewayUrl() {
      return gatewayUrlOf(mesh().env);
    },
    get gatewayKey() {
      return mesh().env[gatewayKeyVariable] || undefined;
    },
    log,
    cwd,
    env,
    signal,
    print: (line) => {
      if (!json) output(line);
    },
    write: ({ text, json: value }) => {
      if (json) output(JSON.stringify(value ?? null));
      else if (text !== '') output(text);
    },
    type: (piece) => {
      if (!json) typed(piece);
    },
    isTerminal: process.stderr.isTTY === true,
    remark: (line) => {
      if (!json) process.stderr.write(`${line}\n`);
    },
    ask: (question) => terminal.ask(question),
    [Symbol.dispose]: () => terminal.close(),
  };
}

/** Returns a line of the log without stacks: people see what happened, and no place in the code. */
function remarkOf(line: string, json: boolean): string {
  const { err, ...record } = JSON.parse(line) as { err?: { message?: string } };
  const remark = JSON.stringify({ ...record, ...(err?.message !== undefined && { reason: err.message }) });
  return json ? `${remark}\n` : textLine(remark);
}

function noServers(source: string): MeshError {
  return new MeshError(
    'failed_precondition',
    `the mesh of ${source} runs in one process, without NATS and Redis, which this command reads; install nats-server and redis-server, and start agentmesh dev again`,
  );
}

function gatewayUrlOf(env: NodeJS.ProcessEnv): string {
  const url = env[gatewayVariable] || `http://127.0.0.1:${env.MESH_HTTP_PORT || 8000}`;
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '');
  throw new MeshError(
    'invalid_argument',
    `${gatewayVariable} must be an address such as http://127.0.0.1:8000; it is ${JSON.stringify(url)}`,
  );
}

/** The terminal of the person, or a pipe. Questions go to stderr, so that the output stays clean. */
class Terminal {
  #reader: Interface | undefined;
  #answers: AsyncIterator<string> | undefined;

  readonly #stopped: Promise<undefined>;

  constructor(signal: AbortSignal) {
    this.#stopped = new Promise((resolve) => {
      if (signal.aborted) resolve(undefined);
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
  }

  async ask(question: string): Promise<string | undefined> {
    this.#reader ??= createInterface({ input: process.stdin, terminal: false });
    this.#answers ??= this.#reader[Symbol.asyncIterator]();
    process.stderr.write(question);
    const next = await Promise.race([this.#answers.next(), this.#stopped]);
    return next === undefined || next.done ? undefined : next.value;
  }

  /** Lets go of the input, so that the process can end. */
  close(): void {
    this.#reader?.close();
  }
}

/** Returns the address of NATS for an operator. */
export function operatorOf({ config }: Pick<Surroundings, 'config'>): OperatorOptions {
  return {
    url: config.natsUrl,
    user: config.natsUser,
    pass: config.natsPassword?.reveal(),
    tls: natsTlsOf(config),
    credsFile: config.natsCreds,
    namespace: config.namespace,
    connectTimeoutMs,
  };
}

/** Opens the dead letters for a piece of work. */
export async function withLetters<T>(
  around: Pick<Surroundings, 'config'>,
  work: (letters: DeadLetters) => Promise<T>,
): Promise<T> {
  await using letters = await openDeadLetters(operatorOf(around));
  return await work(letters);
}

/** Connects to the mesh for a piece of work. */
export async function withMesh<T>(
  { config, log }: Pick<Surroundings, 'config' | 'log'>,
  work: (mesh: ConnectedMesh) => Promise<T>,
): Promise<T> {
  await using mesh = await connectService('operator', config, log, { connectTimeoutMs });
  return await work(mesh);
}
