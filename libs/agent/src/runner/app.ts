import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import { BaseAgent } from '../base/base-agent.ts';
import type { BasePlugin } from '../base/base-plugin.ts';
import type { EventsCompactionConfig } from '../compaction/events-compaction-config.ts';

export interface ResumabilityConfig {
  /**
   * Tells whether an answer that names an invocation continues that invocation. In other apps, and without
   * the id, an answer starts a new invocation, which also continues the work of the invocation that asked.
   */
  isResumable: boolean;
}

/** Makes the error for a message that names an invocation in an app that is not resumable. */
export function notResumable(app: string): MeshError {
  return new MeshError(
    'failed_precondition',
    `app ${app} does not continue invocations; leave invocationId out, or give its root resumabilityConfig: { isResumable: true }`,
  );
}

export interface AppOptions {
  /** The namespace of the sessions. */
  name: string;
  rootAgent: BaseAgent;
  plugins?: BasePlugin[];
  resumabilityConfig?: ResumabilityConfig;
  /** The way to keep prompts short; default: the whole conversation. */
  eventsCompactionConfig?: EventsCompactionConfig;
}

const optionNames: OptionNames<AppOptions> = {
  name: true,
  rootAgent: true,
  plugins: true,
  resumabilityConfig: true,
  eventsCompactionConfig: true,
};

/** Completes a resumability configuration; by default an app is not resumable. */
export function createResumabilityConfig({
  isResumable = false,
}: Partial<ResumabilityConfig> = {}): ResumabilityConfig {
  return { isResumable };
}

/**
 * Checks a resumability configuration.
 *
 * @throws MeshError `invalid_argument`
 */
export function assertResumability(config: ResumabilityConfig | undefined): void {
  const options: OptionNames<ResumabilityConfig> = { isResumable: true };
  assertOptions('resumabilityConfig', config, options);
}

/** A root agent with its name, plugins and settings. */
export class App {
  readonly name: string;
  readonly rootAgent: BaseAgent;
  readonly plugins: readonly BasePlugin[];
  readonly resumabilityConfig: ResumabilityConfig | undefined;
  readonly eventsCompactionConfig: EventsCompactionConfig | undefined;

  /**
   * @throws MeshError `invalid_argument` for an unknown option, a missing root agent, or a bad name (see
   * {@link validateAppName})
   */
  constructor(options: AppOptions) {
    assertOptions(`app ${options?.name}`, options ?? null, optionNames, { isOpen: new.target !== App });
    const { name, rootAgent, plugins = [], resumabilityConfig, eventsCompactionConfig } = options;
    validateAppName(name);
    if (!(rootAgent instanceof BaseAgent))
      throw new MeshError('invalid_argument', `app ${name} needs an agent: the option rootAgent`);
    assertResumability(resumabilityConfig);
    this.name = name;
    this.rootAgent = rootAgent;
    this.plugins = plugins;
    this.resumabilityConfig = resumabilityConfig;
    this.eventsCompactionConfig = eventsCompactionConfig;
  }
}

/**
 * Checks the name of an app.
 *
 * @throws MeshError `invalid_argument` for a name that is not a letter followed by letters, digits, `_` or
 * `-`, and for `user`
 */
export function validateAppName(name: string): void {
  if (/^[A-Za-z][A-Za-z0-9_-]*$/.test(name) && name !== 'user') return;
  throw new MeshError(
    'invalid_argument',
    `app name ${JSON.stringify(name)}: a letter first, then letters, digits, _ or -; and not "user"`,
  );
}
