import { type BaseTool, BaseToolset, type ReadonlyContext, type ToolPredicate } from '@agentmesh/agent';
import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import { toolCards } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { meshBinding } from './mesh-binding.ts';
import { RemoteTool } from './remote-tool.ts';

export interface MeshToolsetOptions {
  /** Names of tools, or patterns of them: `*` stands for any characters. */
  names: string | readonly string[];
  /** As in every toolset: of the tools found, those that pass. */
  toolFilter?: readonly string[] | ToolPredicate;
  prefix?: string;
}

const optionNames: OptionNames<MeshToolsetOptions> = { names: true, toolFilter: true, prefix: true };

/** How long an answer to "is it there?" is believed, in ms: steps follow each other fast. */
const believeMs = 1_000;

/**
 * The tools that live on the bus, by name pattern: at every step of the agent those that have a replica then. A tool that is started later
 * is offered without a restart of anything, one that is gone is not. A tool of the agent's own of the same name comes first.
 */
export class MeshToolset extends BaseToolset {
  readonly mesh = meshBinding('a MeshToolset');
  readonly names: readonly string[];
  readonly #tools = new Map<string, RemoteTool>();
  readonly #seen = new Map<string, { at: number; isThere: Promise<boolean> }>();

  /** @throws MeshError `invalid_argument` for an unknown option, or without a name */
  constructor(options: MeshToolsetOptions) {
    assertOptions('a MeshToolset', options ?? null, optionNames, { isOpen: new.target !== MeshToolset });
    const { names = [], toolFilter, prefix } = options;
    super(toolFilter, prefix);
    this.names = [names].flat();
    if (this.names.length === 0) {
      throw new MeshError('invalid_argument', 'a MeshToolset needs the names of its tools; "*" for all');
    }
  }

  override get givesWay(): boolean {
    return true;
  }

  override async getTools(_context?: ReadonlyContext): Promise<BaseTool[]> {
    const mesh = this.mesh.get();
    const known = toolCards(mesh).filter(({ name }) => matchesAny(this.names, name));
    const isThere = await Promise.all(known.map(({ name }) => this.#isThere(mesh, name)));
    return known.flatMap(({ name }, index) => (isThere[index] ? this.#tool(mesh, name) : []));
  }

  #tool(mesh: Mesh, name: string): RemoteTool {
    const tool = this.#tools.get(name) ?? new RemoteTool(name);
    tool.mesh.set(mesh);
    this.#tools.set(name, tool);
    return tool;
  }

  async #isThere({ bus, subjects }: Mesh, name: string): Promise<boolean> {
    const now = performance.now();
    const seen = this.#seen.get(name);
    if (seen && now - seen.at < believeMs) return await seen.isThere;
    // Who cannot ask offers what the mesh knows: the call itself will tell.
    const isThere = bus.isServed(subjects.shownAs(name)).catch(() => true);
    this.#seen.set(name, { at: now, isThere });
    return await isThere;
  }
}

/** Does a name fit one of the patterns, in which `*` stands for any characters? */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`).test(name);
  });
}
