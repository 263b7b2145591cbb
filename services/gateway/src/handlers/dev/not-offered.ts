import { MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../../context/route.ts';
import { readQuery } from '../../params/params.ts';
import { readApp } from './read-app.ts';

/** Answers that a list of an app is empty, in the form that the client expects. */
export const empty =
  (answer: unknown): Handler =>
  async (context, request) => {
    await readApp(context, request);
    return answer;
  };

/** Answers that there is no such thing: the lists of the app are empty. */
export const absent =
  (kind: string): Handler =>
  async (context, request) => {
    const { app } = await readApp(context, request);
    throw new MeshError('not_found', `app ${app} has no such ${kind}; this server keeps none`);
  };

/** Refuses a request of ADK's server that a mesh does not offer. */
export const notOffered =
  (reason: string): Handler =>
  () => {
    throw new MeshError('unimplemented', reason);
  };

/** Answers that the server sends no data about its use to anybody. */
export const telemetryConsent: Handler = () => ({ telemetry: false });

/** ADK's web UI names a file, and adds the time to pass caches. */
export const builderQuery = {
  ts: z.string().optional(),
  tmp: z.string().optional(),
  filePath: z.string().optional(),
};

/** Answers with the builder's file of an app: none, because agents of a mesh are programs. */
export const builderFile: Handler = async (context, request, reply) => {
  readQuery(builderQuery, request);
  await readApp(context, request);
  return reply.type('text/plain; charset=utf-8').send('');
};
