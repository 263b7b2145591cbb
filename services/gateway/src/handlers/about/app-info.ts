import { type Mesh, toolCards } from '@agentmesh/mesh';
import { type AgentCard, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { agentsOfApp } from './agents-of-app.ts';

const params = z.object({ app: z.string().min(1) });

/**
 * Answers with an app and its agents, as ADK's Python server. Cards hold neither instructions nor the
 * declarations of tools within an agent's process: agents come without `instruction`, and such tools with
 * their names only.
 */
export const appInfo: Handler = async ({ mesh }, request) => {
  const { app } = parse(params, request.params, 'the path');
  const cards = await agentsOfApp(mesh, app);
  const agents = cards.map((card) => [card.name, describeAgent(mesh, card)]);
  return { ...describeApp(app, cards[0]), agents: Object.fromEntries(agents) };
};

/** Describes an app by the card of its root agent. */
export function describeApp(name: string, root: AgentCard | undefined) {
  return {
    name,
    rootAgentName: root?.name ?? '',
    description: root?.description ?? '',
    language: 'typescript',
    isComputerUse: false,
  };
}

function describeAgent(mesh: Mesh, { name, description, tools, subAgents }: AgentCard) {
  const cards = new Map(toolCards(mesh).map((card) => [card.name, card]));
  const functionDeclarations = tools.map((tool) => cards.get(tool)?.declaration ?? { name: tool });
  return {
    name,
    description,
    tools: functionDeclarations.length === 0 ? [] : [{ functionDeclarations }],
    subAgents,
  };
}
