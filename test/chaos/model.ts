import {
  type ModelReply,
  type ModelRequest,
  type ModelScript,
  type ScriptedCall,
  seededRandom,
} from '@agentmesh/testing';

/** The kinds of operations that a message may ask for. */
export const opKinds = ['local', 'remote', 'both', 'chain', 'nested', 'transfer', 'fan', 'stream'] as const;
export type OpKind = (typeof opKinds)[number];

/** Returns the message of an operation. The id makes it unique. */
export const wordsOf = (kind: OpKind | 'leaf', id: string) => `op:${kind}:${id}`;

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
  const calls = stepsOf(agent, kind, id)[answered];
  return calls ? { calls } : { chunks: [`${agent} `, 'did ', `${kind} `, id] };
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
  if (agent === 'middle_agent') return kind === 'nested' ? [[ask('back_agent', 'leaf')]] : [[remote]];
  const steps: Record<string, ScriptedCall[][]> = {
    local: [[local]],
    remote: [[remote]],
    both: [[local, remote]],
    chain: [[remote], [local], [remote]],
    nested: [[ask('middle_agent', 'nested')]],
    transfer: [[hand('middle_agent')]],
    fan: [[hand('fan_agent')]],
  };
  return steps[kind] ?? [];
}

/** Returns the latest requested operation, and the number of contents with responses since. */
function readOp({ contents }: ModelRequest) {
  const words = contents.map(({ role, parts = [] }) =>
    role === 'model' ? undefined : parts.map(({ text }) => /^op:(\w+):(\S+)$/.exec(text ?? '')).find(Boolean),
  );
  const at = words.findLastIndex(Boolean);
  const [, kind = 'none', id = 'none'] = words[at] ?? [];
  const answered = contents
    .slice(at + 1)
    .filter(({ parts }) => parts?.some(({ functionResponse }) => functionResponse));
  return { kind, id, answered: answered.length };
}
