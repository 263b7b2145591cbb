import {
  AgentTool,
  App,
  AuthenticatedFunctionTool,
  BaseAgent,
  BasePlugin,
  BaseToolset,
  Context,
  createEvent,
  FunctionTool,
  Gemini,
  GeminiEmbedder,
  InMemoryArtifactService,
  InMemoryCredentialService,
  InMemoryMemoryService,
  InMemoryRunner,
  InMemorySessionService,
  InMemorySignInService,
  LlmAgent,
  LlmSummarizer,
  LongRunningFunctionTool,
  LoopAgent,
  ParallelAgent,
  PluginManager,
  RoutedAgent,
  RoutedLlm,
  Runner,
  SequentialAgent,
  SlidingWindowContextCompactor,
  TokenBasedContextCompactor,
  TruncatingContextCompactor,
  UnsafeLocalCodeExecutor,
} from '@agentmesh/agent';
import { OpenAiLlm } from '@agentmesh/agent/openai';
import { connectNats, MemoryHub, provision } from '@agentmesh/bus';
import { connectRedisStore } from '@agentmesh/store';
import { describe, expect, it } from 'vitest';
import { followRun } from '../client/follow-run.ts';
import { startRun } from '../client/start-run.ts';
import { MeshToolset } from '../remote/mesh-toolset.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { deleteUserData } from '../user-data/delete-user-data.ts';
import { connectMesh } from './connect-mesh.ts';
import { runAgentService, runToolService } from './service-main.ts';

type Options = Record<string, unknown>;

const child = () => new LlmAgent({ name: 'child' });
const llm = new Gemini();
const execute = () => 1;
const authConfig = { credentialKey: 'k', authScheme: { type: 'http' } };
const toolContext = new Context(
  { invocationId: 'i', agentName: 'a', session: { id: 's', appName: 'app', userId: 'u', state: {} } },
  { functionCallId: 'c' },
);
const sessionService = new InMemorySessionService();
const runner = () => new InMemoryRunner({ agent: child() });

/** Makes an object with options of any type, as JavaScript may pass them. */
function made(type: unknown, options: Options): unknown {
  return Reflect.construct(type as typeof Gemini, [options]);
}

function called(call: unknown, ...args: unknown[]): unknown {
  return (call as (...args: unknown[]) => unknown)(...args);
}

/** All functions and classes with options, by the name that their errors begin with, with valid options. */
const takers: [owner: string, take: (options: Options) => unknown, options: () => Options][] = [
  ['agent a', (o) => made(LlmAgent, o), () => ({ name: 'a', instruction: 'x' })],
  ['agent a', (o) => made(SequentialAgent, o), () => ({ name: 'a', subAgents: [child()] })],
  ['agent a', (o) => made(ParallelAgent, o), () => ({ name: 'a', subAgents: [child()] })],
  ['agent a', (o) => made(LoopAgent, o), () => ({ name: 'a', subAgents: [child()], maxIterations: 2 })],
  ['agent a', (o) => made(RoutedAgent, o), () => ({ name: 'a', agents: [child()] })],
  ['tool t', (o) => made(FunctionTool, o), () => ({ name: 't', description: '', execute })],
  ['tool t', (o) => made(LongRunningFunctionTool, o), () => ({ name: 't', description: '', execute })],
  [
    'tool t',
    (o) => made(AuthenticatedFunctionTool, o),
    () => ({ name: 't', description: '', execute, authConfig }),
  ],
  ['an AgentTool', (o) => made(AgentTool, o), () => ({ agent: child() })],
  ['a MeshToolset', (o) => made(MeshToolset, o), () => ({ names: '*' })],
  ['a runner', (o) => made(Runner, o), () => ({ agent: child(), appName: 'app', sessionService })],
  ['an InMemoryRunner', (o) => made(InMemoryRunner, o), () => ({ agent: child() })],
  ['app app', (o) => made(App, o), () => ({ name: 'app', rootAgent: child() })],
  ['a Gemini', (o) => made(Gemini, o), () => ({ model: 'gemini-x' })],
  ['an OpenAiLlm', (o) => made(OpenAiLlm, o), () => ({ model: 'x' })],
  ['a RoutedLlm', (o) => made(RoutedLlm, o), () => ({ models: [llm] })],
  ['a GeminiEmbedder', (o) => made(GeminiEmbedder, o), () => ({ model: 'x' })],
  ['an LlmSummarizer', (o) => made(LlmSummarizer, o), () => ({ llm })],
  [
    'a TokenBasedContextCompactor',
    (o) => made(TokenBasedContextCompactor, o),
    () => ({ tokenThreshold: 1, eventRetentionSize: 1 }),
  ],
  [
    'a SlidingWindowContextCompactor',
    (o) => made(SlidingWindowContextCompactor, o),
    () => ({ compactionInterval: 1 }),
  ],
  ['a TruncatingContextCompactor', (o) => made(TruncatingContextCompactor, o), () => ({ threshold: 1 })],
  ['an UnsafeLocalCodeExecutor', (o) => made(UnsafeLocalCodeExecutor, o), () => ({ timeoutSeconds: 1 })],
  ['an InMemorySessionService', (o) => made(InMemorySessionService, o), () => ({})],
  ['an InMemoryArtifactService', (o) => made(InMemoryArtifactService, o), () => ({})],
  ['an InMemoryMemoryService', (o) => made(InMemoryMemoryService, o), () => ({})],
  ['an InMemoryCredentialService', (o) => made(InMemoryCredentialService, o), () => ({})],
  ['an InMemorySignInService', (o) => made(InMemorySignInService, o), () => ({})],
  ['a MemoryHub', (o) => made(MemoryHub, o), () => ({})],
  [
    'eventsCompactionConfig',
    (eventsCompactionConfig) => made(InMemoryRunner, { agent: child(), eventsCompactionConfig }),
    () => ({ compactionInterval: 1 }),
  ],
  [
    'resumabilityConfig',
    (resumabilityConfig) => made(App, { name: 'app', rootAgent: child(), resumabilityConfig }),
    () => ({ isResumable: true }),
  ],
  ['requestConfirmation', (o) => toolContext.requestConfirmation(o), () => ({ hint: 'sure?' })],
  ['requestInput', (o) => called(toolContext.requestInput.bind(toolContext), o), () => ({ message: 'how?' })],
];

/** Functions that would contact others: the tests try only options that they refuse. */
const talkers: [owner: string, take: (options: Options) => unknown][] = [
  [
    'runAsync',
    (o) =>
      runner()
        .runAsync({ userId: 'u', sessionId: 's', newMessage: {}, ...o })
        .next(),
  ],
  [
    'runEphemeral',
    (o) =>
      runner()
        .runEphemeral({ userId: 'u', newMessage: {}, ...o })
        .next(),
  ],
  [
    'the run config',
    async (runConfig) => {
      const { sessionService, ...talk } = runner();
      expect(talk.appName).toBe('InMemoryRunner');
      const again = new Runner({ agent: child(), appName: 'app', sessionService });
      await sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
      await again.runAsync({ userId: 'u', sessionId: 's', newMessage: {}, runConfig }).next();
    },
  ],
  ['serveAgent child', (o) => called(serveAgent, {}, child(), o)],
  ['serveTool t', (o) => called(serveTool, {}, new FunctionTool({ name: 't', description: '', execute }), o)],
  ['runAgentService', (o) => called(runAgentService, child(), o)],
  [
    'runToolService',
    (o) => called(runToolService, new FunctionTool({ name: 't', description: '', execute }), o),
  ],
  ['connectMesh', (o) => called(connectMesh, o)],
  ['connectNats', (o) => called(connectNats, o)],
  ['connect', (o) => called((each: never) => new MemoryHub().connect(each), o)],
  ['provision', (o) => called(provision, o)],
  ['connectRedisStore', (o) => called(connectRedisStore, o)],
  ['connectRedisStore: memory', (memory) => called(connectRedisStore, { url: 'redis://localhost', memory })],
  ['startRun', (o) => called(startRun, {}, o)],
  ['startRun', (o) => called(startRun, {}, {}, o)],
  ['the run config', (runConfig) => called(startRun, {}, { runConfig })],
  ['followRun', (o) => called(followRun, {}, {}, o)],
  ['deleteUserData', (o) => called(deleteUserData, {}, {}, o)],
];

const thrown = async (take: () => unknown): Promise<unknown> => {
  try {
    await take();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('an unknown option', () => {
  it.each(takers)('is refused by its name: %s', async (owner, take, options) => {
    expect(await thrown(() => take({ ...options(), nobody: undefined }))).toBeUndefined();
    expect(await thrown(() => take({ ...options(), nobodyReadsThis: 1 }))).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(`${owner}: there is no option \`nobodyReadsThis\``),
    });
  });

  it.each(talkers)('is refused before anything is done: %s', async (owner, take) => {
    expect(await thrown(() => take({ nobodyReadsThis: 1 }))).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(`${owner}: there is no option \`nobodyReadsThis\``),
    });
  });

  it('gets the name that was probably meant', async () => {
    const error = await thrown(() => made(LlmAgent, { name: 'a', instructions: 'x' }));
    expect(error).toMatchObject({ message: expect.stringContaining('did you mean `instruction`?') });
  });
});

describe('an option of ADK that does nothing here', () => {
  const agents = {
    mode: 'task',
    parentAgent: new SequentialAgent({ name: 'p' }),
    requestProcessors: [{}],
    responseProcessors: [{}],
    timeout: 1,
    retryConfig: {},
    stateSchema: {},
  };

  it.each(Object.entries(agents))(
    'is refused with what to use instead, in subclasses too: %s',
    async (name, value) => {
      class Own extends BaseAgent {
        protected override async *runAsyncImpl() {
          yield createEvent();
        }
      }
      for (const type of [LlmAgent, SequentialAgent, ParallelAgent, Own]) {
        expect(await thrown(() => made(type, { name: 'a', [name]: value }))).toMatchObject({
          code: 'invalid_argument',
          message: expect.stringMatching(`^agent a: the option \`${name}\` of ADK does nothing here; .{10}`),
        });
      }
    },
  );

  it.each([
    ['supportCfc', true],
    ['speechConfig', {}],
    ['responseModalities', ['AUDIO']],
  ])('is refused in a run: %s', async (name, value) => {
    const { sessionService } = runner();
    await sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
    const run = (runConfig: Options) =>
      new Runner({ agent: child(), appName: 'app', sessionService })
        .runAsync({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'x' }] }, runConfig })
        .next();
    expect(await thrown(() => run({ [name]: value }))).toMatchObject({
      message: expect.stringContaining(`the run config: the option \`${name}\` of ADK does nothing here`),
    });
    expect(await thrown(() => run({ [name]: false }))).toMatchObject({
      message: expect.stringContaining('agent child has no model'),
    });
  });

  it.each([
    ['a Gemini', () => made(Gemini, { useInteractionsApi: true })],
    ['an UnsafeLocalCodeExecutor', () => made(UnsafeLocalCodeExecutor, { shellCommandPath: '/bin/sh' })],
    ['an InMemoryRunner', () => made(InMemoryRunner, { agent: child(), sessionService })],
    ['agent a', () => made(RoutedAgent, { name: 'a', agents: [child()], subAgents: [child()] })],
  ])('is refused: %s', async (owner, make) => {
    expect(await thrown(make)).toMatchObject({
      message: expect.stringMatching(`^${owner}: the option .* of ADK does nothing here; .`),
    });
  });
});

describe('a subclass', () => {
  it('may have options of its own, and pass them on', () => {
    class Polite extends LlmAgent {
      readonly greeting: string;
      constructor(config: { name: string; greeting: string }) {
        super(config);
        this.greeting = config.greeting;
      }
    }
    class Timed extends FunctionTool {
      readonly unit: string;
      constructor(config: { name: string; unit: string }) {
        super({ description: '', execute, ...config });
        this.unit = config.unit;
      }
    }
    expect(new Polite({ name: 'a', greeting: 'hello' })).toMatchObject({ name: 'a', greeting: 'hello' });
    expect(new Polite({ name: 'a', greeting: 'hello' }).clone({ name: 'b' })).toMatchObject({
      name: 'b',
      greeting: 'hello',
    });
    expect(new Timed({ name: 't', unit: 'ms' })).toMatchObject({ name: 't', unit: 'ms' });
  });
});

describe('a clone with an agent of another process in it', () => {
  it('has a new agent of that name, which takes no options', () => {
    const elsewhere = remoteAgent('elsewhere');
    const copy = new LlmAgent({ name: 'root', subAgents: [elsewhere] }).clone();
    const [child] = copy.subAgents;
    expect(child).toMatchObject({ name: 'elsewhere', isRemote: true, parentAgent: copy });
    expect(child).not.toBe(elsewhere);
    expect(() => elsewhere.clone({ description: 'x' })).toThrow('there is no option `description`');
  });
});

describe('arguments in the wrong place', () => {
  class Tools extends BaseToolset {
    override async getTools() {
      return [];
    }
  }
  class Plugin extends BasePlugin {}
  const long = { name: 't', description: '', execute };
  it.each([
    ['toolFilter', () => made(Tools, { toolFilter: ['a'] })],
    ['the prefix', () => Reflect.construct(Tools, [['a'], {}])],
    ['a plugin needs a name', () => made(Plugin, { name: 'p' })],
    ['must extend BasePlugin', () => Reflect.construct(PluginManager, [[{ name: 'p' }]])],
    ['needs an agent', () => made(AgentTool, { agent: 'child' })],
    ['needs an agent', () => made(App, { name: 'app' })],
    ['needs a sessionService', () => made(Runner, { agent: child(), appName: 'app' })],
    ['execute must be a function', () => made(FunctionTool, { name: 't', description: '' })],
    ['is long-running', () => made(LongRunningFunctionTool, { ...long, isLongRunning: false })],
    ['runAgentService needs an app or an agent', () => called(runAgentService, { agent: child() })],
    ['runToolService needs a tool', () => called(runToolService, {})],
    ['the options must be an object', () => Reflect.construct(Gemini, ['gemini-2.5-flash'])],
    ['the options must be an object', () => Reflect.construct(LlmAgent, [])],
  ])('are refused: %s', async (words, make) => {
    expect(await thrown(make)).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(words),
    });
  });
});
