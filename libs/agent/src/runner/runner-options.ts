import { type AnsweredBy, type OptionNames, objectKind, textKind } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { BaseAgent } from '../base/base-agent.ts';
import type { BasePlugin } from '../base/base-plugin.ts';
import { type InvocationServices, invocationServiceNames } from '../base/invocation-context.ts';
import type { EventsCompactionConfig } from '../compaction/events-compaction-config.ts';
import type { SessionService } from '../sessions/session-service.ts';
import type { App, ResumabilityConfig } from './app.ts';
import type { RunConfig } from './run-config.ts';

/** An app, or its name and root agent. */
export interface RunnerRoot {
  app?: App;
  appName?: string;
  agent?: BaseAgent;
  /** Plugins beside the app's plugins. */
  plugins?: BasePlugin[];
  /** See {@link ResumabilityConfig}. */
  resumabilityConfig?: ResumabilityConfig;
  /** The way to keep prompts short; default: the app's way. */
  eventsCompactionConfig?: EventsCompactionConfig;
}

export interface RunnerConfig extends RunnerRoot, InvocationServices {
  sessionService: SessionService;
}

export interface InMemoryRunnerConfig extends RunnerRoot, InvocationServices {}

export interface EphemeralRunRequest {
  userId: string;
  newMessage: Content;
  /** State that is written with the user's message; `temp:` keys last for this invocation. */
  stateDelta?: Record<string, unknown>;
  runConfig?: RunConfig;
  abortSignal?: AbortSignal;
  /** Metadata of the user's event. */
  customMetadata?: Record<string, unknown>;
  /** The person who gives the answers in the message, and the person's roles. */
  answeredBy?: AnsweredBy;
}

export interface RunRequest extends EphemeralRunRequest {
  sessionId: string;
  /**
   * The invocation that the message answers: it continues under this id. Only for resumable apps; default: a
   * new invocation.
   */
  invocationId?: string;
}

export const rootOptions: OptionNames<InMemoryRunnerConfig> = {
  ...invocationServiceNames,
  app: true,
  appName: true,
  agent: true,
  plugins: true,
  resumabilityConfig: true,
  eventsCompactionConfig: true,
};
export const runnerOptions: OptionNames<RunnerConfig> = { ...rootOptions, sessionService: true };
export const ephemeralOptions: OptionNames<EphemeralRunRequest> = {
  userId: textKind,
  newMessage: true,
  stateDelta: objectKind,
  runConfig: true,
  abortSignal: true,
  customMetadata: true,
  answeredBy: true,
};
export const runOptions: OptionNames<RunRequest> = {
  ...ephemeralOptions,
  sessionId: textKind,
  invocationId: textKind,
};
