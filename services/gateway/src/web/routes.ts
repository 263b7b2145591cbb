import { createReadStream } from 'node:fs';
import { MeshError, parse } from '@agentmesh/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Handler, Route } from '../context/route.ts';
import { findWebUi } from './find-web-ui.ts';
import { type WebFile, webFiles } from './web-files.ts';

/** The address of the web UI, which its own code expects. */
const webUiPath = '/dev-ui/';

const params = z.object({ '*': z.string() });

/**
 * Adds ADK's web UI to the routes. The route `/` then sends browsers to it.
 *
 * @param setting the value of `MESH_ADK_WEB`; undefined for no web UI
 * @throws MeshError `failed_precondition` when there is no web UI at that place
 */
export function withWebUi(routes: readonly Route[], setting: string | undefined): readonly Route[] {
  if (setting === undefined) return routes;
  const files = webFiles(findWebUi(setting));
  const others = routes.map((route) =>
    route.url === '/' ? { ...route, handle: unlessBrowser(route.handle) } : route,
  );
  return [...others, ...webRoutes(files)];
}

function webRoutes(files: ReadonlyMap<string, WebFile>): Route[] {
  const serve: Handler = (_context, request, reply) => {
    const { '*': path } = parse(params, request.params, 'the path');
    const file = files.get(path === '' ? 'index.html' : path);
    if (file) return sendFile(file, request, reply);
    throw new MeshError('not_found', `the web UI has no file ${path}`);
  };
  // The files are the same for everyone; the page then asks for data with the credentials of its caller.
  return [
    // Addresses in the page are relative, so the slash at the end counts.
    { method: 'GET', url: webUiPath.slice(0, -1), handle: redirectToUi(serve), role: 'public' },
    {
      method: 'GET',
      url: `${webUiPath}assets/config/runtime-config.json`,
      handle: runtimeConfig,
      role: 'public',
    },
    {
      method: 'GET',
      url: `${webUiPath}config`,
      handle: () => ({ logo_text: null, logo_image_url: null }),
      role: 'public',
    },
    { method: 'GET', url: `${webUiPath}*`, handle: serve, role: 'public' },
  ];
}

/** Returns a handler that sends a browser, which asks for a page, to the web UI. */
function unlessBrowser(handle: Handler): Handler {
  return (context, request, reply) =>
    request.headers.accept?.includes('text/html')
      ? reply.redirect(webUiPath)
      : handle(context, request, reply);
}

function redirectToUi(serve: Handler): Handler {
  return (context, request, reply) => {
    const [path = '', query] = request.url.split('?');
    if (!path.endsWith('/')) return reply.redirect(query === undefined ? webUiPath : `${webUiPath}?${query}`);
    request.params = { '*': '' };
    return serve(context, request, reply);
  };
}

/** Answers with the address of the REST interface for the web UI: the address from which the page came. */
const runtimeConfig: Handler = (_context, _request, reply) =>
  reply.header('cache-control', 'no-cache').send({ backendUrl: '' });

function sendFile(
  { file, size, contentType, etag, isHashed }: WebFile,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.headers({
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': "frame-ancestors 'self'",
    // The debug routes read the user and the session from the address of the page.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    etag,
  });
  if (request.headers['if-none-match'] === etag) return reply.status(304).send();
  return reply.headers({ 'content-type': contentType, 'content-length': size }).send(createReadStream(file));
}
