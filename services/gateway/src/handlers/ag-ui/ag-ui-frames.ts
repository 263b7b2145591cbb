import { type AGUIEvent, EventType } from '@ag-ui/core';
import type { pendingCalls } from '@agentmesh/mesh';
import type { Event } from '@agentmesh/protocol';
import { type Frame, type FrameForm, LargeFrame } from '../../runs/frame-form.ts';
import { interruptOf } from './interrupts.ts';
import type { KnownState } from './known-state.ts';

export interface AgUiRun {
  threadId: string;
  runId: string;
  invocationId: string;
  /**
   * True for a run that may have begun earlier: pieces may be missing at the beginning of a message, so messages of an
   * author come as a whole until one of them came when it was committed.
   */
  isRepeated: boolean;
  /** The state with which the run begins. The frames change it as the client gets the changes. */
  known: KnownState;
  /** False for an approver, who answers questions in the session of another user and may not read it. */
  seesState: boolean;
  /** Returns the calls of the session that wait for an answer. */
  pending: () => ReturnType<typeof pendingCalls>;
  /** Reads the state of the session. */
  readState: () => Promise<Record<string, unknown>>;
  /** Tells whether the client knows the state of the session, which may be large: callers take turns. */
  knowsState: () => Promise<boolean>;
}

/** A message whose pieces come. */
interface OpenMessage {
  messageId: string;
  text: string;
}

/** Turns the events of a run into those of AG-UI 1.0. */
export class AgUiFrames implements FrameForm {
  readonly #run: AgUiRun;
  /** The messages that have begun, by author and branch: parallel agents speak at once. */
  readonly #open = new Map<string, OpenMessage>();
  /** The authors, with branch, one of whose whole events came when it was committed. */
  readonly #heard = new Set<string>();
  /** The error of a model that has said nothing since. */
  #error: { code: string; message: string } | undefined;
  #count = 0;

  constructor(run: AgUiRun) {
    this.#run = run;
  }

  begin(): Frame[] {
    const { threadId, runId } = this.#run;
    return [
      { type: EventType.RUN_STARTED, threadId, runId },
      ...(this.#run.seesState ? [this.#snapshot()] : []),
    ];
  }

  event(event: Event, isLive = false): AGUIEvent[] {
    const text = textOf(event);
    if (event.partial) return text === '' ? [] : this.#piece(event, text);
    if (isLive) this.#heard.add(speakerOf(event));
    if (event.author !== 'user') this.#error = errorOf(event);
    const parts = event.content?.parts ?? [];
    return [
      ...this.#wholeText(event, text),
      ...parts.flatMap(({ functionCall, functionResponse, ...part }) => [
        ...(functionCall && !isQuestion(functionCall.name) ? callFrames(functionCall) : []),
        ...(functionResponse ? [this.#result(functionResponse)] : []),
        ...(event.author === 'user' ? [] : this.#media(part)),
      ]),
      ...this.#changes(event.actions.stateDelta),
    ];
  }

  async end(): Promise<Frame[]> {
    const { threadId, runId, pending, seesState, knowsState, readState } = this.#run;
    // Another run of the session may have changed the state meanwhile.
    const [calls, isKnown] = await Promise.all([pending(), !seesState || knowsState()]);
    const rest = [...this.#closeAll(), ...(isKnown ? [] : [largeSnapshot(readState)])];
    if (this.#error) return [...rest, { type: EventType.RUN_ERROR, ...this.#error }];
    const interrupts = calls.filter(({ kind }) => kind !== 'result').map(interruptOf);
    const outcome =
      interrupts.length > 0 ? { type: 'interrupt' as const, interrupts } : { type: 'success' as const };
    return [...rest, { type: EventType.RUN_FINISHED, threadId, runId, outcome }];
  }

  failure({ error, code }: { error: string; code: string }): AGUIEvent {
    const { threadId, runId } = this.#run;
    if (code === 'cancelled')
      return { type: EventType.RUN_FINISHED, threadId, runId, outcome: { type: 'cancelled' } };
    return { type: EventType.RUN_ERROR, message: error, code };
  }

  #snapshot(): Frame {
    const { known, readState } = this.#run;
    return known.kept ? snapshotOf(known.kept) : largeSnapshot(readState);
  }

  #piece(event: Event, delta: string): AGUIEvent[] {
    const speaker = speakerOf(event);
    if (this.#run.isRepeated && !this.#heard.has(speaker)) return [];
    const open = this.#open.get(speaker);
    if (open) open.text += delta;
    const message = open ?? { messageId: this.#nextId(), text: delta };
    this.#open.set(speaker, message);
    const { messageId } = message;
    return [...(open ? [] : [startOf(messageId, event)]), contentOf(messageId, delta)];
  }

  /** Ends the message of an event: adds what no piece had. */
  #wholeText(event: Event, text: string): AGUIEvent[] {
    const speaker = speakerOf(event);
    const open = this.#open.get(speaker);
    this.#open.delete(speaker);
    if (open && (text === '' || text.startsWith(open.text))) {
      const rest = text.slice(open.text.length);
      return [...(rest === '' ? [] : [contentOf(open.messageId, rest)]), endOf(open.messageId)];
    }
    if (text === '') return [];
    const messageId = this.#nextId();
    // Pieces were dropped, because the client read too slowly: the message comes once more as a whole.
    const before = open ? [endOf(open.messageId)] : [];
    return [...before, startOf(messageId, event), contentOf(messageId, text), endOf(messageId)];
  }

  #closeAll(): AGUIEvent[] {
    const ends = [...this.#open.values()].map(({ messageId }) => endOf(messageId));
    this.#open.clear();
    return ends;
  }

  #result({ id = '', response }: { id?: string; response?: Record<string, unknown> }): AGUIEvent {
    const content = JSON.stringify(response ?? {});
    return {
      type: EventType.TOOL_CALL_RESULT,
      messageId: this.#nextId(),
      toolCallId: id,
      content,
      role: 'tool',
    };
  }

  /** Shows a file of an agent. A message of an assistant has texts alone in AG-UI, so the file is an activity. */
  #media({ inlineData, fileData, thought }: MessagePart): AGUIEvent[] {
    const mimeType = inlineData?.mimeType ?? fileData?.mimeType ?? 'application/octet-stream';
    const source = inlineData?.data
      ? { type: 'data', value: inlineData.data, mimeType }
      : fileData?.fileUri && { type: 'url', value: fileData.fileUri, mimeType };
    if (!source || thought) return [];
    const [kind = ''] = mimeType.split('/');
    const content = { type: ['image', 'audio', 'video'].includes(kind) ? kind : 'document', source };
    return [{ type: EventType.ACTIVITY_SNAPSHOT, messageId: this.#nextId(), activityType: 'media', content }];
  }

  /** Returns the change of the state as a JSON Patch (RFC 6902), in which `add` also replaces. */
  #changes(stateDelta: Record<string, unknown>): AGUIEvent[] {
    const changed = Object.entries(stateDelta).filter(([key]) => !key.startsWith('temp:'));
    if (changed.length === 0 || !this.#run.seesState) return [];
    this.#run.known.change(Object.fromEntries(changed));
    const delta = changed.map(([key, value]) => ({ op: 'add' as const, path: `/${pointerOf(key)}`, value }));
    return [{ type: EventType.STATE_DELTA, delta }];
  }

  #nextId(): string {
    this.#count += 1;
    return `${this.#run.invocationId}-${this.#count}`;
  }
}

const snapshotOf = (snapshot: Readonly<Record<string, unknown>>): AGUIEvent => ({
  type: EventType.STATE_SNAPSHOT,
  snapshot: { ...snapshot },
});
const largeSnapshot = (readState: AgUiRun['readState']) =>
  new LargeFrame(async () => snapshotOf(await readState()));

const speakerOf = ({ author = '', branch = '' }: Event) => `${author}\n${branch}`;
const pointerOf = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');
const isQuestion = (name = '') => name.startsWith('adk_request_');

function textOf({ content }: Event): string {
  return (content?.parts ?? []).map(({ text = '', thought }) => (thought ? '' : text)).join('');
}

function startOf(messageId: string, { author }: Event): AGUIEvent {
  return {
    type: EventType.TEXT_MESSAGE_START,
    messageId,
    role: 'assistant',
    ...(author && { name: author }),
  };
}

function contentOf(messageId: string, delta: string): AGUIEvent {
  return { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta };
}

function endOf(messageId: string): AGUIEvent {
  return { type: EventType.TEXT_MESSAGE_END, messageId };
}

function callFrames({ id = '', name = '', args }: NonNullable<CallPart>): AGUIEvent[] {
  return [
    { type: EventType.TOOL_CALL_START, toolCallId: id, toolCallName: name },
    { type: EventType.TOOL_CALL_ARGS, toolCallId: id, delta: JSON.stringify(args ?? {}) },
    { type: EventType.TOOL_CALL_END, toolCallId: id },
  ];
}

type MessagePart = NonNullable<NonNullable<Event['content']>['parts']>[number];
type CallPart = MessagePart['functionCall'];

/** Returns the error of a model or an agent that an event reports. */
function errorOf({ errorCode, errorMessage }: Event): { code: string; message: string } | undefined {
  return errorCode === undefined
    ? undefined
    : { code: errorCode, message: errorMessage ?? `the model ended with ${errorCode}` };
}
