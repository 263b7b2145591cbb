import { MeshError } from '@agentmesh/protocol';
import type { BaseAgent } from './base-agent.ts';
import type { BasePlugin } from './plugins/base-plugin.ts';

/** Taken for ADK's sake: here every invocation can be resumed, and answers always go to who asked. */
export interface ResumabilityConfig {
  isResumable: boolean;
}

export interface AppOptions {
  /** The namespace of the sessions. */
  name: string;
  rootAgent: BaseAgent;
  plugins?: BasePlugin[];
  resumabilityConfig?: ResumabilityConfig;
}

/** A root agent with what belongs to it. */
export class App {
  readonly name: string;
  readonly rootAgent: BaseAgent;
  readonly plugins: readonly BasePlugin[];
  readonly resumabilityConfig: ResumabilityConfig | undefined;

  /** @throws MeshError `invalid_argument` for a name that is not a letter and then letters, digits, `_`, `-`; or `user` */
  constructor({ name, rootAgent, plugins = [], resumabilityConfig }: AppOptions) {
    validateAppName(name);
    this.name = name;
    this.rootAgent = rootAgent;
    this.plugins = plugins;
    this.resumabilityConfig = resumabilityConfig;
  }
}

export function validateAppName(name: string): void {
  if (/^[A-Za-z][A-Za-z0-9_-]*$/.test(name) && name !== 'user') return;
  throw new MeshError(
    'invalid_argument',
    `app name ${JSON.stringify(name)}: a letter first, then letters, digits, _ or -; and not "user"`,
  );
}
