import { assertOptions, type Event, MeshError } from '@agentmesh/protocol';
import type { ArtifactService } from '../artifacts/artifact-service.ts';
import { InMemoryArtifactService } from '../artifacts/in-memory-artifact-service.ts';
import type { BaseAgent } from '../base/base-agent.ts';
import type { BaseContextCompactor } from '../base/context-compactor.ts';
import { type OnFailure, printFailure } from '../base/failure.ts';
import type { InvocationServices } from '../base/invocation-context.ts';
import { PluginManager } from '../base/plugin-manager.ts';
import { compactorsOf } from '../compaction/events-compaction-config.ts';
import type { CredentialService } from '../credentials/credential-service.ts';
import { InMemoryCredentialService } from '../credentials/in-memory-credential-service.ts';
import { InMemorySignInService } from '../credentials/in-memory-sign-in-service.ts';
import type { SignInService } from '../credentials/sign-in-service.ts';
import { asGenerator, type Emit, ReaderGone } from '../events/emit.ts';
import { newInvocationId, newResumeId } from '../events/event.ts';
import { type InvocationOptions, invoke } from '../invocation/invocation.ts';
import { turnNeed } from '../invocation/turn-need.ts';
import { InMemoryMemoryService } from '../memory/in-memory-memory-service.ts';
import type { BaseMemoryService } from '../memory/memory-service.ts';
import { InMemorySessionService } from '../sessions/in-memory/session-service.ts';
import type { RunEnd } from '../sessions/invocations.ts';
import { SessionCache } from '../sessions/session-cache.ts';
import { noSession } from '../sessions/session-errors.ts';
import { rewindSession } from '../sessions/session-history.ts';
import type { SessionService } from '../sessions/session-service.ts';
import { startAgentSpan } from '../telemetry/agent-span.ts';
import { assertResumability, notResumable, type ResumabilityConfig } from './app.ts';
import { closeToolsets } from './close-toolsets.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { readRunConfig } from './run-config.ts';
import {
  type EphemeralRunRequest,
  ephemeralOptions,
  type InMemoryRunnerConfig,
  type RunnerConfig,
  type RunRequest,
  rootOptions,
  runnerOptions,
  runOptions,
} from './runner-options.ts';

export type {
  EphemeralRunRequest,
  InMemoryRunnerConfig,
  RunnerConfig,
  RunnerRoot,
  RunRequest,
} from './runner-options.ts';

/** Memory for the events of sessions that are cached between turns, in bytes. */
const cacheBytes = 256 * 1024 * 1024;

/**
 * Runs an agent and all agents below it in this process. Without a credential service, credentials are kept
 * in memory.
 */
export class Runner {
  readonly appName: string;
  readonly agent: BaseAgent;
  readonly sessionService: SessionService;
  readonly artifactService: ArtifactService | undefined;
  readonly memoryService: BaseMemoryService | undefined;
  readonly credentialService: CredentialService;
  readonly signInService: SignInService;
  readonly pluginManager: PluginManager;
  readonly resumabilityConfig: ResumabilityConfig | undefined;
  readonly onFailure: OnFailure;
  readonly #sessionCache: SessionCache;
  readonly #compactors: readonly BaseContextCompactor[];

  /**
   * @throws MeshError `invalid_argument` for an unknown option, and when there is neither an app nor an agent
   * with the name of an app
   */
  constructor(config: RunnerConfig) {
    const isOpen = new.target !== Runner && new.target !== InMemoryRunner;
    assertOptions('a runner', config ?? null, runnerOptions, { isOpen });
    if (!config.sessionService)
      throw new MeshError('invalid_argument', 'a runner needs a sessionService; an InMemoryRunner has one');
    assertResumability(config.resumabilityConfig);
    const { app, appName = app?.name, agent = app?.rootAgent } = config;
    if (appName === undefined || agent === undefined)
      throw new MeshError('invalid_argument', 'a runner needs an app, or appName and agent');
    this.appName = appName;
    this.agent = agent;
    this.sessionService = config.sessionService;
    this.#compactors = compactorsOf(config.eventsCompactionConfig ?? app?.eventsCompactionConfig);
    this.#sessionCache = new SessionCache({ sessions: config.sessionService, maxBytes: cacheBytes });
    this.artifactService = config.artifactService;
    this.memoryService = config.memoryService;
    this.credentialService = config.credentialService ?? new InMemoryCredentialService();
    this.signInService = config.signInService ?? new InMemorySignInService();
    this.pluginManager = new PluginManager([...(app?.plugins ?? []), ...(config.plugins ?? [])]);
    this.onFailure = config.onFailure ?? printFailure;
    this.resumabilityConfig = config.resumabilityConfig ?? app?.resumabilityConfig;
  }

  /**
   * Sends a message to the agent and yields its events, each after it was committed, without the user's own
   * message. An answer to a pending call goes to the agent that made the call. The runs of one session come
   * one after the other, in order. When the signal is aborted, the generator ends without an error; committed
   * events stay.
   *
   * @throws MeshError `not_found` for an unknown session; `failed_precondition` for a run within a run of the
   * same session, and for the id of an invocation that cannot be continued; the errors of `readMessage` for a
   * refused message; any error of user code
   */
  runAsync(request: RunRequest): AsyncGenerator<Event, void, void> {
    const { userId, sessionId, abortSignal } = Object(request) as RunRequest;
    const key = JSON.stringify([this.appName, userId, sessionId]);
    return asGenerator((emit) =>
      oneAtATime(this.sessionService, key, abortSignal, () => this.#run(request, emit)),
    );
  }

  async #run(request: RunRequest, emit: Emit<Event>): Promise<void> {
    assertOptions('runAsync', request, runOptions);
    const { userId, sessionId, runConfig, invocationId: continuedId, ...rest } = request;
    if (userId === undefined || sessionId === undefined)
      throw new MeshError('invalid_argument', 'a run needs a userId and a sessionId');
    const { appName, agent, sessionService, pluginManager } = this;
    if (rest.newMessage === undefined)
      throw new MeshError('invalid_argument', 'a run needs a newMessage: what the user says or answers');
    if (continuedId !== undefined && !this.resumabilityConfig?.isResumable) throw notResumable(appName);
    const config = readRunConfig(runConfig);
    const run = {
      invocationId: continuedId ?? newInvocationId(),
      ...(continuedId !== undefined && { resume: newResumeId() }),
    };
    const need = turnNeed(agent, { ofApp: this.#compactors, message: rest.newMessage });
    const session = await this.#sessionCache.open({ appName, userId, sessionId, ...run }, need);
    if (!session) throw noSession({ appName, userId, sessionId });
    // This end is recorded when the caller stops reading before the end of the run.
    let end: RunEnd = { status: 'failed', error: stoppedReading };
    const { abortSignal } = request;
    using span = startAgentSpan(agent.name, { session, ...run, carrier: {}, attempt: 1, abortSignal });
    try {
      const options: InvocationOptions = {
        agent,
        session,
        sessionService,
        pluginManager,
        ...run,
        // A new invocation has none.
        ...(continuedId === undefined && { temp: {} }),
        runConfig: config,
        contextCompactors: this.#compactors,
        ...rest,
        ...(span && { carrier: span.carrier }),
        ...this.#services(),
      };
      await invoke(options, async (event) => {
        if (event.author !== 'user') await emit(event);
      });
      end = { status: 'completed' };
      this.#sessionCache.keep(session);
    } catch (error) {
      if (error instanceof ReaderGone) throw error;
      const isAborted = abortSignal?.aborted === true;
      span?.fail(error);
      const failure = isAborted ? aborted : MeshError.from(error, `agent ${agent.name} failed`).toWire();
      end = { status: 'failed', error: failure };
      if (!isAborted) throw error;
    } finally {
      await sessionService.invocations.end({ appName, userId, sessionId, ...run }, end);
    }
  }

  /** ADK's name for {@link rewindSession}. */
  async rewindAsync({
    userId,
    sessionId,
    rewindBeforeInvocationId,
  }: {
    userId: string;
    sessionId: string;
    rewindBeforeInvocationId: string;
  }): Promise<void> {
    const ref = { appName: this.appName, userId, sessionId };
    await rewindSession(this.sessionService, ref, rewindBeforeInvocationId);
  }

  /** Sends a message to the agent in a temporary session, which is deleted at the end. */
  async *runEphemeral(request: EphemeralRunRequest): AsyncGenerator<Event, void, void> {
    assertOptions('runEphemeral', request, ephemeralOptions);
    const { appName, sessionService } = this;
    const { userId } = request;
    const { id: sessionId } = await sessionService.createSession({ appName, userId });
    try {
      yield* this.runAsync({ ...request, sessionId });
    } finally {
      await sessionService.deleteSession({ appName, userId, sessionId });
    }
  }

  #services(): InvocationServices {
    const { artifactService, memoryService, credentialService, signInService, onFailure } = this;
    return {
      ...(artifactService && { artifactService }),
      ...(memoryService && { memoryService }),
      credentialService,
      signInService,
      onFailure,
    };
  }

  /** Closes the toolsets of all agents. */
  async close(): Promise<void> {
    await closeToolsets(this.agent);
  }
}

const stoppedReading = {
  code: 'cancelled',
  message: 'the caller stopped reading before the end of the run',
};
const aborted = { code: 'cancelled', message: 'the run was aborted' };

/** A runner that keeps everything in memory, except for services that it is given. It needs no server. */
export class InMemoryRunner extends Runner {
  /** @throws MeshError `invalid_argument` for an unknown option, `sessionService` among them */
  constructor(config: InMemoryRunnerConfig = {}) {
    const unsupported = { sessionService: 'use a Runner for a session service of your own' };
    assertOptions('an InMemoryRunner', config, rootOptions, {
      unsupported,
      isOpen: new.target !== InMemoryRunner,
    });
    super({
      artifactService: new InMemoryArtifactService(),
      memoryService: new InMemoryMemoryService(),
      ...config,
      appName: config.app?.name ?? config.appName ?? 'InMemoryRunner',
      sessionService: new InMemorySessionService(),
    });
  }
}
