import { agentCards } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { readQuery } from '../../params/params.ts';
import { agentTree, nodeAt } from './agent-tree.ts';
import { readApp } from './read-app.ts';
import { structureGraph } from './structure-graph.ts';

const darkMode = z
  .enum(['true', 'false'], 'must be true or false')
  .default('false')
  .transform((value) => value === 'true');

export const graphQuery = { darkMode };
export const graphImageQuery = { darkMode, node: z.string().default('') };

/** Answers with the agents and tools of an app as a tree. */
export const buildGraph: Handler = async (context, request) => {
  const { app, root } = await readApp(context, request);
  return { name: app, root_agent: agentTree(root, agentCards(context.mesh)) };
};

/**
 * Answers with drawings of the agents below a node, by the path of the node; default the whole app. A mesh has
 * no workflows that are drawn on their own, so the answer holds one drawing, which is repeated as `dotSrc`.
 */
export const buildGraphImage: Handler = async (context, request) => {
  const { darkMode: isDark, node: path } = readQuery(graphImageQuery, request);
  const { app, root } = await readApp(context, request);
  const node = nodeAt(agentTree(root, agentCards(context.mesh)), path);
  if (!node) throw new MeshError('not_found', `app ${app} has no agent ${path}`);
  const dotSrc = structureGraph(node, { darkMode: isDark });
  return { [path]: { dotSrc }, dotSrc };
};

/** Answers with the drawing of an app. */
export const appGraph: Handler = async (context, request) => {
  const { darkMode: isDark } = readQuery(graphQuery, request);
  const { root } = await readApp(context, request);
  return { dotSrc: structureGraph(agentTree(root, agentCards(context.mesh)), { darkMode: isDark }) };
};
