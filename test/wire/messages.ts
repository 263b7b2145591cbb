import {
  agentCardSchema,
  answerSchema,
  askSchema,
  auditRecordSchema,
  cancelSchema,
  deadLetterSchema,
  eventSchema,
  type FrameType,
  type header,
  invocationEndSchema,
  jobSchema,
  keeperAnswerSchema,
  keeperRequestSchema,
  operationUpdateSchema,
  pendingNewsSchema,
  pendingReplySchema,
  pendingRequestSchema,
  runCommandSchema,
  secretAnswerSchema,
  secretRequestSchema,
  toolCallSchema,
  toolCardSchema,
  toolReplySchema,
  wireErrorSchema,
} from '@agentmesh/protocol';
import { z } from 'zod';

/** A body on the wire. `writes`: programs without agentmesh send it. `reads`: they receive it. */
export interface WireBody {
  schema: z.ZodType;
  programs: 'write' | 'read';
  summary: string;
}

/** All bodies on the wire, by their names. */
export const bodies = {
  run: { schema: runCommandSchema, programs: 'write', summary: 'A run: a message for an agent.' },
  ask: { schema: askSchema, programs: 'write', summary: 'A question to an agent. `message` is enough.' },
  answer: { schema: answerSchema, programs: 'read', summary: 'The answer to an ask.' },
  call: { schema: toolCallSchema, programs: 'read', summary: 'A call of a tool.' },
  'tool-reply': { schema: toolReplySchema, programs: 'write', summary: 'The result of a call.' },
  job: { schema: jobSchema, programs: 'read', summary: 'The work of a call of a long-running tool.' },
  update: {
    schema: operationUpdateSchema,
    programs: 'write',
    summary: 'Progress or the outcome of a pending call.',
  },
  'agent-card': { schema: agentCardSchema, programs: 'write', summary: 'The card of an agent.' },
  'tool-card': { schema: toolCardSchema, programs: 'write', summary: 'The card of a tool.' },
  event: { schema: eventSchema, programs: 'read', summary: 'An event of a conversation, as in ADK.' },
  'invocation-end': { schema: invocationEndSchema, programs: 'read', summary: 'The end of a run.' },
  cancel: { schema: cancelSchema, programs: 'write', summary: 'A request to end an invocation.' },
  'pending-request': {
    schema: pendingRequestSchema,
    programs: 'write',
    summary: 'A request for the pending calls of a user.',
  },
  'pending-reply': { schema: pendingReplySchema, programs: 'read', summary: 'The pending calls of a user.' },
  'pending-news': {
    schema: pendingNewsSchema,
    programs: 'read',
    summary: 'A call that waits for an answer now, or no longer.',
  },
  'files-request': {
    schema: keeperRequestSchema,
    programs: 'write',
    summary: 'A request for files of the work in hand.',
  },
  'files-reply': {
    schema: keeperAnswerSchema,
    programs: 'read',
    summary: 'The answer to a request for files.',
  },
  'secret-request': {
    schema: secretRequestSchema,
    programs: 'write',
    summary: 'A request to open or seal a credential for the work in hand.',
  },
  'secret-reply': {
    schema: secretAnswerSchema,
    programs: 'read',
    summary: 'The answer to a request for a credential.',
  },
  'dead-letter': {
    schema: deadLetterSchema,
    programs: 'read',
    summary: 'A message that could not be worked on.',
  },
  'audit-record': { schema: auditRecordSchema, programs: 'read', summary: 'A security decision.' },
  error: { schema: wireErrorSchema, programs: 'read', summary: 'An error, as a reply or as the last frame.' },
  accepted: {
    schema: z.object({ replica: z.string() }),
    programs: 'read',
    summary: 'The first frame: the replica that works on the request.',
  },
  progress: { schema: z.unknown(), programs: 'write', summary: 'Progress of a call: any JSON.' },
} as const satisfies Record<string, WireBody>;

export type BodyName = keyof typeof bodies;

/** The frames of a reply stream with their bodies. A heartbeat has none. */
export const frames: Record<FrameType, readonly BodyName[]> = {
  accepted: ['accepted'],
  event: ['event'],
  progress: ['progress'],
  heartbeat: [],
  result: ['answer', 'tool-reply', 'files-reply', 'secret-reply'],
  error: ['error'],
};

/** The meanings of the headers. The names are those of `libs/protocol`. */
export const headerMeanings: Record<keyof typeof header, string> = {
  traceparent: 'W3C Trace Context.',
  tracestate: 'W3C Trace Context.',
  deadline: 'The deadline in epoch ms, after which nobody waits for the answer.',
  depth: 'The depth of nested asks, 16 at most.',
  caller: 'The service that sends, for logs.',
  accept: '`frames` for a reply stream; without it the caller gets one plain reply.',
  frame: 'The kind of a frame: accepted, event, progress, heartbeat, result or error.',
  seq: 'The number of a frame in its reply stream from 0, or of an event in its session.',
  end: 'On the last event of a run that it ended: `completed`. Any other end is a message of its own.',
  token: 'The fencing token of the delivery of a run.',
  resume: 'The id of a run that continues an invocation.',
  run: 'The run of a command: `<app>.<user>.<session>.<invocation>`, and `.<resume>` of a run that continues it, each as a token.',
  waitsSince: 'The time in epoch ms since which a run waited in the queue of its session; for figures alone.',
  identity:
    'The caller who began the run, signed by the gateway. Pass it on; without it a run has no caller.',
  answeredBy:
    'Who gave the answers in the message of a run command, signed for this run; without it nobody is known.',
  replica:
    'The replica that sends. Programs without agentmesh leave it out; the mesh reads their messages strictly.',
  claim: 'The reference to a payload that is too large, and its key: `<kind>.<object>.<bytes>.<key>`.',
  holder: 'The holder of work, on a ping of a replica; its answer has `holds`: whether it is at that work.',
  messageId: 'The id by which JetStream recognises a repetition.',
  error: 'The text of an error, as in the NATS services protocol.',
  errorCode: 'The number of an error, as in the NATS services protocol.',
};

/** The traffic on a kind of subject, from the view of a program without agentmesh. */
export interface Traffic {
  /** `send`: the program sends; `receive`: it listens, or answers. */
  action: 'send' | 'receive';
  bodies: readonly BodyName[];
  /** The plain replies. */
  replies?: readonly BodyName[];
}

/** The traffic on each subject of `subjectTable`, by its text there. */
export const traffic: Record<string, Traffic> = {
  'agent.<agent>.run.<session>': { action: 'send', bodies: ['run'] },
  'agent.<agent>.ask': { action: 'send', bodies: ['ask'], replies: ['answer', 'error'] },
  'agent.<agent>.delegate': { action: 'receive', bodies: ['ask'], replies: ['answer', 'error'] },
  'tool.<tool>.call': { action: 'receive', bodies: ['call'], replies: ['tool-reply', 'error'] },
  'tool.<tool>.job': { action: 'receive', bodies: ['job'] },
  'operation.<agent>.<call>.<service>': { action: 'send', bodies: ['update'] },
  'invocation.<id>.cancel.<service>': { action: 'send', bodies: ['cancel'] },
  'dead.<kind>.<name>': { action: 'receive', bodies: ['dead-letter'] },
  'audit.<service>': { action: 'receive', bodies: ['audit-record'] },
  'session.<app>.<user>.<session>.event.<starter>.<invocation>.<service>': {
    action: 'receive',
    bodies: ['event'],
  },
  'session.<app>.<user>.<session>.news.<starter>.<invocation>.<service>': {
    action: 'receive',
    bodies: ['event', 'invocation-end'],
  },
  'session.<app>.<user>.<session>.pending.<service>': { action: 'receive', bodies: ['pending-news'] },
  'card.>': { action: 'receive', bodies: ['agent-card', 'tool-card'] },
  pending: { action: 'send', bodies: ['pending-request'], replies: ['pending-reply', 'error'] },
  'keeper.<service>': { action: 'send', bodies: ['files-request'], replies: ['files-reply', 'error'] },
  'secret.<service>.<right>': {
    action: 'send',
    bodies: ['secret-request'],
    replies: ['secret-reply', 'error'],
  },
};
