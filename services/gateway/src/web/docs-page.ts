import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../context/route.ts';
import { sendFile } from './send-file.ts';
import { type WebFile, webFiles } from './web-files.ts';

/** The files of Swagger UI that the page needs, of the package that has them without a script for installations. */
const needed = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

/** The page loads nothing from other hosts and talks to its gateway alone. Swagger UI sets styles of elements. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
};

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>agentmesh gateway</title>
    <link rel="icon" href="/docs/favicon-32x32.png">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <script src="/docs/swagger-ui-bundle.js" defer></script>
    <script src="/docs/start.js" defer></script>
  </head>
  <body><div id="page"></div></body>
</html>
`;

/** Without a validator, whose address would be another host. */
const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#page',
  validatorUrl: null,
  docExpansion: 'list',
  deepLinking: true,
});
`;

const params = z.object({ file: z.string() });

let files: Map<string, WebFile> | undefined;

/** Answers with a page that shows the OpenAPI document and sends requests of the reader. */
export const docsPage: Handler = (_context, _request, reply) =>
  reply
    .headers({ ...headers, 'cache-control': 'no-cache' })
    .type('text/html; charset=utf-8')
    .send(page);

/** Answers with a script or a style of this page. */
export const docsFile: Handler = (_context, request, reply) => {
  const { file: name } = parse(params, request.params, 'the path');
  if (name === 'start.js')
    return reply
      .headers({ ...headers, 'cache-control': 'no-cache' })
      .type('text/javascript; charset=utf-8')
      .send(start);
  files ??= webFiles(folderOfSwaggerUi());
  const file = needed.includes(name) ? files.get(name) : undefined;
  if (file) return sendFile(file, headers, request, reply);
  throw new MeshError('not_found', `the documentation has no file ${name}; it begins at /docs`);
};

function folderOfSwaggerUi(): string {
  return join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static');
}
