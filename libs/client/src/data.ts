/** A part of a message, in the form of `@google/genai`. Models may send further kinds. */
export interface Part {
  text?: string;
  /** True for a thought of the model, which is no part of its answer. */
  thought?: boolean;
  /** Bytes in base64. */
  inlineData?: { data?: string; mimeType?: string; displayName?: string };
  fileData?: { fileUri?: string; mimeType?: string; displayName?: string };
  functionCall?: { id?: string; name?: string; args?: Record<string, unknown> };
  functionResponse?: { id?: string; name?: string; response?: Record<string, unknown> };
  [kind: string]: unknown;
}

/** A message of a conversation. */
export interface Content {
  role?: string;
  parts?: Part[];
}

/** The effects of an event besides its content. */
export interface EventActions {
  /** Changes of the state, by key. */
  stateDelta?: Record<string, unknown>;
  /** Versions of artifacts that were saved, by name. */
  artifactDelta?: Record<string, number>;
  /** The agent that gets the conversation. */
  transferToAgent?: string;
  [effect: string]: unknown;
}

/** An event of a conversation. */
export interface Event {
  id: string;
  invocationId: string;
  /** `user`, or the name of the agent. */
  author?: string;
  /** In ms since 1970. */
  timestamp: number;
  actions: EventActions;
  content?: Content;
  /** The ids of the calls in this event that wait for an answer from outside. */
  longRunningToolIds?: string[];
  /** True for a piece of an answer. The event that follows has all of the text. */
  partial?: boolean;
  errorCode?: string;
  errorMessage?: string;
  [field: string]: unknown;
}

/** An event of the log with its number in the session. */
export interface StoredEvent {
  seq: number;
  event: Event;
}

export interface Session {
  id: string;
  appName: string;
  userId: string;
  state: Record<string, unknown>;
  events: Event[];
  /** In s since 1970. */
  lastUpdateTime: number;
}

/** The state of an invocation. */
export interface Invocation {
  invocationId: string;
  /** The last run that continued the invocation. */
  resume?: string;
  /** `waiting`: other runs of the session come first. */
  status: 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled';
  /** Number of its last event in the session; 0 without any. */
  lastSeq: number;
  llmCalls?: number;
  error?: { code: string; message: string };
  /** The reason of a cancellation. */
  cancelled?: string;
}

/** A call that a person or a program must answer. */
export interface Question {
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** The kind of the answer; `result`: the result of a long-running tool. */
  kind: 'confirmation' | 'credential' | 'input' | 'result';
}

/** A question that waits, with its place. */
export interface PendingCall extends Question {
  app: string;
  user: string;
  sessionId: string;
  invocationId: string;
  agent: string;
  /** In ms since 1970. */
  created: number;
  /** The end of the time for an answer, in ms since 1970. */
  deadline?: number;
}

/** A version of an artifact. */
export interface ArtifactVersion {
  /** From 0. */
  version: number;
  mimeType: string;
  /** In bytes. */
  size: number;
  /** In ms since 1970. */
  createTime: number;
  customMetadata: Record<string, unknown>;
}

const kinds: Readonly<Record<string, Question['kind']>> = {
  adk_request_confirmation: 'confirmation',
  adk_request_credential: 'credential',
  adk_request_input: 'input',
};

/** Returns the questions that an event asks: confirmations, inputs, credentials, and results of long-running tools. */
export function questionsIn({ content, longRunningToolIds = [], partial }: Event): Question[] {
  if (partial) return [];
  return (content?.parts ?? []).flatMap(({ functionCall }) => {
    const { id, name, args = {} } = functionCall ?? {};
    if (id === undefined || name === undefined || !longRunningToolIds.includes(id)) return [];
    return [{ id, name, args, kind: kinds[name] ?? 'result' }];
  });
}

/** Returns the text of an event, without thoughts. */
export function textOf({ content }: Event): string {
  const parts = content?.parts ?? [];
  return parts.map(({ text = '', thought }) => (thought ? '' : text)).join('');
}
