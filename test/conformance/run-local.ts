import * as agentmesh from '@agentmesh/agent';
import { type ModelReply, type ScriptedGemini, startScriptedGemini } from '@agentmesh/testing';
import * as adk from '@google/adk';
import type { Content } from '@google/genai';
import type { Kit, Outcome, Part, Scenario, SeenEvent, SeenSession, Turn } from './kit.ts';
import { normalize } from './normalize.ts';

const appName = 'conformance';
const userId = 'u';
const sessionId = 's';

/** Returns the name of an agent's model, by which the scripted server distinguishes the agents. */
export const modelOf = (agent: string) => `gemini-${agent}`;

/** Starts a server that answers for each agent's model from its own script. */
export async function scriptServer(script: Record<string, ModelReply[]>): Promise<ScriptedGemini> {
  const left = new Map(Object.entries(script).map(([agent, replies]) => [modelOf(agent), [...replies]]));
  return await startScriptedGemini({
    script: ({ model }) => {
      const reply = left.get(model)?.shift();
      return reply ?? { error: { status: 400, message: `the script of ${model} has no reply left` } };
    },
  });
}

/** Makes a kit whose parts are all in this process. */
function localKit(library: typeof agentmesh, scenario: Scenario): Kit {
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

/** Returns the message of a turn, its session and its options. */
export function readTurn(turn: Turn, seen: readonly SeenEvent[]) {
  if (typeof turn === 'string') return { message: textOf(turn), session: sessionId };
  if (typeof turn === 'function') return { message: turn(seen), session: sessionId };
  if (!('say' in turn)) return { message: turn, session: sessionId };
  const { say, session = sessionId, stateDelta } = turn;
  return { message: textOf(say), session, ...(stateDelta && { stateDelta }) };
}

function textOf(text: string): Content {
  return { role: 'user', parts: [{ text }] };
}

/** Returns the sessions that the turns name. */
export function sessionsOf({ turns }: Scenario): string[] {
  const named = turns.map((turn) => (typeof turn === 'object' && 'say' in turn && turn.session) || sessionId);
  return [...new Set(named)];
}

/** Runs a scenario with all its parts in this process, by either library. */
export async function runLocal(library: 'adk' | 'agentmesh', scenario: Scenario): Promise<Outcome> {
  await using server = await scriptServer(scenario.script);
  // Scenarios fail on purpose.
  adk.setLogger(null);
  // Both libraries use the real Gemini client, which reads these.
  process.env.GOOGLE_GEMINI_BASE_URL = server.url;
  process.env.GEMINI_API_KEY = 'scripted';
  process.env.GOOGLE_GENAI_API_KEY = 'scripted';
  const lib = library === 'adk' ? (adk as unknown as typeof agentmesh) : agentmesh;
  const kit = localKit(lib, scenario);
  const plugins = scenario.plugins?.(kit) ?? [];
  const runner = new lib.InMemoryRunner({ agent: kit.agent(scenario.root), appName, plugins });
  const { state = {}, inParallel } = scenario;
  for (const id of sessionsOf(scenario))
    await runner.sessionService.createSession({ appName, userId, sessionId: id, state });
  const turns: SeenEvent[][] = [];
  for (const turn of scenario.turns) {
    const { message: newMessage, session, ...rest } = readTurn(turn, turns.flat());
    const runConfig = runConfigOf(scenario);
    const events: SeenEvent[] = [];
    turns.push(events);
    try {
      for await (const event of runner.runAsync({
        userId,
        sessionId: session,
        newMessage,
        runConfig,
        ...rest,
      })) {
        events.push(JSON.parse(asJson(event)));
      }
    } catch {
      events.push({ errorCode: 'thrown', author: scenario.root });
    }
  }
  const sessions: Record<string, SeenSession> = {};
  for (const id of sessionsOf(scenario)) {
    const kept = await runner.sessionService.getSession({ appName, userId, sessionId: id });
    if (kept) sessions[id] = JSON.parse(asJson(kept));
  }
  return normalize({ turns, sessions, requests: server.requests, inParallel });
}

/** Writes a value as JSON; ADK also accepts values that JSON cannot hold. */
function asJson(value: unknown): string {
  return JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? `bigint ${each}` : each));
}

export function runConfigOf({ streaming, maxLlmCalls, runConfig }: Scenario) {
  return {
    streamingMode: streaming ? ('sse' as const) : ('none' as const),
    ...(maxLlmCalls !== undefined && { maxLlmCalls }),
    ...runConfig,
  };
}
