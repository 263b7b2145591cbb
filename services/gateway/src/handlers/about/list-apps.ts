import { agentCards, appNames } from '@agentmesh/mesh';
import { z } from 'zod';
import { callerOf, hasRole } from '../../access/caller.ts';
import type { Handler } from '../../context/route.ts';
import { readQuery } from '../../params/params.ts';
import { describeApp } from './app-info.ts';

export const listAppsQuery = {
  detailed: z.enum(['true', 'false'], 'must be true or false').default('false'),
  // ADK's web UI sends the folder of the apps; apps of a mesh have no folder.
  relativePath: z.string().optional(),
};

/**
 * Lists the names of the apps that the caller may use; with `?detailed=true` also their root agents, as ADK's
 * Python server.
 */
export const listApps: Handler = ({ mesh }, request) => {
  const { detailed } = readQuery(listAppsQuery, request);
  const caller = callerOf(request);
  const names = appNames(mesh).filter((app) => hasRole(caller, app, 'user'));
  if (detailed === 'false') return names;
  const cards = agentCards(mesh);
  return {
    apps: names.map((name) =>
      describeApp(
        name,
        cards.find(({ app }) => app === name),
      ),
    ),
  };
};
