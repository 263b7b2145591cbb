import { MeshClient } from '@agentmesh/client';

const keyName = 'agentmesh-console-key';

export interface Replica {
  replica: string;
  version?: string;
  since?: number;
  requests?: number;
  work?: number;
  errors?: number;
  calls?: (Link & { count: number; errors: number })[];
}

export interface Link {
  to: string;
  kind: 'agent' | 'tool';
  how: 'transfer' | 'call';
}

export interface Queue {
  waiting: number;
  working: number;
  redelivered: number;
  oldest?: number;
}

export interface Service {
  name: string;
  description: string;
  version: string;
  replicas: Replica[];
  queue: Queue;
  app?: string;
  calls?: Link[];
  ownTools?: string[];
  longRunning?: boolean;
}

export interface MeshMap {
  time: number;
  agents: Service[];
  tools: Service[];
  gateways: Replica[];
  keepers: Replica[];
  deadLetters: number;
}

export type Status = 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled' | 'ended';

export interface RunRow {
  invocationId: string;
  app: string;
  user: string;
  session: string;
  agent?: string;
  since: number;
  status: Status;
  llmCalls?: number;
  tokens?: number;
  error?: { code: string; message: string };
  cancelled?: string;
}

export interface Bar {
  id: string;
  parent?: string;
  kind: 'invocation' | 'agent' | 'model' | 'tool' | 'wait' | 'queue' | 'attempt' | 'takeover';
  name: string;
  from: number;
  to?: number;
  replicas: string[];
  tokens?: { input: number; output: number };
  error?: string;
  asks?: string;
  input?: string;
  output?: string;
}

export interface Waterfall {
  invocationId: string;
  app: string;
  user: string;
  session: string;
  status: Status;
  llmCalls?: number;
  tokens?: { input: number; output: number };
  error?: { code: string; message: string };
  cancelled?: string;
  bars: Bar[];
  isCut: boolean;
}

export interface DeadLetter {
  seq: number;
  writer: { kind: string; name: string };
  isForeign: boolean;
  subject: string;
  time: number;
  error: { code: string; message: string };
  attempts: number;
  replica: string;
  app?: string;
  user?: string;
  session?: string;
  invocationId?: string;
  payload?: unknown;
}

/** A refusal or a failure of the gateway. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns the API key or the token of this tab; '' for none. It is kept until the tab is closed. */
export function readKey(): string {
  return sessionStorage.getItem(keyName) ?? '';
}

/** Keeps the key of this tab; '' forgets it. */
export function keepKey(key: string): void {
  if (key === '') sessionStorage.removeItem(keyName);
  else sessionStorage.setItem(keyName, key);
}

/** Sends a request to the gateway. @throws ApiError for every answer but a success */
export async function send(method: string, path: string, body?: unknown): Promise<Response> {
  const key = readKey();
  const answer = await fetch(path, {
    method,
    headers: {
      accept: 'application/json',
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ApiError(0, 'the gateway does not answer');
  });
  if (answer.ok) return answer;
  const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
  throw new ApiError(answer.status, error ?? `the gateway answers ${answer.status}`);
}

/** Reads JSON from the gateway. @throws ApiError */
export async function get<T>(
  path: string,
  query: Record<string, string | number | undefined> = {},
): Promise<T> {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  const text = new URLSearchParams(given).toString();
  return (await (await send('GET', text === '' ? path : `${path}?${text}`)).json()) as T;
}

/** Returns the client for conversations. */
export function client(): MeshClient {
  return new MeshClient({ url: location.origin, ...(readKey() !== '' && { token: readKey }) });
}

export function pathOf(app: string, user: string): string {
  return `/apps/${encodeURIComponent(app)}/users/${encodeURIComponent(user)}`;
}
