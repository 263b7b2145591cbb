import { MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Operation } from '../context/operation.ts';
import type { Handler, Route } from '../context/route.ts';
import { openApi } from '../handlers/about/open-api.ts';
import { findWebUi } from './find-web-ui.ts';
import { sendFile } from './send-file.ts';
import { type WebFile, webFiles } from './web-files.ts';

/** The address of the web UI, which its own code expects. */
const webUiPath = '/dev-ui/';

const pageHeaders = {
  'content-security-policy': "frame-ancestors 'self'",
  // The debug routes read the user and the session from the address of the page.
  'referrer-policy': 'same-origin',
};

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
  const all: Route[] = [];
  const others = routes.map((route) => {
    if (route.url === '/') return { ...route, handle: unlessBrowser(route.handle) };
    return route.url === '/openapi.json' ? { ...route, handle: openApi(() => all) } : route;
  });
  all.push(...others, ...webRoutes(files));
  return all;
}

const page: Operation = { summary: "ADK's web UI", answer: 'text/html' };
const file: Operation = { summary: "a file of ADK's web UI", answer: '*/*' };

function webRoutes(files: ReadonlyMap<string, WebFile>): Route[] {
  const serve: Handler = (_context, request, reply) => {
    const { '*': path } = parse(params, request.params, 'the path');
    const found = files.get(path === '' ? 'index.html' : path);
    if (found) return sendFile(found, pageHeaders, request, reply);
    throw new MeshError('not_found', `the web UI has no file ${path}`);
  };
  // The files are the same for everyone; the page then asks for data with the credentials of its caller.
  return [
    // Addresses in the page are relative, so the slash at the end counts.
    { method: 'GET', url: webUiPath.slice(0, -1), handle: redirectToUi(serve), role: 'public', about: page },
    {
      method: 'GET',
      url: `${webUiPath}assets/config/runtime-config.json`,
      handle: runtimeConfig,
      role: 'public',
      about: { summary: "the settings of ADK's web UI", answer: z.looseObject({ backendUrl: z.string() }) },
    },
    {
      method: 'GET',
      url: `${webUiPath}config`,
      handle: () => ({ logo_text: null, logo_image_url: null }),
      role: 'public',
      about: { summary: "the logo of ADK's web UI: none", answer: z.looseObject({}) },
    },
    { method: 'GET', url: `${webUiPath}*`, handle: serve, role: 'public', about: file },
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
