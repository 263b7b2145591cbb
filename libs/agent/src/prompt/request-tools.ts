import type { Event, RunConfig } from '@agentmesh/protocol';
import type { Tool } from '@google/genai';
import type { LlmRequest } from '../base/base-llm.ts';
import type { BaseTool } from '../base/base-tool.ts';
import { getFunctionCalls } from '../events/event.ts';
import { setStepMark, stepMarkOf } from '../journal/step-mark.ts';

type ToolsDict = Record<string, BaseTool>;

/** The tools that a request offers to the model before callbacks have changed it. */
export interface Offer {
  toolsDict: ToolsDict;
  /** The names of the declared functions. */
  declared: ReadonlySet<string>;
}

export function offerOf({ toolsDict, config }: LlmRequest): Offer {
  return { toolsDict: asDict(toolsDict), declared: namesIn(config.tools as Tool[]) };
}

/**
 * Returns the tools that may run for the answer to a request, and makes the declarations of the request fit:
 * `toolsDict` decides. A callback may also remove a tool by its declaration. Declarations without a tool are left to
 * a client that makes the calls.
 *
 * @param offer the offer before the callbacks; undefined when none was called
 */
export function agreeOnTools(
  { toolsDict, config }: LlmRequest,
  offer: Offer | undefined,
  { pauseOnToolCalls }: RunConfig,
): ToolsDict {
  const declared = namesIn(config.tools as Tool[]);
  if (!offer && [...declared].every((name) => name in toolsDict)) return asDict(toolsDict);
  const before = offer ?? { toolsDict, declared };
  const isRemoved = (name: string) => before.declared.has(name) && !declared.has(name);
  const isNew = (name: string, tool: BaseTool) => before.toolsDict[name] !== tool;
  const kept = Object.entries(toolsDict).filter(([name, tool]) => isNew(name, tool) || !isRemoved(name));
  const added = kept.filter(([name, tool]) => isNew(name, tool));
  const agreed = asDict(Object.fromEntries(kept));
  const replaced = new Set(added.map(([name]) => name).filter((name) => before.declared.has(name)));
  const stays = (name = '') =>
    name in agreed ? !replaced.has(name) : pauseOnToolCalls && !(name in before.toolsDict);
  const tools = ((config.tools ?? []) as Tool[]).flatMap((entry) => withDeclarations(entry, stays));
  const missing = added.flatMap(([name, tool]) => {
    const declaration = namesIn(tools).has(name) ? undefined : tool.getDeclaration();
    return declaration ? [{ ...declaration, name }] : [];
  });
  const entry = tools.find(({ functionDeclarations }) => functionDeclarations);
  if (entry) entry.functionDeclarations?.push(...missing);
  else if (missing.length > 0) tools.push({ functionDeclarations: missing });
  if (config.tools || tools.length > 0) config.tools = tools;
  return agreed;
}

/** Returns an entry of a request with some of its declarations; nothing if nothing is left of it. */
function withDeclarations(entry: Tool, stays: (name?: string) => boolean): Tool[] {
  const { functionDeclarations, ...rest } = entry;
  if (!functionDeclarations) return [entry];
  const kept = functionDeclarations.filter(({ name }) => stays(name));
  if (kept.length > 0) return [{ ...rest, functionDeclarations: kept }];
  return Object.keys(rest).length > 0 ? [rest] : [];
}

/**
 * Notes the called tools that the agent has and the request had not. A process that makes the calls later does not
 * have the request.
 */
export function markWithheld(event: Event, all: ToolsDict, offered: ToolsDict): void {
  const names = getFunctionCalls(event).map(({ name = '' }) => name);
  const withheld = names.filter((name) => name in all && !(name in offered));
  if (withheld.length > 0 && !event.partial) setStepMark(event, { withheld });
}

/** Returns the tools that may run for the calls of an event. */
export function toolsFor(event: Event, toolsDict: ToolsDict): ToolsDict {
  const withheld = stepMarkOf(event)?.withheld ?? [];
  if (withheld.length === 0) return toolsDict;
  return asDict(Object.fromEntries(Object.entries(toolsDict).filter(([name]) => !withheld.includes(name))));
}

/** Copies tools by name. Names such as `constructor` are no tools. */
function asDict(tools: ToolsDict): ToolsDict {
  return Object.assign(Object.create(null), tools);
}

function namesIn(tools: readonly Tool[] = []): Set<string> {
  return new Set(
    tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name = '' }) => name)),
  );
}
