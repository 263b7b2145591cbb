import * as agentmesh from '@agentmesh/agent';
import { type ModelReply, type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import * as adk from '@google/adk';
import type { Content } from '@google/genai';
import type { Kit, Outcome, Part, Scenario, SeenEvent } from './kit.ts';
import { normalize } from './normalize.ts';

const appName = 'conformance';
const userId = 'u';
const sessionId = 's';

/** Name of the model of an agent; the scripted server tells them apart by it. */
export const modelOf = (agent: string) => `gemini-${agent}`;

/** A server that answers each agent's model from its own script. */
export async function scriptServer(script: Record<string, ModelReply[]>): Promise<ScriptedGemini> {
  const left = new Map(Object.entries(script).map(([agent, replies]) => [modelOf(agent), [...replies]]));
  return await startScriptedGemini({
    script: ({ model }) => {
      const reply = left.get(model)?.shift();
      return reply ?? { error: { status: 400, message: `the script of ${model} has no reply left` } };
    },
  });
}

/** A kit whose parts are all in this process. */
export function localKit(library: typeof agentmesh, scenario: Scenario): Kit {
  const part = (name: string): Part => {
    const make = scenario.parts[name];
    if (!make) throw new Error(`scenario ${scenario.name} has no part ${name}`);
    return make(kit);
  };
  const kit: Kit = {
    ...library,
    model: modelOf,
    agent: (name) => part(name) as agentmesh.BaseAgent,
    tool: (name) => part(name) as agentmesh.BaseTool,
  };
  return kit;
}

export function messageOf(turn: Scenario['turns'][number], seen: readonly SeenEvent[]): Content {
  if (typeof turn === 'string') return { role: 'user', parts: [{ text: turn }] };
  return typeof turn === 'function' ? turn(seen) : turn;
}

/** Runs a scenario with all its parts in this process, by either library. */
export async function runLocal(library: 'adk' | 'agentmesh', scenario: Scenario): Promise<Outcome> {
  await using server = await scriptServer(scenario.script);
  adk.setLogLevel(adk.LogLevel.ERROR);
  // Both libraries use the real Gemini client, which reads these.
  process.env.GOOGLE_GEMINI_BASE_URL = server.url;
  process.env.GEMINI_API_KEY = 'scripted';
  process.env.GOOGLE_GENAI_API_KEY = 'scripted';
  const lib = library === 'adk' ? (adk as unknown as typeof agentmesh) : agentmesh;
  const agent = localKit(lib, scenario).agent(scenario.root);
  const runner = new lib.InMemoryRunner({ agent, appName });
  const { state = {} } = scenario;
  await runner.sessionService.createSession({ appName, userId, sessionId, state });
  const runConfig = {
    streamingMode: scenario.streaming ? ('sse' as const) : ('none' as const),
    ...(scenario.maxLlmCalls !== undefined && { maxLlmCalls: scenario.maxLlmCalls }),
  };
  const turns: SeenEvent[][] = [];
  for (const turn of scenario.turns) {
    const newMessage = messageOf(turn, turns.flat());
    const events: SeenEvent[] = [];
    turns.push(events);
    try {
      for await (const event of runner.runAsync({ userId, sessionId, newMessage, runConfig })) {
        events.push(structuredClone(JSON.parse(JSON.stringify(event))));
      }
    } catch {
      events.push({ errorCode: 'thrown', actions: { stateDelta: {} } });
    }
  }
  const session = await runner.sessionService.getSession({ appName, userId, sessionId });
  return normalize(turns, session?.state ?? {}, server.requests);
}
