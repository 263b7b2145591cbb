import {
  type ModelReply,
  type ModelRequest,
  type ModelScript,
  type ScriptedCall,
  seededRandom,
} from '@agentmesh/testing';

/** The kinds of operations whose run ends with the answer to the message. */
export const talkKinds = ['local', 'remote', 'both', 'chain', 'nested', 'transfer', 'fan', 'stream'] as const;
/** The other kinds: jobs, tickets, questions, calls of tools of the client, files, and large results. */
export const otherKinds = ['job', 'longjob', 'ticket', 'confirm', 'client', 'file', 'big'] as const;
export type OpKind = (typeof talkKinds)[number] | (typeof otherKinds)[number];

/** The tool that a client declares with a message of the kind `client`, and runs itself. */
export const clientTool = { name: 'client_work', description: 'Works at the client.' };

/** Returns the message of an operation. The id makes it unique. */
export const wordsOf = (kind: OpKind | 'leaf', id: string, padBytes = 0) =>
  `op:${kind}:${id}${padBytes > 0 ? ` ${'x'.repeat(padBytes)}` : ''}`;

/** Returns the answer of an agent to an operation. */
const answerOf = (agent: string, kind: string, id: string) => `${agent} did ${kind} ${id}`;

/** Returns the agent's words about the outcome of a ticket or of a job. */
export const wordAbout = (agent: string, outcome: string) => `${agent} heard of ${outcome}`;

/** Returns the possible texts of the last words of an operation's run. */
export function expectedOf(kind: OpKind, id: string): string[] {
  if (kind === 'transfer') return [answerOf('middle_agent', kind, id)];
  if (kind === 'fan') return ['left_agent', 'back_agent'].map((agent) => answerOf(agent, kind, id));
  const about = kind === 'job' || kind === 'longjob' ? [wordAbout('front_agent', id)] : [];
  return [answerOf('front_agent', kind, id), ...about];
}

/** Returns the number by which an operation raises the counter of its session. */
export const countsOf = (kind: OpKind): number => (['local', 'both', 'chain', 'fan'].includes(kind) ? 1 : 0);

/**
 * Makes the model of all agents. Its answer depends only on the request, so that a repeated request is
 * harmless. Its time depends on the seed.
 */
export function chaosModel(seed: number, thinkMs: number): ModelScript {
  const random = seededRandom(`${seed}/model`);
  return (request) => {
    const delayMs = random.integer(0, 2 * thinkMs);
    return { delayMs, chunkDelayMs: 5, ...answer(request) };
  };
}

function answer(request: ModelRequest): ModelReply {
  const { kind, id, answered } = readOp(request);
  const agent = request.model.replace(/^gemini-/, '');
  if (kind === 'client' && hasError(request)) return { chunks: piecesOf(`${agent} has lost a tool`) };
  const outcome = latestOutcome(request);
  if (outcome !== undefined) return { chunks: piecesOf(wordAbout(agent, outcome)) };
  const calls = stepsOf(agent, kind, id)[answered];
  return calls ? { calls } : { chunks: piecesOf(answerOf(agent, kind, id)) };
}

/** Tells whether a call was answered with an error: its agent did not know the tool. */
const hasError = ({ contents }: ModelRequest) =>
  contents.some(({ parts }) => parts?.some(({ functionResponse }) => functionResponse?.response?.error));

const piecesOf = (text: string) => text.split(/(?<= )/);

/** Returns the outcome with which the request ends: the result of a job, or of a ticket. */
function latestOutcome({ contents }: ModelRequest): string | undefined {
  const outcomes = contents.at(-1)?.parts?.map(({ functionResponse }) => functionResponse?.response?.outcome);
  return outcomes?.find((outcome) => typeof outcome === 'string');
}

/** Returns the calls of an agent for an operation, step by step. After the last step the agent answers. */
function stepsOf(agent: string, kind: string, id: string): ScriptedCall[][] {
  const local = { name: 'add_local', args: { op: id } };
  const remote = { name: 'add_remote', args: { op: id } };
  if (agent === 'left_agent') return [[local]];
  if (agent === 'back_agent') return [[remote]];
  const hand = (agentName: string): ScriptedCall => ({ name: 'transfer_to_agent', args: { agentName } });
  const ask = (name: string, what: OpKind | 'leaf'): ScriptedCall => ({
    name,
    args: { request: wordsOf(what, id) },
  });
  const work = (pieces: number): ScriptedCall => ({ name: 'long_work', args: { op: id, pieces } });
  if (agent === 'middle_agent') return kind === 'nested' ? [[ask('back_agent', 'leaf')]] : [[remote]];
  const steps: Record<string, ScriptedCall[][]> = {
    local: [[local]],
    remote: [[remote]],
    both: [[local, remote]],
    chain: [[remote], [local], [remote]],
    nested: [[ask('middle_agent', 'nested')]],
    transfer: [[hand('middle_agent')]],
    fan: [[hand('fan_agent')]],
    job: [[work(2)]],
    longjob: [[work(10)]],
    ticket: [[{ name: 'long_work', args: { op: id } }]],
    confirm: [[{ name: 'add_confirmed', args: { op: id } }]],
    client: [[{ name: clientTool.name, args: { op: id } }], [{ name: clientTool.name, args: { op: id } }]],
    file: [[{ name: 'save_file', args: { op: id } }]],
    big: [[{ name: 'add_remote', args: { op: id, bytes: 1_100_000 } }]],
  };
  return steps[kind] ?? [];
}

/** Returns the latest requested operation, and the number of contents with responses since. */
function readOp({ contents }: ModelRequest) {
  const words = contents.map(({ role, parts = [] }) =>
    role === 'model'
      ? undefined
      : parts.map(({ text }) => /^op:(\w+):(\S+)(?: x+)?$/.exec(text ?? '')).find(Boolean),
  );
  const at = words.findLastIndex(Boolean);
  const [, kind = 'none', id = 'none'] = words[at] ?? [];
  const answered = contents
    .slice(at + 1)
    .filter(({ parts }) => parts?.some(({ functionResponse }) => functionResponse));
  return { kind, id, answered: answered.length };
}
