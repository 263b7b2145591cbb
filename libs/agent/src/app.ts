import { MeshError } from '@agentmesh/protocol';
import type { BaseAgent } from './base-agent.ts';
import type { EventsCompactionConfig } from './compaction/events-compaction-config.ts';
import type { BasePlugin } from './plugins/base-plugin.ts';

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

/** A root agent with what belongs to it. */
export class App {
  readonly name: string;
  readonly rootAgent: BaseAgent;
  readonly plugins: readonly BasePlugin[];
  readonly resumabilityConfig: ResumabilityConfig | undefined;
  readonly eventsCompactionConfig: EventsCompactionConfig | undefined;

  /** @throws MeshError `invalid_argument` for a name that is not a letter and then letters, digits, `_`, `-`; or `user` */
  constructor({ name, rootAgent, plugins = [], resumabilityConfig, eventsCompactionConfig }: AppOptions) {
    validateAppName(name);
    this.name = name;
    this.rootAgent = rootAgent;
    this.plugins = plugins;
    this.resumabilityConfig = resumabilityConfig;
    this.eventsCompactionConfig = eventsCompactionConfig;
  }
}

export function validateAppName(name: string): void {
  if (/^[A-Za-z][A-Za-z0-9_-]*$/.test(name) && name !== 'user') return;
  throw new MeshError(
    'invalid_argument',
    `app name ${JSON.stringify(name)}: a letter first, then letters, digits, _ or -; and not "user"`,
  );
}
