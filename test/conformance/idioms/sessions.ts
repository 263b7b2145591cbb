import {
  App,
  type AppendEventRequest,
  type BaseSessionService,
  type CreateSessionRequest,
  createEvent,
  createEventActions,
  type Event,
  type EventActions,
  Gemini,
  type GetSessionRequest,
  getFunctionCalls,
  getFunctionResponses,
  getPendingUserInputRequests,
  InMemoryArtifactService,
  InMemoryMemoryService,
  InMemoryRunner,
  InMemorySessionService,
  isFinalResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
  LlmAgent,
  LlmSummarizer,
  LoggingPlugin,
  type RunConfig,
  Runner,
  type Session,
  State,
  StreamingMode,
  stringifyContent,
  TokenBasedContextCompactor,
  ToolConfirmation,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';

const agent = new LlmAgent({
  name: 'root',
  model: 'gemini-2.5-flash',
  contextCompactors: [
    new TokenBasedContextCompactor({
      tokenThreshold: 1_000,
      eventRetentionSize: 10,
      summarizer: new LlmSummarizer({ llm: new Gemini({ model: 'gemini-2.5-flash' }) }),
    }),
  ],
});
const appName = 'app';
const userId = 'ann';
const sessionService: BaseSessionService = new InMemorySessionService();
const create: CreateSessionRequest = {
  appName,
  userId,
  sessionId: 's1',
  state: { [`${State.APP_PREFIX}motd`]: 'hi', [`${State.USER_PREFIX}name`]: 'Ann' },
};

export async function seed(): Promise<Session> {
  const session = await sessionService.createSession(create);
  const actions: EventActions = createEventActions({ stateDelta: { seeded: true } });
  const request: AppendEventRequest = { session, event: createEvent({ author: 'user', actions }) };
  await sessionService.appendEvent(request);
  const again: Session = await sessionService.getOrCreateSession({ appName, userId, sessionId: 's1' });
  const get: GetSessionRequest = { appName, userId, sessionId: again.id, config: { numRecentEvents: 5 } };
  const found = await sessionService.getSession(get);
  if (!found) throw new Error('gone');
  console.log(found.state.seeded, found.events.length, found.lastUpdateTime);
  return found;
}

export async function list(): Promise<string[]> {
  const request: ListSessionsRequest = { appName, userId, limit: 10, page: 1, order: 'desc' };
  const { sessions, totalItems, totalPages, page }: ListSessionsResponse =
    await sessionService.listSessions(request);
  console.log(totalItems, totalPages, page);
  return sessions.map(({ id }) => id);
}

const runConfig: RunConfig = { streamingMode: StreamingMode.SSE, maxLlmCalls: 10 };
export const runner = new Runner({
  appName,
  agent,
  sessionService,
  artifactService: new InMemoryArtifactService(),
  memoryService: new InMemoryMemoryService(),
  plugins: [new LoggingPlugin()],
});

export async function chat(text: string, signal: AbortSignal): Promise<string> {
  const newMessage: Content = createUserContent(text);
  let answer = '';
  const events: Event[] = [];
  for await (const event of runner.runAsync({
    userId,
    sessionId: 's1',
    newMessage,
    runConfig,
    stateDelta: { asked: true },
    abortSignal: signal,
  })) {
    events.push(event);
    for (const { name, args } of getFunctionCalls(event)) console.log(name, args);
    for (const { name, response } of getFunctionResponses(event)) console.log(name, response);
    if (isFinalResponse(event)) answer = stringifyContent(event);
  }
  const [question] = getPendingUserInputRequests(events);
  if (!question) return answer;
  const response = { ...new ToolConfirmation({ confirmed: true, hint: '' }) };
  const reply = { functionResponse: { id: question.interruptId, name: question.functionCallName, response } };
  for await (const event of runner.runAsync({
    userId,
    sessionId: 's1',
    newMessage: { role: 'user', parts: [reply] },
  }))
    answer = stringifyContent(event);
  return answer;
}

export async function alone(): Promise<void> {
  const app = new App({
    name: 'app',
    rootAgent: agent,
    plugins: [],
    resumabilityConfig: { isResumable: true },
  });
  const inMemory = new InMemoryRunner({ app });
  const session = await inMemory.sessionService.createSession({ appName: inMemory.appName, userId });
  for await (const event of inMemory.runAsync({
    userId,
    sessionId: session.id,
    newMessage: { role: 'user', parts: [{ text: 'hi' }] },
    runConfig: { streamingMode: StreamingMode.SSE },
  })) {
    console.log(event.author, event.content?.parts, event.actions.stateDelta, event.partial, event.errorCode);
  }
  for await (const event of inMemory.runEphemeral({ userId, newMessage: createUserContent('hi') }))
    console.log(event.id);
}
