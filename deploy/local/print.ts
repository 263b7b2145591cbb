import { stringifyContent } from '@agentmesh/agent';
import { type Event, replicaKey } from '@agentmesh/protocol';
import { textLine } from '@agentmesh/service';

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
/**
 * The time within which the same message of several services is printed once, in ms: all of them notice that
 * a server is away.
 */
const sameMs = 10_000;

export interface LogPrinter {
  onLine(service: string, line: string): void;
  /** The services whose model is a script. */
  readonly scripted: ReadonlySet<string>;
}

export interface LogPrinterOptions {
  env?: NodeJS.ProcessEnv;
  print?: (line: string) => void;
  now?: () => number;
}

/**
 * Makes a printer for the logs of services, which are JSON. By default it prints warnings and errors in
 * short, each once. When `MESH_LOG_LEVEL` or `MESH_LOG_FORMAT` is set, it prints every line from that level
 * on, in that format.
 */
export function logPrinter({
  env = process.env,
  print = (line) => console.log(line),
  now = Date.now,
}: LogPrinterOptions = {}): LogPrinter {
  const scripted = new Set<string>();
  const printedAt = new Map<string, number>();
  const isWhole = Boolean(env.MESH_LOG_LEVEL || env.MESH_LOG_FORMAT);
  const least = levels.indexOf(env.MESH_LOG_LEVEL || (isWhole ? 'info' : 'warn'));

  function printShort(service: string, line: Line) {
    const words = [line.msg, line.reason ?? messagesOf(line.err)].filter(Boolean).join(': ');
    const key = `${words} ${line.tool ?? ''}`;
    if (now() - (printedAt.get(key) ?? Number.NEGATIVE_INFINITY) < sameMs) return;
    printedAt.set(key, now());
    print(`  ${line.level} ${service}: ${words}${whereOf(line)}`);
  }

  return {
    scripted,
    onLine(service, line) {
      const read = readLine(line);
      if (!read) {
        print(`  ${service}: ${line}`);
        return;
      }
      if (read.model === 'scripted') scripted.add(service);
      if (levels.indexOf(read.level) < least) return;
      if (!isWhole) printShort(service, read);
      else print(env.MESH_LOG_FORMAT === 'json' ? line : textLine(line).trimEnd());
    },
  };
}

interface Line {
  level: string;
  msg: string;
  reason?: string;
  err?: LoggedError;
  model?: string;
  tool?: string;
  callback?: string;
  /** The place in the code where an error was thrown. */
  at?: string;
  invocationId?: string;
}

interface LoggedError {
  message?: string;
  details?: { invocationId?: string };
  cause?: LoggedError;
}

/** Returns the messages of an error and of its causes, each once. */
function messagesOf(error: LoggedError | undefined): string {
  if (!error) return '';
  const message = error.message ?? '';
  const cause = messagesOf(error.cause);
  return cause === '' || message.includes(cause) ? message : [message, cause].filter(Boolean).join(': ');
}

/** Returns the callback, the tool, the invocation and the place in the code of a line. */
function whereOf({ callback, tool, invocationId, at, err }: Line): string {
  const invocation = invocationId ?? err?.details?.invocationId;
  const parts = [
    callback,
    tool && `tool ${tool}`,
    invocation && `invocation ${invocation}`,
    at && `at ${at}`,
  ].filter(Boolean);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

function readLine(line: string): Line | undefined {
  try {
    const read: unknown = JSON.parse(line);
    return typeof read === 'object' && read !== null && 'level' in read && 'msg' in read
      ? (read as Line)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Describes an event in one line: its author, its content or effect, and its process. */
export function describeEvent(event: Event): string {
  const replica = event.customMetadata?.[replicaKey];
  const where = typeof replica === 'string' ? replica : '';
  const pid = /-(\d+)-[^-]+$/.exec(where)?.[1] ?? '?';
  const what = (event.content?.parts ?? []).map((part) => {
    if (part.functionCall)
      return `calls ${part.functionCall.name}(${JSON.stringify(part.functionCall.args)})`;
    if (part.functionResponse) return `gets ${JSON.stringify(part.functionResponse.response)}`;
    return '';
  });
  const text = stringifyContent(event);
  const description = [...what.filter(Boolean), ...(text ? [`“${text}”`] : [])].join(', ');
  const hint = event.actions.transferToAgent ? ` → transfer to ${event.actions.transferToAgent}` : '';
  const problem = event.errorCode ? `failed: ${event.errorMessage}` : '';
  return `${event.partial ? '… ' : ''}${event.author} [pid ${pid}] ${description}${problem}${hint}`;
}
