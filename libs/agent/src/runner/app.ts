import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import { BaseAgent } from '../base/base-agent.ts';
import type { BasePlugin } from '../base/base-plugin.ts';
import type { EventsCompactionConfig } from '../compaction/events-compaction-config.ts';

export interface ResumabilityConfig {
  /**
   * May an answer that names the invocation which asked continue it? Without the id, and in apps that are not resumable, an answer starts an
   * invocation of its own, which goes on with the work of the one that asked all the same.
   */
  isResumable: boolean;
}

/** The error for an invocation id that comes with a message to an app that is not resumable. */
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
  /** How its conversations are kept short; default not at all. */
  eventsCompactionConfig?: EventsCompactionConfig;
}

const optionNames: OptionNames<AppOptions> = {
  name: true,
  rootAgent: true,
  plugins: true,
  resumabilityConfig: true,
  eventsCompactionConfig: true,
};

/** Makes a whole configuration of a part of one; without a word an app is not resumable. */
export function createResumabilityConfig({
  isResumable = false,
}: Partial<ResumabilityConfig> = {}): ResumabilityConfig {
  return { isResumable };
}

/** Checks how an app is resumed. @throws MeshError `invalid_argument` */
export function assertResumability(config: ResumabilityConfig | undefined): void {
  const known: OptionNames<ResumabilityConfig> = { isResumable: true };
  assertOptions('resumabilityConfig', config, known);
}

/** A root agent with what belongs to it. */
export class App {
  readonly name: string;
  readonly rootAgent: BaseAgent;
  readonly plugins: readonly BasePlugin[];
  readonly resumabilityConfig: ResumabilityConfig | undefined;
  readonly eventsCompactionConfig: EventsCompactionConfig | undefined;

  /** @throws MeshError `invalid_argument` for an unknown option, without a root agent, for a name that is not a letter and then letters, digits, `_`, `-`; or `user` */
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

/** @throws MeshError `invalid_argument` for a name that is not a letter and then letters, digits, `_`, `-`; or `user` */
export function validateAppName(name: string): void {
  if (/^[A-Za-z][A-Za-z0-9_-]*$/.test(name) && name !== 'user') return;
  throw new MeshError(
    'invalid_argument',
    `app name ${JSON.stringify(name)}: a letter first, then letters, digits, _ or -; and not "user"`,
  );
}
