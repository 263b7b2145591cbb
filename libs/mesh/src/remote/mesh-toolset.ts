import { type BaseTool, BaseToolset, type ReadonlyContext, type ToolPredicate } from '@agentmesh/agent';
import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import { toolCards } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { readWrites, type SharedScope } from '../messages/tool-actions.ts';
import { meshBinding } from './mesh-binding.ts';
import { RemoteTool } from './remote-tool.ts';

export interface MeshToolsetOptions {
  /** Names of tools, or patterns: `*` stands for any characters. */
  names: string | readonly string[];
  /** Filter for the tools that were found, as in every toolset. */
  toolFilter?: readonly string[] | ToolPredicate;
  prefix?: string;
  /** The shared scopes of state that these tools may write, as for `remoteTool`; default none. */
  writes?: readonly SharedScope[];
}

const optionNames: OptionNames<MeshToolsetOptions> = {
  ...{ names: true, toolFilter: true, prefix: true, writes: true },
};

/** Time for which the answer to "is it up?" is cached, in ms: steps follow each other fast. */
const cacheMs = 1_000;

/**
 * The tools on the bus whose names match: at every step of the agent, the tools that have a replica at that
 * time. A tool that is started later is offered without any restart; a tool that is gone is not offered. A
 * tool of the agent with the same name takes precedence.
 */
export class MeshToolset extends BaseToolset {
  readonly mesh = meshBinding('a MeshToolset');
  readonly names: readonly string[];
  readonly writes: readonly SharedScope[];
  readonly #tools = new Map<string, RemoteTool>();
  readonly #cached = new Map<string, { at: number; isUp: Promise<boolean> }>();

  /** Makes a toolset. @throws MeshError `invalid_argument` for an unknown option, or without a name */
  constructor(options: MeshToolsetOptions) {
    assertOptions('a MeshToolset', options ?? null, optionNames, { isOpen: new.target !== MeshToolset });
    const { names = [], toolFilter, prefix, writes } = options;
    super(toolFilter, prefix);
    this.names = [names].flat();
    this.writes = readWrites('a MeshToolset', writes);
    if (this.names.length === 0) {
      throw new MeshError('invalid_argument', 'a MeshToolset needs the names of its tools; "*" for all');
    }
  }

  override get givesWay(): boolean {
    return true;
  }

  override async getTools(_context?: ReadonlyContext): Promise<BaseTool[]> {
    const mesh = this.mesh.get();
    const cards = toolCards(mesh).filter(({ name }) => matchesAny(this.names, name));
    const isUp = await Promise.all(cards.map(({ name }) => this.#isUp(mesh, name)));
    return cards.flatMap(({ name }, index) => (isUp[index] ? this.#tool(mesh, name) : []));
  }

  #tool(mesh: Mesh, name: string): RemoteTool {
    const tool = this.#tools.get(name) ?? new RemoteTool(name, { writes: this.writes });
    tool.mesh.set(mesh);
    this.#tools.set(name, tool);
    return tool;
  }

  async #isUp({ bus, subjects }: Mesh, name: string): Promise<boolean> {
    const now = performance.now();
    const cached = this.#cached.get(name);
    if (cached && now - cached.at < cacheMs) return await cached.isUp;
    // If the bus cannot be asked, the known tools are offered: the call itself shows whether the tool is up.
    const isUp = bus.isServed(subjects.shownAs(name)).catch(() => true);
    this.#cached.set(name, { at: now, isUp });
    return await isUp;
  }
}

/** Tells whether a name matches one of the patterns, in which `*` stands for any characters. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`).test(name);
  });
}
