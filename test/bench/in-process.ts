/**
 * Compares a turn with one tool call in `InMemoryRunner` with the same turn in ADK's, in one process, a block of
 * each in turns: turns in new sessions, and turns in a session that goes on.
 *
 * `node_modules/.bin/node test/bench/in-process.ts [blocks]`, default 20
 */
import { InMemoryRunner, LlmAgent } from '@agentmesh/agent';
import { InMemoryRunner as AdkRunner } from '@google/adk';
import { instantAdkAgent } from './instant-adk-agent.ts';
import { InstantLlm, stockPrice } from './instant-agent.ts';
import { median } from './median.ts';
import { question } from './model.ts';

const blocks = Number(process.argv[2] ?? 20);
/** Number of turns in a block, and in a session that goes on. */
const turnsOfBlock = 50;
const userId = 'bench';

const agent = new LlmAgent({
  name: 'turn_agent',
  model: new InstantLlm({ model: 'instant' }),
  tools: [stockPrice],
});
const runners = {
  agentmesh: new InMemoryRunner({ agent, appName: 'bench' }),
  ADK: new AdkRunner({ agent: instantAdkAgent('turn_agent'), appName: 'bench' }),
};
type Name = keyof typeof runners;
const names = Object.keys(runners) as Name[];

async function newSession(name: Name): Promise<string> {
  return (await runners[name].sessionService.createSession({ appName: 'bench', userId })).id;
}

/** Carries out one turn, and returns its time in ms. */
async function turn(name: Name, sessionId: string): Promise<number> {
  const beganAt = performance.now();
  let events = 0;
  for await (const _event of runners[name].runAsync({ userId, sessionId, newMessage: question })) events += 1;
  if (events !== 3) throw new Error(`a turn of ${name} gave ${events} events`);
  return performance.now() - beganAt;
}

const kinds = {
  'in new sessions': async (name: Name) => {
    const times: number[] = [];
    for (let n = 0; n < turnsOfBlock; n += 1) times.push(await turn(name, await newSession(name)));
    return times;
  },
  [`in sessions of ${turnsOfBlock} turns`]: async (name: Name) => {
    const sessionId = await newSession(name);
    const times: number[] = [];
    for (let n = 0; n < turnsOfBlock; n += 1) times.push(await turn(name, sessionId));
    return times;
  },
};

console.log('| turns | agentmesh, p50 (ms) | ADK, p50 (ms) | agentmesh ÷ ADK |');
console.log('|---|---:|---:|---:|');
for (const [kind, block] of Object.entries(kinds)) {
  const times: Record<Name, number[]> = { agentmesh: [], ADK: [] };
  for (let at = 0; at <= blocks; at += 1) {
    for (const name of names) {
      const found = await block(name);
      // The first blocks warm up.
      if (at > 0) times[name].push(...found);
    }
  }
  const [ours, theirs] = [median(times.agentmesh), median(times.ADK)];
  const columns = [kind, ours.toFixed(3), theirs.toFixed(3), `${(ours / theirs).toFixed(2)} ×`];
  console.log(`| ${columns.join(' | ')} |`);
}
