import { App } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import {
  chatDialects,
  chatText,
  type Dialect,
  errorDialects,
  geminiDialects,
  geminiText,
  mixAnswer,
  promptProblem,
  type RudeServer,
  startRudeServer,
  type WireAnswer,
} from '@agentmesh/testing';
import { isLongTier } from '@agentmesh/testing/tiers';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { natsLogin } from '../nats-login.ts';
import { boss, chat, gem } from './rude-doors/agents.fixture.ts';
import { type Door, doorsOf } from './rude-doors/doors.fixture.ts';

/** A model's server whose next answer may be rude. */
interface Model {
  agent: string;
  dialects: readonly Dialect[];
  clean: (words: string, isStream: boolean) => WireAnswer;
  /** Answers the first request of a message, when it has such a form. */
  rude?: Dialect | undefined;
  server?: RudeServer;
}

const models: Model[] = [
  { agent: 'gem', dialects: [...geminiDialects, ...errorDialects], clean: geminiText },
  { agent: 'chat', dialects: [...chatDialects, ...errorDialects], clean: chatText },
];

async function serve(model: Model): Promise<RudeServer> {
  return await startRudeServer((request) => {
    const rude = model.rude?.answer(request.isStream);
    model.rude = undefined;
    const problem = promptProblem(request);
    if (rude) return rude;
    if (problem === undefined) return model.clean('well', request.isStream);
    return { status: 400, body: JSON.stringify({ error: { code: 400, message: problem } }) };
  });
}

const names = ['/run', '/run_sse', 'ask', 'AG-UI', 'AgentTool'];
let mesh: LocalMesh;
let nats: NatsConnection;
let doors: Readonly<Record<string, Door>>;
beforeAll(async () => {
  for (const model of models) model.server = await serve(model);
  const [gemServer, chatServer] = models.map(({ server }) => server?.url ?? '');
  mesh = await launchMesh({
    services: [gem, chat, boss].map((agent) => ({
      manifest: agentManifest(new App({ name: `${agent.name}_app`, rootAgent: agent })),
      folder: `test/scenarios/rude-doors/${agent.name}`,
    })),
    env: { RUDE_GEM: gemServer ?? '', RUDE_CHAT: chatServer ?? '' },
  });
  const login = natsLogin(mesh.login('client'));
  nats = await connect({ servers: mesh.natsUrl, inboxPrefix: subjects().inboxPrefix('client'), ...login });
  doors = doorsOf(mesh, nats);
});
afterAll(async () => {
  await nats?.close();
  await mesh?.[Symbol.asyncDispose]();
  for (const { server } of models) await server?.close();
});

/** Sends two messages by a door to an agent whose model's first answer is rude; returns the broken rules. */
async function brokenRules(model: Model, dialect: Dialect, name: string): Promise<string[]> {
  const say = await doors[name]?.(model.agent);
  model.rude = dialect;
  const before = model.server?.requests.length ?? 0;
  const first = await say?.('go');
  const calls = (model.server?.requests.length ?? 0) - before;
  model.rude = undefined;
  const later = await say?.('and now?');
  const rules: [boolean, string][] = [
    [Boolean(first?.words?.trim() || first?.error?.trim()), 'it ends in words or with an error'],
    [!JSON.stringify(first).includes('HALF'), 'no call is half'],
    [calls <= 3, `at most one call too many: ${calls}`],
    [later?.words?.includes('well') === true, `the session goes on: ${JSON.stringify(later)}`],
  ];
  return rules.flatMap(([holds, rule]) => (holds ? [] : [`${name}, ${dialect.name}: ${rule}`]));
}

/** Random answers of the dialects, with all their bytes as they were. */
function mixOf({ dialects }: Model): Dialect[] {
  return Array.from({ length: 300 }, (_, seed) => ({
    name: `mix ${seed}`,
    reading: { kind: 'refused' },
    answer: (isStream) => {
      const answer = mixAnswer(dialects, seed, isStream);
      return answer.isChanged ? undefined : answer;
    },
  }));
}

/** In `npm test` each dialect comes to one of the doors; in the long tier each to all, and random answers. */
describe.each(models)('the model of $agent', (model) => {
  it.each(names.map((name, at) => [name, at] as const))(
    'is rude, and a message by %s ends and costs what it must',
    async (name, at) => {
      const broken: string[] = [];
      const dialects = [...model.dialects, ...(isLongTier() ? mixOf(model) : [])];
      for (const [index, dialect] of dialects.entries())
        if (isLongTier() || index % names.length === at)
          broken.push(...(await brokenRules(model, dialect, name)));
      expect(broken).toEqual([]);
    },
    120_000,
  );
});
