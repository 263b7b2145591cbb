import { MeshError } from '@agentmesh/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../context/route.ts';
import { methodsAt } from './methods-at.ts';

/**
 * Refuses requests that no route takes, with 405 and the header `Allow` where the address takes other methods, else with
 * 404. Their bodies are not read: nobody knows the callers, and no limit counts them.
 */
export function refuseUnknown(
  server: FastifyInstance,
  routes: readonly Pick<Route, 'method' | 'url'>[],
): void {
  const methodsOf = methodsAt(routes);
  const refuse = ({ method, url }: FastifyRequest, reply: FastifyReply) => {
    const path = url.split('?')[0] ?? '';
    const methods = methodsOf(path).join(', ');
    if (methods === '')
      throw new MeshError('not_found', `there is no ${method} ${path}; GET / lists what there is`);
    reply.header('allow', methods);
    const message = `there is no ${method} ${path}; this address takes ${methods}`;
    throw Object.assign(new Error(message), { statusCode: 405 });
  };
  // The hooks before have set the headers by which pages of other origins read the refusal.
  server.addHook('preParsing', async (request, reply) => {
    if (request.is404) refuse(request, reply);
  });
  server.setNotFoundHandler(refuse);
}
